/** What both kinds of write share: the answer's headers, who is told of the end, and one writer per group. */
import { Mutex } from 'async-mutex';
import type { PipelineResponse } from '@azure/core-rest-pipeline';
import type { CloudEvent } from '../../domain/observation.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { retryAfterMs } from '../arm/errors.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { OperationTracker } from '../arm/operations.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { Raise } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { zoneName, type ScaleSetRow } from '../rows/scale-set.ts';
import type { AzureStore } from '../inventory/inventory.ts';

export interface WriteParts {
  readonly options: AzureOptions;
  readonly clients: ArmClients;
  readonly calls: ArmCalls;
  readonly store: AzureStore;
  readonly tracker: OperationTracker;
  readonly locks: GroupLocks;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Keeps an event for the next observation and wakes the loop. */
  readonly tell: (event: CloudEvent) => void;
  /** A raise ended without all of its machines, or nobody saw its end. */
  readonly unfilled: (group: RegisteredGroup, raise: Raise) => void;
  /** Fires when the adapter closes: bounds what goes on after an operation has ended. */
  readonly closing: AbortSignal;
}

/** One lock per group: protects the stretch from reading a group's size to Azure's answer, never an operation's run. */
export class GroupLocks {
  readonly #locks = new Map<string, Mutex>();

  async hold<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const lock = this.#locks.get(key) ?? new Mutex();
    this.#locks.set(key, lock);
    return lock.runExclusive(() => {
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `The write to ${key} was cancelled before it began.`);
      return work();
    });
  }
}

/** The parts of the first answer to a write that matter. */
export interface WriteAnswer {
  readonly operationUrl: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** From the header or the body. */
  readonly etag: string | undefined;
  readonly capacity: number | undefined;
}

/** The request was answered by nothing that could be read. */
export const NO_ANSWER: WriteAnswer = { operationUrl: undefined, retryAfterMs: undefined, etag: undefined, capacity: undefined };

/** Whether Azure may have carried a failed write out. */
export function isEffectUnknown(error: AutoscalerError): boolean {
  return error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
}

export function readWriteAnswer(raw: PipelineResponse, nowMs: number): WriteAnswer {
  const header = (name: string): string | undefined => raw.headers.get(name);
  const body = jsonOf(raw.bodyAsText);
  const model = isRecord(body) ? body : {};
  const sku = isRecord(model['sku']) ? model['sku'] : {};
  const etag = typeof model['etag'] === 'string' ? model['etag'] : header('etag');
  return {
    operationUrl: header('azure-asyncoperation') ?? header('location'),
    retryAfterMs: retryAfterMs(header, nowMs),
    etag,
    capacity: typeof sku['capacity'] === 'number' ? sku['capacity'] : undefined,
  };
}

/** Where a lack of capacity of this set applies. */
export function stockHints(set: ScaleSetRow, zoneOf: (instanceId: string) => string | undefined): ErrorHints {
  const [zone, ...others] = set.zones;
  const only = zone !== undefined && others.length === 0 ? { zone: zoneName(set.location, zone) } : {};
  return { scope: { vmSize: set.vmSize, priority: set.priority, ...only }, zoneOf };
}

/** The zone of one machine of a group, as the last list told. */
export function zoneFinder(store: AzureStore, groupKey: string): (instanceId: string) => string | undefined {
  return (target) => {
    const id = target.slice(target.lastIndexOf('_') + 1);
    for (const { value } of store.instances.scope(groupKey).values()) if (value.instanceId === id) return value.zone;
    return undefined;
  };
}

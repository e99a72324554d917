/**
 * What increases and deletes share: their dependencies, one writer per group, and what is read from the first answer.
 * Must not know Kubernetes, nor why a size changes.
 */
import { Mutex } from 'async-mutex';
import type { PipelineResponse } from '@azure/core-rest-pipeline';
import type { CloudEvent } from '../../domain/observation.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { acceptedOperation, type AcceptedOperation } from '../arm/errors.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { OperationTracker } from '../arm/operations.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { OwnWrites, OwnIncrease } from '../groups/own-writes.ts';
import type { GroupLimits } from '../groups/group-schedules.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { StoppedInstances } from '../groups/stopped-instances.ts';
import type { WriteShares } from '../groups/write-shares.ts';
import { zoneName, type ScaleSetRow } from '../rows/scale-set.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { isRecord } from '../../lib/json.ts';

export interface WriteDeps {
  readonly options: AzureOptions;
  readonly clients: ArmClients;
  readonly calls: ArmCalls;
  readonly inventory: AzureInventory;
  readonly ownWrites: OwnWrites;
  readonly tracker: OperationTracker;
  readonly locks: GroupLocks;
  /** For writes on which no pod waits. */
  readonly shares: Pick<WriteShares, 'request' | 'untilGranted'>;
  /** What is stopped, and what our own starts and stops lay over it. */
  readonly stopped: StoppedInstances;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Why such a write of the group is paused now; undefined: it is not. Asked once more after the waits of a write. */
  readonly pausedBecause: (group: RegisteredGroup, write: 'increase' | 'removal' | 'give-back') => string | undefined;
  /** The limits of the group that hold now, by schedules. Asked once more after the waits of a write. */
  readonly limitsOf: (group: RegisteredGroup) => GroupLimits;
  /** Queues an event for the next observation and wakes the loop. */
  readonly recordEvent: (event: CloudEvent) => void;
  /** An increase ended without all of its instances, or its end was not seen. */
  readonly undoUnfilled: (group: RegisteredGroup, ownIncrease: OwnIncrease) => void;
  /** Aborted when the adapter closes: ends what goes on after an operation has ended. */
  readonly closing: AbortSignal;
}

/** One lock per group. It protects the time from reading a size to Azure's answer, not the operation that follows. */
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

/** The deps of the first answer to a write that matter. */
export interface WriteAnswer extends AcceptedOperation {
  /** From the header or the body. */
  readonly etag: string | undefined;
  readonly capacity: number | undefined;
}

/** The answer had nothing that could be read. */
export const NO_ANSWER: WriteAnswer = { operationUrl: undefined, retryAfterMs: undefined, etag: undefined, capacity: undefined };

/**
 * The last guard, at the request itself and in every mode: no number below the size just read is sent, and none over a size that
 * could not be read. Only the proven give-back of capacity that Azure never filled does without it. @throws AutoscalerError
 */
export function assertNotLower(resource: string, to: number, read: number | undefined): void {
  // guard: no number below the size just read is written
  if (read !== undefined && to >= read) return;
  if (read === undefined)
    throw new AutoscalerError({ kind: 'bug' }, `A write of ${resource} to ${to} was not sent, since its size is unknown.`);
  throw new AutoscalerError({ kind: 'bug' }, `A write of ${resource} from ${read} to ${to} was not sent, since it would remove nodes.`);
}

export function readWriteAnswer(raw: PipelineResponse, nowMs: number): WriteAnswer {
  const header = (name: string): string | undefined => raw.headers.get(name);
  const body = jsonOf(raw.bodyAsText);
  const model = isRecord(body) ? body : {};
  const sku = isRecord(model['sku']) ? model['sku'] : {};
  const etag = typeof model['etag'] === 'string' ? model['etag'] : header('etag');
  return {
    ...acceptedOperation(header, nowMs),
    etag,
    capacity: typeof sku['capacity'] === 'number' ? sku['capacity'] : undefined,
  };
}

/** Where a lack of capacity for this scale set applies. */
export function stockHints(set: ScaleSetRow, zoneOf: (instanceId: string) => string | undefined): ErrorHints {
  const [zone, ...others] = set.zones;
  const only = zone !== undefined && others.length === 0 ? { zone: zoneName(set.location, zone) } : {};
  return { scope: { vmSize: set.vmSize, priority: set.priority, ...only }, zoneOf };
}

/** The zone of an instance of the group, as last listed. */
export function zoneLookup(inventory: AzureInventory, groupKey: string): (instanceId: string) => string | undefined {
  return (target) => {
    const id = target.slice(target.lastIndexOf('_') + 1);
    for (const { value } of inventory.instances.scope(groupKey).values()) if (value.instanceId === id) return value.zone;
    return undefined;
  };
}

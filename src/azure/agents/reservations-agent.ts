/**
 * The caching agent of capacity reservation groups. It exists only while a pool names such a group, and reads those alone. Optional: what is
 * not known leaves the quota as the limit.
 */
import type { CapacityReservation } from '@azure/arm-compute';
import { replacedRows, type CachingAgent } from '../../cache/agents/agent.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import { readPages } from '../arm/pages.ts';
import {
  parseReservationGroupId,
  projectReservations,
  type ReservationGroupRef,
  type ReservationRow,
} from '../rows/capacity-reservation.ts';
import { RESERVATIONS_AGENT } from '../rows/tables.ts';
import { cachingAgent, type AgentDeps } from './agents.ts';

const MINUTE = 60_000;
const INTERVAL_MS = 5 * MINUTE;

/** The result of reading one group. `passes`: the failure says nothing lasting about the group. */
export type ReservationReading =
  | { readonly ok: true; readonly atMs: number; readonly rows: readonly ReservationRow[] }
  | { readonly ok: false; readonly reason: string; readonly passes: boolean };

export interface ReservationsAgentDeps extends AgentDeps {
  /** Folded ARM ids of the groups that pools name. */
  readonly groupIds: () => readonly string[];
  readonly keep: (readings: ReadonlyMap<string, ReservationReading>) => void;
}

export function reservationsAgent(deps: ReservationsAgentDeps): CachingAgent {
  const policy = {
    intervalMs: INTERVAL_MS,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A missing permission does not pass by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: MINUTE,
    requestedRate: undefined,
  };
  const shape = {
    id: RESERVATIONS_AGENT,
    kind: 'capacityReservations',
    order: 2,
    operation: 'getReservationGroup',
    policy,
    optional: true,
  } as const;
  return cachingAgent(shape, async ({ signal }) => {
    const readings = new Map<string, ReservationReading>();
    let error: AutoscalerError | undefined;
    for (const id of deps.groupIds()) {
      const reading = await readGroup(deps, id, signal);
      readings.set(id, 'failure' in reading ? reading.result : reading);
      if ('failure' in reading) error ??= reading.failure;
    }
    const read = [...readings.values()].filter(({ ok }) => ok).length;
    return {
      commit: () => {
        deps.keep(readings);
        return { ...replacedRows(read), rejected: readings.size - read };
      },
      // One group that cannot be read does not slow down the reads of the others.
      error: read > 0 ? undefined : error,
    };
  });
}

type Read = ReservationReading | { readonly result: ReservationReading; readonly failure: AutoscalerError };

async function readGroup(deps: ReservationsAgentDeps, id: string, signal: AbortSignal): Promise<Read> {
  const ref = parseReservationGroupId(id);
  if (ref === undefined) return { ok: false, reason: 'its id has an undocumented form', passes: false };
  if (foldName(ref.subscriptionId) !== foldName(deps.options.subscriptionId))
    return { ok: false, reason: 'it belongs to another subscription, whose reservations are not read', passes: false };
  try {
    return { ok: true, atMs: deps.clock.now(), rows: await readRows(deps, ref, signal) };
  } catch (thrown) {
    const failure = asAutoscalerError(thrown);
    if (failure.kind === 'cancelled') throw failure;
    const passes = failure.kind === 'unavailable' || failure.kind === 'throttled';
    return { result: { ok: false, reason: reasonOf(failure), passes }, failure };
  }
}

/** Short: it is part of the reason why pods wait. The log has the whole message. */
function reasonOf({ kind, message }: AutoscalerError): string {
  if (kind === 'auth') return 'the identity lacks Microsoft.Compute/capacityReservationGroups/read or .../capacityReservations/read on it';
  return kind === 'not-found' ? 'Azure finds no such group' : message;
}

/** @throws AutoscalerError if the group or any page of its reservations cannot be read. */
async function readRows(
  deps: ReservationsAgentDeps,
  { resourceGroup, name }: ReservationGroupRef,
  signal: AbortSignal,
): Promise<readonly ReservationRow[]> {
  const { capacityReservationGroups, capacityReservations } = deps.clients.compute;
  const group = await deps.calls.run({ operation: 'getReservationGroup', resource: name }, signal, () =>
    capacityReservationGroups.get(resourceGroup, name, { expand: 'instanceView' }),
  );
  const { pages, error } = await readPages(deps, {
    call: { operation: 'listReservations', resource: name },
    signal,
    open: () => capacityReservations.listByCapacityReservationGroup(resourceGroup, name).byPage(),
    project: (raw: CapacityReservation) => (raw.name === undefined ? undefined : { key: foldName(raw.name), value: raw, etag: undefined }),
  });
  if (error !== undefined) throw error;
  return projectReservations(
    group,
    pages.flatMap((page) => page.rows.map(({ value }) => value)),
  );
}

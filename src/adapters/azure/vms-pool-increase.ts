/**
 * Raises the count of one size of an agent pool: read, change this one number, write back under the tag that was read. Two
 * sizes share the document, so nothing of it is kept from one write to the next: a failed write for one size cannot
 * reappear in the body of a write for the other.
 */
import { asAutoscalerError, type AutoscalerError } from '../../domain/errors.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { Mutation } from '../../cache/mutation.ts';
import type { IncreaseRequest } from '../../ports/cloud-node-groups.ts';
import { putAgentPool, type PoolAnswer } from './agent-pool-wire.ts';
import { foldName } from './arm-ids.ts';
import { withScope, type ErrorHints } from './arm-errors.ts';
import { endGrowth } from './growth-end.ts';
import { zoneFinder, type WriteParts } from './group-writes.ts';
import type { Registered } from './registry.ts';
import { zoneName } from './rows.ts';
import { isPassing, sizeFrozenBecause } from './vms-pool-groups.ts';
import { poolKeyOf, readVmsPoolJson, withCount, type PoolSizeRow } from './vms-pool-rows.ts';

/** See the port. One writer per pool, not per size; the lock is held until AKS has answered, not while the operation runs. */
export function increaseSize(
  parts: WriteParts,
  group: Registered,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return parts.locks.hold(poolLock(group), signal, async () => {
    const outcome = await attempt(parts, group, request, signal);
    parts.metrics.scaleUp.writes.inc({ node_group: group.id, outcome: outcome.kind });
    if (outcome.kind === 'accepted') parts.metrics.scaleUp.nodes.inc({ node_group: group.id }, request.to - request.from);
    if (outcome.kind === 'conflict') parts.metrics.scaleUp.conflicts.inc({ node_group: group.id });
    return outcome;
  });
}

/** A name that no scale set can have. */
export function poolLock(group: Registered): string {
  return `pool:${poolKeyOf(group.key)}`;
}

async function attempt(parts: WriteParts, group: Registered, request: IncreaseRequest, signal: AbortSignal): Promise<IncreaseOutcome> {
  const { vmsPools } = parts.store;
  if (vmsPools.heldBecause(group.key) !== undefined) {
    // Another size of the pool was quicker. The view says so from now on, and the next plan looks elsewhere.
    return { kind: 'conflict', group: group.id, observed: vmsPools.sizes.view(group.key)?.target };
  }
  try {
    const read = await vmsPools.read(poolKeyOf(group.key), signal);
    const row = vmsPools.sizes.get(group.key)?.value;
    const verdict = judge(parts, group, request);
    if (verdict !== undefined) return verdict;
    const etag = read?.pool.etag;
    if (read === undefined || row === undefined || etag === undefined) {
      return { kind: 'refused', group: group.id, reason: 'AKS told no entity tag of its agent pool, so that a write would be a guess' };
    }
    return await put(parts, group, { request, row, raw: read.raw, etag }, signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

/** The guards, over what was read a moment ago. undefined: write. */
function judge(parts: WriteParts, group: Registered, request: IncreaseRequest): IncreaseOutcome | undefined {
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  const view = parts.store.vmsPools.sizes.view(group.key);
  const row = view?.row.value;
  // Somebody else's operation: what it leaves behind has to be planned from.
  if (row !== undefined && isPassing(row)) return { kind: 'conflict', group: group.id, observed: view?.target };
  const frozen = sizeFrozenBecause(group.id, row, false);
  if (frozen !== undefined) return refused(frozen);
  if (view?.target === undefined) return refused('its size is not known');
  if (!Number.isInteger(request.to) || request.to <= request.from)
    return refused(`an increase from ${request.from} to ${request.to} is none`);
  if (view.target !== request.from) return { kind: 'conflict', group: group.id, observed: view.target };
  if (request.to > group.max) return refused(`${request.to} is above its maximum of ${group.max}`);
  const alive = machinesAlive(parts, group.key);
  if (request.to >= alive) return undefined;
  parts.store.instancesDue(group.key);
  return refused(`${alive} machines are listed in it, a count of ${request.to} would remove some`);
}

function machinesAlive({ store }: WriteParts, key: string): number {
  const rows = [...store.instances.scope(key).values()];
  return rows.filter((row) => row.value.state !== 'deleting' && store.instances.removalOf(row.key) === 'none').length;
}

interface Write {
  readonly request: IncreaseRequest;
  readonly row: PoolSizeRow;
  /** The pool as AKS told it just now. */
  readonly raw: unknown;
  readonly etag: string;
}

async function put(parts: WriteParts, group: Registered, write: Write, signal: AbortSignal): Promise<IncreaseOutcome> {
  const { request, row, raw, etag } = write;
  const { vmsPools } = parts.store;
  const mutation = vmsPools.sizes.beginMutation({ kind: 'set-target', key: group.key, target: request.to });
  try {
    const answer = await putAgentPool(parts, row.pool, { body: withCount(raw, row.vmSize, request.to), etag }, signal);
    const count = countIn(answer, row.vmSize);
    mutation.accepted({ etag: answer.etag, expect: count, modelled: count === request.to });
    parts.store.noteGrowth(group.key);
    vmsPools.operationBegan(group.key);
    follow(parts, group, { write, answer, mutation });
    return { kind: 'accepted', group: group.id, target: vmsPools.sizes.view(group.key)?.target ?? request.to };
  } catch (thrown) {
    const error = withScope(asAutoscalerError(thrown), hintsOf(parts, group, row));
    return refusedOrLost(parts, group, { request, mutation, error }, signal);
  }
}

function countIn({ body }: PoolAnswer, vmSize: string): number | undefined {
  return readVmsPoolJson(body)?.sizes.find((size) => foldName(size.vmSize) === foldName(vmSize))?.count;
}

interface Failed {
  readonly request: IncreaseRequest;
  readonly mutation: Mutation;
  readonly error: AutoscalerError;
}

async function refusedOrLost(
  parts: WriteParts,
  group: Registered,
  { request, mutation, error }: Failed,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const { vmsPools } = parts.store;
  const lost = error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
  mutation.settle(lost ? 'unknown' : 'refused');
  if (error.kind === 'conflict') {
    await refreshQuietly(parts, group, signal);
    return { kind: 'conflict', group: group.id, observed: vmsPools.sizes.view(group.key)?.target };
  }
  if (!lost || error.kind === 'cancelled') return { kind: 'failed', group: group.id, error };
  // The request may have been carried out although its answer was lost: the pool itself says.
  const read = await refreshQuietly(parts, group, signal);
  if (!read || vmsPools.sizes.view(group.key)?.base !== request.to) return { kind: 'failed', group: group.id, error };
  parts.store.noteGrowth(group.key);
  parts.log.warn({ nodeGroup: group.id, target: request.to }, 'the answer to a write of an agent pool was lost, but it took effect');
  return { kind: 'accepted', group: group.id, target: request.to };
}

/** False when the pool could not be read; the row is then known to be stale and the next loop sees it so. */
async function refreshQuietly(parts: WriteParts, group: Registered, signal: AbortSignal): Promise<boolean> {
  try {
    await parts.store.vmsPools.refresh(group.key, signal);
    return true;
  } catch (thrown) {
    parts.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'could not read an agent pool after a write');
    return false;
  }
}

interface Accepted {
  readonly write: Write;
  readonly answer: PoolAnswer;
  readonly mutation: Mutation;
}

function follow(parts: WriteParts, group: Registered, accepted: Accepted): void {
  const { write, answer } = accepted;
  parts.tracker.follow({
    resource: write.row.pool,
    url: answer.operationUrl,
    retryAfterMs: answer.retryAfterMs,
    hints: hintsOf(parts, group, write.row),
    onEnd: (end) => {
      endGrowth(parts, group, { requested: write.request.to - write.request.from, mutation: accepted.mutation }, end);
      void parts.store.vmsPools.operationEnded(group.key, parts.closing);
    },
  });
}

/** Where a lack of capacity of this size applies. */
function hintsOf(parts: WriteParts, group: Registered, row: PoolSizeRow): ErrorHints {
  const pool = parts.store.poolOf(group);
  const [zone, ...others] = pool?.zones ?? [];
  const only = zone !== undefined && others.length === 0 ? { zone: zoneName(parts.options.location, zone) } : {};
  const scope = { vmSize: row.vmSize, priority: pool?.priority ?? ('Regular' as const), ...only };
  return { scope, zoneOf: zoneFinder(parts.store, group.key) };
}

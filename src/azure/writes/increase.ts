/**
 * Raises the capacity of a scale set: a sparse, conditional PUT, after guards that no plan can pass. A capacity write never
 * lowers (but for give-back.ts), and losing a race is a conflict to be planned anew, not a failure.
 */
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { Mutation } from '../../cache/table/mutation.ts';
import type { RowView } from '../../cache/table/row.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { withScope } from '../arm/errors.ts';
import { putCapacity } from './increase-scale-set.ts';
import { endGrowth } from './increase-end.ts';
import { stockHints, zoneFinder, type WriteAnswer, type WriteParts } from './write-context.ts';
import type { Raise } from '../groups/own-writes.ts';
import type { Registered } from '../groups/registry.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';

type View = RowView<ScaleSetRow>;

/** See the port. The lock is held until Azure has answered, not while the operation runs. */
export function increaseCapacity(
  parts: WriteParts,
  group: Registered,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return parts.locks.hold(group.key, signal, async () => {
    const outcome = await attempt(parts, group, request, signal);
    parts.metrics.scaleUp.writes.inc({ node_group: group.id, outcome: outcome.kind });
    if (outcome.kind === 'accepted') parts.metrics.scaleUp.nodes.inc({ node_group: group.id }, request.to - request.from);
    if (outcome.kind === 'conflict') parts.metrics.scaleUp.conflicts.inc({ node_group: group.id });
    return outcome;
  });
}

async function attempt(parts: WriteParts, group: Registered, request: IncreaseRequest, signal: AbortSignal): Promise<IncreaseOutcome> {
  const { store, options } = parts;
  const known = await withTag(parts, group, signal);
  if (known instanceof AutoscalerError) return { kind: 'failed', group: group.id, error: known };
  const verdict = judgeCapacity(parts, group, request, known);
  if (verdict !== undefined) return verdict;
  const held = store.writes.growthHeldBecause(group.key, parts.clock.monotonic());
  if (held !== undefined) return { kind: 'refused', group: group.id, reason: held };
  if (options.enableVmssEtag && known.row.etag === undefined)
    return { kind: 'refused', group: group.id, reason: store.facts.noteUntagged(group) };
  const set = known.row.value;
  const read = known.inFlight === 0 ? known.base : undefined;
  const mutation = store.scaleSets.beginMutation({ kind: 'set-target', key: group.key, target: request.to });
  try {
    const etag = options.enableVmssEtag ? known.row.etag : undefined;
    const answer = await putCapacity(parts, { set, to: request.to, etag }, signal);
    mutation.accepted({ etag: answer.etag, expect: answer.capacity, modelled: answer.capacity === request.to });
    store.changes.noteGrowth(group.key);
    const raise = store.raises.written(group.key, { ...request, ...answer, read, condition: etag });
    follow(parts, group, { request, set, answer, mutation, raise });
    return { kind: 'accepted', group: group.id, target: store.scaleSets.view(group.key)?.target ?? request.to };
  } catch (thrown) {
    return refusedOrLost(
      parts,
      group,
      { request, mutation, error: withScope(asAutoscalerError(thrown), hintsOf(parts, group, set)) },
      signal,
    );
  }
}

/** The row as it is now known; undefined: there is none. */
export function refreshedView({ store }: WriteParts, group: Registered): View | undefined {
  return store.scaleSets.view(group.key);
}

/**
 * The row with a tag to be conditional on; read now when none is known. Where nobody wants conditions it is always read now: a
 * write without one is no guess only for as long as nobody else writes between the two.
 */
async function withTag(parts: WriteParts, group: Registered, signal: AbortSignal): Promise<View | AutoscalerError> {
  const { store, options } = parts;
  const view = store.scaleSets.view(group.key);
  if (view?.row.etag !== undefined && options.enableVmssEtag) return view;
  try {
    await store.refreshSet(group.key, signal);
  } catch (thrown) {
    return asAutoscalerError(thrown);
  }
  return store.scaleSets.view(group.key) ?? new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
}

/** The guards. undefined: write. */
export function judgeCapacity(
  parts: WriteParts,
  group: Registered,
  request: IncreaseRequest,
  view: View | undefined,
): IncreaseOutcome | undefined {
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  const target = view?.target;
  if (view === undefined || target === undefined || view.row.value.unreadable !== undefined) return refused('its size is not known');
  if (!Number.isInteger(request.to) || request.to <= request.from)
    return refused(`an increase from ${request.from} to ${request.to} is none`);
  // The number is what the plan was made from. A newer tag over the same number is the better condition for the write.
  if (target !== request.from) return { kind: 'conflict', group: group.id, observed: target };
  if (request.to > group.max) return refused(`${request.to} is above its maximum of ${group.max}`);
  const { alive, failed } = membersOf(parts, group.key);
  // A capacity below what lives there is a wrong number or an old list, and machines asked for a moment ago are in no list
  // yet: raising such a number may still be lowering the true one, and the tag that came with it is no protection.
  if (request.to < alive + failed || request.from < alive) {
    parts.store.setDue(group.key);
    parts.store.instancesDue(group.key);
    const listed = `${alive + failed} machines are listed in it`;
    return refused(`${listed}, a capacity of ${request.to} over ${request.from} would remove some, or may`);
  }
  return undefined;
}

/** Failed machines may have left the capacity already: a set that rolls back lists them all the same. */
function membersOf({ store }: WriteParts, key: string): { readonly alive: number; readonly failed: number } {
  const staying = [...store.instances.scope(key).values()].filter(
    ({ key: instance, value }) => value.state !== 'deleting' && store.instances.removalOf(instance) === 'none',
  );
  const failed = staying.filter(({ value }) => value.state === 'failed').length;
  return { alive: staying.length - failed, failed };
}

interface Attempt {
  readonly request: IncreaseRequest;
  readonly mutation: Mutation;
  readonly error: AutoscalerError;
}

async function refusedOrLost(parts: WriteParts, group: Registered, failed: Attempt, signal: AbortSignal): Promise<IncreaseOutcome> {
  const { mutation, error, request } = failed;
  const lost = error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
  mutation.settle(lost ? 'unknown' : 'refused');
  if (error.kind === 'conflict') {
    await refreshQuietly(parts, group, signal);
    return { kind: 'conflict', group: group.id, observed: parts.store.scaleSets.view(group.key)?.target };
  }
  if (!lost || error.kind === 'cancelled') return { kind: 'failed', group: group.id, error };
  // The request may have been carried out although its answer was lost: the set itself says.
  const read = await refreshQuietly(parts, group, signal);
  const shown = parts.store.scaleSets.view(group.key);
  if (!read || shown?.base !== request.to) return { kind: 'failed', group: group.id, error };
  parts.store.changes.noteGrowth(group.key);
  parts.log.warn({ nodeGroup: group.id, target: request.to }, 'the answer to a capacity write was lost, but the write took effect');
  return { kind: 'accepted', group: group.id, target: request.to };
}

/** False when the set could not be read; the row is then known to be stale and the next loop sees it so. */
async function refreshQuietly(parts: WriteParts, group: Registered, signal: AbortSignal): Promise<boolean> {
  try {
    await parts.store.refreshSet(group.key, signal);
    return true;
  } catch (thrown) {
    parts.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'could not read a scale set after a write');
    return false;
  }
}

interface Accepted {
  readonly request: IncreaseRequest;
  readonly set: ScaleSetRow;
  readonly answer: WriteAnswer;
  readonly mutation: Mutation;
  /** undefined: it cannot be told what of the capacity is ours. */
  readonly raise: Raise | undefined;
}

function follow(parts: WriteParts, group: Registered, accepted: Accepted): void {
  const { request, mutation, raise } = accepted;
  parts.tracker.follow({
    resource: accepted.set.name,
    url: accepted.answer.operationUrl,
    retryAfterMs: accepted.answer.retryAfterMs,
    hints: hintsOf(parts, group, accepted.set),
    onEnd: (end) => endGrowth(parts, group, { requested: request.to - request.from, mutation, raise }, end),
  });
}

function hintsOf(parts: WriteParts, group: Registered, set: ScaleSetRow) {
  return stockHints(set, zoneFinder(parts.store, group.key));
}

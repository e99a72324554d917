/**
 * Increases for all-or-nothing requests, until their nodes came. If an instance fails, the booking is revoked: the nodes that did come are
 * removed like any unneeded node, and the requester can try again. Half of the room would be reserved in vain. Only this process knows
 * these increases; after a restart the booking lasts for its time. Pure.
 * Idea: increase, buffer and request.
 */
import type { IncreaseRecord } from '../../../domain/loop-report.ts';
import type { FollowedIncrease, LoopState } from '../../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import { inFlight } from './increase-records.ts';
import { increaseId } from './follow-increases.ts';

/** As long as a booking lasts for pods that do not arrive. */
const HELD_MS = 600_000;

/** Notes that the loop made these increases for a request. Earlier ones are no longer for it. */
export function madeForRequest(
  followed: LoopState['followed'],
  uid: string,
  records: readonly IncreaseRecord[],
  loopId: number,
): LoopState['followed'] {
  const own = records.filter(({ increase, outcome }) => outcome.kind === 'accepted' && increase.cause === 'pods');
  if (own.length === 0) return followed;
  const ids = new Set(own.map((record) => increaseId(record, loopId)));
  return followed.map((increase) => {
    if (ids.has(increase.id)) return { ...increase, request: { uid, failure: undefined } };
    return increase.request?.uid === uid ? { ...increase, request: undefined } : increase;
  });
}

/** Forgets the request of increases that came, or whose request is gone, and notes failures. Call it after in-flight increases were updated. */
export function followRequests(
  followed: LoopState['followed'],
  state: Pick<LoopState, 'increases' | 'backoffs'>,
  { cluster, cloud, nowMs }: Observation,
): LoopState['followed'] {
  if (followed.every(({ request }) => request === undefined)) return followed;
  const present = new Set((cluster.capacity?.requests ?? []).map(({ ref }) => ref.uid));
  return followed.map((increase) => {
    const { request, acceptedAtMs } = increase;
    if (request === undefined) return increase;
    if (!present.has(request.uid) || nowMs - acceptedAtMs > HELD_MS) return { ...increase, request: undefined };
    const group = cloud.groups.find(({ id }) => id === increase.group);
    return { ...increase, request: requestAfter(increase, request, group, state) };
  });
}

type Request = NonNullable<FollowedIncrease['request']>;

/** undefined: all of its nodes came. */
function requestAfter(
  { group: id, to, acceptedAtMs }: FollowedIncrease,
  request: Request,
  group: NodeGroup | undefined,
  state: Pick<LoopState, 'increases' | 'backoffs'>,
): Request | undefined {
  if (request.failure !== undefined) return request;
  if (group === undefined) return { ...request, failure: 'its node group no longer exists' };
  const failure = state.backoffs.get(id);
  // Others may increase the group, too. Their failure does not concern this increase while all of its nodes are there.
  if (failure === undefined || failure.lastFailureMs < acceptedAtMs) return inFlight(state, id) !== undefined ? request : undefined;
  // The list may show the failed instance a little later than its operation failed.
  const isShort = group.instances !== undefined && group.instances.filter(isAlive).length < to;
  return isShort ? { ...request, failure: failure.cause } : request;
}

function isAlive({ state }: Instance): boolean {
  return state !== 'failed' && state !== 'deleting';
}

/** Why not all nodes of a request will come. undefined: no failure is known. */
export function failureOfRequest({ followed }: Pick<LoopState, 'followed'>, uid: string): string | undefined {
  return followed.find(({ request }) => request?.uid === uid && request.failure !== undefined)?.request?.failure;
}

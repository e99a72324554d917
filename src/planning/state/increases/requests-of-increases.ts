/**
 * Increases for all-or-nothing requests, until their nodes came. If an instance fails, the booking is revoked: the nodes that did come are
 * removed like any unneeded node, and the requester can try again. Half of the room would be reserved in vain. Only this process knows
 * these increases; after a restart the booking lasts for its time. Pure.
 * Idea: increase, buffer and request.
 */
import type { IncreaseRecord } from '../../../domain/loop-report.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { AcceptedIncrease, FollowedInstances, LoopState } from '../../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import { followedIncreases, inFlight } from './increase-records.ts';
import { increaseId } from './follow-increases.ts';

/** As long as a booking lasts for pods that do not arrive. */
const HELD_MS = 600_000;

/** Notes that the loop made these increases for a request. Earlier ones are no longer for it. */
export function madeForRequest(
  increases: LoopState['increases'],
  uid: string,
  records: readonly IncreaseRecord[],
  loopId: number,
): LoopState['increases'] {
  const own = records.filter(({ increase, outcome }) => outcome.kind === 'accepted' && increase.cause === 'pods');
  if (own.length === 0) return increases;
  const ids = new Set(own.map((record) => increaseId(record, loopId)));
  return withRequests(increases, (_group, { id, request }) => {
    if (ids.has(id)) return { uid, failure: undefined };
    return request?.uid === uid ? undefined : request;
  });
}

/** The increases, each with the request that is returned for it. */
function withRequests(
  increases: LoopState['increases'],
  requestOf: (group: NodeGroupId, followed: FollowedInstances) => FollowedInstances['request'],
): LoopState['increases'] {
  const withRequest = (group: NodeGroupId, record: AcceptedIncrease): AcceptedIncrease => {
    const { followed } = record;
    const request = followed === undefined ? undefined : requestOf(group, followed);
    return followed === undefined || followed.request === request ? record : { ...record, followed: { ...followed, request } };
  };
  return new Map([...increases].map(([group, records]) => [group, records.map((record) => withRequest(group, record))]));
}

/** Forgets the request of increases that came, or whose request is gone, and notes failures. Call it after in-flight increases were updated. */
export function followRequests(
  increases: LoopState['increases'],
  state: Pick<LoopState, 'increases' | 'backoffs'>,
  { cluster, cloud, nowMs }: Observation,
): LoopState['increases'] {
  if (followedIncreases({ increases }).every(({ request }) => request === undefined)) return increases;
  const present = new Set(cluster.capacity.requests.map(({ ref }) => ref.uid));
  return withRequests(increases, (groupId, followed) => {
    const { request, answeredAtMs } = followed;
    if (request === undefined || !present.has(request.uid) || nowMs - answeredAtMs > HELD_MS) return undefined;
    const group = cloud.groups.find((each) => each.id === groupId);
    return requestAfter({ ...followed, groupId, request }, group, state);
  });
}

type Request = NonNullable<FollowedInstances['request']>;

interface RequestedIncrease extends Pick<FollowedInstances, 'to' | 'answeredAtMs'> {
  readonly groupId: NodeGroupId;
  readonly request: Request;
}

/** undefined: all of its nodes came. */
function requestAfter(
  { groupId: id, to, answeredAtMs, request }: RequestedIncrease,
  group: NodeGroup | undefined,
  state: Pick<LoopState, 'increases' | 'backoffs'>,
): Request | undefined {
  if (request.failure !== undefined) return request;
  if (group === undefined) return { ...request, failure: 'its node group no longer exists' };
  const failure = state.backoffs.get(id);
  // Others may increase the group, too. Their failure does not concern this increase while all of its nodes are there.
  if (failure === undefined || failure.lastFailureMs < answeredAtMs) return inFlight(state, id) !== undefined ? request : undefined;
  // The list may show the failed instance a little later than its operation failed.
  const isShort = group.instances !== undefined && group.instances.filter(isAlive).length < to;
  return isShort ? { ...request, failure: failure.cause } : request;
}

function isAlive({ state }: Instance): boolean {
  return state !== 'failed' && state !== 'deleting';
}

/** Why not all nodes of a request will come. undefined: no failure is known. */
export function failureOfRequest(state: Pick<LoopState, 'increases'>, uid: string): string | undefined {
  return followedIncreases(state).find(({ request }) => request?.uid === uid && request.failure !== undefined)?.request?.failure;
}

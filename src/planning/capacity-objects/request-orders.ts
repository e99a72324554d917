/**
 * Increases for all-or-nothing requests, until their nodes came. If an instance fails, the booking is revoked: the nodes that did come are
 * removed like any unneeded node, and the requester can try again. Half of the room would be reserved in vain. Only this process knows
 * these increases; after a restart the booking lasts for its time. Pure.
 */
import type { LoopState, RequestIncrease } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Increase } from '../../domain/plan.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';

/** As long as a booking lasts for pods that do not arrive. */
const HELD_MS = 600_000;

/** Records the sizes that groups got for a request at `nowMs`. */
export function recordRequestIncreases(
  state: LoopState,
  uid: string,
  increases: readonly { readonly increase: Increase; readonly outcome: IncreaseOutcome }[],
  nowMs: number,
): LoopState {
  const orders = increases.flatMap(({ increase, outcome }): readonly RequestIncrease[] =>
    outcome.kind === 'accepted' && increase.cause === 'pods'
      ? [{ group: increase.group, to: outcome.target, atMs: nowMs, failed: undefined }]
      : [],
  );
  const { requests } = state;
  if (orders.length === 0) return state;
  return { ...state, requests: { ...requests, orders: new Map([...requests.orders, [uid, orders]]) } };
}

/** Drops increases that came or whose request is gone, and records failures. Returns the same state if nothing changes. */
export function trackRequestIncreases(state: LoopState, { cluster, cloud, nowMs }: Observation): LoopState {
  const { requests } = state;
  if (requests.orders.size === 0) return state;
  const asked = new Set((cluster.capacity?.requests ?? []).map(({ ref }) => ref.uid));
  const groups = new Map(cloud.groups.map((group) => [group.id, group]));
  const orders = [...requests.orders].flatMap(([uid, parts]) => {
    const young = asked.has(uid) ? parts.filter(({ atMs }) => nowMs - atMs <= HELD_MS) : [];
    const open = young.flatMap((part) => updateRequestIncrease(part, groups.get(part.group), state) ?? []);
    return open.length === 0 ? [] : [[uid, open] as const];
  });
  return { ...state, requests: { ...requests, orders: new Map(orders) } };
}

/** undefined: all of its nodes came. */
function updateRequestIncrease(
  order: RequestIncrease,
  group: NodeGroup | undefined,
  { increases, backoffs }: LoopState,
): RequestIncrease | undefined {
  if (order.failed !== undefined) return order;
  if (group === undefined) return { ...order, failed: 'its node group no longer exists' };
  const failure = backoffs.get(order.group);
  const alive = (group.instances ?? []).filter(isAlive).length;
  // Others may increase the group, too. Their failure does not concern this increase while all of its nodes are there.
  if (failure === undefined || failure.lastFailureMs < order.atMs) return increases.has(order.group) ? order : undefined;
  // The list may show the failed instance a little later than its operation failed.
  return group.instances !== undefined && alive < order.to ? { ...order, failed: failure.cause } : order;
}

function isAlive({ state }: Instance): boolean {
  return state !== 'failed' && state !== 'deleting';
}

/** Why not all nodes of a request will come. undefined: no failure is known. */
export function failedRequestIncrease({ requests }: LoopState, uid: string): string | undefined {
  return requests.orders.get(uid)?.find(({ failed }) => failed !== undefined)?.failed;
}

/**
 * What was ordered for requests of which all is wanted or nothing, until it came. Where a machine of it fails the room is
 * revoked, so that what did come is let go as any unneeded node, and whoever asked can ask again: half of it would be held for
 * nobody. Known to this process alone: after a restart the room is held for its time. Pure.
 */
import type { LoopState, RequestIncrease } from '../../domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Increase } from '../../domain/plan.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';

/** As long as the room of a request is held for pods that do not come. */
const HELD_MS = 600_000;

/** Remembers the sizes that groups were given for a request at `nowMs`. */
export function recordRequestIncreases(
  state: LoopState,
  uid: string,
  increases: readonly { readonly increase: Increase; readonly outcome: IncreaseOutcome }[],
  nowMs: number,
): LoopState {
  const orders = increases.flatMap(({ increase, outcome }): readonly RequestIncrease[] =>
    outcome.kind === 'accepted' && increase.cause === 'pods' ? [{ group: increase.group, to: outcome.target, atMs: nowMs }] : [],
  );
  const { requests } = state;
  if (orders.length === 0 || requests === undefined) return state;
  return { ...state, requests: { ...requests, orders: new Map([...(requests.orders ?? []), [uid, orders]]) } };
}

/** Forgets what came and what nobody asks for any more, and notes what failed. The same state when there is nothing to note. */
export function trackRequestIncreases(state: LoopState, { cluster, cloud, nowMs }: Observation): LoopState {
  const { requests } = state;
  if (requests?.orders === undefined) return state;
  const asked = new Set((cluster.capacity?.requests ?? []).map(({ ref }) => ref.uid));
  const groups = new Map(cloud.groups.map((group) => [group.id, group]));
  const orders = [...requests.orders].flatMap(([uid, parts]) => {
    const young = asked.has(uid) ? parts.filter(({ atMs }) => nowMs - atMs <= HELD_MS) : [];
    const open = young.flatMap((part) => updateRequestIncrease(part, groups.get(part.group), state) ?? []);
    return open.length === 0 ? [] : [[uid, open] as const];
  });
  const { orders: _before, ...rest } = requests;
  return { ...state, requests: orders.length === 0 ? rest : { ...rest, orders: new Map(orders) } };
}

/** undefined: all of it came. */
function updateRequestIncrease(
  order: RequestIncrease,
  group: NodeGroup | undefined,
  { increases, backoffs }: LoopState,
): RequestIncrease | undefined {
  if (order.failed !== undefined) return order;
  if (group === undefined) return { ...order, failed: 'its node group no longer exists' };
  const failure = backoffs.get(order.group);
  const alive = (group.instances ?? []).filter(isAlive).length;
  // Others may grow the group as well: their failure is none of this order while all that it asked for is there.
  if (failure === undefined || failure.lastFailureMs < order.atMs) return increases.has(order.group) ? order : undefined;
  // A list may show the machine that failed a little later than its operation did.
  return group.instances !== undefined && alive < order.to ? { ...order, failed: failure.cause } : order;
}

function isAlive({ state }: Instance): boolean {
  return state !== 'failed' && state !== 'deleting';
}

/** Why not all of a request's nodes will come; undefined: nothing says so. */
export function failedRequestIncrease({ requests }: LoopState, uid: string): string | undefined {
  return requests?.orders?.get(uid)?.find(({ failed }) => failed !== undefined)?.failed;
}

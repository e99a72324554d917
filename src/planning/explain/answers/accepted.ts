/** Increases that Azure accepted and that the loop still remembers, with how far their nodes have come. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { AcceptedIncrease, LoopState } from '../../../domain/loop-state.ts';
import { defined } from '../../../lib/defined.ts';
import { inFlight, ownByGroup, ownIncreases } from '../../state/increases/increase-records.ts';
import { isoTime } from '../../../lib/duration.ts';

export interface RememberedIncrease {
  readonly group: string;
  readonly nodes: number;
  readonly acceptedAt: string;
  /** `joined`: all its nodes registered. `ready`: they take pods. */
  readonly stage: 'accepted' | 'joined' | 'ready';
  /** Since when it is at that stage. */
  readonly since: string;
  /** Until when its nodes must have joined. Absent once they have. */
  readonly expectedBy?: string;
  /** Pods that it was made for and that are still pending. */
  readonly pendingPods: number;
}

export function increasesForPod(uid: string, state: LoopState): readonly RememberedIncrease[] {
  return [...ownByGroup(state)].flatMap(([group, increases]) =>
    increases
      .filter(({ pods }) => pods.some(({ uids }) => uids?.includes(uid) === true))
      .map((increase) => remembered(group, increase, state)),
  );
}

export function increasesOfGroup(group: NodeGroupId, state: LoopState): readonly RememberedIncrease[] {
  return ownIncreases(state, group).map((increase) => remembered(group, increase, state));
}

function remembered(group: NodeGroupId, increase: AcceptedIncrease, state: LoopState): RememberedIncrease {
  const { nodes, acceptedAtMs, joinedAtMs, readyAtMs, pods } = increase;
  const stage = readyAtMs !== undefined ? 'ready' : joinedAtMs !== undefined ? 'joined' : 'accepted';
  const expectedByMs = stage === 'accepted' ? inFlight(state, group)?.expectedByMs : undefined;
  return {
    group,
    nodes,
    acceptedAt: isoTime(acceptedAtMs),
    stage,
    since: isoTime(readyAtMs ?? joinedAtMs ?? acceptedAtMs),
    pendingPods: pods.reduce((sum, { count }) => sum + count, 0),
    ...defined({ expectedBy: expectedByMs === undefined ? undefined : isoTime(expectedByMs) }),
  };
}

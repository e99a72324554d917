/** Reports of loops, as observers get them. */
import type { IncreaseRecord, LoopReport } from '../../../src/domain/loop-report.ts';
import type { Instance, NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { CloudEvent } from '../../../src/domain/observation.ts';
import type { IncreaseOutcome, RemovalOutcome } from '../../../src/domain/outcome.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { emptyLoopState } from '../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport, aScaleDownPlan, aScaleUpPlan } from '../../support/loop-report.ts';

export interface Look {
  readonly afterMs?: number;
  readonly group?: Partial<NodeGroup>;
  readonly target?: number;
  readonly instances?: readonly Instance[];
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly records?: readonly IncreaseRecord[];
  readonly plan?: Partial<ScaleUpPlan>;
  readonly events?: readonly CloudEvent[];
  readonly removed?: readonly RemovalOutcome[];
  readonly answered?: LoopReport['answered'];
  readonly scaleDown?: Partial<ScaleDownPlan>;
  readonly state?: Partial<LoopReport['state']>;
}

export const GROUP = aGroup({ id: 'a' }).id;

/** One group named `a`, seen by one loop. */
export function aReport(look: Look = {}): LoopReport {
  const { afterMs = 0, target = 1, instances = [], nodes = [], pods = [], records = [], events = [], removed = [], answered = [] } = look;
  const nowMs = START_MS + afterMs;
  const { id: _id, target: _target, template: _template, ...change } = look.group ?? {};
  const seen = anObservation([aGroup({ id: 'a', target, instances, ...change })], aCluster({ nodes, pods }), { nowMs, loopId: 7 });
  const increases = records.map(({ increase }) => increase);
  return aLoopReport({
    loopId: 7,
    startedAtMs: nowMs,
    observation: { ...seen, cloud: { ...seen.cloud, events } },
    rounds: [{ plan: aScaleUpPlan({ increases, ...look.plan }), increases: records }],
    scaleDown: look.scaleDown === undefined ? undefined : aScaleDownPlan(look.scaleDown),
    answered,
    removed,
    state: { ...emptyLoopState(nowMs), ...look.state },
  });
}

/** An increase of the group from 1 to 2. */
export function aRecord(pods: readonly Pod[], afterMs = 0, outcome?: IncreaseOutcome): IncreaseRecord {
  return {
    increase: { group: GROUP, from: 1, to: 2, version: '"1"', pods, cause: 'pods' },
    outcome: outcome ?? { kind: 'accepted', group: GROUP, target: 2 },
    atMs: START_MS + afterMs,
  };
}

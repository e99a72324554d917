/** How fast a look is at pods whose nodes are on their way: 5,000 pods of 1,000 shapes, beside 2,000 full nodes. */
import type { LoopState } from '../src/domain/loop-state.ts';
import type { Observation } from '../src/domain/observation.ts';
import type { Pod } from '../src/domain/pod.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { reduceIncrease, reduceObservation } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import {
  aCloud,
  aCluster,
  aGroup,
  aNode,
  anObservation,
  aPod,
  aShape,
  aTemplate,
  resourceNames,
  START_MS,
} from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import type { BenchRow } from './row.ts';
import { aState } from '../test/support/state.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { storedForm, withDefaults } from '../src/planning/state/stored-state.ts';

const policy = aPolicy({ scaleUp: { enforceMinSize: false } });
const NODES = Array.from({ length: 2_000 }, (_, index) => aNode({ name: `node-${index}`, cpu: '10m' }));

type Measure = (name: string, run: () => string) => BenchRow;

export function secondLookRows(measure: Measure): readonly BenchRow[] {
  const pods = pendingPods();
  const first = observationOf(0, pods, 0);
  const seen = reduceObservation(aState(), first, policy);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const plan = (observation: Observation, state: LoopState) => {
    snapshot.sync(observation.cluster);
    return planScaleUp({ ...FIRST_PLAN, observation, state, policy, names: resourceNames, snapshot });
  };
  const [increase] = plan(first, seen).increases;
  if (increase === undefined) throw new Error('the first look requests no node');
  const outcome = { kind: 'accepted', group: increase.group, target: increase.to } as const;
  const asked = reduceIncrease(seen, { increase, outcome, group: undefined, followed: undefined }, START_MS + 1_000, policy);
  const second = observationOf(increase.to, pods, 10_000);
  const remembered = reduceObservation(asked, second, policy);
  const { accepted: _ours, ...others } = storedForm(remembered, START_MS);
  const forgotten = withDefaults(others, START_MS);
  const late = observationOf(increase.to, [...pods, aPod({ cpu: '2' })], 10_000);
  return [
    measure('plan: 5,000 pods of 1,000 shapes, 2,000 full nodes', () => plan(first, seen).summary),
    measure('a second look at them', () => plan(second, remembered).summary),
    measure('the same, with one pod that came later', () => plan(late, remembered).summary),
    measure('the same, by a process that remembers no increase', () => plan(late, forgotten).summary),
  ];
}

function pendingPods(): readonly Pod[] {
  const shapes = Array.from({ length: 1_000 }, (_, index) =>
    aShape({ cpu: `${100 + index}m`, memory: `${128 + ((index * 7) % 900)}Mi`, labels: { app: `app-${index}` } }),
  );
  return shapes.flatMap((shape) => Array.from({ length: 5 }, () => aPod({ shape })));
}

function observationOf(target: number, pods: readonly Pod[], afterMs: number): Observation {
  const cluster = aCluster({ nodes: NODES, pods });
  const groups = [{ ...aGroup({ id: 'a', target, maxSize: 5_000, template: aTemplate({ cpu: '7800m', memory: '28Gi' }) }), instances: [] }];
  return anObservation(groups, cluster, { nowMs: START_MS + afterMs, cloud: aCloud(groups, cluster) });
}

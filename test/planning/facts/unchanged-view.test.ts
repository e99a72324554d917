import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { reduceObservation, reduceScaleDownPlan } from '../../../src/planning/state/loop-state.ts';
import { countNodes } from '../../../src/planning/state/node-counts.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, aPod, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const NODES = 40;

/** Everything of a loop that is neither I/O nor told to anybody. */
function loop(observation: Observation, state: LoopState, policy: Policy) {
  const reduced = reduceObservation(state, observation, policy);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const input = { ...FIRST_PLAN, observation, state: reduced, policy, names: resourceNames, snapshot };
  const scaleUp = planScaleUp(input);
  const scaleDown = planScaleDown({ ...REMOVALS_ALONE, ...input, scaleUpPlanned: false });
  return { scaleUp, scaleDown, counts: countNodes(input), state: reduceScaleDownPlan(reduced, scaleDown, observation) };
}

const taint = (ageMs: number) => [{ key: TO_BE_DELETED_TAINT, value: String((START_MS - ageMs) / 1000), effect: 'NoSchedule' as const }];

/** Used and unused nodes, and one of each kind that is neither. */
function oddCluster(): Observation {
  const used = Array.from({ length: NODES }, (_, index) => aNode({ name: `p-${index}`, createdAtMs: START_MS - 60 * MINUTE }));
  const odd: readonly Node[] = [
    aNode({ name: 'p-0', readiness: { ready: false, sinceMs: START_MS, reason: 'KubeletNotReady' }, createdAtMs: START_MS - 10 * MINUTE }),
    { ...aNode({ name: 'p-1', createdAtMs: START_MS - 60 * MINUTE }), taints: taint(MINUTE) },
    { ...aNode({ name: 'p-2', createdAtMs: START_MS - 60 * MINUTE }), deletionAtMs: START_MS },
    {
      ...aNode({ name: 'p-3', createdAtMs: START_MS - 60 * MINUTE }),
      preemption: { noticedAtMs: START_MS, deadlineMs: START_MS + MINUTE, notice: 'Preempt' },
    },
    { ...aNode({ name: 'p-4', createdAtMs: START_MS - 60 * MINUTE }), suspended: true as const },
    aNode({ name: 'p-5', unschedulable: true, createdAtMs: START_MS - 60 * MINUTE }),
    aNode({ name: 'p-6', createdAtMs: START_MS }),
  ];
  const nodes = [...odd, ...used.slice(odd.length)];
  const pods = nodes
    .slice(0, NODES - 5)
    .map(({ name }, index) =>
      aPod({ name: `pod-${index}`, nodeName: name, cpu: '3', ...(index === 9 ? { deletionAtMs: START_MS + MINUTE } : {}) }),
    );
  const instances = nodes.map(({ name }, index) => anInstance({ node: name, ...(index === 10 ? { state: 'deleting' as const } : {}) }));
  const more = [anInstance({ node: 'p-new', state: 'creating' }), anInstance({ node: 'p-bad', state: 'failed' })];
  const group = aGroup({ id: 'p', target: NODES + 1, maxSize: 100, instances: [...instances, ...more] });
  return anObservation([group], aCluster({ nodes, pods }));
}

describe('a view that has not changed since the last loop', () => {
  const policy = aPolicy({ scaleDown: { utilizationThreshold: 0.5 } });
  const strict = aPolicy({ scaleDown: { utilizationThreshold: 0.9 } });

  it.each([
    { name: 'a second later', laterMs: 1_000, rules: policy },
    { name: 'after the deadlines', laterMs: 7 * MINUTE, rules: policy },
    { name: 'when what started has had its time', laterMs: 20 * MINUTE, rules: policy },
    { name: 'with other rules', laterMs: 1_000, rules: strict },
  ])('gives the same plans as a copy of it: $name', ({ laterMs, rules }) => {
    const first = oddCluster();
    const { state } = loop(first, aState(), policy);
    const later = { ...first, nowMs: START_MS + laterMs };

    expect(loop(later, state, rules)).toEqual(loop(structuredClone(later), state, rules));
  });

  it('is not walked again, whatever its size', () => {
    const { cluster, cloud, ...rest } = oddCluster();
    const nodes = new CountedMap([...cluster.nodes].slice(11));
    const groupOfNode = new CountedMap([...cloud.groupOfNode].filter(([name]) => nodes.has(name)));
    const instanceOfNode = new CountedMap([...cloud.instanceOfNode].filter(([name]) => nodes.has(name)));
    const [group] = cloud.groups;
    const members = (group?.instances ?? []).filter(({ instanceId }) => nodes.has(instanceId));
    const groups = cloud.groups.map((each) => ({ ...each, instances: members, target: { ...each.target, value: members.length } }));
    const observation: Observation = { ...rest, cluster: { ...cluster, nodes }, cloud: { ...cloud, groups, groupOfNode, instanceOfNode } };
    const { state } = loop(observation, aState(), policy);
    const walks = () => nodes.walks + groupOfNode.walks + instanceOfNode.walks;
    const before = walks();

    loop({ ...observation, nowMs: START_MS + 10_000 }, state, policy);

    // The set of nodes that take pods is made for each plan, and a new snapshot loads each node and looks for nodes that are gone.
    expect(walks() - before).toBeLessThanOrEqual(4);
  });
});

class CountedMap<Value> extends Map<string, Value> {
  walks = 0;

  override keys() {
    this.walks += 1;
    return super.keys();
  }

  override values() {
    this.walks += 1;
    return super.values();
  }

  override entries() {
    this.walks += 1;
    return super.entries();
  }

  override [Symbol.iterator]() {
    this.walks += 1;
    return super[Symbol.iterator]();
  }
}

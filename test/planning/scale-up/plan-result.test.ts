import { describe, expect, it } from 'vitest';
import type { PodAffinityTerm, TopologySpreadConstraint } from '../../../src/domain/pod.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { FitReason } from '../../../src/domain/reasons.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import type { Node } from '../../../src/domain/node.ts';
import { explainFit } from '../../../src/planning/explain/obstacles.ts';
import { explainRefusal } from '../../../src/planning/explain/refusals.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, aTemplate, resourceNames } from '../../support/builders.ts';
import { aPolicy } from './world.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { aState } from '../../support/state.ts';

const ZONE = 'topology.kubernetes.io/zone';
const labels = { app: 'web' };
const selector = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;
const spread: TopologySpreadConstraint = {
  topologyKey: ZONE,
  maxSkew: 1,
  minDomains: 1,
  selector,
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
};
const apart: PodAffinityTerm = { topologyKey: ZONE, selector, namespaces: [], namespaceSelector: undefined };

/** One pod waits; the only group that may grow is in zone 1, where two like it run. Zone 2 has none and no room. */
function refusal(shape: {
  readonly topologySpread?: readonly TopologySpreadConstraint[];
  readonly podAntiAffinity?: readonly PodAffinityTerm[];
}) {
  const nodes = ['1', '2'].map((zone) => aNode({ name: `n-${zone}`, cpu: '1', labels: { [ZONE]: `we-${zone}` } }));
  const residents = ['a', 'b'].map((name) => aPod({ name, nodeName: 'n-1', shape: { cpu: '100m', labels } }));
  const waiting = aPod({ name: 'p', shape: { cpu: '3', labels, ...shape } });
  const group = aGroup({ id: 'one', target: 0, template: aTemplate({ labels: { [ZONE]: 'we-1' } }) });
  const observation = anObservation([group], aCluster({ nodes, pods: [...residents, waiting] }));
  const plan = planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy: aPolicy(), names: resourceNames });
  const verdict = plan.verdicts.get(waiting);
  return verdict?.kind === 'helpless' ? verdict.byGroup[0]?.fit : verdict;
}

describe('a refusal by other pods on a new node', () => {
  it('of spread says the skew, the pods there, and the emptiest domain with its pods', () => {
    expect(refusal({ topologySpread: [spread] })).toEqual([
      { kind: 'topology-spread', topologyKey: ZONE, detail: 'skew 3 > 1: 2 pods in we-1, 0 in the emptiest of 2 domains, "we-2"' },
    ]);
  });

  it('of a label that new nodes lack names the label', () => {
    const fit = refusal({ topologySpread: [{ ...spread, topologyKey: 'rack' }] });
    expect(fit).toEqual([{ kind: 'topology-spread', topologyKey: 'rack', detail: 'missing required label' }]);
    expect(explainRefusal({ group: nodeGroupId('one'), fit: fit as readonly FitReason[] }, undefined).detail).toBe(
      "node(s) didn't match pod topology spread constraints (missing required label): rack",
    );
  });

  it('of too few domains says how many there would have to be', () => {
    expect(refusal({ topologySpread: [{ ...spread, minDomains: 4 }] })).toMatchObject([
      { detail: 'skew 3 > 1: 2 pods in we-1, 0 in the emptiest of 2 domains, counted as 0 below 4' },
    ]);
  });

  it('of anti-affinity says how many pods repel it', () => {
    expect(refusal({ podAntiAffinity: [apart] })).toEqual([
      { kind: 'pod-affinity', rule: 'anti-affinity', topologyKey: ZONE, detail: '2 matching pods are there' },
    ]);
  });
});

describe('the refusal of a pod names every obstacle', () => {
  const taints = [{ key: 'gpu', value: '', effect: 'NoSchedule' }] as const;
  const fitOf = (shape: Parameters<typeof aShape>[0], template: ReturnType<typeof aTemplate>, nodes: readonly Node[] = []) => {
    const residents = nodes.map(({ name }) => aPod({ nodeName: name, shape: { cpu: '100m', labels } }));
    const pod = aPod({ shape: aShape({ labels, ...shape }) });
    const observation = anObservation([aGroup({ id: 'one', target: 0, template })], aCluster({ nodes, pods: [...residents, pod] }));
    const verdict = planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy: aPolicy(), names: resourceNames }).verdicts.get(pod);
    return verdict?.kind === 'helpless' ? verdict.byGroup[0]?.fit?.map(explainFit) : verdict?.kind;
  };

  it('of the node: taints, labels and resources together', () => {
    const template = aTemplate({ cpu: '8', memory: '16Gi', taints, labels: { size: 's' } });
    expect(fitOf({ cpu: '40', memory: '64Gi', nodeSelector: { size: 'l', disk: 'ssd' } }, template)).toEqual([
      'taint gpu:NoSchedule is not tolerated',
      'needs the label size=l, the node has size=s',
      'needs the label disk=ssd, the node does not have it',
      'needs 40 CPU, the node offers 8',
      'needs 64 GiB memory, the node offers 16',
    ]);
  });

  it('in the zone that suits it best, so that another zone of the pool is no obstacle', () => {
    const nodeAffinity = [{ expressions: [{ key: ZONE, operator: 'In', values: ['we-2'] }], fields: [] }] as const;
    const template = aTemplate({ cpu: '8', zones: ['we-1', 'we-2'] });
    expect(fitOf({ cpu: '1', nodeAffinity, nodeSelector: { disk: 'ssd' } }, template)).toEqual([
      'needs the label disk=ssd, the node does not have it',
    ]);
  });

  it('of other pods, beside what the node lacks', () => {
    const nodes = [
      aNode({ name: 'n-1', cpu: '1', labels: { [ZONE]: 'we-1' } }),
      aNode({ name: 'n-2', cpu: '1', labels: { [ZONE]: 'we-1' } }),
    ];
    const template = aTemplate({ cpu: '2', labels: { [ZONE]: 'we-1' } });
    expect(fitOf({ cpu: '3', podAntiAffinity: [apart] }, template, nodes)).toEqual([
      'needs 3 CPU, the node offers 2',
      "node(s) didn't match pod anti-affinity rules: 2 matching pods are there",
    ]);
  });

  it('but no rule about other pods on a node that its labels exclude', () => {
    const nodes = [aNode({ name: 'n-1', cpu: '1', labels: { [ZONE]: 'we-1' } })];
    const template = aTemplate({ cpu: '2', labels: { [ZONE]: 'we-1' } });
    expect(fitOf({ cpu: '1', nodeSelector: { disk: 'ssd' }, podAntiAffinity: [apart] }, template, nodes)).toEqual([
      'needs the label disk=ssd, the node does not have it',
    ]);
  });
});

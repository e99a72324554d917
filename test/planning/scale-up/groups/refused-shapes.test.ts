/** Pods that no new node could hold take no time of those that one could. */
import { describe, expect, it } from 'vitest';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aGroup, aPod, aTemplate, resourceNames } from '../../../support/builders.ts';
import { growth, inputFor, planFor, verdictOf } from '../world.ts';

const groups = ['a', 'b'].map((id) => aGroup({ id, target: 0, maxSize: 1, template: aTemplate({ labels: { pool: id } }) }));
const web = aPod({ name: 'web', cpu: '3' });
const noise = [
  aPod({ name: 'label', shape: { priority: 9, nodeSelector: { pool: 'c' } } }),
  aPod({ name: 'size', shape: { priority: 9, cpu: '100' } }),
];
/** Nodes would be planned one by one as long as it is to be served. */
const apart = aPod({
  name: 'apart',
  shape: {
    labels: { app: 'apart' },
    nodeSelector: { pool: 'c' },
    podAntiAffinity: [
      {
        topologyKey: 'kubernetes.io/hostname',
        selector: { requirements: [{ key: 'app', operator: 'In', values: ['apart'] }] },
        namespaces: ['default'],
        namespaceSelector: undefined,
      },
    ],
  },
});

describe('pods that no new node could hold', () => {
  it('are part of no estimate', () => {
    const packed = (pods: readonly (typeof web)[]) => {
      const input = inputFor({ groups, pods });
      const snapshot = new ClusterSnapshot({ names: resourceNames });
      snapshot.sync(input.observation.cluster);
      planScaleUp({ ...input, snapshot });
      return snapshot.operations;
    };
    const webs = [web, aPod({ name: 'web-2', cpu: '3' })];
    expect(packed([...webs, ...noise, apart])).toEqual(packed(webs));
  });

  it('are explained as before, and cause no second plan, whatever their priority', () => {
    const plan = planFor({ groups, pods: [web, ...noise] });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(plan.retried).toBe(0);
    expect(noise.map((pod) => verdictOf(plan, pod))).toMatchObject([
      { kind: 'helpless', byGroup: [{ fit: [{ kind: 'node-selector-mismatch' }] }, { fit: [{ kind: 'node-selector-mismatch' }] }] },
      { kind: 'helpless', byGroup: [{ fit: [{ kind: 'insufficient-resource' }] }, { fit: [{ kind: 'insufficient-resource' }] }] },
    ]);
  });

  it('are tried once a template changes', () => {
    const input = inputFor({ groups, pods: noise });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(input.observation.cluster);
    expect(planScaleUp({ ...input, snapshot }).increases).toEqual([]);
    const third = aGroup({ id: 'c', target: 0, template: aTemplate({ cpu: '200', labels: { pool: 'c' } }) });
    const { observation } = inputFor({ groups: [...groups, third], pods: noise });
    expect(growth(planScaleUp({ ...input, observation, snapshot }))).toEqual(['c 0->1']);
  });
});

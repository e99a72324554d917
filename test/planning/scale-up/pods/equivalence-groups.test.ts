import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LabelSelector } from '../../../../src/domain/labels.ts';
import type { ScaleUpPlan } from '../../../../src/domain/plan.ts';
import type { Pod, PodAffinityTerm, PodShape } from '../../../../src/domain/pod.ts';
import type { PodJson } from '../../../../src/kubernetes/api/core-json.ts';
import { createPodProjection, projectPod } from '../../../../src/kubernetes/projection/pod.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { groupPods } from '../../../../src/planning/scale-up/pods/equivalence-groups.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aPod, aShape, resourceNames } from '../../../support/builders.ts';
import { anyBurst } from '../random-burst.ts';
import { planFor } from '../world.ts';

const selecting = (key: string, value: string): LabelSelector => ({ requirements: [{ key, operator: 'In', values: [value] }] });
const APART: PodAffinityTerm = {
  topologyKey: 'kubernetes.io/hostname',
  selector: selecting('app', 'db'),
  namespaces: [],
  namespaceSelector: undefined,
};
const SPREAD = {
  topologyKey: 'topology.kubernetes.io/zone',
  maxSkew: 1,
  minDomains: 1,
  selector: selecting('app', 'db'),
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
} as const;

/** `beside` are pods of DaemonSets. */
function classesOf(pods: readonly Pod[], beside: readonly PodShape[] = []) {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(aCluster());
  return finishAtOnce(
    snapshot.interdependentShapes(
      pods.map(({ shape }) => shape),
      beside,
    ),
  );
}

const sizes = (pods: readonly ReturnType<typeof aPod>[]) => groupPods(pods, new Map()).map((group) => group.pods.length);
const projected = (part: (at: number) => PodJson['spec'], count = 100) => {
  const shared = createPodProjection(resourceNames);
  return Array.from({ length: count }, (_, at) =>
    projectPod(
      {
        metadata: {
          name: `web-${at}`,
          namespace: 'shop',
          uid: `uid-${at}`,
          ownerReferences: [{ kind: 'ReplicaSet', uid: 'rs', controller: true }],
        },
        spec: { containers: [{ name: 'app', resources: { requests: { cpu: '500m' } } }], ...part(at) },
      },
      shared,
    ),
  );
};

describe('pods that are interchangeable', () => {
  it.each<[string, (at: number) => PodJson['spec']]>([
    ['equal in every word', () => ({})],
    ['each with a token volume of its own', (at) => ({ volumes: [{ name: `kube-api-access-${at}`, projected: {} }] })],
    ['each with a host name of its own', (at) => ({ hostname: `web-${at}` }) as PodJson['spec']],
    [
      'each with an environment of its own',
      (at) => {
        const container = { name: 'app', env: [{ name: 'N', value: `${at}` }], resources: { requests: { cpu: '500m' } } };
        return { containers: [container] };
      },
    ],
  ])('a hundred pods of one controller, %s, are one group', (_, part) => {
    expect(sizes(projected(part))).toEqual([100]);
  });

  it('a controller makes no difference to where pods fit: equal bare pods are one group', () => {
    expect(sizes([aPod({ controller: undefined }), aPod({ controller: undefined }), aPod()])).toEqual([3]);
    expect(sizes([aPod({ controller: undefined }), aPod({ controller: undefined, cpu: '2' })])).toEqual([1, 1]);
  });

  it('however many variants one controller has, each is a group that later pods of its kind join', () => {
    const variants = Array.from({ length: 12 }, (_, at) => `${100 + at}m`);
    expect(sizes([...variants, ...variants].map((cpu) => aPod({ cpu })))).toEqual(Array.from({ length: 12 }, () => 2));
  });

  it('pods whose places depend on each other differ by what others see of them, and not by their priority', () => {
    const host: PodAffinityTerm = {
      topologyKey: 'kubernetes.io/hostname',
      selector: { requirements: [{ key: 'app', operator: 'In', values: ['a'] }] },
      namespaces: ['default'],
      namespaceSelector: undefined,
    };
    const apart = (part: object) => aPod({ shape: { podAntiAffinity: [host], labels: { app: 'a' }, ...part } });
    const pods = [apart({ priority: 1 }), apart({ priority: 5 }), apart({ labels: { app: 'b' } }), apart({ podAntiAffinity: [] })];
    const groups = groupPods(pods, classesOf(pods));
    expect(groups.map((group) => group.pods.length).toSorted((left, right) => left - right)).toEqual([1, 1, 2]);
    expect(groups.find((group) => group.pods.length === 2)?.pods.map(({ shape }) => shape.priority)).toEqual([5, 1]);
  });

  it.each([
    { name: 'the pods of a StatefulSet, by anti-affinity', rules: { podAntiAffinity: [APART] }, sizes: [9] },
    { name: 'the pods of a StatefulSet, by spread', rules: { topologySpread: [SPREAD] }, sizes: [9] },
    { name: 'but not those that a DaemonSet keeps off its nodes', rules: { podAntiAffinity: [APART] }, daemons: ['db-4'], sizes: [8, 1] },
    { name: 'but not those that rules of other pods read', rules: { podAntiAffinity: [APART] }, others: ['db-4'], sizes: [8, 1, 1] },
    { name: 'but not those of sizes of their own', rules: { podAntiAffinity: [APART] }, cpus: ['1', '2', '3'], sizes: [3, 3, 3] },
  ])('pods with labels of their own are one group: $name', ({ rules, daemons = [], others = [], cpus = ['1'], sizes: wanted }) => {
    const setPods = Array.from({ length: 9 }, (_, at) =>
      aPod({ shape: { cpu: cpus[at % cpus.length] ?? '1', labels: { app: 'db', pod: `db-${at}` }, ...rules } }),
    );
    const apartFrom = (pod: string) => aShape({ podAntiAffinity: [{ ...APART, selector: selecting('pod', pod) }] });
    const pods = [...setPods, ...others.map((pod) => aPod({ shape: apartFrom(pod) }))];
    const groups = groupPods(pods, classesOf(pods, daemons.map(apartFrom)));
    expect(groups.map((group) => group.pods.length).toSorted((left, right) => right - left)).toEqual(wanted);
  });

  it('labels that no rule reads do not change a plan', () => {
    fc.assert(
      fc.property(anyBurst, ({ world }) => {
        const labelled = (world.pods ?? []).map((pod, at): Pod => {
          const labels = { ...pod.shape.labels, pod: `pod-${at}` };
          return { ...pod, shape: { ...pod.shape, labels, key: `${pod.shape.key} ${at}` } };
        });
        const whole = planFor(world);
        const split = planFor({ ...world, pods: labelled });
        expect(split.summary).toEqual(whole.summary);
        const byUid = ({ verdicts }: ScaleUpPlan) => new Map([...verdicts].map(([{ uid }, verdict]) => [uid, verdict]));
        expect(byUid(split)).toEqual(byUid(whole));
      }),
      { numRuns: 60, seed: 18 },
    );
  });
});

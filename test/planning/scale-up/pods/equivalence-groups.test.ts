import { describe, expect, it } from 'vitest';
import type { PodJson } from '../../../../src/kubernetes/api/core-json.ts';
import { createPodProjection, projectPod } from '../../../../src/kubernetes/projection/pod.ts';
import { groupPods } from '../../../../src/planning/scale-up/pods/equivalence-groups.ts';
import { aPod, resourceNames } from '../../../support/builders.ts';

const sizes = (pods: readonly ReturnType<typeof aPod>[]) => groupPods(pods, new Set()).map((group) => group.pods.length);
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
  ])('EQ01: a hundred pods of one controller, %s, are one group', (_, part) => {
    expect(sizes(projected(part))).toEqual([100]);
  });

  it('EQ02: a controller makes no difference to where pods fit: equal bare pods are one group', () => {
    expect(sizes([aPod({ controller: undefined }), aPod({ controller: undefined }), aPod()])).toEqual([3]);
    expect(sizes([aPod({ controller: undefined }), aPod({ controller: undefined, cpu: '2' })])).toEqual([1, 1]);
  });

  it('EQ03: however many variants one controller has, each is a group that later pods of its kind join', () => {
    const variants = Array.from({ length: 12 }, (_, at) => `${100 + at}m`);
    expect(sizes([...variants, ...variants].map((cpu) => aPod({ cpu })))).toEqual(Array.from({ length: 12 }, () => 2));
  });

  it('pods whose places depend on each other differ by what others see of them, and not by their priority', () => {
    const host = {
      topologyKey: 'kubernetes.io/hostname',
      selector: { requirements: [] },
      namespaces: ['default'],
      namespaceSelector: undefined,
    };
    const apart = (part: object) => aPod({ shape: { podAntiAffinity: [host], labels: { app: 'a' }, ...part } });
    const pods = [apart({ priority: 1 }), apart({ priority: 5 }), apart({ labels: { app: 'b' } }), apart({ podAntiAffinity: [] })];
    const groups = groupPods(pods, new Set(pods.map(({ shape }) => shape)));
    expect(groups.map((group) => group.pods.length).toSorted((left, right) => left - right)).toEqual([1, 1, 2]);
    expect(groups.find((group) => group.pods.length === 2)?.pods.map(({ shape }) => shape.priority)).toEqual([5, 1]);
  });
});

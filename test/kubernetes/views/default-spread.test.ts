/** Default spread constraints of a profile: which pods get them, and with which selector. */
import { describe, expect, it } from 'vitest';
import type { ObjectJson, PodJson } from '../../../src/kubernetes/api/core-json.ts';
import type { Pod, SpreadDefaults } from '../../../src/domain/pod.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { ReflectedCluster } from '../../../src/kubernetes/views/cluster-tables.ts';

const ZONE = 'topology.kubernetes.io/zone';
const constraint = { topologyKey: ZONE, maxSkew: 1, minDomains: 1, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' } as const;
const DEFAULTS: SpreadDefaults = new Map([['default-scheduler', [constraint]]]);

type Part = { readonly owner?: readonly [kind: string, name: string]; readonly spec?: PodJson['spec'] };

function pod(name: string, labels: Readonly<Record<string, string>>, { owner, spec }: Part = {}): PodJson {
  const [kind, of] = owner ?? [];
  const owners = of === undefined ? [] : [{ apiVersion: 'apps/v1', kind, name: of, uid: `uid-${of}`, controller: true }];
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, labels, ownerReferences: owners as never },
    spec: { containers: [{ name: 'c' }], ...spec },
    status: { phase: 'Pending' },
  };
}

const named = (name: string, namespace: string, selector: unknown): ObjectJson =>
  ({ metadata: { name, namespace, uid: `${namespace}-${name}` }, spec: { selector } }) as ObjectJson;
const OBJECTS = {
  services: [
    named('web', 'default', { app: 'web' }),
    named('all', 'default', {}),
    named('front', 'default', { tier: 'front' }),
    named('outside', 'default', undefined),
    named('web', 'other', { app: 'db' }),
  ],
  replicasets: [named('web-1', 'default', { matchLabels: { app: 'web', hash: '1' } })],
  statefulsets: [named('db', 'default', { matchExpressions: [{ key: 'app', operator: 'In', values: ['db'] }] })],
  replicationcontrollers: [named('old', 'default', { app: 'old' })],
};

function clusterWith(pods: readonly PodJson[], defaults: SpreadDefaults | undefined = DEFAULTS) {
  const cluster = new ReflectedCluster(new ResourceNames(), { spreadDefaults: defaults });
  const put = (resource: string, object: ObjectJson): void =>
    cluster
      .sources()
      .find((source) => source.resource === resource)
      ?.table.put(object);
  for (const [resource, objects] of Object.entries({ ...OBJECTS, pods })) for (const object of objects) put(resource, object);
  const podCalled = (name: string, trouble?: string): Pod => {
    const found = cluster.views(trouble === undefined ? {} : { spread: trouble }).pendingPods.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no pod ${name}`);
    return found;
  };
  return { cluster, put, podCalled };
}

const selectorOf = ({ shape: { topologySpread } }: Pod): readonly string[] =>
  topologySpread.flatMap(({ selector }) => selector.requirements.map(({ key, operator, values }) => `${key} ${operator} ${values.join()}`));

describe('a pod without spread constraints gets those of its profile', () => {
  it.each<[string, PodJson, readonly string[]]>([
    [
      'of its Services, those with an empty selector adding nothing',
      pod('p', { app: 'web', tier: 'front' }),
      ['tier In front', 'app In web'],
    ],
    [
      'of its ReplicaSet and its Service, each requirement once',
      pod('p', { app: 'web', hash: '1' }, { owner: ['ReplicaSet', 'web-1'] }),
      ['app In web', 'hash In 1'],
    ],
    ['of its StatefulSet', pod('p', { app: 'db' }, { owner: ['StatefulSet', 'db'] }), ['app In db']],
    ['of its ReplicationController', pod('p', { app: 'old' }, { owner: ['ReplicationController', 'old'] }), ['app In old']],
    ['none if nothing selects it', pod('p', { app: 'lone' }), []],
    ['none of a workload that is not known', pod('p', { app: 'lone' }, { owner: ['ReplicaSet', 'gone'] }), []],
    ['none of a workload of another kind', pod('p', { app: 'lone' }, { owner: ['Job', 'web-1'] }), []],
    ['none of another profile', pod('p', { app: 'web' }, { spec: { schedulerName: 'other' } }), []],
    [
      'none if it has constraints, though they are soft',
      pod(
        'p',
        { app: 'web' },
        { spec: { topologySpreadConstraints: [{ topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }] } },
      ),
      [],
    ],
    [
      'its own, if it has them',
      pod(
        'p',
        { app: 'web' },
        { spec: { topologySpreadConstraints: [{ topologyKey: 'rack', labelSelector: { matchLabels: { a: 'b' } } }] } },
      ),
      ['a In b'],
    ],
  ])('%s', (_name, json, expected) => {
    expect(selectorOf(clusterWith([json]).podCalled('p'))).toEqual(expected);
  });

  it('follows its Services, and stays the same pod as long as nothing changes for it', () => {
    const { podCalled, put, cluster } = clusterWith([pod('p', { app: 'web' }), pod('q', { app: 'lone' })]);
    const before = podCalled('p');
    expect(cluster.views().pendingPods).toBe(cluster.views().pendingPods);
    put('services', named('lone', 'default', { app: 'lone' }));
    expect(podCalled('p')).toBe(before);
    expect(selectorOf(podCalled('q'))).toEqual(['app In lone']);
  });

  it('is not planned while Services cannot be read: as if it had none would be a guess', () => {
    const { podCalled } = clusterWith([pod('p', { app: 'web' })]);
    expect(podCalled('p', 'services cannot be read: forbidden').shape.unsupported).toEqual([
      { feature: 'default-topology-spread', detail: 'services cannot be read: forbidden' },
    ]);
    expect(podCalled('p').shape.unsupported).toEqual([]);
  });

  it('without such a profile nothing more is watched, and shapes are what they were', () => {
    const soft = { topologySpreadConstraints: [{ topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' as const }] };
    const json = [pod('p', { app: 'web' }, { spec: soft })];
    const { cluster, podCalled } = clusterWith(json, new Map());
    expect(cluster.sources().some(({ onlyFor }) => onlyFor === 'spread')).toBe(false);
    expect(podCalled('p').shape.key).not.toContain('ownSpread');
    expect(clusterWith(json).podCalled('p').shape.key).toContain('ownSpread');
  });
});

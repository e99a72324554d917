import { describe, expect, it } from 'vitest';
import { createApi, type Api, type DeleteOptions } from '../../../../simulator/cluster/store/api.ts';
import type { KubeObject, ObjectDraft } from '../../../../simulator/cluster/store/objects.ts';
import { storedType } from '../../../../simulator/cluster/store/resource-types.ts';
import type { Result } from '../../../../simulator/cluster/store/status.ts';
import { ObjectStore } from '../../../../simulator/cluster/store/store.ts';
import { createTimers } from '../../../../simulator/cluster/store/timers.ts';
import { VirtualSimClock } from '../../../../simulator/base/sim-clock.ts';
import { START_MS } from '../../../../../test/support/builders.ts';
import { aDeployment, aPodDraft } from '../stage.ts';

const PODS = storedType('pods');
const NODES = storedType('nodes');
const DEPLOYMENTS = storedType('deployments');
const MAPS = storedType('configmaps');

function anApi(logLimit = 100): Api {
  const api = createApi(new ObjectStore(logLimit), createTimers(new VirtualSimClock(START_MS)), 1);
  api.create(storedType('namespaces'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }, undefined);
  return api;
}

function made<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Error(`refused: ${result.refusal.message ?? ''}`);
}

function codeOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : `${result.refusal.code} ${result.refusal.reason ?? ''}`;
}

const aMap = (name: string, text = 'x'): ObjectDraft => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });

describe('create', () => {
  it('gives identity, version, time and defaults', () => {
    const pod = made(anApi().create(PODS, aPodDraft('a'), 'default'));
    expect(pod.metadata).toMatchObject({ name: 'a', namespace: 'default', creationTimestamp: '2026-11-21T00:00:00Z' });
    expect(pod.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(pod).toMatchObject({
      spec: { schedulerName: 'default-scheduler', restartPolicy: 'Always', terminationGracePeriodSeconds: 30, priority: 0 },
      status: { phase: 'Pending', qosClass: 'Burstable' },
    });
  });

  it('lets pods stay 300 s on a node that is not ready, unless they say otherwise', () => {
    const api = anApi();
    const own = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 } as const;
    const pod = made(api.create(PODS, aPodDraft('a', { spec: { tolerations: [own] } }), 'default'));
    expect(pod.spec).toMatchObject({
      tolerations: [own, { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
    });
  });

  it('drops the status that a client sends for a pod, and keeps that of a node', () => {
    const api = anApi();
    expect(made(api.create(PODS, { ...aPodDraft('a'), status: { phase: 'Running' } }, 'default')).status).toMatchObject({
      phase: 'Pending',
    });
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: {}, status: { capacity: { cpu: '1' } } };
    expect(made(api.create(NODES, node, undefined)).status).toEqual({ capacity: { cpu: '1' } });
  });

  it('makes names from generateName that differ, and repeats them with the same seed', () => {
    const names = (): readonly string[] => {
      const api = anApi();
      const draft = { ...aMap('x'), metadata: { generateName: 'web-' } };
      return [1, 2, 3].map(() => made(api.create(MAPS, draft, 'default')).metadata.name);
    };
    expect(new Set(names()).size).toBe(3);
    expect(names()).toEqual(names());
    expect(names()[0]).toMatch(/^web-[a-z0-9]{5}$/);
  });

  it.each([
    [
      'a second of the same name',
      (api: Api) => [api.create(MAPS, aMap('a'), 'default'), api.create(MAPS, aMap('a'), 'default')][1],
      '409 AlreadyExists',
    ],
    ['a namespace that is not there', (api: Api) => api.create(MAPS, aMap('a'), 'nowhere'), '404 NotFound'],
    ['no name', (api: Api) => api.create(MAPS, { ...aMap('a'), metadata: {} }, 'default'), '422 Invalid'],
    ['a name that is none', (api: Api) => api.create(MAPS, aMap('A_b'), 'default'), '422 Invalid'],
    ['a pod without containers', (api: Api) => api.create(PODS, { ...aPodDraft('a'), spec: { containers: [] } }, 'default'), '422 Invalid'],
    ['a quantity that is none', (api: Api) => api.create(PODS, aPodDraft('a', { cpu: 'lots' }), 'default'), '422 Invalid'],
    [
      'a selector that misses its template',
      (api: Api) => api.create(DEPLOYMENTS, aDeployment('a', 1, { spec: { selector: { matchLabels: { app: 'b' } } } }), 'default'),
      '422 Invalid',
    ],
    ['negative replicas', (api: Api) => api.create(DEPLOYMENTS, aDeployment('a', -1), 'default'), '422 Invalid'],
  ])('refuses %s', (_name, attempt, expected) => {
    const result = attempt(anApi());
    expect(result === undefined ? 'nothing' : codeOf(result)).toBe(expected);
  });
});

describe('update', () => {
  it('raises one counter for every write of any kind', () => {
    const api = anApi();
    const first = made(api.create(MAPS, aMap('a'), 'default'));
    const second = made(api.create(PODS, aPodDraft('a'), 'default'));
    expect(Number(second.metadata.resourceVersion)).toBe(Number(first.metadata.resourceVersion) + 1);
    expect(api.store.version).toBe(Number(second.metadata.resourceVersion));
  });

  it('refuses a stale version and leaves the object alone', () => {
    const api = anApi();
    const first = made(api.create(MAPS, aMap('a'), 'default'));
    const second = made(api.update(MAPS, { ...first, data: { text: 'y' } }, 'main'));
    const stale = api.update(MAPS, { ...first, data: { text: 'z' } }, 'main');
    expect(codeOf(stale)).toBe('409 Conflict');
    expect(made(api.get(MAPS, { namespace: 'default', name: 'a' }))).toBe(second);
  });

  it('refuses the uid of an earlier object of that name', () => {
    const api = anApi();
    const first = made(api.create(MAPS, aMap('a'), 'default'));
    api.remove(MAPS, { namespace: 'default', name: 'a' }, {});
    api.create(MAPS, aMap('a'), 'default');
    expect(codeOf(api.update(MAPS, { ...first, metadata: { ...first.metadata, resourceVersion: '' } }, 'main'))).toBe('409 Conflict');
  });

  it('does not raise the version when nothing changed', () => {
    const api = anApi();
    const first = made(api.create(MAPS, aMap('a'), 'default'));
    expect(made(api.update(MAPS, { ...first }, 'main')).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(api.store.version).toBe(Number(first.metadata.resourceVersion));
  });

  it('counts generations by the spec alone', () => {
    const api = anApi();
    const first = made(api.create(DEPLOYMENTS, aDeployment('a', 1), 'default'));
    const labelled = made(api.update(DEPLOYMENTS, { ...first, metadata: { ...first.metadata, labels: { x: 'y' } } }, 'main'));
    const status = made(api.update(DEPLOYMENTS, { ...labelled, status: { replicas: 1 } }, 'status'));
    const scaled = made(api.update(DEPLOYMENTS, { ...status, spec: { ...(status.spec as object), replicas: 2 } }, 'main'));
    expect([first, labelled, status, scaled].map((object) => object.metadata.generation)).toEqual([1, 1, 1, 2]);
  });

  it('keeps spec and status apart', () => {
    const api = anApi();
    const pod = made(api.create(PODS, aPodDraft('a'), 'default'));
    const place = { namespace: 'default', name: 'a' };
    const both = (object: KubeObject): KubeObject => ({
      ...object,
      metadata: { ...object.metadata, labels: { new: 'label' } },
      status: { phase: 'Running' },
    });
    expect(made(api.modify(PODS, place, 'main', both))).toMatchObject({
      metadata: { labels: { new: 'label' } },
      status: { phase: 'Pending' },
    });
    const changed = made(
      api.modify(PODS, place, 'status', (object) => ({ ...object, spec: { containers: [] }, status: { phase: 'Running' } })),
    );
    expect(changed).toMatchObject({ spec: pod.spec, status: { phase: 'Running' } });
  });

  it.each([
    ['the node of a pod', PODS, aPodDraft('a'), { nodeName: 'other' }],
    ['the selector of a deployment', DEPLOYMENTS, aDeployment('a', 1), { selector: { matchLabels: { app: 'z' } } }],
  ])('does not change %s', (_name, type, draft, spec) => {
    const api = anApi();
    const object = made(api.create(type, draft, 'default'));
    expect(codeOf(api.update(type, { ...object, spec: { ...(object.spec as object), ...spec } }, 'main'))).toBe('422 Invalid');
  });

  it('changes images and tolerations of a pod', () => {
    const api = anApi();
    const pod = made(api.create(PODS, aPodDraft('a'), 'default'));
    const spec = { ...(pod.spec as object), tolerations: [{ operator: 'Exists' }] };
    expect(made(api.update(PODS, { ...pod, spec }, 'main')).spec).toMatchObject({ tolerations: [{ operator: 'Exists' }] });
  });
});

describe('delete', () => {
  const place = { namespace: 'default', name: 'a' };
  function boundPod(api: Api): KubeObject {
    api.create(PODS, aPodDraft('a'), 'default');
    return made(api.bind(place, 'n1'));
  }

  it('removes a pod without a node at once', () => {
    const api = anApi();
    api.create(PODS, aPodDraft('a'), 'default');
    expect(made(api.remove(PODS, place, {})).gone).toBe(true);
    expect(codeOf(api.get(PODS, place))).toBe('404 NotFound');
  });

  it.each<[string, DeleteOptions, number | undefined]>([
    ['its own grace', {}, 30],
    ['a shorter grace', { gracePeriodSeconds: 5 }, 5],
    ['none', { gracePeriodSeconds: 0 }, undefined],
  ])('gives a bound pod %s', (_name, options, seconds) => {
    const api = anApi();
    boundPod(api);
    const { object, gone } = made(api.remove(PODS, place, options));
    expect(gone).toBe(seconds === undefined);
    expect(object.metadata.deletionGracePeriodSeconds).toBe(seconds);
    if (seconds !== undefined) expect(Date.parse(object.metadata.deletionTimestamp ?? '')).toBe(START_MS + seconds * 1000);
  });

  it('lets a second delete shorten the grace, never lengthen it', () => {
    const api = anApi();
    boundPod(api);
    api.remove(PODS, place, {});
    expect(made(api.remove(PODS, place, { gracePeriodSeconds: 3 })).object.metadata.deletionGracePeriodSeconds).toBe(3);
    expect(made(api.remove(PODS, place, { gracePeriodSeconds: 60 })).object.metadata.deletionGracePeriodSeconds).toBe(3);
  });

  it('obeys preconditions', () => {
    const api = anApi();
    const pod = boundPod(api);
    expect(codeOf(api.remove(PODS, place, { uid: 'other' }))).toBe('409 Conflict');
    expect(codeOf(api.remove(PODS, place, { resourceVersion: '1' }))).toBe('409 Conflict');
    expect(codeOf(api.remove(PODS, place, { uid: pod.metadata.uid, resourceVersion: pod.metadata.resourceVersion }))).toBe('ok');
  });

  it('waits for finalizers, and goes with the last of them', () => {
    const api = anApi();
    api.create(MAPS, { ...aMap('a'), metadata: { name: 'a', finalizers: ['keep'] } }, 'default');
    expect(made(api.remove(MAPS, place, {})).gone).toBe(false);
    api.modify(MAPS, place, 'main', (object) => ({ ...object, metadata: { ...object.metadata, finalizers: [] } }));
    expect(codeOf(api.get(MAPS, place))).toBe('404 NotFound');
  });
});

describe('binding', () => {
  it('binds once', () => {
    const api = anApi();
    api.create(PODS, aPodDraft('a'), 'default');
    expect(made(api.bind({ namespace: 'default', name: 'a' }, 'n1'))).toMatchObject({
      spec: { nodeName: 'n1' },
      status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
    });
    expect(codeOf(api.bind({ namespace: 'default', name: 'a' }, 'n2'))).toBe('409 Conflict');
  });
});

describe('the log of changes', () => {
  it('replays one kind after a version, in order', () => {
    const api = anApi();
    const { version } = api.store;
    api.create(MAPS, aMap('a'), 'default');
    api.create(PODS, aPodDraft('p'), 'default');
    api.modify(MAPS, { namespace: 'default', name: 'a' }, 'main', (object) => ({ ...object, data: { text: 'y' } }));
    api.remove(MAPS, { namespace: 'default', name: 'a' }, {});
    expect(api.store.changesSince('configmaps', version)?.map((change) => change.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('forgets by itself what is beyond its limit, and everything on request', () => {
    const api = anApi(5);
    const { version } = api.store;
    for (let index = 0; index < 30; index++) api.create(MAPS, aMap(`m${index}`), 'default');
    expect(api.store.changesSince('configmaps', version)).toBeUndefined();
    expect(api.store.changesSince('configmaps', api.store.version - 5)).toHaveLength(5);
    api.store.compact();
    expect(api.store.changesSince('configmaps', api.store.version - 1)).toBeUndefined();
    expect(api.store.changesSince('configmaps', api.store.version)).toEqual([]);
  });
});

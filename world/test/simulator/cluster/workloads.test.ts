import { beforeEach, describe, expect, it } from 'vitest';
import { type BudgetObject, type PodObject, type ReplicatedObject, conditionOf } from '../../../simulator/cluster/store/objects.ts';
import { aBudgetDraft, aDeployment, aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage([aMachine('n1')]);
});

const own = (): readonly PodObject[] => stage.cluster.store.pods().filter((pod) => pod.metadata.namespace === 'default');
const running = (): readonly PodObject[] =>
  own().filter((pod) => conditionOf(pod, 'Ready')?.status === 'True' && pod.metadata.deletionTimestamp === undefined);
const deployment = (name: string): ReplicatedObject => stage.cluster.store.get('deployments', 'default', name) as ReplicatedObject;
const sets = (): readonly ReplicatedObject[] =>
  stage.cluster.store
    .list('replicasets')
    .filter((set) => set.metadata.namespace === 'default')
    .map((set) => set as ReplicatedObject);

describe('what AKS puts there', () => {
  it('has kube-proxy on every node and CoreDNS on the system pool, with a budget', async () => {
    stage = await setStage([aMachine('sys', { pool: 'system' }), aMachine('usr')]);
    const pods = stage.cluster.store.pods();
    expect(new Set(pods.filter((pod) => pod.metadata.name.startsWith('kube-proxy')).map((pod) => pod.spec.nodeName))).toEqual(
      new Set(['sys', 'usr']),
    );
    expect(pods.filter((pod) => pod.metadata.name.startsWith('coredns')).map((pod) => pod.spec.nodeName)).toEqual(['sys', 'sys']);
    expect(stage.cluster.store.get('poddisruptionbudgets', 'kube-system', 'coredns-pdb')?.status).toMatchObject({
      disruptionsAllowed: 1,
      currentHealthy: 2,
      desiredHealthy: 1,
      expectedPods: 2,
      observedGeneration: 1,
    });
  });

  it('is the same world for the same seed', async () => {
    const picture = async (): Promise<string> => {
      stage = await setStage([aMachine('sys', { pool: 'system' })]);
      const text = JSON.stringify([stage.cluster.store.pods(), stage.cluster.store.events()]);
      return text;
    };
    expect(await picture()).toBe(await picture());
  });
});

describe('deployments', () => {
  it('come up and say so', async () => {
    stage.cluster.apply(aDeployment('web', 3));
    stage.clock.advance(5_000);
    expect(running()).toHaveLength(3);
    expect(deployment('web').status).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      unavailableReplicas: 0,
    });
  });

  it('follow a change of scale both ways', async () => {
    stage.cluster.apply(aDeployment('web', 3));
    stage.clock.advance(5_000);
    stage.cluster.apply(aDeployment('web', 5));
    stage.clock.advance(5_000);
    expect(running()).toHaveLength(5);
    stage.cluster.apply(aDeployment('web', 1));
    stage.clock.advance(5_000);
    expect(own()).toHaveLength(1);
    expect(sets()).toHaveLength(1);
    // In the middle of a rollout, too.
    stage.cluster.apply(aDeployment('web', 4, { image: 'test:2' }));
    stage.clock.advance(1_000);
    stage.cluster.apply(aDeployment('web', 1, { image: 'test:2' }));
    stage.clock.advance(30_000);
    expect(own().map((pod) => pod.spec.containers[0]?.image)).toEqual(['test:2']);
    // No share of nothing may be missing or above: the old pod goes nevertheless.
    stage.cluster.apply(aDeployment('web', 0, { image: 'test:3' }));
    stage.clock.advance(30_000);
    expect(own()).toEqual([]);
  });

  it('replace an evicted pod', async () => {
    stage = await setStage([aMachine('n1'), aMachine('n2')]);
    stage.cluster.apply(aDeployment('web', 2));
    stage.clock.advance(5_000);
    const [first] = own();
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: first?.metadata.name } };
    await stage.client.call('POST', `/api/v1/namespaces/default/pods/${first?.metadata.name ?? ''}/eviction`, eviction);
    stage.clock.advance(0);
    expect(own()).toHaveLength(3);
    stage.clock.advance(5_000);
    expect(running()).toHaveLength(2);
    expect(own().map((pod) => pod.metadata.uid)).not.toContain(first?.metadata.uid);
  });

  it('roll a new template out without falling below what is allowed', async () => {
    stage.cluster.apply(aDeployment('web', 4));
    stage.clock.advance(5_000);
    stage.cluster.apply(aDeployment('web', 4, { image: 'test:2' }));
    let fewest = 4;
    let most = 4;
    for (let step = 0; step < 120; step++) {
      stage.clock.advance(250);
      fewest = Math.min(fewest, running().length);
      most = Math.max(most, own().filter((pod) => pod.metadata.deletionTimestamp === undefined).length);
    }
    expect({ fewest, most }).toEqual({ fewest: 3, most: 5 });
    expect(own().map((pod) => pod.spec.containers[0]?.image)).toEqual(['test:2', 'test:2', 'test:2', 'test:2']);
    expect(new Set(sets().map((set) => set.spec.replicas))).toEqual(new Set([0, 4]));
    expect(deployment('web').metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('2');
  });

  it('roll back to an earlier ReplicaSet', async () => {
    for (const image of ['test:1', 'test:2', 'test:1']) {
      stage.cluster.apply(aDeployment('web', 2, { image }));
      stage.clock.advance(20_000);
    }
    expect(sets()).toHaveLength(2);
    expect(deployment('web').metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
    expect(new Set(own().map((pod) => pod.spec.containers[0]?.image))).toEqual(new Set(['test:1']));
  });

  it('with Recreate, end all old pods before the first new one', async () => {
    const spec = { strategy: { type: 'Recreate' } };
    stage.cluster.apply(aDeployment('web', 2, { spec }));
    stage.clock.advance(5_000);
    stage.cluster.apply(aDeployment('web', 2, { spec, image: 'test:2' }));
    for (let step = 0; step < 40; step++) {
      stage.clock.advance(250);
      expect(new Set(own().map((pod) => pod.spec.containers[0]?.image)).size).toBeLessThanOrEqual(1);
    }
    expect(running().map((pod) => pod.spec.containers[0]?.image)).toEqual(['test:2', 'test:2']);
  });

  it('keep pending pods pending, with the reason, and bind them when there is room', async () => {
    stage.cluster.apply(aDeployment('web', 5, { cpu: '1' }));
    stage.clock.advance(5_000);
    expect(running()).toHaveLength(3);
    expect(stage.cluster.store.pendingPods().filter((pod) => pod.metadata.namespace === 'default')).toHaveLength(2);
    const [event] = stage.cluster.store
      .events()
      .filter((found) => found.reason === 'FailedScheduling' && found.involvedObject.namespace === 'default');
    expect(event?.message).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    );
    stage.park.boot(aMachine('n2'));
    stage.clock.advance(20_000);
    expect(running()).toHaveLength(5);
  });
});

describe('scheduling order', () => {
  it('serves higher priority first', async () => {
    stage = await setStage([]);
    stage.cluster.apply({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1000 });
    stage.cluster.apply(aPodDraft('low', { cpu: '3' }));
    stage.cluster.apply(aPodDraft('urgent', { cpu: '3', spec: { priorityClassName: 'high' } }));
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(20_000);
    expect(own().map((pod) => [pod.metadata.name, pod.spec.nodeName])).toEqual([
      ['low', undefined],
      ['urgent', 'n1'],
    ]);
  });

  it('leaves gated pods and those of other schedulers alone', async () => {
    stage.cluster.apply(aPodDraft('gated', { spec: { schedulingGates: [{ name: 'wait' }] } }));
    stage.cluster.apply(aPodDraft('foreign', { spec: { schedulerName: 'other' } }));
    stage.clock.advance(5_000);
    expect(own().map((pod) => pod.spec.nodeName)).toEqual([undefined, undefined]);
    expect(own().map((pod) => conditionOf(pod, 'PodScheduled')?.reason)).toEqual([undefined, 'SchedulingGated']);
    const ungate = { contentType: 'application/merge-patch+json' };
    await stage.client.call('PATCH', '/api/v1/namespaces/default/pods/gated', { spec: { schedulingGates: null } }, ungate);
    stage.clock.advance(0);
    expect(own().find((pod) => pod.metadata.name === 'gated')?.spec.nodeName).toBe('n1');
  });
});

describe('budgets', () => {
  it.each<[Record<string, unknown>, { disruptionsAllowed: number; desiredHealthy: number; expectedPods: number }]>([
    [{ minAvailable: 2 }, { disruptionsAllowed: 2, desiredHealthy: 2, expectedPods: 4 }],
    [{ minAvailable: 9 }, { disruptionsAllowed: 0, desiredHealthy: 9, expectedPods: 4 }],
    [{ minAvailable: '30%' }, { disruptionsAllowed: 2, desiredHealthy: 2, expectedPods: 4 }],
    [{ maxUnavailable: 1 }, { disruptionsAllowed: 1, desiredHealthy: 3, expectedPods: 4 }],
    [{ maxUnavailable: '30%' }, { disruptionsAllowed: 2, desiredHealthy: 2, expectedPods: 4 }],
    [{ maxUnavailable: 0 }, { disruptionsAllowed: 0, desiredHealthy: 4, expectedPods: 4 }],
  ])('%j over four healthy pods', async (spec, expected) => {
    stage.cluster.apply(aDeployment('web', 4));
    stage.cluster.apply(aBudgetDraft('web', { selector: { matchLabels: { app: 'web' } }, ...spec }));
    stage.clock.advance(5_000);
    expect(stage.cluster.store.get('poddisruptionbudgets', 'default', 'web')?.status).toMatchObject({
      ...expected,
      currentHealthy: 4,
      observedGeneration: 1,
    });
  });

  it('follows pods that become unhealthy', async () => {
    stage.cluster.apply(aDeployment('web', 2));
    stage.cluster.apply(aBudgetDraft('web', { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }));
    stage.clock.advance(5_000);
    stage.park.end('n1', 'stopped');
    stage.clock.advance(60_000);
    expect((stage.cluster.store.get('poddisruptionbudgets', 'default', 'web') as BudgetObject).status).toMatchObject({
      disruptionsAllowed: 0,
      currentHealthy: 0,
    });
  });
});

describe('garbage', () => {
  const path = '/apis/apps/v1/namespaces/default/deployments/web';
  async function withWeb(): Promise<void> {
    stage.cluster.apply(aDeployment('web', 2));
    stage.clock.advance(5_000);
  }

  it('takes dependents after their owner by default', async () => {
    await withWeb();
    expect((await stage.client.call('DELETE', path)).body).toMatchObject({ kind: 'Status', status: 'Success' });
    expect(stage.cluster.store.get('deployments', 'default', 'web')).toBeUndefined();
    stage.clock.advance(5_000);
    expect([sets(), own()]).toEqual([[], []]);
  });

  it('takes dependents first when asked to', async () => {
    await withWeb();
    await stage.client.call('DELETE', path, { propagationPolicy: 'Foreground' });
    expect(deployment('web').metadata).toMatchObject({ finalizers: ['foregroundDeletion'] });
    stage.clock.advance(0);
    expect(sets()).toEqual([]);
    stage.clock.advance(5_000);
    expect([stage.cluster.store.get('deployments', 'default', 'web'), own()]).toEqual([undefined, []]);
  });

  it('leaves orphans when asked to', async () => {
    await withWeb();
    await stage.client.call('DELETE', path, { propagationPolicy: 'Orphan' });
    stage.clock.advance(5_000);
    expect(sets()).toHaveLength(1);
    expect(sets()[0]?.metadata.ownerReferences).toEqual([]);
    expect(running()).toHaveLength(2);
  });

  it('empties a namespace before it goes', async () => {
    await withWeb();
    await stage.client.call('DELETE', '/api/v1/namespaces/default');
    expect(stage.cluster.store.get('namespaces', undefined, 'default')?.status).toEqual({ phase: 'Terminating' });
    expect(() => stage.cluster.apply(aPodDraft('late'))).toThrow('because it is being terminated');
    stage.clock.advance(5_000);
    expect(own()).toEqual([]);
    expect(stage.cluster.store.get('namespaces', undefined, 'default')).toBeUndefined();
  });

  it('forgets events after an hour', async () => {
    await withWeb();
    expect(stage.cluster.store.events().length).toBeGreaterThan(0);
    stage.clock.advance(3_600_000);
    expect(stage.cluster.store.events()).toEqual([]);
  });
});

describe('daemon sets', () => {
  const agent = (image = 'agent:1', spec: Record<string, unknown> = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [{ name: 'a', image }], ...spec } },
    },
  });

  it('cover nodes that come and leave those that go', async () => {
    stage.cluster.apply(agent());
    stage.clock.advance(5_000);
    stage.park.boot(aMachine('n2'));
    stage.clock.advance(30_000);
    expect(new Set(own().map((pod) => pod.spec.nodeName))).toEqual(new Set(['n1', 'n2']));
    stage.park.end('n1', 'gone');
    stage.clock.advance(60_000);
    expect(own().map((pod) => pod.spec.nodeName)).toEqual(['n2']);
  });

  it('keep away from taints and follow node selectors', async () => {
    stage = await setStage([aMachine('n1', { taints: ['a=b:NoSchedule'] }), aMachine('n2'), aMachine('n3', { labels: { agent: 'no' } })]);
    stage.cluster.apply(
      agent('agent:1', {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'agent', operator: 'DoesNotExist' }] }],
            },
          },
        },
      }),
    );
    stage.clock.advance(5_000);
    expect(own().map((pod) => pod.spec.nodeName)).toEqual(['n2']);
    expect(stage.cluster.store.get('daemonsets', 'default', 'agent')?.status).toMatchObject({ desiredNumberScheduled: 1, numberReady: 1 });
  });

  it('replace pods of an old template one at a time', async () => {
    stage = await setStage([aMachine('n1'), aMachine('n2')]);
    stage.cluster.apply(agent());
    stage.clock.advance(5_000);
    stage.cluster.apply(agent('agent:2'));
    let fewest = 2;
    for (let step = 0; step < 60; step++) {
      stage.clock.advance(250);
      fewest = Math.min(fewest, running().length);
    }
    expect(fewest).toBe(1);
    expect(own().map((pod) => pod.spec.containers[0]?.image)).toEqual(['agent:2', 'agent:2']);
  });
});

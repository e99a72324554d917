/** What the adapter sees of the simulated cluster, with the real clients over a kubeconfig. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClusterView } from '../../src/domain/observation.ts';
import type { Pod } from '../../src/domain/pod.ts';
import { ownerKey } from '../../src/domain/workloads.ts';
import { START_MS } from '../support/builders.ts';
import { podNames, setConnectedStage, type ConnectedStage, type Replica } from '../kubernetes/connected-stage.ts';
import { aBudgetDraft, aDeployment, aMachine, aPodDraft } from '../../world/test/simulator/cluster/stage.ts';

let stage: ConnectedStage;
let replica: Replica;

beforeEach(async () => {
  stage = await setConnectedStage();
  replica = await stage.connect();
});

const view = (): ClusterView => replica.kubernetes.reader.observe(stage.clock.now());
const podsOn = (node: string): readonly Pod[] => view().podsByNode.get(node) ?? [];

describe('observe', () => {
  it('shows what the API server holds, from the first picture on', async () => {
    stage.cluster.apply(aDeployment('web', 2));
    stage.cluster.apply(aBudgetDraft('web', { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }));
    stage.clock.advance(10_000);
    await replica.kubernetes.reader.start(stage.signal);
    const seen = view();
    expect([...seen.nodes.keys()]).toEqual(['sys-1', 'usr-1', 'usr-2']);
    expect(podNames(seen)).toEqual(
      stage.cluster.store
        .pods()
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .sort(),
    );
    expect(seen.pendingPods).toEqual([]);
    expect(seen.daemonSets.map(({ name }) => name)).toEqual(['kube-proxy']);
    expect(seen.disruptionBudgets).toMatchObject([{ name: 'web', disruptionsAllowed: 1, expectedPods: 2 }, { name: 'coredns-pdb' }]);
    expect([...seen.namespaces.keys()]).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect(seen.stalenessMs).toBe(0);
  });

  it('projects a node to its place in the cloud, its size and its readiness', async () => {
    await replica.kubernetes.reader.start(stage.signal);
    const node = view().nodes.get('usr-1');
    expect(node).toMatchObject({
      providerId: aMachine('usr-1').providerId,
      labels: { 'kubernetes.azure.com/agentpool': 'user', 'kubernetes.io/hostname': 'usr-1' },
      taints: [],
      unschedulable: false,
      readiness: { ready: true, reason: '' },
    });
    expect(node?.createdAtMs).toBeLessThan(START_MS);
    const capacity = replica.names.toRecord(node?.capacity ?? new Float64Array());
    expect(capacity).toMatchObject({ cpu: 4_000, pods: 110 });
    expect(node?.allocatable[0]).toBeLessThan(4_000);
  });

  it('follows a node from its registration to its end', async () => {
    await replica.kubernetes.reader.start(stage.signal);
    stage.park.boot(aMachine('usr-3'));
    await stage.until(() => view().nodes.has('usr-3'));
    expect(view().nodes.get('usr-3')?.readiness.ready).toBe(false);
    await stage.until(() => view().nodes.get('usr-3')?.readiness.ready === true);
    expect(view().nodes.get('usr-3')?.taints).toEqual([]);
    await stage.until(() => podsOn('usr-3').some(({ daemonSet, phase }) => daemonSet && phase === 'Running'));
    stage.park.end('usr-3', 'gone');
    await stage.until(() => !view().nodes.has('usr-3'));
    await stage.until(() => podsOn('usr-3').length === 0);
  });

  it('follows a pod from waiting over bound to gone', async () => {
    await replica.kubernetes.reader.start(stage.signal);
    stage.cluster.apply(aPodDraft('big', { cpu: '64' }));
    stage.cluster.apply(aPodDraft('small', { cpu: '100m' }));
    await stage.until(() => podNames(view()).includes('default/small') && view().pendingPods.some(({ name }) => name === 'big'));
    await stage.until(() => view().pendingPods[0]?.unschedulable !== undefined);
    await stage.until(() => [...podsOn('usr-1'), ...podsOn('usr-2')].some(({ name, phase }) => name === 'small' && phase === 'Running'));
    stage.cluster.remove(aPodDraft('small'));
    stage.cluster.remove(aPodDraft('big'));
    await stage.until(() => !podNames(view()).some((name) => name.startsWith('default/')));
  });

  it('gives the pods of one workload one shape, and leaves nodes and lists alone that did not change', async () => {
    stage.cluster.apply(aDeployment('web', 4));
    stage.clock.advance(10_000);
    await replica.kubernetes.reader.start(stage.signal);
    const before = view();
    const web = [...before.podsByNode.values()].flat().filter(({ namespace }) => namespace === 'default');
    expect(web).toHaveLength(4);
    expect(new Set(web.map(({ shape }) => shape)).size).toBe(1);
    stage.cluster.apply(aPodDraft('one', { spec: { nodeName: 'usr-2' } }));
    await stage.until(() => podsOn('usr-2').some(({ name, phase }) => name === 'one' && phase === 'Running'));
    const after = view();
    expect(after.podsByNode.get('usr-1')).toBe(before.podsByNode.get('usr-1'));
    expect(after.podsByNode.get('usr-2')).not.toBe(before.podsByNode.get('usr-2'));
    expect(before.podsByNode.get('usr-2')?.some(({ name }) => name === 'one')).toBe(false);
    expect(after.nodes.get('usr-1')).toBe(before.nodes.get('usr-1'));
    expect(after.namespaces).toBe(before.namespaces);
  });

  it('says how long the watches have been silent', async () => {
    await replica.kubernetes.reader.start(stage.signal);
    stage.clock.advance(20_000);
    expect(view().stalenessMs).toBe(20_000);
    const staleness = await replica.metrics.cluster.watchStaleness.get();
    expect(staleness.values.map(({ value }) => value)).toEqual(Array.from({ length: 16 }, () => 20));
    // Bookmarks come once a minute, and are a sign of life.
    await stage.until(() => view().stalenessMs < 20_000);
  });
});

describe('onUnschedulable', () => {
  it('reports each pod once, when the scheduler has refused it, until unsubscribed', async () => {
    const told: string[] = [];
    const stop = replica.kubernetes.reader.onUnschedulable(({ name, unschedulable }) => {
      expect(unschedulable?.message).toMatch(/nodes are available/);
      told.push(name);
    });
    await replica.kubernetes.reader.start(stage.signal);
    stage.cluster.apply(aPodDraft('fits'));
    stage.cluster.apply(aPodDraft('big-1', { cpu: '64' }));
    await stage.until(() => told.length > 0);
    stage.cluster.apply(aPodDraft('big-2', { cpu: '64' }));
    await stage.until(() => told.length > 1);
    expect(told).toEqual(['big-1', 'big-2']);
    stop();
    stage.cluster.apply(aPodDraft('big-3', { cpu: '64' }));
    await stage.until(() => view().pendingPods.filter(({ unschedulable }) => unschedulable !== undefined).length === 3);
    expect(told).toHaveLength(2);
  });
});

describe('reads past the watches', () => {
  it('readFresh shows a node and its pods without any watch, and neither finished pods nor those of others', async () => {
    stage.cluster.apply(aPodDraft('here', { spec: { nodeName: 'usr-1' } }));
    stage.cluster.apply(aPodDraft('there', { spec: { nodeName: 'usr-2' } }));
    stage.clock.advance(5_000);
    const fresh = await replica.kubernetes.reader.readFresh('usr-1', stage.signal);
    expect(fresh?.node).toMatchObject({ name: 'usr-1', readiness: { ready: true } });
    const names = fresh?.pods.map(({ name }) => name) ?? [];
    expect(names).toContain('here');
    expect(names).not.toContain('there');
    expect(fresh?.pods.every(({ nodeName }) => nodeName === 'usr-1')).toBe(true);
    expect(stage.cluster.openWatches()).toBe(0);
  });

  it('readFresh of a node that is gone is undefined, and of an API server that fails an error', async () => {
    await expect(replica.kubernetes.reader.readFresh('gone', stage.signal)).resolves.toBeUndefined();
    stage.cluster.control.failNext(1, 500, { verb: 'list', resource: 'pods' });
    await expect(replica.kubernetes.reader.readFresh('usr-1', stage.signal)).rejects.toMatchObject({ kind: 'unavailable' });
    const gone = AbortSignal.abort();
    await expect(replica.kubernetes.reader.readFresh('usr-1', gone)).rejects.toMatchObject({ kind: 'cancelled' });
  });

  it('podExists goes by the uid: a pod of the same name is another', async () => {
    const uid = stage.cluster.apply(aPodDraft('one')).metadata.uid;
    const pod = { namespace: 'default', name: 'one', uid };
    const exists = (): Promise<boolean> => replica.kubernetes.reader.podExists(pod, stage.signal);
    await expect(exists()).resolves.toBe(true);
    stage.cluster.remove(aPodDraft('one'));
    await stage.until(() => stage.cluster.store.get('pods', 'default', 'one') === undefined);
    await expect(exists()).resolves.toBe(false);
    stage.cluster.apply(aPodDraft('one'));
    await expect(exists()).resolves.toBe(false);
    stage.cluster.control.failNext(1, 503);
    await expect(exists()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('owners', () => {
  it('are asked for once in a while, and one that is gone is known to be', async () => {
    stage.cluster.apply(aDeployment('web', 2));
    stage.clock.advance(10_000);
    const { owners } = replica.kubernetes;
    const [set] = stage.cluster.store.list('replicasets');
    const web = { kind: 'ReplicaSet', namespace: 'default', name: set?.metadata.name ?? '' } as const;
    const gone = { kind: 'StatefulSet', namespace: 'default', name: 'db' } as const;
    const asked = (): number => stage.asked('get', 'replicasets').length + stage.asked('get', 'statefulsets').length;
    expect(owners.known().size).toBe(0);
    await owners.read([web, gone, web], stage.signal);
    expect(owners.known().get(ownerKey(web))).toEqual({ exists: true, desired: 2 });
    expect(owners.known().get(ownerKey(gone))).toEqual({ exists: false });
    await owners.read([web, gone], stage.signal);
    expect(asked()).toBe(2);
    stage.clock.advance(60_000);
    expect([...owners.known().keys()]).toEqual([ownerKey(gone)]);
    await owners.read([web, gone], stage.signal);
    expect(asked()).toBe(3);
  });
});

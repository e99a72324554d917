/**
 * Kubelets, disks and drains that act over the API alone. The API server is the simulated one here, which has no kubelets of its own
 * for these VMs; the e2e suite has the same components on a real one.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realSimClock } from '../../../simulator/base/sim-clock.ts';
import { createServerTls } from '../../../simulator/base/tls.ts';
import { ViolationLog } from '../../../simulator/base/write-safety.ts';
import { startCluster, type SimCluster } from '../../../simulator/cluster/cluster.ts';
import { conditionOf, type NodeObject, type PodObject } from '../../../simulator/cluster/store/objects.ts';
import type { StoppableMaintenance } from '../../../simulator/node-maintenance.ts';
import { ApiClient } from '../../../simulator/real-control-plane/api-client.ts';
import { Kubelets } from '../../../simulator/real-control-plane/kubelets.ts';
import { createRealNodeMaintenance } from '../../../simulator/real-node-maintenance.ts';
import { aBudgetDraft, aDeployment, aMachine, aPodDraft, SPEC, TestVmFeed, TOKEN } from '../cluster/stage.ts';

const tls = await createServerTls(Date.now());
/** A minute takes six milliseconds. */
const clock = realSimClock(10_000);

let cluster: SimCluster;
let park: TestVmFeed;
let api: ApiClient;
let kubelets: Kubelets;
let maintenance: StoppableMaintenance;
let failures: string[];
/** Nodes that had the taint of a shutdown, which the node controller here removes from a node whose last report was good. */
let shutDown: Set<string>;

beforeEach(async () => {
  const noMachines = new TestVmFeed([]);
  cluster = await startCluster({ spec: SPEC, clock, tls, machines: noMachines, violations: new ViolationLog(), token: TOKEN });
  api = new ApiClient({ server: cluster.url, caPem: tls.caPem, token: TOKEN });
  park = new TestVmFeed([aMachine('old', { zone: '2' })]);
  failures = [];
  shutDown = new Set();
  cluster.onChange(({ object }) => {
    if (JSON.stringify(object['spec'] ?? '').includes(SHUTDOWN)) shutDown.add(object.metadata.name);
  });
  const onFailure = (what: string): void => void failures.push(what);
  kubelets = new Kubelets({ api, machines: park, clock, spec: SPEC, onFailure });
  maintenance = createRealNodeMaintenance({ api, clock, onFailure });
  await kubelets.start();
});

afterEach(async () => {
  kubelets.stop();
  maintenance.stop();
  api.close();
  await cluster.stop();
  expect(failures).toEqual([]);
});

const node = (name: string): NodeObject | undefined => cluster.store.get('nodes', undefined, name) as NodeObject | undefined;
const pod = (name: string): PodObject | undefined => cluster.store.get('pods', 'default', name) as PodObject | undefined;
const running = (): number =>
  cluster.store.pods().filter(({ metadata, status }) => metadata.namespace === 'default' && status.phase === 'Running').length;
const isReady = (name: string): boolean => conditionOf(node(name) as NodeObject, 'Ready')?.status === 'True';
const taintsOf = (name: string): readonly string[] => (node(name)?.spec.taints ?? []).map(({ key }) => key);
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

describe('a VM of the feed', () => {
  it('that runs at the start is a node that has been ready for an hour', () => {
    expect(node('old')).toMatchObject({
      metadata: { labels: { 'topology.kubernetes.io/zone': 'westeurope-2', 'topology.disk.csi.azure.com/zone': 'westeurope-2' } },
      spec: { providerID: aMachine('old').providerId },
      status: { nodeInfo: { kubeletVersion: 'v1.33.2', operatingSystem: 'linux' } },
    });
    expect(isReady('old')).toBe(true);
    const since = Date.parse(conditionOf(node('old') as NodeObject, 'Ready')?.lastTransitionTime ?? '');
    expect(Date.now() - since).toBeGreaterThan(3_500_000);
    expect(taintsOf('old')).toEqual([]);
    expect(cluster.store.get('csinodes', undefined, 'old')).toBeDefined();
    expect(cluster.store.get('leases', 'kube-node-lease', 'old')).toBeDefined();
  });

  it('joins when it runs, and its node is deleted when it is gone', async () => {
    park.boot(aMachine('late'));
    await until(() => node('late') !== undefined && isReady('late') && taintsOf('late').length === 0);
    park.end('late', 'gone');
    await until(() => node('late') === undefined);
  });

  it('shows its new image and version when it runs again', async () => {
    park.end('old', 'stopped');
    const image = 'kubernetes.azure.com/node-image-version';
    park.boot(aMachine('old', { kubernetesVersion: '1.34.1', labels: { [image]: 'new' } }));
    const isNew = (): boolean => JSON.stringify(node('old')?.status['nodeInfo']).includes('"kubeletVersion":"v1.34.1"');
    await until(() => isNew() && node('old')?.metadata.labels?.[image] === 'new');
  });

  it('leaves a node with the taint of a shutdown if it was stopped, until it runs again', async () => {
    park.end('old', 'stopped');
    await until(() => shutDown.has('old'));
    park.boot(aMachine('old'));
    await until(() => !taintsOf('old').includes(SHUTDOWN));
  });

  it('leaves a node without that taint if its system hangs', async () => {
    park.tell({ kind: 'stopped', machine: aMachine('old') });
    park.boot(aMachine('other'));
    await until(() => node('other') !== undefined && isReady('other'));
    park.end('other', 'stopped');
    // Its taint is due later than that of the first would be.
    await until(() => shutDown.has('other'));
    expect(shutDown.has('old')).toBe(false);
  });

  it('goes on running pods while its deletion is only accepted', async () => {
    const accepted = { principal: 'someone', createdMs: Date.now(), was: 'Succeeded' };
    park.tell({ kind: 'delete-accepted', machine: aMachine('old'), ...accepted });
    cluster.apply(aPodDraft('one'));
    await until(() => pod('one')?.status.phase === 'Running');
  });

  it('announces its eviction in a condition, and goes on running pods', async () => {
    park.tell({ kind: 'preempt-scheduled', machine: aMachine('old'), notBeforeMs: Date.now() + 30_000 });
    await until(() => conditionOf(node('old') as NodeObject, 'PreemptScheduled')?.status === 'True');
    expect(isReady('old')).toBe(true);
    cluster.apply(aPodDraft('one'));
    await until(() => pod('one')?.status.phase === 'Running');
  });
});

describe('pods on such a node', () => {
  it('run with addresses, and stop', async () => {
    cluster.apply(aPodDraft('one'));
    await until(() => pod('one')?.status.phase === 'Running');
    expect(pod('one')?.status).toMatchObject({
      podIP: expect.stringMatching(/^10\.244\./),
      containerStatuses: [{ name: 'main', ready: true }],
    });
    cluster.remove(aPodDraft('one'));
    await until(() => pod('one') === undefined);
  });

  it('finish if they are annotated so and not restarted', async () => {
    const annotations = { 'simulator.aks-autoscaler/finish-after-seconds': '0' };
    cluster.apply(aPodDraft('restarted', { annotations }));
    cluster.apply(aPodDraft('once', { annotations, spec: { restartPolicy: 'Never' } }));
    await until(() => pod('once')?.status.phase === 'Succeeded' && pod('restarted')?.status.phase === 'Running');
    expect(pod('once')?.status).toMatchObject({ containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
  });
});

describe('a drain by AKS', () => {
  const drain = (timeoutMs: number): Promise<string | undefined> => new Promise((done) => maintenance.drain('old', { timeoutMs }, done));

  it('cordons the node and ends when its pods are gone; an uncordon takes them back', async () => {
    cluster.apply(aDeployment('web', 2));
    await until(() => running() === 2);
    expect(await drain(600_000)).toBeUndefined();
    expect(node('old')?.spec.unschedulable).toBe(true);
    await until(() => cluster.store.pendingPods().filter(({ metadata }) => metadata.namespace === 'default').length === 2);
    maintenance.uncordon('old');
    await until(() => running() === 2);
    await until(() => maintenance.isReady('old'));
    expect(maintenance.isReady('nowhere')).toBe(false);
  });

  it('evicts nothing once it is called off, and reports no end', async () => {
    cluster.apply(aDeployment('web', 1));
    await until(() => running() === 1);
    let ended = false;
    maintenance.drain('old', { timeoutMs: 600_000, goesOn: () => false }, () => {
      ended = true;
    });
    await until(() => node('old')?.spec.unschedulable === true);
    // Its first round would be over before that of a drain that begins now.
    maintenance.uncordon('old');
    await until(() => node('old')?.spec.unschedulable !== true);
    expect({ running: running(), ended }).toEqual({ running: 1, ended: false });
  });

  it('fails in time with the refusal of a budget, and evicts nothing', async () => {
    cluster.apply(aBudgetDraft('web', { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }));
    cluster.apply(aDeployment('web', 1));
    await until(() => running() === 1);
    expect(await drain(10_000)).toMatch(
      /^Drain node old failed when evicting pod web-\S+: Cannot evict pod as it would violate the pod's disruption budget/,
    );
    expect(running()).toBe(1);
  });
});

/** Real nodes offer less than their template promised: the difference is found out once, said, and not bought again and again. */
import { describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { valueOf } from '../loop/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, SECOND, worldOf } from './support.ts';

/** These scenarios last for up to an hour, and no time in them is shorter than a minute. */
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m', '--scan-interval=30s'];

interface KubeNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly object[] };
}

/** Something that happens to each node of the pool as soon as it is there. */
type Meddler = (world: VirtualRun, node: KubeNode) => void;

/** A pod of 1 CPU that somebody pins to the node by name: no owner, no annotation. */
const pinPod: Meddler = (world, { metadata: { name } }) =>
  world.world.cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `agent-${name}`, namespace: 'kube-system' },
    spec: {
      nodeName: name,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'c', image: 'agent:1', resources: { requests: { cpu: '1', memory: '64Mi' } } }],
    },
  });

const MET = new WeakMap<VirtualRun, Set<string>>();

/** The nodes that were changed already. */
function met(world: VirtualRun): Set<string> {
  const known = MET.get(world) ?? new Set<string>();
  MET.set(world, known);
  return known;
}

async function live(world: VirtualRun, meddle: Meddler, spanMs: number, pools: readonly string[] = ['general']): Promise<void> {
  const done = met(world);
  for (let passedMs = 0; passedMs < spanMs; passedMs += 2 * SECOND) {
    for (const node of world.world.cluster.store.nodes() as readonly KubeNode[]) {
      if (!pools.includes(node.metadata.labels?.['agentpool'] ?? '') || done.has(node.metadata.name)) continue;
      done.add(node.metadata.name);
      meddle(world, node);
    }
    await world.advance(2 * SECOND);
  }
}

/** Of one pool, or of all. */
const puts = (world: VirtualRun, pool = ''): number =>
  world.writes().filter(({ method, path }) => method === 'PUT' && path.includes(`-${pool}`)).length;

async function start(pool: Partial<PoolSpec> = {}): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0, ...pool })]), flags: FLAGS });
}

const removals = (world: VirtualRun, pool: string): number =>
  world.writes().filter(({ path }) => path.endsWith('delete') && path.includes(`-${pool}-`)).length;
/** Each names a node. */
const broken = (world: VirtualRun, pool = ''): readonly string[] =>
  events(world, 'TemplatePromiseBroken').filter((message) => message.includes(`-${pool}`));
const refusals = (world: VirtualRun): string => events(world, 'NotTriggerScaleUp').join(' | ');
const count = (world: VirtualRun, kind: string): Promise<number> => valueOf(world.metrics.templates.promisesBroken, { kind });

describe('a pod of 1 CPU that is pinned to each node of 4 cores', () => {
  it('a pending pod of 3.2 CPU gets one node, ten get ten, and nothing more is requested for them, before and after a restart', async () => {
    const pools = [aPool({ name: 'general', count: 0 }), aPool({ name: 'many', count: 0, max: 30 })];
    const world = await startedWorld({ spec: worldOf(pools), flags: FLAGS });
    const pass = (minutes: number): Promise<void> => live(world, pinPod, minutes * MINUTE, ['general', 'many']);
    const on = (pool: string) => ({ nodeSelector: { agentpool: pool } });
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m', spec: on('general') }));
    world.world.cluster.apply(deployment({ name: 'crowd', replicas: 10, cpu: '3200m', spec: on('many') }));
    await pass(10);

    const response = await fetch(`${world.daemon.url ?? ''}/debug/templates`);
    const shown = (await response.json()) as readonly object[];
    const text = expect.stringMatching(/^Template promised 3\.\d+ CPU, node (\S+) offers/);
    const correction = { text, from: { node: expect.stringContaining('general'), alsoShownBy: [] }, inForce: true };
    expect(shown).toContainEqual(expect.objectContaining({ correction: expect.objectContaining(correction) }));
    expect(JSON.stringify(shown)).toMatch(/"since":"20\d\d-[^"]+Z","until":"20/);
    expect(await count(world, 'resource')).toBe(2);
    world.killDaemon();
    await world.startDaemon();

    await pass(10);
    expect([capacity(world, 'many'), broken(world, 'many').length]).toEqual([10, 1]);
    for (const cpu of ['3000m', '3100m', '3300m'])
      world.world.cluster.apply(deployment({ name: `wide-${cpu}`, replicas: 2, cpu, spec: on('many') }));
    await pass(5);
    const sentence = /Template promised 3\.\d+ CPU, node (\S+) offers 2\.\d+: pod kube-system\/agent-\1 uses 1/;
    expect([puts(world, 'general'), broken(world, 'general')]).toEqual([1, [expect.stringMatching(sentence)]]);
    expect(refusals(world)).toMatch(/needs 3\.2 CPU, the node offers 2\.\d+/);
    expect(refusals(world)).toMatch(sentence);

    await pass(43);
    // One node, and one more half an hour later. As long as both show it, no third is tried, and as long as ten do, no other.
    expect([puts(world, 'general'), capacity(world, 'general'), bound(world, 'wide')]).toEqual([2, 2, 0]);
    expect([puts(world, 'many'), capacity(world, 'many')]).toEqual([1, 10]);
    expect(await count(world, 'resource')).toBe(0);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pod that fits what the nodes offer gets its node, and as many as it needs', async () => {
    const world = await start();
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await live(world, pinPod, 6 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'narrow', replicas: 4, cpu: '2500m' }));
    await live(world, pinPod, 10 * MINUTE);
    expect([bound(world, 'narrow'), capacity(world, 'general')]).toEqual([4, 4]);
  });

  it('another pool takes the pod', async () => {
    const pools = [aPool({ name: 'general', count: 0 }), aPool({ name: 'large', vmSize: 'Standard_D8s_v5', count: 0 })];
    const world = await startedWorld({ spec: worldOf(pools), flags: [...FLAGS, '--expander=least-waste'] });
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await live(world, pinPod, MINUTE);
    expect([capacity(world, 'general'), capacity(world, 'large'), bound(world, 'wide')]).toEqual([1, 0, 0]);
    await live(world, pinPod, 3 * MINUTE);
    expect([bound(world, 'wide'), capacity(world, 'general'), capacity(world, 'large'), puts(world)]).toEqual([1, 1, 1, 2]);
  });

  it('the pod runs as soon as the other pod is gone, and later pods get nodes again', async () => {
    const world = await start();
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await live(world, pinPod, 8 * MINUTE);
    const agents = world.world.cluster.store.boundPods().filter(({ metadata }) => metadata.name.startsWith('agent-'));
    for (const { metadata } of agents) world.world.cluster.remove({ apiVersion: 'v1', kind: 'Pod', metadata });
    await world.until('bound', () => bound(world, 'wide') === 1, 2 * MINUTE);
    await world.advance(MINUTE);
    world.world.cluster.apply(deployment({ name: 'more', replicas: 2, cpu: '3200m' }));
    await world.until('all bound', () => bound(world, 'more') === 2, 8 * MINUTE);
  });
});

describe('a pod of 1 CPU without an owner, with a random name and without tolerations, on each node', () => {
  let made = 0;
  const addTask: Meddler = (world, { metadata: { name } }) =>
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `task-${(made++ * 7919).toString(36)}`, namespace: 'default', labels: { app: 'task' } },
      spec: { nodeName: name, containers: [{ name: 'c', image: 'task:1', resources: { requests: { cpu: '1', memory: '64Mi' } } }] },
    });

  it('is known as a part of each node once two nodes have it: no third is requested', async () => {
    const world = await start();
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await live(world, addTask, 25 * MINUTE);
    expect([capacity(world, 'general'), pending(world), broken(world).length]).toEqual([2, 1, 1]);
    expect(broken(world).join()).toMatch(/Template promised 3\.\d+ CPU, node (\S+) offers 2\.\d+: pod default\/task-\w+ uses 1/);
  });
});

describe('other pods that took the room of an increase', () => {
  it('did not break a promise: the pod asks again', async () => {
    const world = await start();
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await world.until('the request', () => puts(world) === 1, MINUTE);
    await world.until(
      'the node',
      () => world.world.cluster.store.nodes().some(({ metadata }) => metadata.labels?.['agentpool'] === 'general'),
      5 * MINUTE,
    );
    const node = world.world.cluster.store.nodes().find(({ metadata }) => metadata.labels?.['agentpool'] === 'general');
    const owned = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'first-1', uid: 'u', controller: true }] };
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'first-1-x', namespace: 'default', ...owned },
      spec: { nodeName: node?.metadata.name ?? '', containers: [{ name: 'c', image: 'c:1', resources: { requests: { cpu: '1' } } }] },
    });
    await world.until('bound', () => bound(world, 'wide') === 1, 10 * MINUTE);
    expect([puts(world), broken(world)]).toEqual([2, []]);
  });
});

const LABEL_TAG = { 'k8s.io_cluster-autoscaler_node-template_label_disk': 'fast' };

/** An agent that never finishes on the node. */
const keepTaint: Meddler = (world, node) => {
  const taints = [...(node.spec.taints ?? []), { key: 'example.com/starting', value: '', effect: 'NoSchedule' }];
  const changed = { ...node, spec: { ...node.spec, taints } };
  world.world.cluster.apply({ apiVersion: 'v1', kind: 'Node', ...changed });
};

describe('a pool that goes up and down because its nodes', () => {
  it('lack a label that a tag promised, or keep a taint that is declared to be one of their start, gets one node in half an hour', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'label', count: 0, tags: LABEL_TAG }), aPool({ name: 'taint', count: 0 })]),
      flags: [...FLAGS, '--startup-taint=example.com/starting'],
    });
    const rows = [
      { lack: 'label', selector: { disk: 'fast' }, sentence: /promised label disk=fast, node \S+ has no such label$/ },
      { lack: 'taint', selector: {}, sentence: /has no taint example\.com\/starting:NoSchedule, node \S+ has it$/ },
    ];
    for (const { lack, selector } of rows) {
      const spec = { nodeSelector: { agentpool: lack, ...selector } };
      world.world.cluster.apply(deployment({ name: `wide-${lack}`, replicas: 1, cpu: '3200m', spec }));
    }
    const pass = (minutes: number): Promise<void> => live(world, keepTaint, minutes * MINUTE, ['taint']);
    await pass(20);
    for (const { lack, sentence } of rows) {
      expect(broken(world, lack)[0]).toMatch(sentence);
      expect(refusals(world)).toMatch(new RegExp(sentence.source.replace('$', '')));
    }
    await pass(46);
    for (const { lack } of rows) {
      // The first at once, and one more after half an hour each.
      expect([2, 3]).toContain(puts(world, lack));
      expect([puts(world, lack) - 1, puts(world, lack)]).toContain(removals(world, lack));
      expect(await count(world, lack)).toBe(puts(world, lack));
    }
    expect(world.world.violations()).toEqual([]);
  });
});

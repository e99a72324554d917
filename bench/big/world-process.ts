/**
 * The process with the large world. It reports when all pods run, then obeys its parent, one order after the other. It shares the machine
 * with the daemon, so its own CPU time is reported, too.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { CREDENTIALS } from '../../world/simulator/entry/world-entry.ts';
import { clientVariables, writeClientFiles } from '../../world/simulator/entry/client-files.ts';
import { startWorld, type World } from '../../world/simulator/world.ts';
import { drainContent } from './drain-content.ts';
import { DrainFollower } from './drain-follower.ts';
import { bigContent, lonePods, TEAM_PREFIX } from './world-content.ts';
import type { DrainFacts, Reaction, WorldAnswers, WorldOrder, WorldReady, WorldSize, WorldUsage, WriteTimes } from './world-orders.ts';

type Change = Parameters<Parameters<World['cluster']['onChange']>[0]>[0];

const TOKEN = 'only-known-to-this-simulation';
const POLL_MS = 100;
const LONE_WITHIN_MS = 60_000;
/** So that the bench ends by itself. What is not done then is not a number in the result. */
const SCALED_WITHIN_MS = 600_000;
const SETTLED_WITHIN_MS = 60_000;
const size = JSON.parse(process.argv[2] ?? '{}') as WorldSize;
const content = size.scene === 'day' ? { ...bigContent(size), going: 0, workloads: [] } : { ...drainContent(size), batch: 0 };
/** Deployments whose pods have a node of their own. */
const lone = ['batch'];

/** Numbers of the cluster, kept by change: to count 150,000 objects takes time. */
const counts = { nodes: 0, pods: 0, running: 0 };

function count({ storage, type, object, previous }: Change): void {
  const sign = type === 'DELETED' ? -1 : type === 'ADDED' ? 1 : 0;
  if (storage === 'nodes') counts.nodes += sign;
  if (storage !== 'pods') return;
  counts.pods += sign;
  counts.running += (type === 'DELETED' ? 0 : isRunning(object)) - (previous === undefined ? 0 : isRunning(previous));
}

function isRunning(pod: Change['object']): number {
  return (pod.status as { readonly phase?: string }).phase === 'Running' ? 1 : 0;
}

// Not by a signal: a profile is written at a regular end only. Also while the world still starts.
process.on('disconnect', () => process.exit(0));
const world = await startWorld({ spec: content.spec, clock: realSimClock(size.speed), client: CREDENTIALS, token: TOKEN });
counts.nodes = world.cluster.store.nodes().length;
world.cluster.onChange(count);
for (const object of content.objects) world.cluster.apply(object);
await until(() => counts.running >= size.pods);
send({ ready: await ready() });
process.on('message', (order: WorldOrder) => {
  void obey(order).then(
    (answer) => send({ answer }),
    (error: unknown) => send({ error: String(error) }),
  );
});

function send(message: object): void {
  process.send?.(message);
}

/** Whether the condition held within the time. */
async function until(condition: () => boolean, withinMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const endsMs = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > endsMs) return false;
    await pause(POLL_MS);
  }
  return true;
}

async function ready(): Promise<WorldReady> {
  const { arm, caPem, cluster, spec } = world;
  const { cpuMs, peakMb } = usage();
  const startMs = performance.now();
  const metadataUrl = await arm.startMetadata();
  const source = { spec, caPem, azureUrl: arm.url, metadataUrl, kubeconfig: cluster.kubeconfig(), client: CREDENTIALS };
  const files = await writeClientFiles(size.dir, source);
  return {
    startMs,
    startCpuMs: cpuMs,
    peakMb,
    nodes: counts.nodes,
    pods: counts.pods,
    going: content.going,
    kubeconfig: files.kubeconfig,
    cloudConfig: files.azure,
    environment: clientVariables(size.dir, source),
  };
}

function usage(): WorldUsage {
  const { user, system } = process.cpuUsage();
  const toMb = (bytes: number): number => bytes / 2 ** 20;
  return { cpuMs: (user + system) / 1000, residentMb: toMb(process.memoryUsage.rss()), peakMb: process.resourceUsage().maxRSS / 1024 };
}

async function obey(order: WorldOrder): Promise<WorldAnswers[WorldOrder['verb']]> {
  switch (order.verb) {
    case 'usage':
      return usage();
    case 'change-pods':
      return changePods(order);
    case 'add-lone-pod':
      return addLonePod(order);
    case 'add-pods':
      return addPods(order.count);
    case 'remove-pods':
      return removePods();
    case 'follow-drains':
      return followDrains(order);
  }
}

async function changePods({
  perSecond,
  forMs,
}: {
  readonly perSecond: number;
  readonly forMs: number;
}): Promise<{ readonly changed: number }> {
  const pods = world.cluster.store.pods().map(({ metadata }) => metadata);
  const startedMs = performance.now();
  let changed = 0;
  while (performance.now() - startedMs < forMs) {
    const due = Math.floor(((performance.now() - startedMs) / 1000) * perSecond);
    for (; changed < due; changed++) changePod(pods[(changed * 7919) % pods.length], changed);
    await pause(10);
  }
  return { changed };
}

function changePod(named: { readonly namespace?: string; readonly name: string } | undefined, value: number): void {
  const pod = world.cluster.store.get('pods', named?.namespace, named?.name ?? '');
  if (pod === undefined) return;
  const annotations = { ...pod.metadata.annotations, 'example.com/changed': String(value) };
  world.cluster.apply({ ...pod, metadata: { ...pod.metadata, annotations } });
}

interface Followed {
  readonly unschedulableAt: () => number;
  readonly writes: readonly number[];
  /** Pods of the ordinary workloads that ended. */
  readonly othersEnded: () => number;
  readonly stop: () => void;
}

/** What happens in the world from now on. */
function follow(): Followed {
  const writes: number[] = [];
  let othersEnded = 0;
  let unschedulableAt = Number.NaN;
  const stops = [
    world.arm.control.onEntry(({ method, path, status, at }) => {
      const isWrite = ['PUT', 'POST', 'DELETE'].includes(method) && path.includes('/virtualMachineScaleSets/');
      if (isWrite && status < 300) writes.push(at);
    }),
    world.cluster.onChange(({ storage, type, object }) => {
      if (storage === 'pods' && type === 'DELETED' && object.metadata.namespace?.startsWith(TEAM_PREFIX) === true) othersEnded += 1;
      if (storage !== 'pods' || !Number.isNaN(unschedulableAt)) return;
      const { conditions = [] } = object.status as { readonly conditions?: readonly { readonly type: string; readonly reason?: string }[] };
      if (conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')) unschedulableAt = Date.now();
    }),
  ];
  return { unschedulableAt: () => unschedulableAt, othersEnded: () => othersEnded, writes, stop: () => stops.forEach((stop) => stop()) };
}

async function addLonePod({ name, index }: { readonly name: string; readonly index: number }): Promise<Reaction> {
  const followed = follow();
  const startedMs = performance.now();
  lone.push(name);
  const pools = content.spec.pools.filter((pool) => pool.zones !== undefined);
  const pool = pools[index % pools.length]?.name ?? '';
  world.cluster.apply(lonePods(name, 1, { nodeSelector: { 'kubernetes.azure.com/agentpool': pool } }));
  await until(() => followed.writes.length > 0 || performance.now() - startedMs > LONE_WITHIN_MS);
  followed.stop();
  return { unschedulableToWriteMs: (followed.writes[0] ?? Number.NaN) - followed.unschedulableAt() };
}

async function addPods(count: number): Promise<WriteTimes> {
  const running = counts.running;
  const nodes = counts.nodes;
  const times = startTimes();
  lone.push('burst');
  world.cluster.apply(lonePods('burst', count));
  // Each new node runs a pod of kube-proxy, too.
  const isDone = await until(() => counts.running >= running + 2 * count, SCALED_WITHIN_MS);
  return times(counts.nodes - nodes, isDone);
}

async function removePods(): Promise<WriteTimes> {
  const nodes = counts.nodes;
  const times = startTimes();
  const deployments = world.cluster.store.list('deployments').filter(({ metadata }) => lone.includes(metadata.name));
  for (const deployment of deployments) world.cluster.remove(deployment);
  const isDone = await until(() => counts.nodes <= size.nodes - content.batch, SCALED_WITHIN_MS);
  const removed = times(nodes - counts.nodes, isDone);
  // Pods of these nodes end after them. Another scale-up would count them as its own.
  await until(() => counts.running <= size.pods - 2 * content.batch, SETTLED_WITHIN_MS);
  return removed;
}

async function followDrains(order: Extract<WorldOrder, { readonly verb: 'follow-drains' }>): Promise<DrainFacts> {
  const follower = new DrainFollower(world, content.workloads);
  const { going, withinMs, releaseAfterMs } = order;
  const release = releaseAfterMs === undefined ? undefined : setTimeout(() => follower.release(), releaseAfterMs);
  const isDone = await until(() => follower.nodesGone >= going, withinMs);
  clearTimeout(release);
  return follower.facts(isDone);
}

function startTimes(): (changedNodes: number, isDone: boolean) => WriteTimes {
  const followed = follow();
  const startedAt = Date.now();
  return (changedNodes, isDone) => {
    followed.stop();
    const { writes } = followed;
    return {
      firstMs: (writes[0] ?? Number.NaN) - startedAt,
      lastMs: (writes.at(-1) ?? Number.NaN) - startedAt,
      writes: writes.length,
      doneMs: isDone ? Date.now() - startedAt : Number.NaN,
      nodes: changedNodes,
      othersEnded: followed.othersEnded(),
    };
  };
}

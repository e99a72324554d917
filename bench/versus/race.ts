/** One contestant in one case: a fresh world, the process, what happened, and what it cost. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type AzureRequest, type RunningWorld, startWorld } from '../../world/simulator/entry/world-entry.ts';
import type { VersusCase } from './cases.ts';
import { type Contestant, type RunningContestant, startContestant } from './contestants.ts';

export interface RaceResult {
  readonly contestant: string;
  /** Seconds of the machine after the change. undefined: never within the time of the case. */
  readonly firstWriteSeconds: number | undefined;
  readonly doneSeconds: number | undefined;
  readonly armCalls: number;
  readonly armCallsPerMinute: number;
  readonly refusedWrites: number;
  readonly lostUpdates: number;
  /** Nodes in Azure at the end that hold none of the pods, above the minimum. */
  readonly surplusNodes: number;
  readonly cpuSecondsPerMinute: number;
  readonly memoryMiB: number;
  /** It did not start, or ended by itself. */
  readonly failed: boolean;
}

export interface RaceInput {
  readonly contestant: Contestant;
  readonly scene: VersusCase;
  readonly speed: number;
  readonly dir: string;
}

const POLL_MS = 250;
const START_WITHIN_MS = 90_000;
/** A contestant is at rest when it has completed some loops. */
const SETTLE_MS = 25_000;
/** Late writes are seen, too. */
const HOLD_MS = 15_000;

export async function race({ contestant, scene, speed, dir }: RaceInput): Promise<RaceResult> {
  const world = await startWorld({ pools: scene.pools, clock: { speed: scene.name === 'idle' ? 1 : speed }, ...specOf(scene) });
  mkdirSync(dir, { recursive: true });
  scene.prepare?.(world);
  await pause(POLL_MS * 8);
  const files = await world.writeFiles(join(dir, 'world'));
  const environment = await world.environment(join(dir, 'world'));
  const running = startContestant({ contestant, files, environment, flags: scene.flags ?? [], dir });
  try {
    if (!(await hasStarted(world, running))) return failure(contestant);
    await pause(SETTLE_MS);
    return await measure({ world, running, scene, contestant });
  } finally {
    await running.stop();
    await world.stop();
  }
}

function specOf({ spec }: VersusCase): { readonly spec?: NonNullable<VersusCase['spec']> } {
  return spec === undefined ? {} : { spec };
}

/** A contestant writes its status after its first loop. */
async function hasStarted(world: RunningWorld, running: RunningContestant): Promise<boolean> {
  for (let waited = 0; waited < START_WITHIN_MS && running.isAlive(); waited += POLL_MS) {
    if (world.objects('configmaps').some(({ metadata }) => metadata.name === 'cluster-autoscaler-status')) return true;
    await pause(POLL_MS);
  }
  return false;
}

interface Measured {
  readonly world: RunningWorld;
  readonly running: RunningContestant;
  readonly scene: VersusCase;
  readonly contestant: Contestant;
}

async function measure({ world, running, scene, contestant }: Measured): Promise<RaceResult> {
  const from = world.journal().at(-1)?.seq ?? 0;
  const before = running.usage();
  const startMs = performance.now();
  const startedAt = world.clock.now();
  scene.act(world);
  const doneMs = await waitUntilDone({ world, running, scene, from, startMs });
  if (doneMs !== undefined) await pause(HOLD_MS);
  const minutes = (performance.now() - startMs) / 60_000;
  const after = running.usage();
  const requests = armRequests(world, from);
  const [first] = acceptedWrites(requests);
  return {
    contestant: contestant.name,
    firstWriteSeconds: first === undefined ? undefined : Math.max(0, first.at - startedAt) / 1000,
    doneSeconds: doneMs === undefined ? undefined : doneMs / 1000,
    armCalls: requests.length,
    armCallsPerMinute: requests.length / minutes,
    refusedWrites: requests.filter((request) => isWrite(request) && request.status >= 400).length,
    lostUpdates: world.violations().filter(({ rule }) => rule === 'lost-update' || rule === 'capacity-lowered-by-put').length,
    surplusNodes: surplusOf(world),
    cpuSecondsPerMinute: (after.cpuSeconds - before.cpuSeconds) / minutes,
    memoryMiB: after.memoryMiB,
    failed: !running.isAlive(),
  };
}

async function waitUntilDone(
  input: Omit<Measured, 'contestant'> & { readonly from: number; readonly startMs: number },
): Promise<number | undefined> {
  const { world, running, scene, from, startMs } = input;
  while (running.isAlive() && performance.now() - startMs < scene.withinSeconds * 1000) {
    scene.follow?.(world, acceptedWrites(armRequests(world, from)).length);
    if (scene.isDone(world)) return performance.now() - startMs;
    await pause(POLL_MS);
  }
  return undefined;
}

/** Requests to resources; sign-in and metadata are free. */
function armRequests(world: RunningWorld, from: number): readonly AzureRequest[] {
  return world.journal(from).filter(({ method, path }) => method !== 'EVENT' && path.toLowerCase().startsWith('/subscriptions/'));
}

function isWrite({ method }: AzureRequest): boolean {
  return method !== 'GET';
}

function acceptedWrites(requests: readonly AzureRequest[]): readonly AzureRequest[] {
  return requests.filter((request) => isWrite(request) && request.status < 300);
}

function surplusOf(world: RunningWorld): number {
  const used = new Set(world.pods().bound.flatMap(({ metadata, spec }) => (metadata.labels?.['app'] === 'web' ? [spec.nodeName] : [])));
  const nodes = world.nodes();
  const surplus = world.pools().map(({ name, capacity, min }) => {
    const mine = nodes.filter(({ metadata }) => metadata.labels?.['kubernetes.azure.com/agentpool'] === name);
    return capacity - Math.max(min, mine.filter(({ metadata }) => used.has(metadata.name)).length);
  });
  return surplus.reduce((sum, count) => sum + Math.max(0, count), 0);
}

function failure({ name }: Contestant): RaceResult {
  const nothing = {
    armCalls: 0,
    armCallsPerMinute: 0,
    refusedWrites: 0,
    lostUpdates: 0,
    surplusNodes: 0,
    cpuSecondsPerMinute: 0,
    memoryMiB: 0,
  };
  return { contestant: name, firstWriteSeconds: undefined, doneSeconds: undefined, ...nothing, failed: true };
}

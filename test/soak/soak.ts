/**
 * One soak run: a world, a daemon and misfortunes from a seed, then quiet, judged from outside. Nothing of the daemon's
 * own opinion counts but where it must agree with the world.
 */
import { defined } from '../../src/lib/defined.ts';
import { asAutoscalerError } from '../../src/lib/errors.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { INCIDENT_CATALOGUE } from '../../world/simulator/arm/faults/incident-catalogue.ts';
import type { InstantListener } from '../../world/simulator/world-hash.ts';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { budget, deployment } from '../scenarios/support.ts';
import { VirtualRun } from '../support/virtual-world.ts';
import { bindLate } from './actors/late-binds.ts';
import { immortal, randomDeaths, type Mortality } from './deaths.ts';
import { createWitness, ratesExceeded, stuckGroups, unrest, type Stage } from './judge.ts';
import { MemoryWatch, orderedTwice } from './memory.ts';
import { deletedTwice, poolsTakenFrom, watchRemovals } from './removals.ts';
import { makeScenario, type Scenario, type WorkloadSpec } from './scenario.ts';
import type { Step } from './step.ts';

const SECOND = 1_000;
/** How long after the last misfortune a run may take to come to rest. */
const CONVERGE_WITHIN_MS = 45 * 60 * SECOND;
/** Even a budget of Azure that says wait is over by then; what looks at rest must stay so. */
const START_AGAIN_AFTER_MS = 20 * SECOND;

export interface SoakResult {
  readonly seed: number;
  readonly loops: number;
  readonly faults: number;
  /** At which calls of its own the daemon died. */
  readonly deaths: readonly string[];
  readonly violations: readonly string[];
  readonly unplannedRemovals: readonly string[];
  readonly stuckGroups: readonly string[];
  /** What else did not come to rest. */
  readonly unrest: readonly string[];
  /** Virtual milliseconds from the last misfortune to rest; undefined: never. */
  readonly convergedAfterMs: number | undefined;
  /** Every write to Azure, one line each: two runs of a seed must agree. */
  readonly writes: readonly string[];
  /** The harness itself failed. */
  readonly crash: string | undefined;
  /** Over everything that happened in the world: two runs of a seed must agree. Empty when the harness failed. */
  readonly hash: string;
}

/** What else looks at a run. */
export interface RunWatch {
  /** What happened in each instant, sorted. */
  readonly onInstant?: InstantListener;
  /** The world and the daemon run. */
  readonly onStart?: (run: VirtualRun) => void;
  /** A process of the daemon begins. */
  readonly onProcess?: () => void;
  /** The misfortunes are over. */
  readonly onCalm?: () => void;
}

interface Progress {
  readonly stage: Stage;
  readonly scenario: Scenario;
  readonly watch: RunWatch;
  readonly crashes: string[];
  /** When each process of the daemon began. */
  readonly startsMs: number[];
}

/** A random scenario of that seed; the misfortunes last `loops` scan intervals. `deadly` as of `makeScenario`. */
export function soak(seed: number, loops: number, deadly = true, watch: RunWatch = {}): Promise<SoakResult> {
  const scenario = makeScenario(seed, loops, deadly);
  return undergo(scenario, scenario.mortal ? randomDeaths(seededRandom(seed * 104_729 + 7)) : immortal(), watch);
}

/** Lives a scenario through, dying as told, until it is at rest. */
export async function undergo(scenario: Scenario, mortality: Mortality, watch: RunWatch = {}): Promise<SoakResult> {
  const witness = createWitness();
  const { env, rules = {} } = scenario;
  const memory = new MemoryWatch(rules.remembers);
  const run = await VirtualRun.start({
    spec: scenario.world,
    flags: scenario.flags,
    knobs: scenario.knobs,
    ...(env === undefined ? {} : { env }),
    journal: {
      record: (entry) => {
        witness.journal.record(entry);
        memory.journal.record(entry);
      },
    },
    crashPlan: mortality.crashPlan,
    ...defined({ reportsKept: scenario.reportsKept, onInstant: watch.onInstant }),
  });
  try {
    memory.begin(run);
    const beganMs = run.clock.now();
    const unplanned = watchRemovals(run, witness, scenario.patience);
    const takenFrom = poolsTakenFrom(run);
    const pools = new Map(scenario.world.pools.map((pool) => [pool.name, pool]));
    for (const { step } of scenario.steps) {
      const added = addedPool(step, pools);
      if (added !== undefined) pools.set(added.name, added);
    }
    const stage: Stage = {
      run,
      pools,
      enforcesMin: scenario.flags.includes('--enforce-node-group-min-size=true'),
      unfilled: rules.unfilled === true,
    };
    const progress: Progress = { stage, scenario, watch, crashes: [], startsMs: [] };
    watch.onStart?.(run);
    if (!run.isRunning) await startAgain(progress);
    for (const workload of scenario.workloads) if (workload.maxUnavailable !== undefined) applyBudget(run, workload);
    run.world.arm.control.setAmbient(scenario.ambient);
    await misfortunes(progress);
    const endedAtMs = run.clock.now();
    mortality.end();
    watch.onCalm?.();
    calm(progress);
    if (!run.isRunning) await startAgain(progress);
    const converged = await comesToRest(stage, scenario.restWithinMs ?? CONVERGE_WITHIN_MS);
    return {
      seed: scenario.seed,
      loops: run.loops,
      faults: scenario.steps.filter(({ step }) => step.kind !== 'scale').length + mortality.deaths.length,
      deaths: mortality.deaths,
      violations: [
        ...run.world.violations().map(({ rule, subject, detail, atMs }) => `${rule} ${subject}: ${detail} at ${atMs}`),
        ...ratesExceeded(run.writes(), progress.startsMs),
        ...deletedTwice(run.writes(), progress.startsMs, new Set([...takenFrom, ...countedPools(scenario)])),
        ...memory.forgotten,
        ...(rules.exact === true ? orderedTwice(run, scenario.steps, beganMs) : []),
      ],
      unplannedRemovals: unplanned,
      stuckGroups: converged ? [] : stuckGroups(stage),
      unrest: converged ? [] : unrest(stage),
      convergedAfterMs: converged ? run.clock.now() - endedAtMs : undefined,
      writes: run.writes().map(({ at, route, path, status, capacityBefore, capacityAfter }) => {
        return `${at} ${route} ${path.split('/').slice(8).join('/')} ${status} ${capacityBefore ?? ''}>${capacityAfter ?? ''}`;
      }),
      crash: progress.crashes[0],
      hash: run.world.hash(),
    };
  } finally {
    await run.stop();
  }
}

/** The pool that a step brings into the world. */
function addedPool(step: Step, pools: ReadonlyMap<string, PoolSpec>): PoolSpec | undefined {
  if (step.kind === 'event') return 'addPool' in step.event ? step.event.addPool : undefined;
  if (step.kind !== 'catalogued') return undefined;
  const { number, match } = step.order;
  const { name, vmSize } = pools.get(match?.pool ?? '') ?? {};
  const made =
    name === undefined || vmSize === undefined
      ? undefined
      : INCIDENT_CATALOGUE.get(number)?.make({ pool: name, vmSize, zone: undefined, subnet: '', location: '' });
  return made !== undefined && 'event' in made && 'addPool' in made.event ? made.event.addPool : undefined;
}

/** What the world does by itself is scheduled on its clock; only the daemon's own life is led from here. */
async function misfortunes(progress: Progress): Promise<void> {
  const { run } = progress.stage;
  const startMs = run.clock.now();
  const { steps, chaosMs } = progress.scenario;
  for (const { atMs, step } of steps) if (step.kind !== 'restart') run.clock.after(atMs, () => act(progress, step));
  for (const { atMs, step } of steps) {
    if (step.kind !== 'restart') continue;
    await live(progress, startMs + atMs);
    if (step.kill) run.killDaemon();
    else await run.stopDaemon();
    await run.advance(step.awayMs);
    await startAgain(progress);
  }
  await live(progress, startMs + chaosMs);
}

/** Until then, whoever dies is followed. */
async function live(progress: Progress, untilMs: number): Promise<void> {
  const { run } = progress.stage;
  while (run.clock.now() < untilMs) {
    if (!run.isRunning) {
      await run.advance(START_AGAIN_AFTER_MS);
      await startAgain(progress);
    }
    await run.advance(Math.max(0, untilMs - run.clock.now()), () => !run.isRunning);
  }
}

/** As a kubelet does: a process that ends is started again after a while. */
async function startAgain({ stage: { run }, watch, startsMs }: Progress): Promise<void> {
  for (;;) {
    startsMs.push(run.clock.now());
    watch.onProcess?.();
    try {
      await run.startDaemon();
      if (run.isRunning) return;
      await run.advance(START_AGAIN_AFTER_MS);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'bug' || error.kind === 'config') throw thrown;
      run.killDaemon();
      await run.advance(START_AGAIN_AFTER_MS);
    }
  }
}

function act({ stage: { run }, scenario, crashes }: Progress, step: Step): void {
  const { arm, cluster } = run.world;
  switch (step.kind) {
    case 'scale': {
      const workload = scenario.workloads.find(({ name }) => name === step.workload);
      if (workload !== undefined) cluster.apply(draft(workload, step.replicas));
      return;
    }
    case 'fault':
      arm.control.addFault(step.fault);
      run.clock.after(step.forMs, () => arm.control.removeFault(step.fault.id));
      return;
    case 'catalogued':
      // A pool may have gone before its turn came, or have no scale set.
      arm.control.addCatalogued(step.order);
      run.clock.after(step.forMs, () => arm.control.removeFault(step.order.id));
      return;
    case 'event':
      // A pool may have gone before its turn came.
      arm.control.raise(step.event);
      return;
    case 'stock':
      return arm.control.setStock(step.vmSize, step.zone, step.count);
    case 'quota':
      return arm.control.setQuota(step.name, step.limit);
    case 'kube-errors':
      return cluster.control.failNext(step.count, step.status, step.resource === undefined ? {} : { resource: step.resource });
    case 'kube-watches':
      return cluster.control.dropWatches();
    case 'kube-compact':
      return cluster.control.compact();
    case 'kube-away':
      cluster.control.pause();
      run.clock.after(step.forMs, () => cluster.control.resume());
      return;
    case 'late-binds':
      return bindLate(run, run.clock.now() + step.forMs);
    case 'skew':
      return run.skewDaemon(step.ms);
    case 'restart':
      crashes.push('a restart is not an event of the world');
  }
}

/** Every misfortune ends; what is out of stock may stay so. */
function calm({ stage: { run }, scenario }: Progress): void {
  const { arm, cluster } = run.world;
  arm.control.setAmbient({});
  for (const { step } of scenario.steps) if (step.kind === 'catalogued') arm.control.removeFault(step.order.id);
  for (const fault of arm.control.state().faults) arm.control.removeFault(fault.id);
  cluster.control.resume();
  run.skewDaemon(0);
  for (const { name } of arm.control.state().usages) arm.control.setQuota(name, 100_000);
  if (!scenario.stockReturns) return;
  for (const key of Object.keys(arm.control.state().stock)) {
    const [size = '', zone = '0'] = key.split('/');
    arm.control.setStock(size, zone, 1_000);
  }
}

async function comesToRest(stage: Stage, withinMs: number): Promise<boolean> {
  const { run } = stage;
  const since = run.loops;
  const endMs = run.clock.now() + withinMs;
  // guard: the rest at the end of a soak is judged in virtual time
  while (run.clock.now() < endMs) {
    await run.advance(5 * SECOND);
    // guard: waiting pods count as unrest
    if (run.loops > since + 2 && unrest(stage).length === 0) return true;
  }
  return false;
}

function draft({ name, cpu, memory, gracePeriodSeconds, spotOnly, toleratesSpot }: WorkloadSpec, replicas: number): ObjectDraft {
  const labels = { 'tolerates-spot': String(toleratesSpot), 'spot-only': String(spotOnly) };
  const toleration = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
  return deployment({
    name,
    replicas,
    cpu,
    memory,
    labels,
    spec: {
      terminationGracePeriodSeconds: gracePeriodSeconds,
      ...(toleratesSpot ? { tolerations: [toleration] } : {}),
      ...(spotOnly ? { nodeSelector: { 'kubernetes.azure.com/scalesetpriority': 'spot' } } : {}),
    },
  });
}

/** Pools whose counts include machines that were removed and stopped: there no count falls. */
function countedPools({ world }: Scenario): readonly string[] {
  return world.pools.filter(({ machineStops }) => machineStops === 'counted').map(({ name }) => name);
}

function applyBudget(run: VirtualRun, { name, maxUnavailable }: WorkloadSpec): void {
  if (maxUnavailable !== undefined) run.world.cluster.apply(budget(name, maxUnavailable));
}

/**
 * Measures one run, in the world alone: what an autoscaler reports about itself counts for nothing. Times are of the world, whatever
 * its speed. Must not know which autoscaler runs, nor how runs are compared.
 */
import { cpuMillis } from '../../../src/domain/quantity.ts';
import type { PodObject } from '../../simulator/cluster/store/objects.ts';
import { controllerOf } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';
import type { World } from '../../simulator/world.ts';
import type { Scenario } from '../loads/load.ts';
import { NodeLives } from './node-lives.ts';
import { PodMoves } from './pod-moves.ts';
import { percentile, PodWaits, round } from './pod-waits.ts';
import { type Contract, type Money, PriceList } from './price-list.ts';
import type { RunFigures, RunSample } from './run-figures.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const EVICTION = /\/namespaces\/([^/]+)\/pods\/([^/]+)\/eviction/;
/** How often the world is looked at, simulated milliseconds. */
const LOOK_EVERY_MS = 30 * SECOND;
/** Samples of a run, at most. */
const MOST_SAMPLES = 360;

export interface RunMetersInput {
  readonly world: World;
  readonly scenario: Scenario;
  /** The application id that the autoscaler signs in with. */
  readonly principal: string;
  /** By which nodes are paid. If absent, list prices hold. */
  readonly contract?: Contract;
}

interface Look {
  readonly nodes: ReadonlyMap<string, number>;
  readonly vcpus: number;
  readonly requestedVcpus: number;
  readonly pending: number;
  readonly money: Money;
}

/** Measures from its creation until `end`. */
export class RunMeters {
  readonly #input: RunMetersInput;
  readonly #prices: PriceList;
  readonly #waits = new PodWaits(isOfWorkload);
  readonly #lives = new NodeLives();
  readonly #moves = new PodMoves();
  readonly #stops: (() => void)[] = [];
  readonly #startMs: number;
  readonly #looks: Look[] = [];
  #evictions = 0;
  #armCalls = 0;
  #violationsBefore: number;
  #endMs: number | undefined;

  constructor(input: RunMetersInput) {
    const { world, scenario, principal, contract } = input;
    this.#input = input;
    this.#prices = new PriceList(scenario, contract);
    this.#startMs = world.clock.now();
    this.#violationsBefore = world.violations().length;
    this.#stops.push(
      world.arm.control.onEntry((entry) => {
        if (entry.principal === principal && entry.method !== 'EVENT') this.#armCalls++;
      }),
      world.cluster.onRequest(({ resource, status, url }) => {
        if (resource === 'pods/eviction' && status < 300 && !url.includes('dryRun=')) this.#noteEviction(url);
      }),
      world.cluster.onChange((change) => {
        if (change.storage === 'pods') this.#notePod(change);
        if (change.storage === 'nodes') this.#lives.record(change, this.#nowMs());
      }),
      world.arm.machines.subscribe((change) => {
        if (change.kind === 'delete-accepted' && change.principal === principal) this.#lives.noteRemoval(change.machine.hostName);
        if (change.kind === 'preempt-scheduled') this.#moves.notePreemption(change.machine.hostName);
      }),
    );
    this.#look();
  }

  /** Nothing counts from here on. */
  end(): void {
    this.#endMs ??= this.#nowMs();
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Sentences about prices that are not known. */
  get notes(): readonly string[] {
    return this.#prices.notes;
  }

  figures(jobs: RunFigures['jobs']): RunFigures {
    const nowMs = this.#endMs ?? this.#nowMs();
    const hours = nowMs / HOUR;
    const waits = this.#waits.allUntil(nowMs);
    const nodes = this.#lives.figures();
    const mean = (of: (look: Look) => number): number =>
      this.#looks.reduce((sum, look) => sum + of(look), 0) / Math.max(1, this.#looks.length);
    const perDay = (of: (money: Money) => number): number => round((mean(({ money }) => of(money)) * DAY) / HOUR);
    return {
      hours: round(hours),
      costPerDay: perDay(({ bought }) => bought),
      money: {
        list: perDay(({ list }) => list),
        discounted: perDay(({ discounted }) => discounted),
        paidIdle: perDay(({ paidIdle }) => paidIdle),
      },
      vcpuHours: round(mean(({ vcpus }) => vcpus) * hours),
      requestedVcpuHours: round(mean(({ requestedVcpus }) => requestedVcpus) * hours),
      pending: {
        pods: waits.length,
        podSeconds: round(waits.reduce((sum, ms) => sum + ms, 0) / SECOND),
        p50Seconds: round(percentile(waits, 0.5) / SECOND),
        p95Seconds: round(percentile(waits, 0.95) / SECOND),
        maxSeconds: round(percentile(waits, 1) / SECOND),
        unfinished: this.#waits.waiting,
      },
      nodes: {
        bought: nodes.created,
        removed: nodes.removedByDaemon,
        shortLived: nodes.shortLived,
        medianLifeMinutes: nodes.medianLifeMinutes,
      },
      evictions: this.#evictions,
      movedTwice: this.#moves.twice,
      jobs,
      armCalls: this.#armCalls,
      violations: this.#input.world.violations().length - this.#violationsBefore,
    };
  }

  waitQuantiles(): readonly number[] {
    const waits = this.#waits.allUntil(this.#endMs ?? this.#nowMs());
    return Array.from({ length: 101 }, (_, percent) => round(percentile(waits, percent / 100) / SECOND));
  }

  /** Means of equally long intervals. */
  samples(): readonly RunSample[] {
    const looks = this.#looks;
    const each = Math.max(1, Math.ceil(looks.length / MOST_SAMPLES));
    return Array.from({ length: Math.ceil(looks.length / each) }, (_, at) =>
      sampleOf(looks.slice(at * each, (at + 1) * each), at * each * LOOK_EVERY_MS),
    );
  }

  #notePod(change: StoreChange): void {
    this.#waits.record(change, this.#nowMs());
    this.#moves.record(change);
  }

  #noteEviction(url: string): void {
    this.#evictions++;
    const [, namespace = '', name = ''] = EVICTION.exec(url) ?? [];
    this.#moves.noteEviction(namespace, name, this.#nowMs());
  }

  /** Simulated milliseconds since the start. */
  #nowMs(): number {
    const { clock } = this.#input.world;
    return (clock.now() - this.#startMs) * clock.speed;
  }

  #look(): void {
    if (this.#endMs !== undefined) return;
    const { arm, cluster, clock } = this.#input.world;
    const machines = arm.machines.list().filter(({ power }) => power !== 'none' && power !== 'deallocated');
    this.#looks.push({
      nodes: countBy(machines.map(({ pool }) => pool)),
      vcpus: machines.reduce((sum, { vcpus }) => sum + vcpus, 0),
      requestedVcpus: cluster.store.pods().reduce((sum, pod) => sum + requestedVcpus(pod), 0),
      pending: this.#waits.waiting,
      money: this.#prices.of(machines),
    });
    clock.after(LOOK_EVERY_MS, () => this.#look());
  }
}

/** Pods of the cluster's own and of DaemonSets follow the nodes. */
function isOfWorkload(pod: PodObject): boolean {
  return pod.metadata.namespace !== 'kube-system' && controllerOf(pod)?.kind !== 'DaemonSet';
}

function requestedVcpus(pod: PodObject): number {
  if (!isOfWorkload(pod) || pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed') return 0;
  return pod.spec.containers.reduce((sum, { resources }) => sum + cpuMillis(resources?.requests?.['cpu'] ?? 0), 0) / 1_000;
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function sampleOf(looks: readonly Look[], atMs: number): RunSample {
  const mean = (of: (look: Look) => number): number => round(looks.reduce((sum, look) => sum + of(look), 0) / looks.length);
  const pools = [...new Set(looks.flatMap(({ nodes }) => [...nodes.keys()]))].sort();
  return {
    atMs,
    nodes: Object.fromEntries(pools.map((pool) => [pool, mean(({ nodes }) => nodes.get(pool) ?? 0)])),
    vcpus: mean(({ vcpus }) => vcpus),
    requestedVcpus: mean(({ requestedVcpus }) => requestedVcpus),
    pending: mean(({ pending }) => pending),
    costPerHour: mean(({ money }) => money.bought),
  };
}

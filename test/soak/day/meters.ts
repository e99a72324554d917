/** What a day costs and how it serves, measured in the world alone. */
import type { JournalEntry } from '../../../world/simulator/arm/http/journal.ts';
import type { PodObject } from '../../../world/simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../../world/simulator/cluster/store/store.ts';
import type { VirtualRun } from '../../support/virtual-world.ts';
import { CLIENT } from '../../../world/lab/client-files.ts';
import { NodeLives, type NodeFigures } from '../../../world/lab/judge/node-lives.ts';
import { PodWaits, round } from '../../../world/lab/judge/pod-waits.ts';
import { FallbackTimes } from './fallback.ts';
import { cpuMillisOf } from './pod-cpu.ts';
import { HeapGrowth } from './heap-growth.ts';
import { RetryAfterWatch } from './retry-after.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LOOK_EVERY_MS = 5 * SECOND;
/** Another writer came first: planned again, and no refusal. */
const CONFLICT = 412;
const CALLS_WINDOW_MS = 10 * MINUTE;

export interface DayFigures {
  readonly hours: number;
  readonly nodes: NodeFigures;
  /** Hours of vCPU of user pools, those that pods requested, and their ratio. */
  readonly cost: { readonly vcpuHours: number; readonly requestedHours: number; readonly ratio: number };
  readonly pods: ReturnType<PodWaits['summary']>;
  readonly arm: { readonly perMinute: number; readonly busiestPerMinute: number; readonly refusals: number; readonly unauthorized: number };
  readonly fallback: { readonly count: number; readonly p50Seconds: number; readonly longestSeconds: number };
  /** Of world and daemon together. It depends on the machine; all other figures depend on the seed alone. */
  readonly heapMiBPerHour: number;
}

/** Measures from its start on. */
export class DayMeters {
  readonly waits = new PodWaits();
  readonly retryAfter = new RetryAfterWatch();
  readonly fallback = new FallbackTimes();
  readonly #run: VirtualRun;
  readonly #startMs: number;
  readonly #lives = new NodeLives();
  readonly #callsByWindow = new Map<number, number>();
  readonly #heap: HeapGrowth;
  #vcpuMs = 0;
  #requestedMs = 0;
  #unauthorized = 0;
  #endMs: number | undefined;

  constructor(run: VirtualRun) {
    this.#run = run;
    this.#startMs = run.clock.now();
    this.#heap = new HeapGrowth(this.#startMs);
    const { arm, cluster } = run.world;
    arm.control.onEntry((entry) => this.#onEntry(entry));
    cluster.onChange((change) => this.#onChange(change));
    arm.machines.subscribe((change) => {
      if (change.kind === 'delete-accepted' && change.principal === CLIENT.clientId) this.#lives.noteRemoval(change.machine.hostName);
    });
    this.#look();
    this.#lookAtHeap();
  }

  /** Load and misfortunes are over: what comes after counts no more. */
  end(): void {
    this.#endMs = this.#run.clock.now();
  }

  figures(): DayFigures {
    const hours = ((this.#endMs ?? this.#run.clock.now()) - this.#startMs) / HOUR;
    const calls = [...this.#callsByWindow.values()];
    const times = this.fallback.tookMs.toSorted((left, right) => left - right);
    return {
      hours: round(hours),
      nodes: this.#lives.figures(),
      cost: {
        vcpuHours: round(this.#vcpuMs / HOUR),
        requestedHours: round(this.#requestedMs / HOUR),
        ratio: round(this.#vcpuMs / Math.max(1, this.#requestedMs)),
      },
      pods: this.waits.summary(),
      arm: {
        perMinute: round(calls.reduce((sum, count) => sum + count, 0) / (hours * 60)),
        busiestPerMinute: round((Math.max(0, ...calls) * MINUTE) / CALLS_WINDOW_MS),
        refusals: this.retryAfter.refusals,
        unauthorized: this.#unauthorized,
      },
      fallback: {
        count: times.length,
        p50Seconds: round((times[Math.floor(times.length / 2)] ?? 0) / SECOND),
        longestSeconds: round((times.at(-1) ?? 0) / SECOND),
      },
      heapMiBPerHour: round(this.#heap.perHour()),
    };
  }

  #onEntry(entry: JournalEntry): void {
    if (this.#endMs !== undefined || entry.principal !== CLIENT.clientId) return;
    const { at, status, pool, capacityBefore = 0, capacityAfter = 0 } = entry;
    const window = Math.floor(at / CALLS_WINDOW_MS);
    this.#callsByWindow.set(window, (this.#callsByWindow.get(window) ?? 0) + 1);
    if (status === 401) this.#unauthorized++;
    this.retryAfter.record(entry);
    // The daemon learns of a failure by a read: from here on its time counts.
    if (entry.method === 'GET') this.#lookAtFailures();
    if (pool === undefined) return;
    if (entry.method === 'PUT' && status >= 400 && status !== CONFLICT) this.fallback.refused(pool, at);
    else if (capacityAfter > capacityBefore) this.fallback.increased(pool, at);
  }

  #onChange(change: StoreChange): void {
    const nowMs = this.#run.clock.now();
    if (this.#endMs !== undefined) return;
    if (change.storage === 'pods') this.waits.record(change, nowMs);
    if (change.storage === 'nodes') this.#lives.record(change, nowMs);
  }

  #look(): void {
    if (this.#endMs !== undefined) return;
    const { arm, cluster } = this.#run.world;
    const machines = arm.machines.list().filter(({ pool, power }) => pool !== 'system' && power !== 'none' && power !== 'deallocated');
    this.#vcpuMs += machines.reduce((sum, { vcpus }) => sum + vcpus, 0) * LOOK_EVERY_MS;
    this.#requestedMs += cluster.store.pods().reduce((sum, pod) => sum + requestedCores(pod), 0) * LOOK_EVERY_MS;
    this.#lookAtFailures();
    this.#run.clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #lookAtFailures(): void {
    this.fallback.look({ atMs: this.#run.clock.now(), failed: this.#failedByPool(), isWaiting: this.waits.waiting > 0 });
  }

  #lookAtHeap(): void {
    if (this.#endMs !== undefined) return;
    this.#heap.look(this.#run.clock.now());
    this.#run.clock.after(HOUR, () => this.#lookAtHeap());
  }

  #failedByPool(): ReadonlyMap<string, number> {
    const { sets, agentPools } = this.#run.world.arm.control.state();
    // Machines of a pool with a scale set are listed with the set.
    const owners = [
      ...agentPools.map(({ name, machines }) => ({ pool: name, instances: machines })),
      ...sets.map(({ pool, instances }) => ({ pool, instances })),
    ];
    return new Map(owners.map(({ pool, instances }) => [pool, instances.filter(({ error }) => error !== undefined).length]));
  }
}

/** CPU in cores of a pod of a workload that runs or wants to run. */
function requestedCores(pod: PodObject): number {
  const { metadata, status } = pod;
  if (metadata.namespace !== 'default' || status.phase === 'Succeeded' || status.phase === 'Failed') return 0;
  return cpuMillisOf(pod) / 1_000;
}

/** What the daemon knew and must not forget, and what it must not order twice: judgements for runs in which nothing else explains it. */
import type { DecisionJournal } from '../../src/domain/ports/records.ts';
import type { VirtualRun } from '../support/virtual-world.ts';
import type { TimedStep } from './step.ts';

/**
 * Watches that a machine or a scale set that was known stays known as long as it is there and works. For runs whose lists break
 * off, or lie once in a while: an error is not the end of a list, and one empty answer is not believed.
 */
export class MemoryWatch {
  readonly forgotten: string[] = [];
  readonly #known = new Set<string>();
  readonly #of: 'all' | 'many' | undefined;
  #run: VirtualRun | undefined;

  /** undefined: nothing is watched. */
  constructor(of: 'all' | 'many' | undefined) {
    this.#of = of;
  }

  readonly journal: DecisionJournal = { record: ({ observation }) => this.#look(observation.cloud.groups) };

  begin(run: VirtualRun): void {
    this.#run = run;
  }

  #look(groups: readonly { readonly id: string; readonly instances?: readonly { readonly providerId: string }[] | undefined }[]): void {
    const run = this.#run;
    if (run === undefined || this.#of === undefined) return;
    const shown = new Set(
      groups.flatMap(({ id, instances = [] }) => [id.toLowerCase(), ...instances.map(({ providerId }) => providerId.toLowerCase())]),
    );
    for (const there of thingsOf(run, this.#of === 'many' ? DOUBTED_FROM : 0)) {
      if (this.#known.has(there) && !shown.has(there)) this.forgotten.push(`forgotten ${there} at ${run.clock.now()}`);
    }
    this.#known.clear();
    for (const id of shown) this.#known.add(id);
  }
}

/** Of fewer machines any list is believed. */
const DOUBTED_FROM = 6;

/** Scale sets, and machines that run and are not on their way out, by their ids in lower case; of pools that have so many. */
function thingsOf({ world }: VirtualRun, least: number): readonly string[] {
  const { sets, agentPools } = world.arm.control.state();
  const owners = [...sets.map(({ instances }) => instances), ...agentPools.map(({ machines }) => machines)];
  const sound = owners.filter(({ length }) => length >= least).flat();
  const hosts = new Set(sound.filter(({ provisioningState }) => provisioningState === 'Succeeded').map(({ hostName }) => hostName));
  const machines = world.arm.machines.list().filter(({ hostName, power }) => power === 'running' && hosts.has(hostName));
  return [...sets.map(({ name }) => name.toLowerCase()), ...machines.map(({ providerId }) => providerId.toLowerCase())];
}

/**
 * Raises beyond what was ever wanted, where every pod takes a machine, none fails, none is taken away and nobody else writes: one
 * more than that was ordered twice.
 */
export function orderedTwice(run: VirtualRun, steps: readonly TimedStep[], startMs: number): readonly string[] {
  const before = new Map<string, number>();
  const initial = run.world.spec.pools.reduce((sum, { name, count }) => sum + (name === 'system' ? 0 : count), 0);
  return run.world.arm.control.journal().flatMap(({ at, pool = '', capacityBefore, capacityAfter }) => {
    if (capacityBefore === undefined || capacityAfter === undefined || pool === 'system') return [];
    before.set(pool, capacityAfter);
    const total = run.world.spec.pools.reduce((sum, { name, count }) => sum + (name === 'system' ? 0 : (before.get(name) ?? count)), 0);
    const wanted = Math.max(initial, peakOf(steps, at - startMs));
    return capacityAfter > capacityBefore && total > wanted ? [`ordered-twice ${pool}: ${total} machines for ${wanted} pods at ${at}`] : [];
  });
}

/** Most pods that were wanted at once until then. */
function peakOf(steps: readonly TimedStep[], untilMs: number): number {
  const replicas = new Map<string, number>();
  let peak = 0;
  for (const { atMs, step } of steps) {
    if (atMs > untilMs || step.kind !== 'scale') continue;
    replicas.set(step.workload, step.replicas);
    peak = Math.max(
      peak,
      [...replicas.values()].reduce((sum, count) => sum + count, 0),
    );
  }
  return peak;
}

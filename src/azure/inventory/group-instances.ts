/**
 * What is known of the instances of one group against its size, from the tables and from the count of its scale set. Requests no list.
 * Idea: instance.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { AgentDeps } from '../agents/agents.ts';
import { isInResourceGroup, parseInstanceId, scaleSetOfInstance } from '../arm/resource-ids.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import type { SeenInstances } from './reads-after-increase.ts';
import { countInstances } from './single-reads.ts';
import type { VmsPools } from './vms-pools.ts';

export class GroupInstances implements SeenInstances {
  readonly #agents: AgentDeps;
  readonly #vmsPools: Pick<VmsPools, 'sizes'>;

  constructor(agents: AgentDeps, vmsPools: Pick<VmsPools, 'sizes'>) {
    this.#agents = agents;
    this.#vmsPools = vmsPools;
  }

  /** undefined: not a Uniform scale set, or unknown. @throws AutoscalerError */
  async countFailed(groupKey: string, signal: AbortSignal): Promise<number | undefined> {
    const set = this.#agents.scaleSets.get(groupKey)?.value;
    return set?.orchestration === 'Uniform' ? countInstances(this.#agents, { set: set.name, state: 'failed' }, signal) : undefined;
  }

  listedFailed(groupKey: string): number {
    return this.#rows(groupKey).filter(({ state }) => state === 'failed').length;
  }

  awaited(groupKey: string): { readonly creating: readonly InstanceKey[]; readonly missing: number } {
    const staying = this.#staying(groupKey);
    const creating = staying.filter(({ state }) => state === 'creating' || state === 'unknown');
    return { creating: creating.map(({ ref }) => ref.key), missing: (this.targetOf(groupKey) ?? staying.length) - staying.length };
  }

  /** Whether the last list showed the target number of instances, all of them running. */
  isComplete(groupKey: string): boolean {
    const staying = this.#staying(groupKey);
    return staying.length === this.targetOf(groupKey) && staying.every(({ state }) => state === 'running');
  }

  /** The size with our unconfirmed changes. undefined: unknown. */
  targetOf(groupKey: string): number | undefined {
    return this.#viewOf(groupKey)?.target;
  }

  /** The number of our changes to the group that have not ended. */
  inFlight(groupKey: string): number {
    return this.#viewOf(groupKey)?.inFlight ?? 0;
  }

  /** The key of the group that a VM belongs to, by the VM's ARM id, listed or not. undefined: another's. */
  groupOfVm(armId: string): string | undefined {
    const parsed = parseInstanceId(armId);
    if (!parsed.ok) return undefined;
    const { key } = parsed.ref;
    const { instances, options } = this.#agents;
    return instances.get(key)?.value.group ?? (isInResourceGroup(key, options) ? scaleSetOfInstance(key) : undefined);
  }

  #viewOf(groupKey: string): { readonly target: number | undefined; readonly inFlight: number } | undefined {
    return this.#agents.scaleSets.view(groupKey) ?? this.#vmsPools.sizes.view(groupKey);
  }

  #staying(groupKey: string): readonly InstanceRow[] {
    return this.#rows(groupKey).filter(({ state }) => state !== 'deleting');
  }

  #rows(groupKey: string): readonly InstanceRow[] {
    return [...this.#agents.instances.scope(groupKey).values()].map(({ value }) => value);
  }
}

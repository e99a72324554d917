/**
 * The lists of instances: one agent for each scale set that is a group, and one for all virtual machines of pools that have no scale set.
 * Must not know why a list is requested.
 */
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { Table } from '../../cache/table/table.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { scaleSetInstancesAgent, vmsAgent, type AgentDeps } from '../agents/agents.ts';
import { instanceListAgentId, type AgentRoster } from '../agents/instance-list-agents.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { VMS_AGENT } from '../rows/tables.ts';

export interface InstanceListsDeps {
  readonly roster: AgentRoster;
  readonly scheduler: Pick<AgentScheduler, 'runNow' | 'requestedRunWaitMs'>;
  readonly instances: Pick<Table<InstanceRow>, 'listedAtMs'>;
  readonly agents: () => AgentDeps;
  readonly hasScaleSet: (key: string) => boolean;
}

export class InstanceLists {
  readonly #deps: InstanceListsDeps;
  #silent: ReadonlySet<string> = new Set();

  constructor(deps: InstanceListsDeps) {
    this.#deps = deps;
  }

  /** Instances whose nodes have been silent for a while, by folded key. */
  get silent(): ReadonlySet<string> {
    return this.#silent;
  }

  has(groupKey: string): boolean {
    return this.#deps.roster.has(instanceListAgentId(groupKey));
  }

  /** Requests a list of a group's instances. */
  request(groupKey: string): void {
    this.#deps.roster.due(instanceListAgentId(groupKey));
  }

  /** Lists a group's instances in a call that begins after this one, as soon as their rate allows it. */
  refresh(groupKey: string, signal: AbortSignal, options: { readonly atAnyRate?: boolean } = {}): Promise<void> {
    return this.#deps.scheduler.runNow(instanceListAgentId(groupKey), signal, options);
  }

  /** How long a list of a group's instances has to wait, ms, since the last minute had as many as it should have; 0: it may be sent. */
  waitMs(groupKey: string): number {
    return this.#deps.scheduler.requestedRunWaitMs(instanceListAgentId(groupKey));
  }

  /** Start of the last complete list of a group's instances, ms since the epoch. */
  listedAtMs(groupKey: string): number | undefined {
    const id = instanceListAgentId(groupKey);
    return id === VMS_AGENT ? this.#deps.instances.listedAtMs(id) : this.#deps.instances.listedAtMs(id, groupKey);
  }

  /** The instances of VMs pools whose nodes are silent: lists read their instance views, and a new one is listed soon. */
  noteSilent(instances: ReadonlySet<InstanceKey>): void {
    const isNew = [...instances].some((key) => !this.#silent.has(key));
    this.#silent = instances;
    if (isNew) this.#deps.roster.due(VMS_AGENT);
  }

  /** There are pools without a scale set, so all virtual machines are listed from now on. */
  addVms(): void {
    this.#deps.roster.add(VMS_AGENT, () => vmsAgent(this.#deps.agents()));
  }

  /** Keeps one agent for the instances of each registered scale set that exists. */
  sync(groups: Iterable<RegisteredGroup>): void {
    const wanted = new Set<string>();
    for (const group of groups) {
      if (group.kind === 'vms-pool') this.addVms();
      else if (this.#deps.hasScaleSet(group.key)) wanted.add(group.key);
    }
    this.#deps.roster.syncInstanceLists(wanted, (key) => scaleSetInstancesAgent(this.#deps.agents(), key));
  }
}

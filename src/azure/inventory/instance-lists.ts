/**
 * The lists of instances: one agent for each scale set that is a group, and one for all virtual machines of pools that have no scale set.
 * Must not know why a list is wanted.
 * Idea: agent.
 */
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { Table } from '../../cache/table/table.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { scaleSetInstancesAgent, vmsAgent, type AgentDeps } from '../agents/agents.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { instanceListAgentId, instancesAgent, VMS_AGENT } from '../rows/tables.ts';
import type { KnownGroups } from './known-groups.ts';

export interface InstanceListsDeps {
  readonly scheduler: AgentScheduler;
  readonly agents: AgentDeps;
  readonly known: Pick<KnownGroups, 'groups' | 'vmsGroups'>;
}

export class InstanceLists {
  readonly #scheduler: AgentScheduler;
  readonly #agents: AgentDeps;
  readonly #known: InstanceListsDeps['known'];
  readonly #instances: Pick<Table<InstanceRow>, 'listedAtMs'>;
  /** Instances whose nodes have been silent for a while, by folded key. */
  #silent: ReadonlySet<string> = new Set();

  constructor({ scheduler, agents, known }: InstanceListsDeps) {
    this.#scheduler = scheduler;
    this.#agents = agents;
    this.#known = known;
    this.#instances = agents.instances;
  }

  has(groupKey: string): boolean {
    return this.#scheduler.has(instanceListAgentId(groupKey));
  }

  /** Start of the last complete list of a group's instances, ms since the epoch. */
  listedAtMs(groupKey: string): number | undefined {
    const id = instanceListAgentId(groupKey);
    return id === VMS_AGENT ? this.#instances.listedAtMs(id) : this.#instances.listedAtMs(id, groupKey);
  }

  /** The instances of VMs pools whose nodes are silent: lists read their instance views, and a new one is listed soon. */
  noteSilent(instances: ReadonlySet<InstanceKey>): void {
    const isNew = [...instances].some((key) => !this.#silent.has(key));
    this.#silent = instances;
    if (isNew) this.#scheduler.want(VMS_AGENT);
  }

  /** There are pools without a scale set, so all virtual machines are listed from now on. */
  addVms(): void {
    const pools = { groups: () => this.#known.vmsGroups(), silent: () => this.#silent };
    this.#scheduler.ensure(VMS_AGENT, () => vmsAgent(this.#agents, pools));
  }

  /** Keeps one agent for the instances of each registered scale set that exists, and removes the others. */
  sync(): void {
    const wanted = new Set<string>();
    for (const { kind, key } of this.#known.groups()) {
      if (kind === 'vms-pool') this.addVms();
      else if (this.#agents.scaleSets.get(key) !== undefined) wanted.add(instancesAgent(key));
    }
    for (const id of wanted) this.#scheduler.ensure(id, () => scaleSetInstancesAgent(this.#agents, id.slice(instancesAgent('').length)));
    for (const id of this.#scheduler.ids) if (id.startsWith(instancesAgent('')) && !wanted.has(id)) this.#scheduler.remove(id);
  }
}

/** The current caching agents: those of the whole adapter, and one that lists the instances of each registered scale set. */
import type { CachingAgent } from '../../cache/agents/agent.ts';
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import { foldName } from '../arm/resource-ids.ts';
import { instancesAgent, VMS_AGENT } from '../rows/tables.ts';

export class AgentRoster {
  readonly #scheduler: AgentScheduler;
  readonly #ids = new Set<string>();

  constructor(scheduler: AgentScheduler) {
    this.#scheduler = scheduler;
  }

  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Does nothing if there is an agent with this id. */
  add(id: string, make: () => CachingAgent): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#scheduler.add(make());
    // A new pool stays frozen until it has been read, so the first read must not wait for the usual interval.
    this.#scheduler.dueNow(id);
  }

  /** Runs the agent soon, if there is one. */
  due(id: string, options: { readonly atAnyRate?: boolean } = {}): void {
    if (this.#ids.has(id)) this.#scheduler.dueNow(id, options);
  }

  /** Keeps one agent for the instances of each of these scale sets, and removes the others. */
  syncInstanceLists(setKeys: ReadonlySet<string>, make: (setKey: string) => CachingAgent): void {
    for (const key of setKeys) this.add(instancesAgent(key), () => make(key));
    for (const id of this.#ids) {
      if (!id.startsWith(instancesAgent('')) || setKeys.has(id.slice(instancesAgent('').length))) continue;
      this.#scheduler.remove(id);
      this.#ids.delete(id);
    }
  }
}

/** The id of the agent that lists a group's instances: that of its scale set, or the one of all VMs pools. */
export function instanceListAgentId(groupKey: string): string {
  return groupKey.includes('/') ? VMS_AGENT : instancesAgent(foldName(groupKey));
}

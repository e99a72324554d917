/** Which caching agents there are now: those of the whole adapter, and one for the machines of each scale set that is a group. */
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

  /** Nothing when there is one of this id. */
  add(id: string, make: () => CachingAgent): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#scheduler.add(make());
    // A pool that appears must not wait for its place in the usual rhythm: until it was read, it is left alone.
    this.#scheduler.dueNow(id);
  }

  /** Runs it soon, if there is such an agent. */
  due(id: string): void {
    if (this.#ids.has(id)) this.#scheduler.dueNow(id);
  }

  /** One agent for the machines of each of these scale sets, and of no other. */
  syncInstanceLists(setKeys: ReadonlySet<string>, make: (setKey: string) => CachingAgent): void {
    for (const key of setKeys) this.add(instancesAgent(key), () => make(key));
    for (const id of this.#ids) {
      if (!id.startsWith(instancesAgent('')) || setKeys.has(id.slice(instancesAgent('').length))) continue;
      this.#scheduler.remove(id);
      this.#ids.delete(id);
    }
  }
}

/** The agent whose lists tell of a group's machines: that of its scale set, or the one of all VMs pools. */
export function instanceListAgentId(groupKey: string): string {
  return groupKey.includes('/') ? VMS_AGENT : instancesAgent(foldName(groupKey));
}

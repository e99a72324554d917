/**
 * Which caching agents may skip a turn, from what the last loop saw (`azure.cache.readOnChange`). Lists of instances rest with their
 * groups. Lists of agent pools and of usages rest with all groups, as long as no pod waits for a node. Sends no call.
 * Idea: agent.
 */
import type { AgentRest } from '../../cache/agents/agent.ts';
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import { instancesAgent, AGENT_POOLS_AGENT, USAGE_AGENT, VMS_AGENT } from '../rows/tables.ts';
import { unrestOf, type GroupSigns, type Unrest } from './rest-rule.ts';

const MINUTE = 60_000;
/** What shows no sign may be this old: a failed instance whose node is ready, a pool that AKS began to scale itself. */
const LISTS_AT_MOST_MS = 15 * MINUTE;
/** Usages matter only to a group that is to grow. They count as unknown after half an hour. */
const USAGES_AT_MOST_MS = 60 * MINUTE;

/** What the last loop saw. */
export interface RestSigns {
  /** By the key of the group. */
  readonly groups: ReadonlyMap<string, GroupSigns>;
  /** Groups that have no scale set: their size is in the list of agent pools. */
  readonly vmsGroups: readonly string[];
  readonly pendingPods: number;
}

export interface RestWatchDeps {
  /** The tag of a group's scale set or agent pool, as last read. */
  readonly tagOf: (groupKey: string) => string | undefined;
  /** Whether the list of agent pools shows sizes, or an operation in progress. */
  readonly arePoolsChanging: () => boolean;
  readonly scheduler: Pick<AgentScheduler, 'want'>;
}

export class RestWatch {
  readonly #deps: RestWatchDeps;
  readonly #listedTags = new Map<string, string | undefined>();
  #unrest: ReadonlyMap<string, Unrest> = new Map();
  #signs: RestSigns | undefined;

  constructor(deps: RestWatchDeps) {
    this.#deps = deps;
  }

  /** The rule of an agent that reads the instances of these groups, or, without any, what matters to all groups. */
  restOf(agentId: string, intervalMs: number): AgentRest {
    const mostMs = agentId === USAGE_AGENT ? USAGES_AT_MOST_MS : LISTS_AT_MOST_MS;
    return { mayRest: () => this.mayRest(agentId), atMostMs: Math.max(mostMs, intervalMs) };
  }

  /** A list of the instances of these groups begins. The result is to be called when it was complete and believed. */
  beginList(groupKeys: readonly string[]): () => void {
    const tags = groupKeys.map((key) => [key, this.#deps.tagOf(key)] as const);
    return () => tags.forEach(([key, tag]) => this.#listedTags.set(key, tag));
  }

  /** The tag with which the last complete list of a group's instances began. */
  listedTag(groupKey: string): string | undefined {
    return this.#listedTags.get(groupKey);
  }

  /** A loop has observed all groups. Agents that may not rest now and skipped a turn are due at once. */
  observe(signs: RestSigns): void {
    this.#signs = signs;
    const unrest = [...signs.groups].flatMap(([key, group]) => {
      const reason = unrestOf(group);
      return reason === undefined ? [] : [[key, reason] as const];
    });
    this.#unrest = new Map(unrest);
    const agents = [...[...signs.groups.keys()].map(instancesAgent), VMS_AGENT, AGENT_POOLS_AGENT, USAGE_AGENT];
    // guard: a rest that is over ends at once, not at the next turn
    for (const id of agents) if (!this.mayRest(id)) this.#deps.scheduler.want(id, { because: 'unrest' });
  }

  /** Whether a read of this agent would show nothing new, as far as signs show. Before the first loop: no. */
  mayRest(agentId: string): boolean {
    const signs = this.#signs;
    if (signs === undefined) return false;
    if (agentId === VMS_AGENT) return signs.vmsGroups.every((key) => !this.#unrest.has(key));
    const isIdle = this.#unrest.size === 0 && signs.pendingPods === 0;
    if (agentId === AGENT_POOLS_AGENT) return isIdle && !this.#deps.arePoolsChanging();
    if (agentId === USAGE_AGENT) return isIdle;
    const key = agentId.slice(instancesAgent('').length);
    return signs.groups.has(key) && !this.#unrest.has(key);
  }
}

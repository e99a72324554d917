/**
 * Which settings may change while the process runs: what decisions are made by and for which groups, their pace, health, and
 * the log. What connections, watches and caches were made from needs a new process. Both lists stand here and nowhere else.
 */
import type { Config } from './types/config.ts';
import { defined } from '../lib/defined.ts';

/** Sections of which every key is live. */
export const LIVE_SECTIONS = [
  'scaleDown',
  'backoff',
  'drain',
  'loop',
  'logLevel',
  'nodeGroups',
  'nodeGroupOptions',
  'discovery',
  'health',
] as const;

/** Of a section that is not. */
const LIVE_KEY = 'azure.agents';

/** Of sections that are live otherwise, the keys that wait for a restart. */
export const RESTART_KEYS = {
  // Watches of controllers and of the ConfigMap that holds the order of groups, and reads of prices, are begun at the start.
  scaleUp: ['proactive', 'expanders', 'retailPrices'],
  // Nodes are projected by them.
  cluster: ['startupTaints', 'startupTaintPrefixes', 'statusTaints', 'scaleFromUnschedulable'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A dotted key as the user writes it. */
export function isLive(key: string, running: Config, next: Config): boolean {
  const [section = '', name = ''] = key.split(/[.[]/);
  if (LIVE_SECTIONS.some((live) => live === section) || key.startsWith(`${LIVE_KEY}.`)) return true;
  if (section !== 'scaleUp' && section !== 'cluster') return false;
  if (key === 'scaleUp.expanders' || (section === 'scaleUp' && name === 'priorities')) return takesChain(running, next);
  return !RESTART_KEYS[section].some((waits) => waits === name);
}

/** Another chain is read in every loop, but not what only the priority expander needs, nor prices that nobody reads yet. */
function takesChain(running: Config, next: Config): boolean {
  const readsPrices = ({ azure }: Config): boolean => azure.retailPrices !== undefined;
  return asksForOrder(running) === asksForOrder(next) && readsPrices(running) === readsPrices(next);
}

function asksForOrder({ policy }: Config): boolean {
  return policy.scaleUp.expanders.includes('priority');
}

/** What runs, with the live settings of the next. */
export function overlaid(running: Config, next: Config): Config {
  const { cluster = {} } = next.policy;
  const { expanders, priorities } = (takesChain(running, next) ? next : running).policy.scaleUp;
  const { priorities: _others, ...scaleUp } = next.policy.scaleUp;
  const { proactive = false } = running.policy.scaleUp;
  return {
    ...running,
    policy: {
      ...running.policy,
      scaleUp: { ...scaleUp, expanders, ...defined({ priorities }), proactive },
      scaleDown: next.policy.scaleDown,
      backoff: next.policy.backoff,
      drain: next.policy.drain,
      cluster: {
        ...running.policy.cluster,
        ...defined({
          okUnreadyNodes: cluster.okUnreadyNodes,
          maxUnreadyShare: cluster.maxUnreadyShare,
          maxStartupMs: cluster.maxStartupMs,
          scaleUpFromZero: cluster.scaleUpFromZero,
        }),
      },
    },
    azure: {
      ...running.azure,
      agents: next.azure.agents,
      nodeGroups: next.azure.nodeGroups,
      nodeGroupOptions: next.azure.nodeGroupOptions,
      discovery: next.azure.discovery,
    },
    health: next.health,
    loop: next.loop,
    logLevel: next.logLevel,
    warnings: next.warnings,
  };
}

/**
 * Which settings may change while the process runs: policy, node groups, pace, health, and log. Settings that connections,
 * watches and caches are made from need a restart. These two lists are the only ones. Must not know how files are watched.
 */
import type { Config } from './types/config.ts';

/** Sections whose keys are all live. */
export const LIVE_SECTIONS = [
  'scaleDown',
  'repack',
  'backoff',
  'drain',
  'loop',
  'logLevel',
  'nodeGroups',
  'nodeGroupOptions',
  'discovery',
  'schedules',
  'health',
] as const;

/** A live key of a section that is not live. */
const LIVE_KEY = 'azure.agents';

/** Keys that wait for a restart, in sections that are otherwise live. */
export const RESTART_KEYS = {
  // Watches of controllers and of the ConfigMap with priority rules, and reads of prices, start with the process.
  scaleUp: ['proactive', 'expanders', 'retailPrices'],
  // The projection of nodes uses them.
  cluster: ['startupTaints', 'startupTaintPrefixes', 'statusTaints', 'scaleFromUnschedulable', 'verticalPodAutoscalers'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Whether a dotted key, as the user writes it, is live. */
export function isLive(key: string, running: Config, next: Config): boolean {
  const [section = '', name = ''] = key.split(/[.[]/);
  if (LIVE_SECTIONS.some((live) => live === section) || key.startsWith(`${LIVE_KEY}.`)) return true;
  if (section !== 'scaleUp' && section !== 'cluster') return false;
  if (key === 'scaleUp.expanders' || (section === 'scaleUp' && name === 'priorities')) return takesChain(running, next);
  return !RESTART_KEYS[section].some((waits) => waits === name);
}

/** A new chain is live, unless it needs priority rules, prices, placement scores or preferences that are not read yet. */
function takesChain(running: Config, next: Config): boolean {
  const readsPrices = ({ azure: { retailPrices: list } }: Config): boolean => list !== undefined && list.byDefault !== true;
  const isSame = (read: (config: Config) => boolean): boolean => read(running) === read(next);
  return isSame(usesPriority) && isSame(readsPrices) && isSame(({ azure }) => azure.placementScores) && isSame(readsPreferences);
}

/** What pods prefer is read from the start of the process, or not at all. */
function readsPreferences({ policy }: Config): boolean {
  return policy.scaleUp.expanders.includes('preferences');
}

function usesPriority({ policy }: Config): boolean {
  return policy.scaleUp.expanders.includes('priority');
}

/** Returns the running configuration with the live settings of the next one. */
export function overlaid(running: Config, next: Config): Config {
  const { cluster } = next.policy;
  const { expanders, priorities } = (takesChain(running, next) ? next : running).policy.scaleUp;
  const { proactive } = running.policy.scaleUp;
  return {
    ...running,
    policy: {
      ...running.policy,
      scaleUp: { ...next.policy.scaleUp, expanders, priorities, proactive },
      scaleDown: next.policy.scaleDown,
      backoff: next.policy.backoff,
      drain: next.policy.drain,
      repack: next.policy.repack,
      cluster: {
        ...running.policy.cluster,
        okUnreadyNodes: cluster.okUnreadyNodes,
        maxUnreadyShare: cluster.maxUnreadyShare,
        maxStartupMs: cluster.maxStartupMs,
        scaleUpFromZero: cluster.scaleUpFromZero,
        avoidDownZones: cluster.avoidDownZones,
      },
    },
    azure: {
      ...running.azure,
      agents: next.azure.agents,
      nodeGroups: next.azure.nodeGroups,
      nodeGroupOptions: next.azure.nodeGroupOptions,
      discovery: next.azure.discovery,
      schedules: next.azure.schedules,
    },
    health: next.health,
    loop: next.loop,
    logLevel: next.logLevel,
    warnings: next.warnings,
  };
}

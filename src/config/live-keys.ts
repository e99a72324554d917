/**
 * Which settings may change while the process runs: what decisions are made by, their pace, and the log. What connections,
 * watches and caches were made from needs a new process. Both lists stand here and nowhere else.
 */
import type { Config } from './config.ts';

/** The beginning of a key, up to a dot, or a whole key. */
const LIVE = [
  'azure.agents',
  'nodeGroups',
  'discovery',
  'nodeGroupOptions',
  'scaleUp',
  'scaleDown',
  'backoff',
  'drain',
  'cluster.okTotalUnreadyCount',
  'cluster.maxTotalUnreadyPercentage',
  'cluster.scaleUpFromZero',
  'loop.scanInterval',
  'loop.batchIdle',
  'loop.batchMax',
  'loop.maxPlansPerLoop',
  'logLevel',
] as const;

/** A dotted key as the user writes it. */
export function isLive(key: string, running: Config, next: Config): boolean {
  // Watches of controllers, and of the ConfigMap that holds the order of groups, are begun at the start.
  if (key === 'scaleUp.proactive') return false;
  if (key === 'scaleUp.expanders') return asksForOrder(running) === asksForOrder(next);
  return LIVE.some((live) => key === live || key.startsWith(`${live}.`));
}

function asksForOrder({ policy }: Config): boolean {
  return policy.scaleUp.expanders.includes('priority');
}

/** What runs, with the live settings of the next. */
export function overlaid(running: Config, next: Config): Config {
  const { cluster = {} } = next.policy;
  const expanders = asksForOrder(running) === asksForOrder(next) ? next.policy.scaleUp.expanders : running.policy.scaleUp.expanders;
  const { proactive = false } = running.policy.scaleUp;
  const { agents, nodeGroups, discovery, nodeGroupOptions } = next.azure;
  return {
    ...running,
    azure: { ...running.azure, agents, nodeGroups, discovery, nodeGroupOptions },
    policy: {
      ...running.policy,
      scaleUp: { ...next.policy.scaleUp, expanders, proactive },
      scaleDown: next.policy.scaleDown,
      backoff: next.policy.backoff,
      drain: next.policy.drain,
      cluster: {
        ...running.policy.cluster,
        ...(cluster.okUnreadyNodes === undefined ? {} : { okUnreadyNodes: cluster.okUnreadyNodes }),
        ...(cluster.maxUnreadyShare === undefined ? {} : { maxUnreadyShare: cluster.maxUnreadyShare }),
        ...(cluster.scaleUpFromZero === undefined ? {} : { scaleUpFromZero: cluster.scaleUpFromZero }),
      },
    },
    loop: { ...next.loop, shutdownTimeoutMs: running.loop.shutdownTimeoutMs },
    logLevel: next.logLevel,
  };
}

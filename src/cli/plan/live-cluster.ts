/**
 * A cluster and its Azure as they are now, read as the daemon reads them: the same connections, caches and projections.
 * Nothing is written to either; a running daemon is not disturbed, and its memory is not known.
 */
import type { Config } from '../../config/types/config.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { PRIORITY_RULES_NAME } from '../../observers/events/priority-rule-events.ts';
import { connectBoth, type ConnectInput, type Connections } from '../connect/connect.ts';
import { defined } from '../../lib/defined.ts';
import { currentPolicy } from '../../loop/deps/current-policy.ts';
import { LEARNED_TEMPLATES } from '../connect/config-map-stores.ts';

export interface Live {
  readonly observation: Observation;
  /** With the rules and prices of the moment. */
  readonly policy: Policy;
  readonly names: ResourceNames;
}

/** @throws AutoscalerError of the first side that cannot be read; `cancelled` when the signal fires. */
export async function observeLive(input: Omit<ConnectInput, 'signal'>, signal: AbortSignal): Promise<Live> {
  const config = withoutSharedFolder(input.config);
  const connections = await connectBoth({ ...input, config, signal });
  const { kubernetes, cloud, names } = connections;
  const work = new AbortController();
  const life = AbortSignal.any([signal, work.signal]);
  try {
    const started = [kubernetes.reader.start(life), heedLock(connections, config, life), readRules(connections, config, life)];
    await Promise.all([...started, learn(connections, life), cloud.start(life)]);
    const nowMs = input.clock.now();
    const cluster = kubernetes.reader.observe(nowMs);
    const observation = { loopId: 1, nowMs, cluster, cloud: cloud.observe(cluster, nowMs) };
    return {
      observation,
      policy: currentPolicy(config.policy, { ...defined({ priorities: connections.rules, prices: connections.cloud.prices }) }, nowMs),
      names,
    };
  } finally {
    work.abort();
    await Promise.allSettled([cloud.close(), kubernetes.close()]);
  }
}

/** Taking turns in a shared folder leaves marks in it. */
function withoutSharedFolder(config: Config): Config {
  return { ...config, azure: { ...config.azure, skuFolder: undefined } };
}

async function heedLock({ kubernetes }: Connections, { kubernetes: { heedResourceLocker } }: Config, signal: AbortSignal): Promise<void> {
  if (heedResourceLocker) await kubernetes.heedForeignLock(signal);
}

async function readRules({ kubernetes, rules }: Connections, config: Config, signal: AbortSignal): Promise<void> {
  const name = { namespace: config.kubernetes.namespace, name: PRIORITY_RULES_NAME };
  if (rules !== undefined) await kubernetes.watchConfigMap(name, (content) => rules.changed(content), signal);
}

/** What a daemon learned of the pools' nodes, if one kept it and we may see it. */
async function learn({ kubernetes, cloud }: Connections, signal: AbortSignal): Promise<void> {
  try {
    const text = await kubernetes.keepText(LEARNED_TEMPLATES.configMap, LEARNED_TEMPLATES.key).read(signal);
    if (text !== undefined) cloud.restoreTemplates(text);
  } catch (thrown) {
    // Who may not read it plans from what VM sizes promise.
    if (asAutoscalerError(thrown).kind === 'cancelled') throw thrown;
  }
}

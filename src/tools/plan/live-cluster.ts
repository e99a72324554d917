/**
 * Reads a cluster and Azure once, with the daemon's connections, caches and projections. Writes nothing, does not disturb a
 * running daemon, and does not know its state.
 */
import type { Config } from '../../config/types/config.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { PRIORITY_RULES_NAME } from '../../observers/events/priority-rule-events.ts';
import { connectBoth, type ConnectInput, type Connections } from '../../cli/connect/connect.ts';
import { defined } from '../../lib/defined.ts';
import { currentPolicy } from '../../loop/deps/current-policy.ts';
import { followPauses, learnedTemplates } from '../../cli/connect/config-map-stores.ts';
import type { SavedMemory } from '../../domain/loop-state.ts';
import { readLeaderMemory } from '../../cli/connect/leader-memory.ts';

export interface LiveCluster {
  readonly observation: Observation;
  /** With the current priority rules and prices. */
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** What the leader saved. Absent if that could not be read. */
  readonly memory?: SavedMemory;
}

/** @throws AutoscalerError of the first side that cannot be read; `cancelled` if the signal fires. */
export async function observeLive(input: Omit<ConnectInput, 'signal'>, signal: AbortSignal): Promise<LiveCluster> {
  const config = withoutSharedFolder(input.config);
  const connections = await connectBoth({ ...input, config, signal });
  const { kubernetes, cloud, names } = connections;
  const work = new AbortController();
  const life = AbortSignal.any([signal, work.signal]);
  try {
    const started = [
      kubernetes.reader.start(life),
      followForeignLock(connections, config, life),
      readPriorityRules(connections, config, life),
      followPauses(kubernetes, { pauses: connections.pauses, config: config.kubernetes }, life),
    ];
    const reading = readLeaderMemory(kubernetes, config.kubernetes, life);
    await Promise.all([...started, restoreTemplates(connections, config, life), cloud.start(life), reading]);
    const memory = await reading;
    if (memory !== undefined) cloud.noteStartTimes(memory.readyTimes);
    const nowMs = input.clock.now();
    const whole = kubernetes.reader.observe(nowMs);
    const cluster = cloud.withoutStopped(whole);
    const observation = { loopId: 1, nowMs, cluster, cloud: cloud.observe(cluster, nowMs) };
    return {
      observation,
      policy: currentPolicy(config.policy, { priorities: connections.rules, prices: connections.cloud.prices }, nowMs),
      names,
      ...defined({ memory }),
    };
  } finally {
    work.abort();
    await Promise.allSettled([cloud.close(), kubernetes.close()]);
  }
}

/** The shared folder of VM sizes would be written to. */
function withoutSharedFolder(config: Config): Config {
  return { ...config, azure: { ...config.azure, skuFolder: undefined } };
}

async function followForeignLock(
  { kubernetes }: Connections,
  { kubernetes: { heedResourceLocker } }: Config,
  signal: AbortSignal,
): Promise<void> {
  if (heedResourceLocker) await kubernetes.watchForeignLock(signal);
}

async function readPriorityRules({ kubernetes, rules }: Connections, config: Config, signal: AbortSignal): Promise<void> {
  const name = { namespace: config.kubernetes.namespace, name: PRIORITY_RULES_NAME };
  if (rules !== undefined) await kubernetes.watchConfigMap(name, (content) => rules.changed(content), signal);
}

/** Reads the templates that a daemon has learned, if there are any and access is allowed. */
async function restoreTemplates({ kubernetes, cloud }: Connections, config: Config, signal: AbortSignal): Promise<void> {
  const { configMap, key } = learnedTemplates(config.kubernetes);
  try {
    const text = await kubernetes.storedText(configMap, key).read(signal);
    if (text !== undefined) cloud.restoreTemplates(text);
  } catch (thrown) {
    // Without them, templates come from VM sizes.
    if (asAutoscalerError(thrown).kind === 'cancelled') throw thrown;
  }
}

/**
 * The adapter as production wires it, over a kubeconfig, against the simulated cluster. Both live on the cluster's clock,
 * which stands still while a request is on its way.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { connectKubernetes, type Kubernetes, type KubernetesOptions } from '../../src/kubernetes/kubernetes.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import type { ClusterView } from '../../src/domain/observation.ts';
import type { JournalEntry } from '../../world/simulator/cluster/http/server.ts';
import type { SimulatedVm } from '../../world/simulator/base/vm-feed.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { clockOf } from '../../world/lab/process-clock.ts';
import { untilQuiet } from '../../world/lab/quiet.ts';
import type { ClusterOptions } from '../../world/simulator/cluster/cluster.ts';
import { aMachine, setStage, type Stage } from '../../world/test/simulator/cluster/stage.ts';
import { silentLog } from '../support/silent-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export interface Replica {
  readonly kubernetes: Kubernetes;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
}

export interface ConnectedStage extends Stage {
  readonly kubeconfigPath: string;
  readonly signal: AbortSignal;
  /** Connects once more, as another process would. */
  connect(options?: Partial<KubernetesOptions>): Promise<Replica>;
  /** Lets the world's time pass, event by event, until the condition holds; fails when it has not after ten minutes of it. */
  until(condition: () => boolean): Promise<void>;
  /** Waits for a call of the adapter while the world's time goes on. */
  settled<Value>(call: Promise<Value>): Promise<Value>;
  /** Requests that the adapter made for this verb and resource (`pods`, `pods/eviction`). */
  asked(verb: string, resource: string): readonly JournalEntry[];
}

const WORKERS: readonly SimulatedVm[] = [aMachine('sys-1', { pool: 'system' }), aMachine('usr-1'), aMachine('usr-2')];

const MOST_MS = 600_000;

/** Starts a cluster whose nodes are up; nothing is connected to it yet. All ends with the test. */
export async function setConnectedStage(
  machines: readonly SimulatedVm[] = WORKERS,
  options: Partial<ClusterOptions> = {},
): Promise<ConnectedStage> {
  const stage = await setStage(machines, options);
  const kubeconfigPath = join(temporaryFolder(), 'kubeconfig');
  await writeFile(kubeconfigPath, stage.cluster.kubeconfig());
  const replicas: Replica[] = [];
  const calls = watchCalls();
  onTestFinished(async () => {
    await Promise.all(replicas.map(({ kubernetes }) => kubernetes.close()));
    calls.stop();
  });
  const rest = (): Promise<void> =>
    untilQuiet(() => (stage.cluster.pendingRequests() + calls.open() > 0 ? 'a request is on its way' : undefined));
  const until = async (condition: () => boolean): Promise<void> => {
    const end = stage.clock.now() + MOST_MS;
    for (await rest(); !condition(); await rest()) {
      const next = stage.clock.nextDueAt();
      if (next === undefined || next > end) throw new Error(`never: ${condition.toString()}`);
      stage.clock.advance(Math.max(0, next - stage.clock.now()));
    }
  };
  return {
    ...stage,
    kubeconfigPath,
    signal: new AbortController().signal,
    connect: async (options = {}) => {
      const replica = await connect(stage, { kubeconfigPath, ...options });
      replicas.push(replica);
      return replica;
    },
    until,
    settled: async (call) => {
      let over = false;
      const watched = call.finally(() => (over = true));
      watched.catch(() => undefined);
      await until(() => over);
      return watched;
    },
    asked: (verb, resource) =>
      stage.cluster.journal().filter((entry) => entry.userAgent === 'aks-autoscaler' && entry.verb === verb && entry.resource === resource),
  };
}

async function connect(stage: Stage, options: Partial<KubernetesOptions>): Promise<Replica> {
  const metrics = createMetrics();
  const names = new ResourceNames();
  const kubernetes = await connectKubernetes({
    options: { namespace: 'kube-system', leaseName: 'aks-autoscaler', identity: 'replica-1', leaderElect: false, ...options },
    clock: clockOf(stage.clock),
    random: seededRandom(1),
    log: silentLog(),
    metrics,
    names,
  });
  return { kubernetes, metrics, names };
}

/** Requests of this process's HTTP client that have no answer yet, by its diagnostic channels. */
function watchCalls(): { readonly open: () => number; readonly stop: () => void } {
  const open = new Set<unknown>();
  const requestOf = (message: unknown): unknown => (message as { readonly request: unknown }).request;
  const begun = (message: unknown): void => void open.add(requestOf(message));
  const answered = (message: unknown): void => void open.delete(requestOf(message));
  const ends = ['undici:request:headers', 'undici:request:error'];
  subscribe('undici:request:create', begun);
  for (const channel of ends) subscribe(channel, answered);
  return {
    open: () => open.size,
    stop: () => {
      unsubscribe('undici:request:create', begun);
      for (const channel of ends) unsubscribe(channel, answered);
    },
  };
}

/** Every pod of a view, bound or waiting. */
export function podNames(view: ClusterView): readonly string[] {
  return [...[...view.podsByNode.values()].flat(), ...view.pendingPods].map(({ namespace, name }) => `${namespace}/${name}`).sort();
}

/** Small words that scenarios share: workloads to apply, and what to look at in the world. */
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { smallWorld } from '../../world/simulator/sample-worlds.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import type { VirtualRun } from '../support/virtual-world.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

const SYSTEM: PoolSpec = {
  name: 'system',
  vmSize: 'Standard_D4s_v5',
  count: 1,
  min: 1,
  max: 3,
  mode: 'System',
  taints: ['CriticalAddonsOnly=true:NoSchedule'],
};

/** A world with one system pool and these. */
export function worldOf(pools: readonly PoolSpec[], change: Partial<WorldSpec> = {}): WorldSpec {
  return { ...smallWorld(1), pools: [SYSTEM, ...pools], ...change };
}

/** Four vCPU, 16 GiB. */
export function aPool(change: Partial<PoolSpec> & { readonly name: string }): PoolSpec {
  return { vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 10, ...change };
}

export interface Workload {
  readonly name: string;
  readonly replicas: number;
  readonly cpu: string;
  readonly memory?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the pods, besides their `app`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function deployment({
  name,
  replicas,
  cpu,
  memory = '256Mi',
  annotations = {},
  labels: more = {},
  spec = {},
}: Workload): ObjectDraft {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, ...more }, annotations },
        spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu, memory } } }], ...spec },
      },
    },
  };
}

export function budget(name: string, maxUnavailable: number): ObjectDraft {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable, selector: { matchLabels: { app: name } } },
  };
}

/** How many pods of the workload run on a node. */
export function bound(run: VirtualRun, name: string): number {
  return run.world.cluster.store.boundPods().filter((pod) => pod.metadata.labels?.['app'] === name).length;
}

export function pending(run: VirtualRun): number {
  return run.world.cluster.store.pendingPods().length;
}

export function capacity(run: VirtualRun, pool: string): number {
  return run.world.arm.control.state().sets.find((set) => set.pool === pool)?.capacity ?? Number.NaN;
}

/** Reasons of all events the daemon wrote, with their messages. */
export function events(run: VirtualRun, reason: string): readonly string[] {
  return run.world.cluster.store
    .events()
    .filter((event) => event.reason === reason)
    .map((event) => event.message ?? '');
}

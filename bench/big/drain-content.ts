/**
 * A large cluster in the evening: most of its nodes are busy, and on the others little is left of the day. Most of the quiet nodes go, but each
 * has pods that must move: with budgets of every kind, slow ends, and budgets that allow nothing for a while.
 */
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { STOP_SECONDS_ANNOTATION } from '../../world/simulator/cluster/controllers/kubelet-pods.ts';
import {
  bigSpec,
  deploymentOf,
  evenly,
  NODE_CPU_MILLIS,
  ordinaryWorkloads,
  poolsWith,
  systemPool,
  teamNamespaces,
  type Draft,
} from './world-content.ts';

/** The part of the nodes on which little is left. */
const QUIET_NODES = 0.4;
/** The part of those that the bench waits for. What stays is below the threshold of utilization then, so there is more to remove than this. */
const GOING_NODES = 0.6;
const PODS_PER_QUIET_NODE = 6;
/** Of a quiet node, so that six tenths of them fit on the others without passing half of their CPU. */
const QUIET_USE = 0.18;
const PODS_PER_WORKLOAD = 60;
/** Requests of workloads differ, so that the scheduler mixes them: else nodes side by side would have pods of the same workloads. */
const REQUEST_SHARES = [0.6, 1.3, 0.8, 1.1, 0.7, 1.4, 0.9, 1.2];
/** The label and taint of the quiet nodes. */
const TIER = 'quiet';
/** Namespaces of the quiet workloads. */
export const QUIET_PREFIX = 'evening-';
const QUIET_NAMESPACES = 40;

type Limits = Readonly<Record<string, number | string>>;

/** What protects the pods of a workload from being evicted together. */
interface Protection {
  readonly name: string;
  readonly limits?: Limits;
  /** The least number of pods that its budget leaves available. */
  readonly atLeast: (replicas: number) => number;
  readonly graceSeconds?: number;
  readonly stopsAfterSeconds?: number;
}

function allBut(percent: number): (replicas: number) => number {
  return (replicas) => replicas - Math.ceil((percent * replicas) / 100);
}

/** One workload after the other has the next of these. */
const PROTECTIONS: readonly Protection[] = [
  { name: 'free', atLeast: () => 0 },
  { name: 'tenth', limits: { maxUnavailable: '10%' }, atLeast: allBut(10) },
  { name: 'one', limits: { maxUnavailable: 1 }, atLeast: (replicas) => replicas - 1 },
  {
    name: 'slow',
    limits: { minAvailable: '90%' },
    atLeast: (replicas) => Math.ceil(0.9 * replicas),
    graceSeconds: 60,
    stopsAfterSeconds: 20,
  },
  { name: 'twentieth', limits: { maxUnavailable: '5%' }, atLeast: allBut(5) },
];
/** Each twentieth workload: its budget allows nothing until it is released. */
const HELD: Protection = { name: 'held', limits: { maxUnavailable: '10%' }, atLeast: allBut(10) };
const HELD_EVERY = 20;

export interface QuietWorkload {
  readonly name: string;
  readonly replicas: number;
  readonly objects: readonly Draft[];
  /** The least number of available pods that its budget allows; 0 if it has none. */
  readonly atLeast: number;
  /** The budget that replaces one that allows nothing. */
  readonly released?: Draft;
}

interface Named {
  readonly name: string;
  readonly namespace: string;
}

interface DrainContent {
  readonly spec: WorldSpec;
  readonly objects: readonly Draft[];
  readonly workloads: readonly QuietWorkload[];
  /** The number of gone nodes that the bench waits for. */
  readonly going: number;
}

/** `nodes` and `pods` count the ones of the system, too. */
export function drainContent({ nodes, pods }: { readonly nodes: number; readonly pods: number }): DrainContent {
  const quietNodes = Math.floor(nodes * QUIET_NODES);
  const busyNodes = nodes - quietNodes - 1;
  const quietPods = quietNodes * PODS_PER_QUIET_NODE;
  // Each node has a pod of kube-proxy, and the cluster two of CoreDNS.
  const busyPods = pods - nodes - 2 - quietPods;
  const workloads = evenly(quietPods, Math.ceil(quietPods / PODS_PER_WORKLOAD)).map((replicas, index) => quietWorkload(replicas, index));
  const quiet = { labels: { tier: TIER }, taints: [`tier=${TIER}:NoSchedule`], min: 0 };
  return {
    spec: bigSpec([systemPool(), ...poolsWith('p', busyNodes), ...poolsWith('quiet', quietNodes, quiet)]),
    objects: [
      ...teamNamespaces(),
      ...quietNamespaces(),
      ...ordinaryWorkloads(busyPods, busyNodes),
      ...workloads.flatMap(({ objects }) => objects),
    ],
    workloads,
    going: Math.floor(quietNodes * GOING_NODES),
  };
}

function quietNamespaces(): readonly Draft[] {
  return Array.from({ length: QUIET_NAMESPACES }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: `${QUIET_PREFIX}${index}` },
  }));
}

function quietWorkload(replicas: number, index: number): QuietWorkload {
  const protection = index % HELD_EVERY === HELD_EVERY - 1 ? HELD : (PROTECTIONS[index % PROTECTIONS.length] ?? HELD);
  const name = `${protection.name}-${index}`;
  const namespace = `${QUIET_PREFIX}${index % QUIET_NAMESPACES}`;
  const share = REQUEST_SHARES[(index * 5 + Math.floor(index / REQUEST_SHARES.length) * 3) % REQUEST_SHARES.length] ?? 1;
  const app = quietApp({ name, namespace }, replicas, {
    ...protection,
    cpuMillis: Math.floor((share * NODE_CPU_MILLIS * QUIET_USE) / PODS_PER_QUIET_NODE),
  });
  const { limits } = protection;
  if (limits === undefined) return { name, replicas, objects: [app], atLeast: 0 };
  if (protection !== HELD)
    return { name, replicas, objects: [app, budgetOf({ name, namespace }, limits)], atLeast: protection.atLeast(replicas) };
  const released = budgetOf({ name, namespace }, limits);
  return {
    name,
    replicas,
    objects: [app, budgetOf({ name, namespace }, { maxUnavailable: 0 })],
    atLeast: protection.atLeast(replicas),
    released,
  };
}

function quietApp(
  named: Named,
  replicas: number,
  { graceSeconds, stopsAfterSeconds, cpuMillis }: Protection & { readonly cpuMillis: number },
): Draft {
  // The second container of each pod requests 10m.
  const cpu = `${cpuMillis - 10}m`;
  const annotations = stopsAfterSeconds === undefined ? {} : { [STOP_SECONDS_ANNOTATION]: String(stopsAfterSeconds) };
  const spec = {
    nodeSelector: { tier: TIER },
    tolerations: [{ key: 'tier', operator: 'Exists', effect: 'NoSchedule' }],
    ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
  };
  return deploymentOf({ ...named, replicas, cpu, annotations, spec });
}

function budgetOf({ name, namespace }: Named, limits: Limits): Draft {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { ...limits, selector: { matchLabels: { app: name } } },
  };
}

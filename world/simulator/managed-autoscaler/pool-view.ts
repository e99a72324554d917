/** The pools of AKS's own autoscaler as it sees them: sizes, nodes, and what a new node would offer. Pure. */
import type { SimulatedVm } from '../base/vm-feed.ts';
import { possibleZones, type PoolSpec, type WorldSpec } from '../base/world-spec.ts';
import type { ArmState } from '../arm/control/control.ts';
import { findVmSize } from '../arm/state/vm-sizes.ts';
import { cloudLabels, nodeDraft, NOT_READY, UNINITIALIZED } from '../cluster/controllers/node-object.ts';
import { addUsage, nodeReasons, usageOf, type NodeUsage } from '../cluster/scheduler/node-filters.ts';
import { conditionOf, type DaemonSetObject, type NodeObject, type PodObject } from '../cluster/store/objects.ts';

const MAX_PODS = 110;
const POOL_LABEL = 'kubernetes.azure.com/agentpool';
export const DELETION_TAINT = 'ToBeDeletedByClusterAutoscaler';

/** What the autoscaler reads from the API server. */
export interface ClusterContents {
  readonly nodes: readonly NodeObject[];
  readonly pods: readonly PodObject[];
  readonly daemonSets: readonly DaemonSetObject[];
}

export interface PoolView {
  readonly spec: PoolSpec;
  /** The name of its scale set. */
  readonly set: string;
  readonly target: number;
  readonly nodes: readonly NodeObject[];
  /** Instances whose creation failed. */
  readonly failed: readonly string[];
  /** `node name -> instance id` */
  readonly instances: ReadonlyMap<string, string>;
  /** A new node, with its daemons. */
  readonly template: NodeUsage;
}

export function isReady(node: NodeObject): boolean {
  const startup = (node.spec.taints ?? []).some(({ key }) => key === UNINITIALIZED || key === NOT_READY);
  return !startup && conditionOf(node, 'Ready')?.status === 'True';
}

export function isLeaving({ spec }: NodeObject): boolean {
  return (spec.taints ?? []).some(({ key }) => key === DELETION_TAINT);
}

/** The pools with AKS's own autoscaler that have a scale set. It scales no others here. */
export function poolViews(spec: WorldSpec, { sets }: ArmState, contents: ClusterContents): readonly PoolView[] {
  return spec.pools.flatMap((pool) => {
    const set = sets.find(({ pool: name }) => name === pool.name);
    if (pool.managedAutoscaler !== true || set === undefined) return [];
    return [
      {
        // A person may have changed its limits since.
        spec: { ...pool, min: set.min, max: set.max },
        set: set.name,
        target: set.capacity,
        nodes: contents.nodes.filter(({ metadata }) => metadata.labels?.[POOL_LABEL] === pool.name),
        failed: set.instances.filter(({ provisioningState }) => provisioningState === 'Failed').map(({ id }) => id),
        instances: new Map(set.instances.map(({ hostName, id }) => [hostName, id])),
        template: templateOf(spec, pool, contents.daemonSets),
      },
    ];
  });
}

/** A copy of the usage that a simulation may fill. */
export function copyOf(usage: NodeUsage): NodeUsage {
  return { ...usage, used: new Map(usage.used), pods: [...usage.pods], guards: [...usage.guards] };
}

/** The usages of these nodes. */
export function usagesOf(nodes: readonly NodeObject[], pods: readonly PodObject[]): readonly NodeUsage[] {
  const byNode = Map.groupBy(pods, ({ spec }) => spec.nodeName);
  return nodes.map((node) => usageOf(node, byNode.get(node.metadata.name) ?? []));
}

/** Places pods first-fit, the largest first. Topology and volumes are not looked at. @returns those without a place. */
export function placeAll(pods: readonly PodObject[], usages: readonly NodeUsage[]): readonly PodObject[] {
  return pods.filter((pod) => {
    const usage = usages.find((candidate) => nodeReasons(pod, candidate).length === 0);
    if (usage !== undefined) addUsage(usage, pod);
    return usage === undefined;
  });
}

function templateOf(spec: WorldSpec, pool: PoolSpec, daemonSets: readonly DaemonSetObject[]): NodeUsage {
  const machine = machineOf(spec, pool);
  const draft = nodeDraft(machine, { spec, maxPods: MAX_PODS, nowMs: 0, sequence: 0 }) as NodeObject;
  const taints = (draft.spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED && key !== NOT_READY);
  const labels = { ...draft.metadata.labels, ...cloudLabels(machine) };
  const usage = usageOf({ ...draft, metadata: { ...draft.metadata, labels }, spec: { ...draft.spec, taints } }, []);
  for (const { spec: set } of daemonSets) {
    const pod = { spec: set.template.spec, metadata: { name: '', labels: {} }, status: { phase: 'Pending' } } as PodObject;
    if (nodeReasons(pod, usage).length === 0) addUsage(usage, pod);
  }
  return usage;
}

function machineOf(spec: WorldSpec, pool: PoolSpec): SimulatedVm {
  const size = findVmSize(pool.vmSize);
  const [zone] = possibleZones(pool);
  return {
    id: '',
    hostName: `template-of-${pool.name}`,
    providerId: '',
    pool: pool.name,
    vmSize: pool.vmSize,
    vcpus: size?.vcpus ?? 0,
    memoryGiB: size?.memoryGiB ?? 0,
    gpus: size?.gpus ?? 0,
    dataDisks: size?.dataDisks ?? 0,
    architecture: size?.architecture ?? 'amd64',
    location: spec.location,
    zone,
    kubernetesVersion: '1.33.2',
    labels: pool.labels ?? {},
    taints: pool.taints ?? [],
    power: 'running',
  };
}

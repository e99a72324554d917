/** Builders for domain values: say what matters to the test, get sensible rest. */
import { blockTexts, recordedBlocks, type BlockTexts } from '../../src/domain/group-blocks.ts';
import { nodeGroupId, instanceKey, type InstanceKey, type NodeGroupId } from '../../src/domain/ids.ts';
import {
  type CapacityKind,
  type CapacityObjectRef,
  type CapacityObjects,
  type CapacityBuffer,
  type CapacityQuota,
  type PodTemplate,
  type ProvisioningRequest,
  type ScalableWorkload,
  NO_CAPACITY_OBJECTS,
} from '../../src/domain/capacity-objects.ts';
import { type AgentPoolOfGroup, type Instance, type NodeGroup, NOTHING_KNOWN } from '../../src/domain/node-group.ts';
import { type Node, UNREMARKABLE } from '../../src/domain/node.ts';
import { type CloudView, type ClusterView, NOT_WATCHED, NOTHING_REPORTED, type Observation } from '../../src/domain/observation.ts';
import { NO_ANNOTATIONS, type PodAnnotations } from '../../src/domain/annotations.ts';
import {
  NO_MOUNTS,
  NO_REQUIREMENTS,
  ORDINARY_POD,
  type Controller,
  type Pod,
  type PodMounts,
  type PodShape,
  type RareStatus,
  USUAL_STATUS,
} from '../../src/domain/pod.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import {
  type DisruptionBudget,
  type PodGroup,
  type PodGroups,
  podGroupKey,
  type ReplicatedWorkload,
  type VerticalPodAutoscalers,
} from '../../src/domain/workloads.ts';
import { type NodeTemplate, NOTHING_SHOWN } from '../../src/domain/node-template.ts';

/** One registry for a whole test file is what the composition root does too. */
export const resourceNames = new ResourceNames();
/** Saturday 2026-11-21 00:00 UTC: where test time starts. */
export const START_MS = Date.UTC(2026, 10, 21);

let serial = 0;
/** Names sort in the order of their making, however many were made before in the same process. */
function next(prefix: string): string {
  serial += 1;
  return `${prefix}-${String(serial).padStart(9, '0')}`;
}

export interface ShapeOptions extends Partial<Omit<PodShape, 'requests' | 'key'>> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly resources?: Readonly<Record<string, string>>;
  readonly key?: string;
}

export function aShape(options: ShapeOptions = {}): PodShape {
  const { cpu = '100m', memory = '128Mi', resources = {}, key, ...rest } = options;
  const shape = {
    namespace: 'default',
    labels: {},
    requests: resourceNames.parse({ cpu, memory, pods: '1', ...resources }),
    nodeSelector: {},
    nodeAffinity: undefined,
    tolerations: [],
    hostPorts: [],
    topologySpread: [],
    podAffinity: [],
    podAntiAffinity: [],
    priority: undefined,
    schedulerName: 'default-scheduler',
    unsupported: [],
    ...rest,
  };
  return { ...NO_REQUIREMENTS, key: key ?? JSON.stringify({ ...shape, requests: [...shape.requests] }), ...shape };
}

/** The parts of annotations, mounts and status may be given as the pod's own. */
export interface PodOptions extends Partial<
  Omit<Pod, 'shape' | 'annotations' | 'mounts' | 'status' | 'controller'> & PodAnnotations & PodMounts & RareStatus
> {
  readonly controller?: (Omit<Controller, 'apiVersion'> & Partial<Controller>) | undefined;
  readonly cpu?: string;
  readonly memory?: string;
  readonly shape?: ShapeOptions | PodShape;
}

const WEB: Controller = { kind: 'ReplicaSet', apiVersion: '', name: 'web', uid: 'rs-web' };

/** A pending, unschedulable pod of a ReplicaSet unless told otherwise. With `nodeName` it is running there. */
export function aPod(options: PodOptions = {}): Pod {
  const { cpu, memory, shape, ...rest } = options;
  const name = options.name ?? next('pod');
  const namespace = options.namespace ?? 'default';
  const isShape = shape !== undefined && 'requests' in shape && 'key' in shape;
  const bound = options.nodeName !== undefined;
  return {
    ...ORDINARY_POD,
    uid: options.uid ?? `uid-${namespace}-${name}`,
    namespace,
    name,
    shape: isShape
      ? shape
      : aShape({ namespace, ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }), ...shape }),
    phase: bound ? 'Running' : 'Pending',
    createdAtMs: START_MS - 60_000,
    terminationGraceMs: 30_000,
    unschedulable: bound ? undefined : { sinceMs: START_MS - 30_000, message: '0/1 nodes are available' },
    ready: bound,
    ...without(rest, [NO_ANNOTATIONS, NO_MOUNTS, USUAL_STATUS]),
    controller: 'controller' in rest ? rest.controller && { apiVersion: '', ...rest.controller } : WEB,
    annotations: partOf(NO_ANNOTATIONS, rest),
    mounts: partOf(NO_MOUNTS, rest),
    status: partOf(USUAL_STATUS, rest),
  };
}

/** The part with what is given of it. The same object if nothing is. */
function partOf<Part extends object>(usual: Part, given: Partial<Part>): Part {
  const said = Object.entries(given).filter(([key]) => Object.hasOwn(usual, key));
  return said.length === 0 ? usual : { ...usual, ...(Object.fromEntries(said) as Partial<Part>) };
}

function without<Given extends object>(given: Given, parts: readonly object[]): Given {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !parts.some((part) => Object.hasOwn(part, key)))) as Given;
}

/** The pod with other parts of its annotations, mounts or status. */
export function podWith(pod: Pod, rest: Partial<PodAnnotations & PodMounts & RareStatus>): Pod {
  const { annotations, mounts, status } = pod;
  return { ...pod, annotations: partOf(annotations, rest), mounts: partOf(mounts, rest), status: partOf(status, rest) };
}

export interface NodeOptions extends Partial<Omit<Node, 'allocatable' | 'capacity'>> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly resources?: Readonly<Record<string, string>>;
}

export function aNode(options: NodeOptions = {}): Node {
  const { cpu = '4', memory = '16Gi', pods = '110', resources = {}, ...rest } = options;
  const name = options.name ?? next('node');
  const allocatable = resourceNames.parse({ cpu, memory, pods, 'ephemeral-storage': '100Gi', ...resources });
  return {
    ...UNREMARKABLE,
    name,
    uid: `uid-${name}`,
    providerId: `azure:///${name}`,
    taints: [],
    unschedulable: false,
    createdAtMs: START_MS - 3_600_000,
    deletionAtMs: undefined,
    capacity: allocatable,
    allocatable,
    readiness: { ready: true, sinceMs: START_MS - 3_500_000, reason: '' },
    scaleDownDisabled: false,
    ...rest,
    labels: { 'kubernetes.io/hostname': name, ...options.labels },
  };
}

export function aTemplate(options: NodeOptions & { zones?: readonly string[] } = {}): NodeTemplate {
  const node = aNode({ name: 'template', ...options });
  const { 'kubernetes.io/hostname': _dropped, ...labels } = node.labels;
  return {
    ...NOTHING_SHOWN,
    labels,
    taints: node.taints,
    capacity: node.capacity,
    allocatable: node.allocatable,
    zones: options.zones ?? [],
    source: 'cloud',
  };
}

export function keyOf(node: string): InstanceKey {
  return instanceKey(`sub|rg|vmss|set|${node}`);
}

export function anInstance(options: Partial<Instance> & { readonly node?: string } = {}): Instance {
  const { node, ...rest } = options;
  const id = node ?? next('instance');
  return {
    key: keyOf(id),
    providerId: `azure:///${id}`,
    instanceId: id,
    state: 'running',
    zone: undefined,
    error: undefined,
    firstSeenMs: START_MS - 3_600_000,
    createdAtMs: undefined,
    startedAtMs: undefined,
    hostName: undefined,
    uid: undefined,
    protectedFrom: undefined,
    ...rest,
  };
}

type PoolFacts = Pick<AgentPoolOfGroup, 'name'> & Partial<AgentPoolOfGroup>;

export function anAgentPool(facts: PoolFacts): AgentPoolOfGroup {
  const unknown = { count: undefined, operation: undefined, labels: undefined, tags: undefined, subnetId: undefined, nodeImage: undefined };
  return { ...unknown, ...facts };
}

/** A block is given as itself, or by its sentence alone. */
export interface GroupOptions extends Partial<Omit<NodeGroup, 'id' | 'target' | 'template' | 'agentPool'>>, BlockTexts {
  readonly agentPool?: PoolFacts | undefined;
  readonly id?: string;
  /** A number: known and confirmed. */
  readonly target?: number | NodeGroup['target'];
  readonly template?: NodeTemplate | undefined;
}

/** A Uniform group 0..10 of the given target; `target` also makes that many running instances unless given. */
export function aGroup(options: GroupOptions = {}): NodeGroup {
  const {
    id,
    target = 1,
    template,
    agentPool,
    frozen,
    growthHeld,
    removalsHeld,
    removalsHeldOf,
    lastResort,
    deletionsWait,
    ...rest
  } = options;
  const name = id ?? next('pool');
  const size = typeof target === 'number' ? target : target.known ? target.value : 0;
  return {
    id: nodeGroupId(name),
    kind: 'vmss-uniform',
    minSize: 0,
    maxSize: 10,
    target: typeof target === 'number' ? { known: true, value: target, version: '"1"', confirmed: true, observedAtMs: START_MS } : target,
    instances: Array.from({ length: size }, (_, index) => anInstance({ node: `${name}-${index}` })),
    instancesObservedAtMs: START_MS,
    template: 'template' in options ? template : aTemplate(),
    vmSize: 'Standard_D4s_v5',
    priority: 'Regular',
    zones: [],
    options: {},
    blocks: recordedBlocks({ frozen, growthHeld, removalsHeld, removalsHeldOf, lastResort, deletionsWait }),
    ...NOTHING_KNOWN,
    agentPool: agentPool && anAgentPool(agentPool),
    ...rest,
  };
}

/** A group with the sentences of its blocks beside them. */
export type ShownGroup = NodeGroup & BlockTexts;

const shown = new WeakMap<NodeGroup, ShownGroup>();

/** The same object for the same group. */
export function withTexts(group: NodeGroup): ShownGroup {
  const known = shown.get(group) ?? { ...group, ...blockTexts(group.blocks) };
  shown.set(group, known);
  return known;
}

export interface ClusterOptions {
  readonly nodes?: readonly Node[];
  /** Bound and pending alike; sorted into place by `nodeName`. */
  readonly pods?: readonly Pod[];
  readonly daemonSets?: ClusterView['daemonSets'];
  readonly disruptionBudgets?: readonly DisruptionBudget[];
  readonly workloads?: readonly ReplicatedWorkload[];
  readonly capacity?: Partial<CapacityObjects>;
  readonly podGroups?: PodGroups;
  readonly verticalPodAutoscalers?: VerticalPodAutoscalers;
}

/** Pod groups of the namespace `default` by name, each with its minimum; undefined: its pods start one by one. */
export function somePodGroups(minimums: Readonly<Record<string, number | undefined>>, rest: Partial<PodGroup> = {}): PodGroups {
  const groups = Object.entries(minimums).map(([name, minCount]): [string, PodGroup] => [
    podGroupKey('default', `pod group ${name}`),
    {
      kind: 'PodGroup',
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      minCount,
      topologyKey: undefined,
      disruptedAsWhole: false,
      ...rest,
    },
  ]);
  return { groups: new Map(groups), unread: false };
}

export function aCluster(options: ClusterOptions = {}): ClusterView {
  const podsByNode = new Map<string, Pod[]>();
  for (const pod of options.pods ?? []) {
    if (pod.nodeName === undefined) continue;
    podsByNode.set(pod.nodeName, [...(podsByNode.get(pod.nodeName) ?? []), pod]);
  }
  return {
    nodes: new Map((options.nodes ?? []).map((node) => [node.name, node])),
    podsByNode,
    pendingPods: (options.pods ?? []).filter((pod) => pod.nodeName === undefined),
    daemonSets: options.daemonSets ?? [],
    disruptionBudgets: options.disruptionBudgets ?? [],
    ...NOT_WATCHED,
    workloads: options.workloads ?? [],
    capacity: { ...NO_CAPACITY_OBJECTS, ...options.capacity },
    podGroups: options.podGroups,
    verticalPodAutoscalers: options.verticalPodAutoscalers,
    namespaces: new Map([
      ['default', {}],
      ['kube-system', {}],
    ]),
    stalenessMs: 0,
  };
}

/** Nodes named `<group>-<n>` belong to the group whose instances have those names. */
export function aCloud(groups: readonly NodeGroup[], cluster: ClusterView, rest: Partial<CloudView> = {}): CloudView {
  const groupOfNode = new Map<string, NodeGroupId>();
  const instanceOfNode = new Map<string, InstanceKey>();
  for (const group of groups) {
    for (const instance of group.instances ?? []) {
      if (!cluster.nodes.has(instance.instanceId)) continue;
      groupOfNode.set(instance.instanceId, group.id);
      instanceOfNode.set(instance.instanceId, instance.key);
    }
  }
  return {
    groups: [...groups].sort((left, right) => (left.id < right.id ? -1 : 1)),
    groupOfNode,
    instanceOfNode,
    events: [],
    scaleDownBlocked: undefined,
    scaleUpBlocked: undefined,
    ...NOTHING_REPORTED,
    ...rest,
  };
}

export function anObservation(groups: readonly NodeGroup[], cluster: ClusterView, rest: Partial<Observation> = {}): Observation {
  return { loopId: 1, nowMs: START_MS, cluster, cloud: aCloud(groups, cluster), ...rest };
}

export function aBudget(options: Partial<DisruptionBudget> = {}): DisruptionBudget {
  return {
    namespace: 'default',
    name: next('pdb'),
    selector: { requirements: [] },
    disruptionsAllowed: 1,
    expectedPods: 2,
    currentHealthy: 2,
    desiredHealthy: 1,
    neverAllows: undefined,
    demand: undefined,
    ...options,
  };
}

export function aRef(kind: CapacityKind, name: string, rest: Partial<CapacityObjectRef> = {}): CapacityObjectRef {
  const namespace = kind === 'CapacityQuota' ? '' : 'default';
  return { kind, namespace, name, uid: `uid-${name}`, generation: 1, version: '1', createdAtMs: START_MS - 60_000, ...rest };
}

/** A template as it is written, unless a change says otherwise. */
export function aPodTemplate(name: string, shape: PodShape, change: Partial<PodTemplate> = {}): PodTemplate {
  return { namespace: 'default', name, generation: 1, shape, quotaUse: undefined, notAdmitted: undefined, ...change };
}

/** A Deployment. */
export function aScalable(name: string, shape: PodShape, change: Partial<ScalableWorkload> = {}): ScalableWorkload {
  const kind = { kind: 'Deployment', apiGroup: 'apps', namespace: 'default', name } as const;
  return { ...kind, replicas: 1, shape, quotaUse: undefined, notAdmitted: undefined, admitted: false, ...change };
}

/** A buffer without a size. */
export function aCapacityBuffer(name: string, change: Partial<CapacityBuffer> = {}): CapacityBuffer {
  const size = { replicas: undefined, percentage: undefined, limits: undefined };
  const copied = { podTemplate: undefined, scalable: undefined };
  const strategy = 'buffer.x-k8s.io/active-capacity';
  return { ref: aRef('CapacityBuffer', name), status: { conditions: [] }, problem: undefined, strategy, ...copied, ...size, ...change };
}

/** A request for a pod of the template `big`. */
export function aProvisioningRequest(name: string, change: Partial<ProvisioningRequest> = {}): ProvisioningRequest {
  const podSets = [{ podTemplate: 'big', count: 1 }];
  const className = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
  const ref = aRef('ProvisioningRequest', name);
  return { ref, status: { conditions: [] }, problem: undefined, className, podSets, parameters: {}, ...change };
}

export function aQuota(name: string, limits: CapacityQuota['limits'], change: Partial<CapacityQuota> = {}): CapacityQuota {
  return {
    ref: aRef('CapacityQuota', name),
    status: { conditions: [] },
    problem: undefined,
    selector: { requirements: [] },
    limits,
    ...change,
  };
}

/** Builds the cloud view of a loop from the pools file and the nodes of the cluster. */
import { arePublished } from '../../domain/devices.ts';
import { NO_BLOCKS } from '../../domain/group-blocks.ts';
import { parseProviderId } from '../../azure/arm/resource-ids.ts';
import { nodeGroupOptionsOf } from '../../azure/rows/tags.ts';
import type { TemplateSource } from '../../azure/rows/template-source.ts';
import { knownSize } from '../../azure/sizes/known-sizes.ts';
import { exemplaryFromMs, showsNextNode, templateFromNode, withLastingTaints } from '../../azure/templates/from-node.ts';
import { withDeclaredDevices } from '../../azure/templates/declared-devices.ts';
import { attachLimits, templateFromSize } from '../../azure/templates/from-size.ts';
import { customDaemonsOn, findCustomDaemons } from '../../azure/templates/custom-daemons.ts';
import { staticPodsOf } from '../../azure/templates/node-pods.ts';
import { instanceKey, nodeGroupId } from '../../domain/ids.ts';
import { type Instance, type NodeGroup, NOTHING_KNOWN } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import { type CloudView, type ClusterView, NOTHING_REPORTED } from '../../domain/observation.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { NO_TAINT_RULES, type Taint, type TaintRules } from '../../domain/taints.ts';
import { AZURE_DISK_ZONE, ZONE_LABELS } from '../../domain/volumes.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import type { VolumeObjectJson, StorageClassJson } from '../../kubernetes/api/core-json.ts';
import { configError } from '../../lib/errors.ts';
import { daemonRequests, daemonSetsFromPods } from './daemon-pods.ts';
import type { FileObject } from './files/objects-file.ts';
import type { PoolSpec } from './files/pools-file.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';
import { compareBy } from '../../lib/comparison.ts';

const POOL_LABELS = ['kubernetes.azure.com/agentpool', 'agentpool'];
const REGION = 'topology.kubernetes.io/region';
const PODS_TAG = 'k8s.io_cluster-autoscaler_node-template_resources_pods';

/** @throws AutoscalerError `config` if the resources of a pool's node are unknown. */
export function cloudOf(pools: readonly PoolSpec[], cluster: ClusterView, common: CommonInput): CloudView {
  const members = new Map(pools.map(({ name }) => [name, [] as Node[]]));
  const poolOf = poolFinder(pools);
  for (const node of cluster.nodes.values()) members.get(poolOf(node) ?? '')?.push(node);
  const groups = pools.map((pool) => groupOf({ ...common, pool, nodes: members.get(pool.name) ?? [], podsByNode: cluster.podsByNode }));
  const owned = [...members].flatMap(([name, nodes]) => nodes.map((node) => [node.name, name] as const));
  return {
    groups: groups.sort(compareBy((item) => item.id)),
    groupOfNode: new Map(owned.map(([node, pool]) => [node, nodeGroupId(pool)])),
    instanceOfNode: new Map(owned.map(([node]) => [node, instanceKey(node)])),
    events: [],
    scaleDownBlocked: undefined,
    scaleUpBlocked: undefined,
    ...NOTHING_REPORTED,
  };
}

/** The DaemonSet pods of new nodes, for a file without DaemonSets. */
export function daemonsOf(pools: readonly PoolSpec[], { nodes, podsByNode, daemonSetsUnknown }: ClusterView): readonly DaemonSet[] {
  if (!daemonSetsUnknown) return [];
  const poolOf = poolFinder(pools);
  return pools.flatMap(({ name }) => {
    const exemplary = exemplaryOf([...nodes.values()].filter((node) => poolOf(node) === name));
    return exemplary === undefined ? [] : daemonSetsFromPods(name, podsByNode.get(exemplary.name) ?? []);
  });
}

/** What all pools have in common. */
interface CommonInput {
  readonly names: ResourceNames;
  readonly nowMs: number;
  readonly region: string;
  /** Taints that a new node loses, in addition to the well-known ones. */
  readonly taints?: TaintRules | undefined;
  /** Of the configuration, by name of a pool. If absent, there are none. */
  readonly namedOptions?: Parameters<typeof nodeGroupOptionsOf>[2];
}

interface PoolInput extends CommonInput {
  readonly pool: PoolSpec;
  readonly nodes: readonly Node[];
  readonly podsByNode: ClusterView['podsByNode'];
}

/** Finds the pool of a node. A pool is named as its agent pool or as its scale set, in any letter case. */
function poolFinder(pools: readonly PoolSpec[]): (node: Node) => string | undefined {
  const names = new Map(pools.flatMap(({ name }) => [[name.toLowerCase(), name] as const]));
  for (const { name } of pools) names.set(name, name);
  const named = (name: string): string | undefined => names.get(name) ?? names.get(name.toLowerCase());
  return (node) => named(agentPoolOf(node) ?? '') ?? named(scaleSetOf(node));
}

function agentPoolOf({ labels }: Node): string | undefined {
  return labels[POOL_LABELS[0] ?? ''] ?? labels[POOL_LABELS[1] ?? ''];
}

function scaleSetOf({ providerId }: Node): string {
  const id = parseProviderId(providerId);
  return id.ok ? id.ref.set : '';
}

/** The agent pool label of new nodes: that of existing nodes, or the name within the scale set's name. */
function agentPoolName({ name }: PoolSpec, nodes: readonly Node[]): string {
  const label = nodes.map(agentPoolOf).find((text) => text !== undefined);
  return label ?? /^aks-(.+)-\d{8}-vmss$/i.exec(name)?.[1] ?? name;
}

function groupOf(given: PoolInput): NodeGroup {
  const { nodes, nowMs } = given;
  const pool = given.pool.zones.length > 0 ? given.pool : { ...given.pool, zones: zonesOf(nodes) };
  const input = { ...given, pool };
  const target = pool.targetSize ?? nodes.length;
  // Instances up to the target size that are not nodes yet.
  const upcoming = Array.from({ length: Math.max(0, target - nodes.length) }, (_, at) =>
    instanceOf(`${pool.name}/coming/${at}`, 'creating', nowMs),
  );
  const options = nodeGroupOptionsOf(pool.name, { 'aks-managed-poolName': agentPoolName(pool, nodes), ...pool.tags }, given.namedOptions);
  return {
    id: nodeGroupId(pool.name),
    kind: 'vmss-uniform',
    minSize: pool.min,
    maxSize: pool.max,
    target: { known: true, value: target, version: '', confirmed: true, observedAtMs: nowMs },
    instances: [...nodes.map(({ name }) => instanceOf(name, 'running', nowMs)), ...upcoming],
    instancesObservedAtMs: nowMs,
    template: withDeclaredDevices(templateOf(input), options.devices),
    vmSize: pool.vmSize,
    priority: pool.priority === 'Spot' ? 'Spot' : 'Regular',
    zones: pool.zones,
    options,
    blocks: NO_BLOCKS,
    ...NOTHING_KNOWN,
  };
}

/** The zones of the nodes, for a pool without zones in the file. AKS labels nodes without a zone with a bare number. */
function zonesOf(nodes: readonly Node[]): string[] {
  const labels = nodes.map((node) => node.labels['topology.kubernetes.io/zone'] ?? '');
  return [...new Set(labels.filter((label) => /-\d+$/.test(label)))].sort();
}

function instanceOf(id: string, state: Instance['state'], nowMs: number): Instance {
  return {
    key: instanceKey(id),
    providerId: '',
    instanceId: id,
    hostName: undefined,
    uid: undefined,
    state,
    zone: undefined,
    error: undefined,
    protectedFrom: undefined,
    firstSeenMs: nowMs,
    createdAtMs: undefined,
    startedAtMs: undefined,
  };
}

/** The template of an existing node, otherwise of the VM size. Values in the pools file override both. */
function templateOf(input: PoolInput): NodeTemplate {
  const { pool, names } = input;
  const base = baseTemplate(input);
  const stated = statedResources(pool, names);
  const maxPods = pool.maxPods === undefined ? {} : { pods: pool.maxPods };
  const allocatable = names.fromRecord({ ...names.toRecord(base.allocatable), ...maxPods, ...stated });
  const capacity = names.fromRecord(larger(names.toRecord(base.capacity), names.toRecord(allocatable)));
  const agentPoolLabel = agentPoolName(pool, input.nodes);
  const agentPool = Object.fromEntries(POOL_LABELS.map((label) => [label, agentPoolLabel]));
  const labels = { ...base.labels, ...agentPool, ...pool.labels };
  return withLastingTaints(
    { ...base, capacity, allocatable, labels, taints: withTaints(base.taints, pool) },
    input.taints ?? NO_TAINT_RULES,
  );
}

/** A resource that is stated as 0 is 0, whatever the VM size has. */
function statedResources({ allocatable = {} }: PoolSpec, names: ResourceNames): Readonly<Record<string, number>> {
  const none = Object.fromEntries(Object.keys(allocatable).map((name) => [name, 0]));
  return { ...none, ...names.toRecord(names.parse(allocatable)) };
}

function baseTemplate({ pool, nodes, podsByNode, region, names, nowMs }: PoolInput): NodeTemplate {
  const source = sourceOf(pool, region);
  const exemplary = exemplaryOf(nodes);
  if (exemplary !== undefined) {
    const live = templateFromNode(exemplary, { ...source, ...locationOf(pool, region, exemplary) });
    const pods = podsByNode.get(exemplary.name) ?? [];
    const customDaemons = findCustomDaemons({
      nodes: nodes.filter(showsNextNode),
      daemonsOn: (node) => customDaemonsOn(node, podsByNode.get(node.name) ?? []),
      known: [],
      nowMs,
    });
    return {
      ...live,
      daemonRequests: daemonRequests(pods),
      staticPods: staticPodsOf(pods, exemplary.name),
      customDaemons,
      attachLimits: attachLimits(knownSize(pool.vmSize), exemplary.attachLimits),
    };
  }
  const sku = knownSize(pool.vmSize) ?? statedSize(pool, names);
  if (sku !== undefined) return templateFromSize(source, { sku, pool: undefined, nodeResourceGroup: '', names });
  throw configError(
    `pool ${pool.name}: vmSize is "${pool.vmSize}", and its cores and memory are unknown; it must be a size of the series B, D, E, F or L, or any size with allocatable.cpu and allocatable.memory.`,
  );
}

/** The node that a pool's template is made from. A file has no history: a ready node counts as ready for long enough. */
function exemplaryOf(nodes: readonly Node[]): Node | undefined {
  const ready = nodes.filter((node) => exemplaryFromMs(node, []) !== undefined);
  return ready.find(({ devices }) => arePublished(devices)) ?? ready[0];
}

/** A size made from the pool's own cpu and memory, for unknown VM sizes. */
function statedSize(pool: PoolSpec, names: ResourceNames) {
  const { cpu, memory } = pool.allocatable ?? {};
  if (cpu === undefined || memory === undefined) return undefined;
  const stated = names.toRecord(names.parse({ cpu, memory }));
  return {
    name: pool.vmSize,
    vcpus: Math.max(1, Math.ceil((stated['cpu'] ?? 0) / 1000)),
    memoryBytes: stated['memory'] ?? 0,
    gpus: 0,
    arch: 'amd64',
    zones: [],
    quotaFamily: '',
    quotaVcpus: 0,
  } as const;
}

function sourceOf(pool: PoolSpec, region: string): TemplateSource {
  const tags = { ...pool.tags, ...(pool.maxPods === undefined ? {} : { [PODS_TAG]: String(pool.maxPods) }) };
  return {
    vmSize: pool.vmSize,
    ...locationOf(pool, region),
    tags,
    priority: pool.priority === 'Spot' ? 'Spot' : 'Regular',
    os: 'linux',
    osDisk: { ephemeral: false, tier: undefined, sizeGb: undefined },
  };
}

/** Zones may be written `1` or `westeurope-1`. The zone of one node is not the zone of the pool. */
function locationOf(pool: PoolSpec, region: string, node?: Node): { readonly location: string; readonly zones: readonly string[] } {
  const prefix = pool.zones.map((zone) => zone.slice(0, Math.max(0, zone.lastIndexOf('-')))).find((text) => text !== '');
  return { location: prefix ?? node?.labels[REGION] ?? region, zones: pool.zones.map((zone) => zone.slice(zone.lastIndexOf('-') + 1)) };
}

function withTaints(taints: readonly Taint[], pool: PoolSpec): readonly Taint[] {
  const stated = pool.taints.map(({ key, value = '', effect }) => ({ key, value, effect }));
  return [...taints.filter((taint) => !stated.some(({ key, effect }) => key === taint.key && effect === taint.effect)), ...stated];
}

function larger(left: Readonly<Record<string, number>>, right: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const result: Record<string, number> = { ...left };
  for (const [name, amount] of Object.entries(right)) result[name] = Math.max(result[name] ?? 0, amount);
  return result;
}

/** Labels with a zone. Nodes, volumes and pods name a zone with its region, pools may use the number alone. */
const ZONE_KEYS: ReadonlySet<string> = new Set([...ZONE_LABELS.filter((key) => key.endsWith('/zone')), AZURE_DISK_ZONE]);

/** The region of the nodes, else the one region that pools, volumes and storage classes name. Empty if unknown. */
export function regionOf({ nodes }: ClusterView, pools: readonly PoolSpec[], objects: readonly FileObject[]): string {
  const labels = [...nodes.values()].map((node) => node.labels);
  const stated = labels.map((each) => each['topology.kubernetes.io/region']).find((region) => region !== undefined);
  if (stated !== undefined) return stated;
  const ofNodes = labels.map((each) => each['topology.kubernetes.io/zone'] ?? '');
  return agreed(ofNodes) ?? agreed(pools.flatMap(({ zones }) => zones)) ?? agreed(objects.flatMap(zonesIn)) ?? '';
}

/** undefined: no zone has a region, or there are several regions. */
function agreed(zones: readonly string[]): string | undefined {
  const regions = new Set(zones.flatMap((zone) => /^([a-z][a-z0-9]*)-\d+$/i.exec(zone)?.[1] ?? []));
  return regions.size === 1 ? [...regions][0] : undefined;
}

function zonesIn(object: FileObject): readonly string[] {
  if (object.kind === 'PersistentVolume') return zonesOfVolume(object as VolumeObjectJson);
  if (object.kind !== 'StorageClass') return [];
  const { allowedTopologies = [] } = object as StorageClassJson;
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }) => valuesOfZones(matchLabelExpressions));
}

function zonesOfVolume({ metadata = {}, spec = {} }: VolumeObjectJson): readonly string[] {
  const labels = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => (ZONE_KEYS.has(key) ? value.split('__') : []));
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return [...labels, ...terms.flatMap(({ matchExpressions = [] }) => valuesOfZones(matchExpressions))];
}

interface Expression {
  readonly key?: string;
  readonly values?: readonly string[];
}

function valuesOfZones(expressions: readonly Expression[]): readonly string[] {
  return expressions.flatMap(({ key = '', values = [] }) => (ZONE_KEYS.has(key) ? values : []));
}

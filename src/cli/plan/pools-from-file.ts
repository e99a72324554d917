/** From the list of pools and the nodes that are there to the view of the cloud that a loop would have. */
import { parseProviderId } from '../../azure/arm/resource-ids.ts';
import { groupOptions } from '../../azure/rows/tags.ts';
import type { TemplateSource } from '../../azure/rows/template-source.ts';
import { knownSize } from '../../azure/sizes/known-sizes.ts';
import { exemplarySince, liveTemplate, withLastingTaints } from '../../azure/templates/from-node.ts';
import { attachLimits, cloudTemplate } from '../../azure/templates/from-size.ts';
import { staticPodsOf } from '../../azure/templates/static-pods.ts';
import { instanceKey, nodeGroupId } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { CloudView, ClusterView } from '../../domain/observation.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Taint, TaintRules } from '../../domain/taints.ts';
import { AZURE_DISK_ZONE, ZONE_LABELS } from '../../domain/volumes.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import type { VolumeObjectJson, StorageClassJson } from '../../kubernetes/api/core-json.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { daemonRequests, standIns } from './daemon-pods.ts';
import type { FileObject } from './files/objects-file.ts';
import type { PoolSpec } from './files/pools-file.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';
import { compareBy } from '../../lib/comparison.ts';

const POOL_LABELS = ['kubernetes.azure.com/agentpool', 'agentpool'];
const REGION = 'topology.kubernetes.io/region';
const PODS_TAG = 'k8s.io_cluster-autoscaler_node-template_resources_pods';

/** @throws AutoscalerError `config` when nothing says what a node of a pool would offer. */
export function cloudOf(pools: readonly PoolSpec[], cluster: ClusterView, how: Circumstances): CloudView {
  const members = new Map(pools.map(({ name }) => [name, [] as Node[]]));
  const poolOf = ownersAmong(pools);
  for (const node of cluster.nodes.values()) members.get(poolOf(node) ?? '')?.push(node);
  const groups = pools.map((pool) => groupOf({ ...how, pool, nodes: members.get(pool.name) ?? [], podsByNode: cluster.podsByNode }));
  const owned = [...members].flatMap(([name, nodes]) => nodes.map((node) => [node.name, name] as const));
  return {
    groups: groups.sort(compareBy((item) => item.id)),
    groupOfNode: new Map(owned.map(([node, pool]) => [node, nodeGroupId(pool)])),
    instanceOfNode: new Map(owned.map(([node]) => [node, instanceKey(node)])),
    events: [],
    scaleDownBlocked: undefined,
    scaleUpBlocked: undefined,
  };
}

/** What new nodes of the pools run that no DaemonSet of the file says. */
export function daemonsOf(pools: readonly PoolSpec[], { nodes, podsByNode, daemonSetsUnknown }: ClusterView): readonly DaemonSet[] {
  if (daemonSetsUnknown !== true) return [];
  const poolOf = ownersAmong(pools);
  return pools.flatMap(({ name }) => {
    const exemplary = exemplaryOf([...nodes.values()].filter((node) => poolOf(node) === name));
    return exemplary === undefined ? [] : standIns(name, podsByNode.get(exemplary.name) ?? []);
  });
}

/** What holds for all pools. */
export interface Circumstances {
  readonly names: ResourceNames;
  readonly nowMs: number;
  readonly region: string;
  /** Taints that a new node will not keep, beside those that are always known. */
  readonly taints?: TaintRules | undefined;
}

interface Question extends Circumstances {
  readonly pool: PoolSpec;
  readonly nodes: readonly Node[];
  readonly podsByNode: ClusterView['podsByNode'];
}

/** The pool that a node is of, which may be named as its agent pool or as its scale set, in any letter case. */
function ownersAmong(pools: readonly PoolSpec[]): (node: Node) => string | undefined {
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

/** What AKS labels new nodes of a pool with: as the present ones, or by the name that AKS gives scale sets. */
function agentPoolName({ name }: PoolSpec, nodes: readonly Node[]): string {
  const label = nodes.map(agentPoolOf).find((text) => text !== undefined);
  return label ?? /^aks-(.+)-\d{8}-vmss$/i.exec(name)?.[1] ?? name;
}

function groupOf(asked: Question): NodeGroup {
  const { nodes, nowMs } = asked;
  const pool = asked.pool.zones.length > 0 ? asked.pool : { ...asked.pool, zones: zonesOf(nodes) };
  const question = { ...asked, pool };
  const target = pool.targetSize ?? nodes.length;
  // Asked for and not there: on their way.
  const coming = Array.from({ length: Math.max(0, target - nodes.length) }, (_, at) =>
    instanceOf(`${pool.name}/coming/${at}`, 'creating', nowMs),
  );
  return {
    id: nodeGroupId(pool.name),
    kind: 'vmss-uniform',
    minSize: pool.min,
    maxSize: pool.max,
    target: { known: true, value: target, version: '', confirmed: true, observedAtMs: nowMs },
    instances: [...nodes.map(({ name }) => instanceOf(name, 'running', nowMs)), ...coming],
    instancesObservedAtMs: nowMs,
    template: templateOf(question),
    vmSize: pool.vmSize,
    priority: pool.priority === 'Spot' ? 'Spot' : 'Regular',
    zones: pool.zones,
    options: groupOptions(pool.tags),
    frozen: undefined,
  };
}

/** Of a pool that does not say its zones: those that its nodes are in. AKS labels nodes without a zone with a bare number. */
function zonesOf(nodes: readonly Node[]): string[] {
  const labels = nodes.map((node) => node.labels['topology.kubernetes.io/zone'] ?? '');
  return [...new Set(labels.filter((label) => /-\d+$/.test(label)))].sort();
}

function instanceOf(id: string, state: Instance['state'], nowMs: number): Instance {
  return { key: instanceKey(id), providerId: '', instanceId: id, state, zone: undefined, error: undefined, firstSeenMs: nowMs };
}

/** A living node knows best, the size's numbers come next; what the pool itself states goes before both. */
function templateOf(question: Question): NodeTemplate {
  const { pool, names } = question;
  const base = baseTemplate(question);
  const stated = statedRecord(pool, names);
  const maxPods = pool.maxPods === undefined ? {} : { pods: pool.maxPods };
  const allocatable = names.fromRecord({ ...names.toRecord(base.allocatable), ...maxPods, ...stated });
  const capacity = names.fromRecord(larger(names.toRecord(base.capacity), names.toRecord(allocatable)));
  const agentPoolLabel = agentPoolName(pool, question.nodes);
  const agentPool = Object.fromEntries(POOL_LABELS.map((label) => [label, agentPoolLabel]));
  const labels = { ...base.labels, ...agentPool, ...pool.labels };
  return withLastingTaints({ ...base, capacity, allocatable, labels, taints: withTaints(base.taints, pool) }, question.taints ?? {});
}

/** What is stated to be none at all is none, whatever the size has of it. */
function statedRecord({ allocatable = {} }: PoolSpec, names: ResourceNames): Readonly<Record<string, number>> {
  const none = Object.fromEntries(Object.keys(allocatable).map((name) => [name, 0]));
  return { ...none, ...names.toRecord(names.parse(allocatable)) };
}

function baseTemplate({ pool, nodes, podsByNode, region, names }: Question): NodeTemplate {
  const source = sourceOf(pool, region);
  const exemplary = exemplaryOf(nodes);
  if (exemplary !== undefined) {
    const live = liveTemplate(exemplary, { ...source, ...placesOf(pool, region, exemplary) });
    const pods = podsByNode.get(exemplary.name) ?? [];
    const residents = { ...daemonRequests(pods), staticPods: staticPodsOf(pods, exemplary.name) };
    return { ...live, ...residents, ...attachLimits(knownSize(pool.vmSize), exemplary.attachLimits) };
  }
  const sku = knownSize(pool.vmSize) ?? statedSize(pool, names);
  if (sku !== undefined) return cloudTemplate(source, { sku, pool: undefined, nodeResourceGroup: '', names });
  throw new AutoscalerError(
    { kind: 'config' },
    `pool ${pool.name}: vmSize is "${pool.vmSize}", whose cores and memory are not known here; accepted is a size of the series B, D, E, F or L, or allocatable with cpu and memory.`,
  );
}

/** The node that speaks for its pool. A file has no history: one that is ready has been so for long enough. */
function exemplaryOf(nodes: readonly Node[]): Node | undefined {
  const ready = nodes.filter((node) => exemplarySince(node, []) !== undefined);
  return ready.find(({ devices }) => devices !== undefined) ?? ready[0];
}

/** The pool says itself what a node has: what the size would have said is not needed. */
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
    ...placesOf(pool, region),
    tags,
    priority: pool.priority === 'Spot' ? 'Spot' : 'Regular',
    os: 'linux',
    osDisk: { ephemeral: false, tier: undefined, sizeGb: undefined },
  };
}

/** Zones may be written `1` or `westeurope-1`. Of a pool without zones a living node's zone is not every node's zone. */
function placesOf(pool: PoolSpec, region: string, node?: Node): { readonly location: string; readonly zones: readonly string[] } {
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

// Which region a file speaks of: pools may name a zone by its number alone, and nodes, volumes and pods name it with its region.

const ZONE_KEYS: ReadonlySet<string> = new Set([...ZONE_LABELS.filter((key) => key.endsWith('/zone')), AZURE_DISK_ZONE]);

/** Nodes know it; else what pools, volumes and storage classes agree on. Empty: nothing says it. */
export function regionOf({ nodes }: ClusterView, pools: readonly PoolSpec[], objects: readonly FileObject[]): string {
  const labels = [...nodes.values()].map((node) => node.labels);
  const stated = labels.map((each) => each['topology.kubernetes.io/region']).find((region) => region !== undefined);
  if (stated !== undefined) return stated;
  const ofNodes = labels.map((each) => each['topology.kubernetes.io/zone'] ?? '');
  return agreed(ofNodes) ?? agreed(pools.flatMap(({ zones }) => zones)) ?? agreed(objects.flatMap(zonesIn)) ?? '';
}

/** undefined: none names a region, or two name different ones. */
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

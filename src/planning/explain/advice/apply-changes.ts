/** The input of a plan as it would be after a person's changes. Nothing is edited in place: pods, groups and policy are copies. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { nodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import { zonePart } from '../../../domain/node-template.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import { isAttachResource, largest, type ResourceNames, type Resources } from '../../../domain/resources.ts';
import { compareBy } from '../../../lib/comparison.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import type { Change } from '../fix.ts';
import { isNodeNameKey, isPoolNameKey } from './label-keys.ts';
import { withoutRepulsion } from './repelling-pods.ts';

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;

/** The changes of workloads apply to `pods` alone, by uid. */
export function applyChanges(input: ScaleUpInput, pods: ReadonlySet<string>, changes: readonly Change[]): ScaleUpInput {
  const { observation, policy, names } = input;
  const changed = changes.reduce((before, change) => applyToCloud(before, change, names), observation);
  const scaleUp = changes.reduce(applyToPolicy, policy.scaleUp);
  const pendingPods = changedPods(changed.cluster.pendingPods, { pods, changes, names });
  return { ...input, observation: { ...changed, cluster: { ...changed.cluster, pendingPods } }, policy: { ...policy, scaleUp } };
}

/** The id under which a simulated pool is planned. */
export function addedPoolId(like: NodeGroupId): NodeGroupId {
  return nodeGroupId(`new pool like ${like}`);
}

function applyToPolicy(policy: ScaleUpPolicy, change: Change): ScaleUpPolicy {
  if (change.kind === 'raise-nodes-per-scale-up') return { ...policy, maxNodesPerScaleUp: change.to };
  if (change.kind !== 'raise-cluster-limit') return policy;
  const key = ({ nodes: 'maxNodesTotal', cores: 'maxCoresTotal', memory: 'maxMemoryTotalBytes' } as const)[change.limit];
  return { ...policy, [key]: change.to };
}

function applyToCloud(observation: Observation, change: Change, names: ResourceNames): Observation {
  switch (change.kind) {
    case 'raise-maximum':
      return withGroup(observation, change.group, (group) => ({ ...group, maxSize: change.to }));
    case 'raise-azure-quota':
      return withQuota(observation, change);
    case 'raise-capacity-quota':
      return withCapacityQuota(observation, change);
    case 'label-pool':
    case 'declare-label':
      return withTemplate(observation, change.group, (template) => withLabel(template, change.key, change.value));
    case 'declare-resource':
      return withTemplate(observation, change.group, (template) =>
        withResources(template, names.fromRecord({ [change.resource]: change.amount })),
      );
    case 'declare-features':
      return withTemplate(observation, change.group, (template) => ({
        ...template,
        declaredFeatures: [...(template.declaredFeatures ?? []), ...change.features],
      }));
    case 'drop-repulsion':
      return withoutRepelling(observation, change);
    case 'uncordon-template':
      return withTemplate(observation, change.group, ({ unschedulable: _cordoned, ...template }) => template);
    case 'add-pool':
      return withAddedPool(observation, change, names);
    default:
      return observation;
  }
}

function withoutRepelling(observation: Observation, { workload, topologyKey }: ChangeOf<'drop-repulsion'>): Observation {
  const { cluster } = observation;
  return { ...observation, cluster: { ...cluster, podsByNode: withoutRepulsion(cluster.podsByNode, workload, topologyKey) } };
}

function withGroup(observation: Observation, id: NodeGroupId, edit: (group: NodeGroup) => NodeGroup): Observation {
  const groups = observation.cloud.groups.map((group) => (group.id === id ? edit(group) : group));
  return { ...observation, cloud: { ...observation.cloud, groups } };
}

function withTemplate(observation: Observation, id: NodeGroupId, edit: (template: NodeTemplate) => NodeTemplate): Observation {
  return withGroup(observation, id, (group) => (group.template === undefined ? group : { ...group, template: edit(group.template) }));
}

function withLabel(template: NodeTemplate, key: string, value: string): NodeTemplate {
  return { ...template, labels: { ...template.labels, [key]: value } };
}

function withResources(template: NodeTemplate, offered: Resources): NodeTemplate {
  return { ...template, allocatable: largest(template.allocatable, offered), capacity: largest(template.capacity, offered) };
}

function withQuota(observation: Observation, { quota, to }: ChangeOf<'raise-azure-quota'>): Observation {
  const quotas = (observation.cloud.quotas ?? []).map((each) => (each.title === quota ? { ...each, limit: to } : each));
  return { ...observation, cloud: { ...observation.cloud, quotas } };
}

function withCapacityQuota(observation: Observation, { quota, resource, to }: ChangeOf<'raise-capacity-quota'>): Observation {
  const { capacity } = observation.cluster;
  const quotas = (capacity?.quotas ?? []).map((each) =>
    each.ref.name === quota ? { ...each, limits: { ...each.limits, [resource]: to } } : each,
  );
  return { ...observation, cluster: { ...observation.cluster, ...(capacity === undefined ? {} : { capacity: { ...capacity, quotas } }) } };
}

/** The new pool has no node yet, and nothing is known of its quota. */
function withAddedPool(observation: Observation, change: ChangeOf<'add-pool'>, names: ResourceNames): Observation {
  const like = observation.cloud.groups.find(({ id }) => id === change.like);
  if (like?.template === undefined) return observation;
  const id = addedPoolId(change.like);
  const { frozen: _frozen, growthHeld: _held, lastResort: _resort, sizeFamily: _family, ...rest } = like;
  const added: NodeGroup = {
    ...rest,
    id,
    minSize: 0,
    maxSize: observation.cluster.pendingPods.length,
    target: { known: true, value: 0, version: '', confirmed: true, observedAtMs: observation.nowMs },
    instances: [],
    template: newPoolTemplate(like.template, change, names),
    vmSize: '',
    zones: change.zone === undefined ? like.zones : [change.zone],
    frozen: undefined,
  };
  const groups = [...observation.cloud.groups, added].sort(compareBy((group) => group.id));
  return { ...observation, cloud: { ...observation.cloud, groups } };
}

function newPoolTemplate(template: NodeTemplate, { offers, zone, like }: ChangeOf<'add-pool'>, names: ResourceNames): NodeTemplate {
  const { draws: _draws, ...rest } = template;
  const labels = Object.fromEntries(
    Object.entries(template.labels).map(([key, value]) => [key, isPoolNameKey(key) ? addedPoolId(like) : value]),
  );
  const limits = Object.entries(offers).filter(([resource]) => isAttachResource(resource));
  const attachLimits = {
    ...template.attachLimits,
    ...Object.fromEntries(limits.map(([resource, amount]) => [driverOf(resource), amount])),
  };
  const offered = names.fromRecord(Object.fromEntries(Object.entries(offers).filter(([resource]) => !isAttachResource(resource))));
  const sized = withResources({ ...rest, labels, ...(limits.length === 0 ? {} : { attachLimits }) }, offered);
  return zone === undefined ? sized : { ...sized, zones: [zoneLike(template, zone)] };
}

function driverOf(resource: string): string {
  return resource.replace(/^attachable-volumes-csi-/, '');
}

/** In the spelling of the template: with its region, if its zones have one. */
function zoneLike({ zones }: NodeTemplate, zone: string): string {
  const [first = ''] = zones;
  const region = first.includes('-') ? first.slice(0, first.lastIndexOf('-')) : '';
  return region === '' || zone.includes('-') ? zone : `${region}-${zonePart(zone)}`;
}

interface PodChanges {
  readonly pods: ReadonlySet<string>;
  readonly changes: readonly Change[];
  readonly names: ResourceNames;
}

function changedPods(pending: readonly Pod[], { pods, changes, names }: PodChanges): readonly Pod[] {
  const edits = changes.filter(({ kind }) => WORKLOAD_CHANGES.has(kind));
  if (edits.length === 0) return pending;
  const shapes = new Map<PodShape, PodShape>();
  return pending.map((pod) => {
    if (!pods.has(pod.uid)) return pod;
    const shape = shapes.get(pod.shape) ?? changeShape(pod.shape, edits, names);
    shapes.set(pod.shape, shape);
    return { ...pod, shape };
  });
}

const WORKLOAD_CHANGES: ReadonlySet<Change['kind']> = new Set([
  'tolerate',
  'lower-request',
  'drop-label-rule',
  'raise-max-skew',
  'drop-pod-affinity',
  'drop-host-port',
  'repair-claims',
  'lower-device-count',
]);

/** The shape after changes of the pod template; other changes have no effect. */
export function changeShape(shape: PodShape, changes: readonly Change[], names: ResourceNames): PodShape {
  return withKey(
    changes.reduce((before, change) => changedShape(before, change, names), shape),
    changes,
  );
}

/** Equal keys mean interchangeable pods, so a changed shape has a key of its own. */
function withKey(shape: PodShape, changes: readonly Change[]): PodShape {
  return { ...shape, key: `${shape.key}|${JSON.stringify(changes)}` };
}

function changedShape(shape: PodShape, change: Change, names: ResourceNames): PodShape {
  switch (change.kind) {
    case 'tolerate': {
      const { key, value, effect } = change.taint;
      return { ...shape, tolerations: [...shape.tolerations, { key, operator: 'Equal', value, effect }] };
    }
    case 'lower-request': {
      const requests = shape.requests.slice();
      requests[names.indexOf(change.resource)] = change.to;
      return { ...shape, requests };
    }
    case 'drop-label-rule':
      return withoutLabelRule(shape, change.key);
    case 'raise-max-skew':
      return {
        ...shape,
        topologySpread: shape.topologySpread.map((rule) =>
          rule.topologyKey === change.topologyKey ? { ...rule, maxSkew: change.to } : rule,
        ),
      };
    case 'drop-pod-affinity':
      return withoutPodAffinity(shape, change);
    case 'drop-host-port':
      return { ...shape, hostPorts: shape.hostPorts.filter(({ port, protocol }) => port !== change.port || protocol !== change.protocol) };
    case 'repair-claims':
      return withoutBlockers(shape);
    case 'lower-device-count':
      return withFewerDevices(shape, change.to);
    default:
      return shape;
  }
}

/** A term of the affinity that required nothing else is met by every node. */
function withoutLabelRule(shape: PodShape, dropped: string): PodShape {
  const nodeSelector = Object.fromEntries(Object.entries(shape.nodeSelector).filter(([key]) => key !== dropped));
  const terms = shape.nodeAffinity?.map(({ expressions, fields }) => ({
    expressions: expressions.filter(({ key }) => key !== dropped),
    fields: isNodeNameKey(dropped) ? [] : fields,
  }));
  const isOpen = terms?.some(({ expressions, fields }) => expressions.length + fields.length === 0) === true;
  return { ...shape, nodeSelector, nodeAffinity: isOpen ? undefined : terms };
}

function withoutPodAffinity(shape: PodShape, { rule, topologyKey }: ChangeOf<'drop-pod-affinity'>): PodShape {
  const key = rule === 'affinity' ? 'podAffinity' : 'podAntiAffinity';
  return { ...shape, [key]: shape[key].filter((term) => term.topologyKey !== topologyKey) };
}

function withoutBlockers(shape: PodShape): PodShape {
  const { volumes, devices } = shape;
  return {
    ...shape,
    ...(volumes === undefined ? {} : { volumes: { ...volumes, blockers: [] } }),
    ...(devices === undefined ? {} : { devices: { ...devices, blockers: [] } }),
  };
}

function withFewerDevices(shape: PodShape, most: number): PodShape {
  const { devices } = shape;
  if (devices === undefined) return shape;
  const claims = devices.claims.map((claim) => ({
    ...claim,
    requests: claim.requests.map((request) => ({
      ...request,
      asks: request.asks.map((ask) => (ask.count === 'all' ? ask : { ...ask, count: Math.min(ask.count, most) })),
    })),
  }));
  return { ...shape, devices: { ...devices, claims } };
}

/**
 * Makes the template of a new node from a node of the group, without what is particular to that node. Pure.
 * Idea: template.
 */
import { arePublished, usualPools } from '../../domain/devices.ts';
import { isBeingRemoved, type Node } from '../../domain/node.ts';
import {
  DELETION_CANDIDATE_TAINT,
  isConditionTaint,
  isStartupTaint,
  isStatusTaint,
  TO_BE_DELETED_TAINT,
  type TaintRules,
} from '../../domain/taints.ts';
import { zoneName } from '../rows/scale-set.ts';
import { zoneLabels } from './aks-labels.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { type NodeTemplate, NOTHING_SHOWN } from '../../domain/node-template.ts';

const PER_NODE_LABELS = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.disk.csi.azure.com/zone',
]);

/** Our own taints, and two that the Cluster Autoscaler knows to affect single nodes. */
const PER_NODE_TAINTS = new Set([
  TO_BE_DELETED_TAINT,
  DELETION_CANDIDATE_TAINT,
  'NodeWithImpairedVolumes',
  'cloud.google.com/impending-node-termination',
]);
/** Of the cloud provider, for the start and end of a node. */
const PROVIDER_TAINTS = 'node.cloudprovider.kubernetes.io/';
/** Labels, devices and taints of a node settle only some time after it is ready. */
export const SETTLED_AFTER_MS = 60_000;

export function templateFromNode(node: Node, source: TemplateSource): NodeTemplate {
  const lasting = Object.entries(node.labels).filter(([key]) => !PER_NODE_LABELS.has(key));
  return {
    ...NOTHING_SHOWN,
    labels: { ...Object.fromEntries(lasting), ...zoneLabels(source) },
    taints: node.taints,
    capacity: node.capacity,
    allocatable: node.allocatable,
    zones: source.zones.map((zone) => zoneName(source.location, zone)),
    // The name of a device's pool means nothing to claims.
    devicePools: usualPools(node.devices.pools),
    declaredFeatures: node.declaredFeatures,
    source: 'live-node',
  };
}

/** The template without taints that a new node does not keep, whatever their source: an agent pool may state them too. */
export function withLastingTaints(template: NodeTemplate, rules: TaintRules): NodeTemplate {
  const taints = template.taints.filter(({ key }) => isLastingTaint(key, rules));
  return taints.length === template.taints.length ? template : { ...template, taints };
}

function isLastingTaint(key: string, rules: TaintRules): boolean {
  if (PER_NODE_TAINTS.has(key) || isConditionTaint(key) || key.startsWith(PROVIDER_TAINTS)) return false;
  return !isStartupTaint(key, rules) && !isStatusTaint(key, rules);
}

/**
 * From when a node can be the example for its group, in milliseconds since the epoch: settled, staying, and with the devices
 * of its size. undefined: it cannot.
 */
export function exemplaryFromMs(node: Node, deviceIndexes: readonly number[]): number | undefined {
  if (!showsNextNode(node)) return undefined;
  // Device plugins and drivers start minutes after the node. Until then it looks like a node without devices.
  const complete = arePublished(node.devices) ? isPublished(node) : deviceIndexes.every((index) => (node.allocatable[index] ?? 0) > 0);
  return complete ? node.readiness.sinceMs + SETTLED_AFTER_MS : undefined;
}

/** Whether the node shows what the next node of its group is like, when it is settled. */
export function showsNextNode(node: Node): boolean {
  return node.readiness.ready && !node.unschedulable && !isBeingRemoved(node);
}

/** Every device pool is complete. Such a node needs no device plugin beside its drivers. */
function isPublished({ devices }: Node): boolean {
  return devices.incomplete.length === 0 && devices.pools.length > 0;
}

/**
 * Adds the taints of a young node to an estimate, which does not include taints added by hand or by a policy. A ready node is
 * trusted here although it is too young to be the example: a pod that it repels would get a new node in vain.
 */
export function withTaintsOfYoungNode(estimate: NodeTemplate, young: Node | undefined): NodeTemplate {
  if (young === undefined || !young.readiness.ready || young.unschedulable) return estimate;
  const known = new Set(estimate.taints.map(({ key, effect }) => `${key}:${effect}`));
  const more = young.taints.filter(({ key, effect }) => !known.has(`${key}:${effect}`));
  if (more.length === 0) return estimate;
  const { origins } = estimate;
  const live = Object.fromEntries(more.map(({ key }) => [key, 'live'] as const));
  return {
    ...estimate,
    taints: [...estimate.taints, ...more],
    origins: { ...origins, taints: { ...live, ...origins.taints } },
  };
}

/** The template of a group without any other source: its only node, whatever the state of that node. */
export function templateFromFallback(node: Node, source: TemplateSource, options: { readonly uncordon: boolean }): NodeTemplate {
  const template = templateFromNode(node, source);
  return node.unschedulable && !options.uncordon ? { ...template, unschedulable: true } : template;
}

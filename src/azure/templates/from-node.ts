/** The node a group would add, learned from a node it has: what is particular to that one node is taken off. Pure. */
import type { Node } from '../../domain/node.ts';
import { DELETION_CANDIDATE_TAINT, isStartupTaint, isStatusTaint, TO_BE_DELETED_TAINT, type TaintRules } from '../../domain/taints.ts';
import { zoneName } from '../rows/scale-set.ts';
import { zoneLabels } from './aks-labels.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';
import { defined } from '../../lib/defined.ts';

const PER_NODE_LABELS = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.disk.csi.azure.com/zone',
]);

/** Ours, and two that upstream knows to come upon single nodes. */
const PER_NODE_TAINTS = new Set([
  TO_BE_DELETED_TAINT,
  DELETION_CANDIDATE_TAINT,
  'NodeWithImpairedVolumes',
  'cloud.google.com/impending-node-termination',
]);
/** Conditions that the node controller writes as taints, and what the cloud provider writes on a node at its birth and end. */
const CONDITION_TAINTS = ['node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];
/** Labels, devices and taints of a node come to rest only some time after it is ready. */
const SETTLED_AFTER_MS = 60_000;

export function templateFromNode(node: Node, source: TemplateSource): NodeTemplate {
  const lasting = Object.entries(node.labels).filter(([key]) => !PER_NODE_LABELS.has(key));
  return {
    labels: { ...Object.fromEntries(lasting), ...zoneLabels(source) },
    taints: node.taints,
    capacity: node.capacity,
    allocatable: node.allocatable,
    zones: source.zones.map((zone) => zoneName(source.location, zone)),
    // Of which pool a device is says nothing to those who ask for it.
    ...(node.devices === undefined || node.devices.pools.length === 0 ? {} : { devicePools: node.devices.pools }),
    ...defined({ declaredFeatures: node.declaredFeatures }),
    source: 'live-node',
  };
}

/** The template without the taints that a new node will not keep, wherever they were learned: an agent pool may state them, too. */
export function withLastingTaints(template: NodeTemplate, rules: TaintRules): NodeTemplate {
  const taints = template.taints.filter(({ key }) => isLastingTaint(key, rules));
  return taints.length === template.taints.length ? template : { ...template, taints };
}

function isLastingTaint(key: string, rules: TaintRules): boolean {
  if (PER_NODE_TAINTS.has(key) || CONDITION_TAINTS.some((prefix) => key.startsWith(prefix))) return false;
  return !isStartupTaint(key, rules) && !isStatusTaint(key, rules);
}

/**
 * Since when, milliseconds since the epoch, a node may speak for its group: settled, staying, and with the devices that its
 * size promises; undefined: it may not.
 */
export function exemplaryFromMs(node: Node, deviceIndexes: readonly number[]): number | undefined {
  if (!node.readiness.ready || node.unschedulable || isBeingRemoved(node)) return undefined;
  // Device plugins and drivers come up minutes after the node: until then it looks like one without devices.
  const complete = node.devices === undefined ? deviceIndexes.every((index) => (node.allocatable[index] ?? 0) > 0) : isPublished(node);
  return complete ? node.readiness.sinceMs + SETTLED_AFTER_MS : undefined;
}

/** Every pool of devices is there whole. Such a node needs no device plugin beside its drivers. */
function isPublished({ devices }: Node): boolean {
  return devices !== undefined && devices.incomplete.length === 0 && devices.pools.length > 0;
}

export function isBeingRemoved(node: Node): boolean {
  return node.deletionAtMs !== undefined || node.taints.some((taint) => taint.key === TO_BE_DELETED_TAINT);
}

/**
 * An estimate does not know what was written on a pool's nodes by hand or by a policy. A node that is ready but too young
 * to speak for its group is believed in this: a pod that it turns away would have a new node in vain.
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
    ...(origins === undefined ? {} : { origins: { ...origins, taints: { ...live, ...origins.taints } } }),
  };
}

/** A group of which nothing else is known is what its one node is, whatever state that is in. */
export function templateFromFallback(node: Node, source: TemplateSource, options: { readonly uncordon: boolean }): NodeTemplate {
  const template = templateFromNode(node, source);
  return node.unschedulable && !options.uncordon ? { ...template, unschedulable: true } : template;
}

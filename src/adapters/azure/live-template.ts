/** The node a group would add, learned from a node it has: what is particular to that one node is taken off. Pure. */
import type { Node } from '../../domain/node.ts';
import type { NodeTemplate } from '../../domain/node-group.ts';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT, type Taint } from '../../domain/taint.ts';
import { zoneName } from './rows.ts';
import { zoneLabels, type TemplateSource } from './templates.ts';

const OWN_LABELS = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.disk.csi.azure.com/zone',
]);

const OWN_TAINTS = new Set([TO_BE_DELETED_TAINT, DELETION_CANDIDATE_TAINT, 'node.cilium.io/agent-not-ready']);
/** Conditions that the node controller writes as taints, and taints that go once a node has started. */
const PASSING_TAINTS = [
  'node.kubernetes.io/',
  'node.cloudprovider.kubernetes.io/',
  'startup-taint.cluster-autoscaler.kubernetes.io/',
  'status-taint.cluster-autoscaler.kubernetes.io/',
  'ignore-taint.cluster-autoscaler.kubernetes.io/',
];

export function liveTemplate(node: Node, source: TemplateSource): NodeTemplate {
  const lasting = Object.entries(node.labels).filter(([key]) => !OWN_LABELS.has(key));
  return {
    labels: { ...Object.fromEntries(lasting), ...zoneLabels(source) },
    taints: node.taints.filter(isLasting),
    capacity: node.capacity,
    allocatable: node.allocatable,
    zones: source.zones.map((zone) => zoneName(source.location, zone)),
    source: 'live-node',
  };
}

function isLasting(taint: Taint): boolean {
  return !OWN_TAINTS.has(taint.key) && !PASSING_TAINTS.some((prefix) => taint.key.startsWith(prefix));
}

/** Whether a node may speak for its group: ready, staying, and with the devices that its size promises. */
export function isExemplary(node: Node, deviceIndexes: readonly number[]): boolean {
  if (!node.readiness.ready || node.unschedulable || node.deletionAtMs !== undefined) return false;
  if (node.taints.some((taint) => taint.key === TO_BE_DELETED_TAINT)) return false;
  // Device plugins come up minutes after the node: until then it looks like one without devices.
  return deviceIndexes.every((index) => (node.allocatable[index] ?? 0) > 0);
}

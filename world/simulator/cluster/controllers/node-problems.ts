/**
 * What others than the kubelet write about a node: the node problem detector its conditions (node-problem-detector, README: permanent problems are
 * conditions of the node), AKS the label and the cordon of a node that it could not drain (azure-rest-api-specs, `UndrainableNodeBehavior`: `Cordon`).
 */
import { timestamp, withCondition, type Condition, type KubeObject, type NodeObject } from '../store/objects.ts';
import { storedType } from '../store/resource-types.ts';
import type { Api } from '../store/api.ts';

const NODES = storedType('nodes');
const UPGRADE_STATUS = 'kubernetes.azure.com/upgrade-status';

export type ReportedCondition = Pick<Condition, 'type' | 'status'> & { readonly reason?: string; readonly message?: string };

/** Writes the condition; its time changes only with its status. Returns the node, or undefined if there is none. */
export function reportCondition(api: Api, name: string, reported: ReportedCondition): KubeObject | undefined {
  const now = timestamp(api.timers.now());
  const written = api.modify(NODES, { namespace: undefined, name }, 'status', (current) => {
    const { status } = current as NodeObject;
    const condition = { ...reported, lastHeartbeatTime: now, lastTransitionTime: now };
    return { ...current, status: { ...status, conditions: withCondition(status.conditions, condition) } };
  });
  return written.ok ? written.value : undefined;
}

/** AKS leaves the node aside at an upgrade. */
export function quarantine(api: Api, name: string): void {
  api.modify(NODES, { namespace: undefined, name }, 'main', (current) => {
    const node = current as NodeObject;
    const labels = { ...node.metadata.labels, [UPGRADE_STATUS]: 'Quarantined' };
    return { ...node, metadata: { ...node.metadata, labels }, spec: { ...node.spec, unschedulable: true } };
  });
}

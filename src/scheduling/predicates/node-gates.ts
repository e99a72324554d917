/**
 * Taints, cordons, features, host ports and unsupported requirements. The pod must tolerate every NoSchedule and NoExecute taint of the
 * node; PreferNoSchedule never excludes it.
 */
import type { Node } from '../../domain/node.ts';
import { isSpotNode } from '../../domain/node.ts';
import type { PodShape, HostPort } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { CORDON_TAINT, taintText, untoleratedTaint } from '../../domain/taints.ts';

/** One reason for each taint that the pod does not tolerate. */
export function refusedByTaints(shape: Pick<PodShape, 'tolerations'>, node: Pick<Node, 'taints'>): readonly FitReason[] {
  const first = untoleratedTaint(node.taints, shape.tolerations);
  if (first === undefined) return [];
  const refusing = node.taints.filter((taint) => untoleratedTaint([taint], shape.tolerations) !== undefined);
  return refusing.map((taint) => ({ kind: 'untolerated-taint', taint: taintText(taint) }));
}

// A cordoned node takes only pods that tolerate the taint which kubelets and `kubectl cordon` set.

export function refusedByCordon(shape: Pick<PodShape, 'tolerations'>, node: Pick<Node, 'unschedulable'>): readonly FitReason[] {
  if (!node.unschedulable || untoleratedTaint([CORDON_TAINT], shape.tolerations) === undefined) return [];
  return [{ kind: 'unschedulable' }];
}

// Features that a pod requires and the kubelet of its node must declare (kube-scheduler's NodeDeclaredFeatures, since 1.36).

export function refusedByFeatures(
  { nodeFeatures }: Pick<PodShape, 'nodeFeatures'>,
  { declaredFeatures }: Pick<Node, 'declaredFeatures'>,
): readonly FitReason[] {
  const features = nodeFeatures.filter((feature) => !declaredFeatures.includes(feature));
  return features.length === 0 ? [] : [{ kind: 'node-features', features }];
}

// The share of a workload that stays on regular nodes. kube-scheduler knows nothing of it: it says what a plan may count on.

export function refusedByShare({ regularOnly }: Pick<PodShape, 'regularOnly'>, node: Pick<Node, 'labels'>): readonly FitReason[] {
  // guard: no plan places a pod of the regular share on a Spot node
  return regularOnly !== undefined && isSpotNode(node) ? [{ kind: 'on-demand-share', share: regularOnly }] : [];
}

// Host ports: the same port and protocol collide if the addresses are equal or one of them means every address.

const EVERY_ADDRESS = '0.0.0.0';

export function portsCollide(left: HostPort, right: HostPort): boolean {
  if (left.port !== right.port || left.protocol !== right.protocol) return false;
  return left.hostIp === right.hostIp || left.hostIp === EVERY_ADDRESS || right.hostIp === EVERY_ADDRESS;
}

export function takenPort(wanted: readonly HostPort[], used: readonly HostPort[]): HostPort | undefined {
  return wanted.find((port) => used.some((other) => portsCollide(port, other)));
}

/** One reason for each port that is taken. */
export function refusedByPorts(shape: Pick<PodShape, 'hostPorts'>, used: readonly HostPort[]): readonly FitReason[] {
  const taken = shape.hostPorts.filter((port) => takenPort([port], used) !== undefined);
  return taken.map(({ port, protocol }) => ({ kind: 'host-port-taken', port, protocol }));
}

// Unsupported requirements are reported by name: a wrong guess would add useless nodes or move pods that fit nowhere.

export function refusedAsUnsupported(shape: Pick<PodShape, 'unsupported'>): readonly FitReason[] {
  return shape.unsupported.map(({ feature, detail }) => ({ kind: 'unsupported', feature, detail }));
}

/** A cordoned node takes only pods that tolerate the taint that kubelets and `kubectl cordon` express it with. */
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { untoleratedTaint, type Taint } from '../../domain/taint.ts';

const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' };

export function refusedByCordon(shape: Pick<PodShape, 'tolerations'>, node: Pick<Node, 'unschedulable'>): readonly FitReason[] {
  if (!node.unschedulable || untoleratedTaint([CORDON], shape.tolerations) === undefined) return [];
  return [{ kind: 'unschedulable' }];
}

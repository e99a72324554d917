/** Every NoSchedule and NoExecute taint of the node must be tolerated; PreferNoSchedule never keeps a pod away. */
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { untoleratedTaint } from '../../domain/taint.ts';

export function refusedByTaints(shape: Pick<PodShape, 'tolerations'>, node: Pick<Node, 'taints'>): readonly FitReason[] {
  const taint = untoleratedTaint(node.taints, shape.tolerations);
  if (taint === undefined) return [];
  const value = taint.value === '' ? '' : `=${taint.value}`;
  return [{ kind: 'untolerated-taint', taint: `${taint.key}${value}:${taint.effect}` }];
}

/** What a pod requires of the kubelet of its node, which must have declared it (kube-scheduler's NodeDeclaredFeatures, since 1.36). */
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';

export function refusedByFeatures(
  { nodeFeatures }: Pick<PodShape, 'nodeFeatures'>,
  { declaredFeatures }: Pick<Node, 'declaredFeatures'>,
): readonly FitReason[] {
  const features = (nodeFeatures ?? []).filter((feature) => declaredFeatures?.includes(feature) !== true);
  return features.length === 0 ? [] : [{ kind: 'node-features', features }];
}

/** The predicates that read only the pod's shape and the node's own object, in kube-scheduler's order. */
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { fitsPins, refusedByPins } from '../predicates/devices.ts';
import { matchesNodeAffinity, refusedByNodeAffinity } from '../predicates/node-affinity.ts';
import { refusedByTaints, refusedByFeatures, refusedByCordon, refusedAsUnsupported } from '../predicates/node-gates.ts';
import { fitsVolumes, refusedByVolumes } from '../predicates/volumes.ts';

/** Everything of a shape that {@link staticRefusals} reads. */
export type StaticWishes = Pick<
  PodShape,
  'unsupported' | 'tolerations' | 'nodeSelector' | 'nodeAffinity' | 'volumes' | 'devices' | 'nodeFeatures'
>;

/** Every reason; empty when nothing about the node itself keeps the pod away. */
export function staticRefusals(shape: StaticWishes, node: Node): readonly FitReason[] {
  return [
    ...refusedAsUnsupported(shape),
    ...refusedByCordon(shape, node),
    ...refusedByTaints(shape, node),
    ...refusedByNodeAffinity(shape, node),
    ...refusedByVolumes(shape, node),
    ...refusedByPins(shape, node),
    ...refusedByFeatures(shape, node),
  ];
}

export function fitsStatically(shape: StaticWishes, node: Node): boolean {
  return (
    shape.unsupported.length === 0 &&
    refusedByCordon(shape, node).length === 0 &&
    refusedByTaints(shape, node).length === 0 &&
    matchesNodeAffinity(shape, node) &&
    fitsVolumes(shape, node) &&
    fitsPins(shape, node) &&
    refusedByFeatures(shape, node).length === 0
  );
}

/** Equal for shapes that every node treats alike; many workloads share one. */
export function staticKey(shape: StaticWishes): string {
  const { unsupported, tolerations, nodeSelector, nodeAffinity, volumes, devices, nodeFeatures } = shape;
  return JSON.stringify([
    unsupported,
    tolerations,
    nodeSelector,
    nodeAffinity ?? null,
    volumes ?? null,
    devices?.pins ?? null,
    devices?.blockers ?? null,
    nodeFeatures ?? null,
  ]);
}

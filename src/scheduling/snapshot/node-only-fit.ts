/** The predicates that read only the pod's shape and the node's own object, in kube-scheduler's order. */
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { fitsPins, refusedByPins } from '../predicates/devices.ts';
import { matchesNodeAffinity, refusedByNodeAffinity } from '../predicates/node-affinity.ts';
import { refusedByTaints, refusedByFeatures, refusedByShare, refusedByCordon, refusedAsUnsupported } from '../predicates/node-gates.ts';
import { fitsVolumes, refusedByVolumes } from '../predicates/volumes.ts';

/** The parts of a shape that {@link staticRefusals} reads. */
export type NodeOnlyShape = Pick<
  PodShape,
  'unsupported' | 'tolerations' | 'nodeSelector' | 'nodeAffinity' | 'volumes' | 'devices' | 'nodeFeatures' | 'regularOnly'
>;

const REFUSALS: readonly ((shape: NodeOnlyShape, node: Node) => readonly FitReason[])[] = [
  refusedAsUnsupported,
  refusedByCordon,
  refusedByTaints,
  refusedByNodeAffinity,
  refusedByVolumes,
  refusedByPins,
  refusedByFeatures,
  refusedByShare,
];

/** Every reason of the node itself against the pod. Empty if there is none. */
export function staticRefusals(shape: NodeOnlyShape, node: Node): readonly FitReason[] {
  const reasons: FitReason[] = [];
  for (const refusedBy of REFUSALS) for (const reason of refusedBy(shape, node)) reasons.push(reason);
  return reasons;
}

export function fitsStatically(shape: NodeOnlyShape, node: Node): boolean {
  return (
    shape.unsupported.length === 0 &&
    refusedByCordon(shape, node).length === 0 &&
    refusedByTaints(shape, node).length === 0 &&
    matchesNodeAffinity(shape, node) &&
    fitsVolumes(shape, node) &&
    fitsPins(shape, node) &&
    refusedByFeatures(shape, node).length === 0 &&
    refusedByShare(shape, node).length === 0
  );
}

/** Equal for shapes with the same result on every node; many workloads share one. */
export function staticKey(shape: NodeOnlyShape): string {
  const { unsupported, tolerations, nodeSelector, nodeAffinity, volumes, devices, nodeFeatures, regularOnly } = shape;
  return JSON.stringify([
    unsupported,
    tolerations,
    nodeSelector,
    nodeAffinity ?? null,
    volumes,
    devices.pins,
    devices.blockers,
    nodeFeatures,
    regularOnly ?? null,
  ]);
}

/** Whether a pod fits a node: a quick check for every node of a search, and a complete one that returns the reasons. */
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { DeviceLedger } from '../devices/device-ledger.ts';
import type { NodeSlots } from './node-slots.ts';
import { refusedByDisks } from '../predicates/volumes.ts';
import { refusedByPorts, takenPort } from '../predicates/node-gates.ts';
import { insufficientResources } from '../predicates/resources-fit.ts';
import { fitsClass, type CompiledShape } from './shape-table.ts';
import { staticRefusals } from './node-only-fit.ts';
import type { TopologyIndex } from './topology-index.ts';

/** Everything that does not depend on where other pods are. A cordoned node fits no pod: it is about to be removed. */
export function fitsAlone(compiled: CompiledShape, slot: number, slots: NodeSlots, devices: DeviceLedger): boolean {
  if (slots.live[slot] !== 1 || slots.cordoned[slot] === 1) return false;
  if (!slots.hasRoomFor(slot, compiled)) return false;
  if (!fitsClass(compiled.statics, slot, slots)) return false;
  const { hostPorts } = compiled.shape;
  if (hostPorts.length > 0 && takenPort(hostPorts, slots.portsAt(slot)) !== undefined) return false;
  return devices.hasFor(compiled.shape, slot);
}

export interface FitIndexes {
  readonly slots: NodeSlots;
  readonly ledger: TopologyIndex;
  readonly devices: DeviceLedger;
  readonly names: ResourceNames;
}

/** Every reason against a pod of this shape on the node. Empty if the pod fits. */
export function fitReasons(
  { slots, ledger, devices, names }: FitIndexes,
  { shape, ties }: Pick<CompiledShape, 'shape' | 'ties'>,
  slot: number,
): readonly FitReason[] {
  return [
    ...staticRefusals(shape, slots.nodeAt(slot)),
    ...refusedByPorts(shape, slots.portsAt(slot)),
    ...refusedByDisks(shape, slots.disksAt(slot)),
    ...insufficientResources(slots.requestsAt(slot, shape), slots.freeAt(slot), names),
    ...ledger.refusals(ties, slot),
    ...devices.refusals(shape.devices, slot),
  ];
}

/** Whether a pod fits a node: the quick answer, asked once per node of the cluster, and the one that says why not. */
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { DeviceLedger } from '../devices/device-ledger.ts';
import type { NodeSlots } from './node-slots.ts';
import { refusedByDisks } from '../predicates/volumes.ts';
import { refusedByPorts, takenPort } from '../predicates/node-gates.ts';
import { insufficientResources } from '../predicates/resources-fit.ts';
import { fitsClass, type CompiledShape } from './shape-table.ts';
import { staticRefusals } from './node-only-fit.ts';
import type { TopologyLedger } from './topology-index.ts';

/** Everything but what depends on where other pods are. A cordoned node fits nobody: it is about to leave. */
export function fitsAlone(compiled: CompiledShape, slot: number, slots: NodeSlots, devices: DeviceLedger): boolean {
  if (slots.live[slot] !== 1 || slots.cordoned[slot] === 1) return false;
  if (!slots.hasRoomFor(slot, compiled)) return false;
  if (!fitsClass(compiled.statics, slot, slots)) return false;
  const { hostPorts, devices: claimed } = compiled.shape;
  if (hostPorts.length > 0 && takenPort(hostPorts, slots.portsAt(slot)) !== undefined) return false;
  return claimed === undefined || devices.admits(claimed, slot);
}

export interface Refusing {
  readonly slots: NodeSlots;
  readonly ledger: TopologyLedger;
  readonly devices: DeviceLedger;
  readonly names: ResourceNames;
}

/** Every reason against a pod of this shape on the node; none: it fits. */
export function refusals(
  { slots, ledger, devices, names }: Refusing,
  { shape, ties }: Pick<CompiledShape, 'shape' | 'ties'>,
  slot: number,
): readonly FitReason[] {
  return [
    ...staticRefusals(shape, slots.nodeAt(slot)),
    ...refusedByPorts(shape, slots.portsAt(slot)),
    ...refusedByDisks(shape, slots.disksAt(slot)),
    ...insufficientResources(slots.requestsAt(slot, shape), slots.freeAt(slot), names),
    ...ledger.refusals(ties, slot),
    ...(shape.devices === undefined ? [] : devices.refusals(shape.devices, slot, slots.nodeAt(slot))),
  ];
}

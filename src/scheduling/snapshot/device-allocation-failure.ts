/**
 * Where kube-scheduler gives up a pod for good: it comes to a node that all other filters let the pod onto, and cannot tell whether
 * the claims can be filled there. It then binds the pod to no other node either, so a new one would be for nothing.
 */
import type { CompiledShape } from './shape-table.ts';
import type { Refusing } from './pod-fit.ts';
import { insufficientResources } from '../predicates/resources-fit.ts';
import { refusedByPorts } from '../predicates/node-gates.ts';
import { staticRefusals } from './node-only-fit.ts';

export interface DeviceFault {
  readonly node: string;
  readonly fault: string;
}

/** Of the first such node, `slots` being in search order; undefined: there is none. */
export function deviceFaultOf(
  { shape, ties }: Pick<CompiledShape, 'shape' | 'ties'>,
  order: readonly number[],
  { slots, ledger, devices, names }: Refusing,
): DeviceFault | undefined {
  const { devices: rules } = shape;
  if (rules === undefined || rules.claims.length === 0 || rules.blockers.length > 0) return undefined;
  for (const slot of order) {
    const fault = slots.live[slot] === 1 ? devices.fault(rules, slot) : undefined;
    if (fault === undefined) continue;
    const node = slots.nodeAt(slot);
    const isReached =
      // That other claims have their devices elsewhere is found after the fault.
      staticRefusals(shape, node).every(({ kind }) => kind === 'device') &&
      refusedByPorts(shape, slots.portsAt(slot)).length === 0 &&
      insufficientResources(slots.requestsAt(slot, shape), slots.freeAt(slot), names).length === 0 &&
      ledger.admits(ties, slot);
    if (isReached) return { node: node.name, fault };
  }
  return undefined;
}

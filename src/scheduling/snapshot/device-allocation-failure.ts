/**
 * When kube-scheduler gives up a pod for good: it reaches a node that passes all other filters, and cannot evaluate the pod's claims
 * there. It then binds the pod to no other node either, so a new node would not help.
 */
import type { CompiledShape } from './shape-table.ts';
import type { FitIndexes } from './pod-fit.ts';
import { insufficientResources } from '../predicates/resources-fit.ts';
import { refusedByPorts } from '../predicates/node-gates.ts';
import { staticRefusals } from './node-only-fit.ts';

export interface DeviceAllocationFailure {
  readonly node: string;
  readonly fault: string;
}

/** The failure on the first such node; `slots` are in search order. undefined if no node has one. */
export function findAllocationFailure(
  { shape, ties }: Pick<CompiledShape, 'shape' | 'ties'>,
  order: readonly number[],
  { slots, ledger, devices, names }: FitIndexes,
): DeviceAllocationFailure | undefined {
  const { devices: rules } = shape;
  if (rules.claims.length === 0 || rules.blockers.length > 0) return undefined;
  for (const slot of order) {
    const fault = slots.live[slot] === 1 ? devices.fault(rules, slot) : undefined;
    if (fault === undefined) continue;
    const node = slots.nodeAt(slot);
    const isReached =
      // kube-scheduler finds this failure before it finds that other claims have their devices elsewhere.
      staticRefusals(shape, node).every(({ kind }) => kind === 'device') &&
      refusedByPorts(shape, slots.portsAt(slot)).length === 0 &&
      insufficientResources(slots.requestsAt(slot, shape), slots.freeAt(slot), names).length === 0 &&
      ledger.admits(ties, slot);
    if (isReached) return { node: node.name, fault };
  }
  return undefined;
}

/**
 * Tells a node that lacks something from one of which nobody knows whether it has it: a template of a group whose nodes were
 * never seen is not complete. Nothing is ordered on such a chance, and nobody is told that it is impossible. Pure.
 */
import type { Node } from '../../../domain/node.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { undecidedLabel } from '../../../scheduling/predicates/node-affinity.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

export function isUnknown(reason: FitReason): boolean {
  return 'untold' in reason && reason.untold !== undefined;
}

/** The reason, with what is not known of the template where that decides it. */
export function markUnknown(reason: FitReason, shape: PodShape, node: Node, { untold, source }: NodeTemplate): FitReason {
  // What kubelets can do, nothing but a node tells.
  if (reason.kind === 'node-features') return source === 'cloud' ? { ...reason, untold: true } : reason;
  if (untold === undefined) return reason;
  if (reason.kind === 'insufficient-resource')
    return reason.free <= 0 && isAmong(untold.resources, reason.resource) ? { ...reason, untold: true } : reason;
  if (reason.kind !== 'node-selector-mismatch') return reason;
  const label = undecidedLabel(shape, node, (key) => isAmong(untold.labels, key));
  return label === undefined ? reason : { ...reason, untold: label };
}

function isAmong(names: readonly string[], name: string): boolean {
  return names.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
}

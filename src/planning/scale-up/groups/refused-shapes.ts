/**
 * Shapes that a new node of no group could hold, whatever else is there: by their size and by what the node itself refuses. Remembered from
 * plan to plan until a template changes, so that thousands of pods which nothing can hold take no time of estimates. Must not know why a group
 * may not grow.
 */
import type { Node } from '../../../domain/node.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { fitsStatically } from '../../../scheduling/snapshot/node-only-fit.ts';
import { needOf, type Need } from '../../../scheduling/predicates/resources-fit.ts';
import type { GroupTemplate } from './template-node.ts';

/** What the new nodes of all groups are. */
export interface NewNodeKinds {
  readonly variants: readonly Node[];
}

/** The last kinds of the plans over one model of the cluster, which lives as long as the process. */
const last = new WeakMap<ClusterSnapshot, { readonly key: string; readonly kinds: NewNodeKinds }>();
/** What the last kinds of nodes were found to do. A shape and the kinds decide this alone. */
const judged = new WeakMap<PodShape, { readonly by: NewNodeKinds; readonly isRefused: boolean }>();

/** The same object as in the last plan if no template changed. */
export function newNodeKinds(templates: readonly GroupTemplate[], snapshot: ClusterSnapshot): NewNodeKinds {
  const variants = templates.flatMap((template) => template.variants);
  const key = JSON.stringify(
    variants.map(({ devices: _devices, allocatable, ...node }) => ({ ...node, allocatable: [...allocatable], capacity: 0 })),
  );
  const before = last.get(snapshot);
  const kinds = before?.key === key ? before.kinds : { variants };
  last.set(snapshot, { key, kinds });
  return kinds;
}

/** Whether each new node refuses each such pod, even without its daemon pods. */
export function isRefusedByAll(shape: PodShape, kinds: NewNodeKinds): boolean {
  const before = judged.get(shape);
  // guard: a pod that all templates refused is tried when a template changes
  if (before?.by === kinds) return before.isRefused;
  const need = needOf(shape.requests);
  const isRefused = !kinds.variants.some((node) => couldHold(node, need) && fitsStatically(shape, node));
  judged.set(shape, { by: kinds, isRefused });
  return isRefused;
}

function couldHold({ allocatable }: Node, { indexes, amounts }: Need): boolean {
  return indexes.every((index, at) => (amounts[at] ?? 0) <= (allocatable[index] ?? 0));
}

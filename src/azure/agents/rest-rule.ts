/**
 * When a list of instances would show nothing new. Azure's tag of a scale set covers its model, capacity and tags, not the state of its
 * instances, so the tag is one sign of several: what Azure counts, what was listed and what joined the cluster have to agree. Pure.
 */

/** What is known of one group, from the last reads of Azure and from the cluster now. */
export interface GroupSigns {
  /** The tag of the scale set or agent pool. If undefined, Azure returned none. */
  readonly tag: string | undefined;
  /** The same tag, as it was known when the last complete list of instances began. If undefined, none was. */
  readonly listedTag: string | undefined;
  /** Whether an operation is in progress in the group, or a change of it is not confirmed. */
  readonly isChanging: boolean;
  /** The target size. If undefined, it is unknown. */
  readonly capacity: number | undefined;
  /** Listed instances, those that are being deleted included. */
  readonly listed: number;
  /** Listed instances that run. */
  readonly running: number;
  /** Nodes of the group. */
  readonly nodes: number;
  /** Nodes of the group that are ready and whose instance is listed. */
  readonly readyNodes: number;
}

/** Why a list may show something new. */
export type Unrest =
  | 'tag-unknown'
  | 'tag-moved'
  | 'group-changing'
  | 'capacity-differs'
  | 'instance-not-running'
  | 'node-missing'
  | 'node-not-ready';

/** The first sign that a list of the group's instances may show something new. undefined: there is none, and the group is at rest. */
export function unrestOf({ tag, listedTag, isChanging, ...counts }: GroupSigns): Unrest | undefined {
  if (tag === undefined || listedTag === undefined) return 'tag-unknown';
  // guard: a moved tag ends the rest of a list
  if (tag !== listedTag) return 'tag-moved';
  return isChanging ? 'group-changing' : differenceOf(counts);
}

function differenceOf({ capacity, listed, running, nodes, readyNodes }: Omit<GroupSigns, 'tag' | 'listedTag' | 'isChanging'>) {
  if (capacity !== listed) return 'capacity-differs';
  if (running !== listed) return 'instance-not-running';
  // guard: a missing node ends the rest of a list, whatever the tag
  if (nodes !== listed) return 'node-missing';
  // guard: a node that is not ready ends the rest of a list
  return readyNodes === nodes ? undefined : 'node-not-ready';
}

/**
 * Pauses: what people asked not to be changed for a while. An entry names a pool or every pool, a direction, and when it ends. Must not know where
 * entries are stored.
 */
import type { PausedBlock } from '../group-blocks.ts';

/** What a pause keeps from happening: increases, removals, or both. */
export type PauseDirection = PausedBlock['direction'];

/** One entry that can be obeyed as written. */
export interface Pause {
  /** The entry's name: that of a pool or of a node group. undefined: every node group. */
  readonly pool: string | undefined;
  readonly direction: PauseDirection;
  /** When it ends, milliseconds since the epoch. */
  readonly untilMs: number;
  /** Who paused. undefined: the entry does not say. */
  readonly by: string | undefined;
  readonly reason: string | undefined;
  /** What of the entry is not understood: it then pauses both directions. undefined: everything is. */
  readonly problem: string | undefined;
  /** Nodes alone are kept: what failed to become one goes. If absent, everything is. */
  readonly keeps?: 'nodes' | undefined;
}

/** An entry whose end is not known. */
export interface UnreadablePause {
  readonly pool: string | undefined;
  readonly problem: string;
  /** Present: no entry of a person, but the hours of AKS, which are not known. */
  readonly of?: 'maintenance';
}

/** All entries, those that are over included. */
export interface Pauses {
  readonly pauses: readonly Pause[];
  readonly unreadable: readonly UnreadablePause[];
}

export const NO_PAUSES: Pauses = Object.freeze({ pauses: [], unreadable: [] });

/** The entry for every node group. No pool and no scale set can have this name, since neither may begin with an underscore. */
export const CLUSTER_KEY = '_cluster';

/** Whether entries of these names are about the same pool or node group. A key of a ConfigMap has a full stop in place of a slash. */
export function isSamePool(one: string, other: string): boolean {
  return foldedKey(one) === foldedKey(other);
}

function foldedKey(name: string): string {
  return name.toLowerCase().replaceAll('/', '.');
}

/** What people asked not to be changed. Answers from memory and never throws. */
export interface PauseReader {
  /** As last read, however old that is. Entries that are over are among them. */
  current(): Pauses;
}

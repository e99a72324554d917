/** Pauses as blocks of node groups. Must not know where the entries come from. */
import type { ChangeBlock, IncreaseBlock, PausedBlock, RemovalBlock } from '../../domain/group-blocks.ts';
import { CLUSTER_KEY, isSamePool, type Pause, type Pauses, type UnreadablePause } from '../../domain/ports/pauses.ts';

/** What pauses are against in one group. undefined: nothing. */
export interface PauseBlocks {
  /** One pause is against every change. */
  readonly change: ChangeBlock | undefined;
  readonly increase: IncreaseBlock | undefined;
  readonly removal: RemovalBlock | undefined;
}

const NOT_PAUSED: PauseBlocks = { change: undefined, increase: undefined, removal: undefined };

/** `names`: all names of the group and of its pool. Of several pauses, the one that ends last is named. */
export function pauseBlocks({ pauses, unreadable }: Pauses, names: readonly string[], nowMs: number): PauseBlocks {
  if (pauses.length + unreadable.length === 0) return NOT_PAUSED;
  // guard: a pause ends by itself at its time
  const now = pauses.filter((pause) => isOf(pause, names) && pause.untilMs > nowMs);
  const up = lastToEnd(now, 'scale-up');
  const down = lastToEnd(now, 'scale-down');
  if (up !== undefined && up === down) return { change: blockOf(up), increase: undefined, removal: undefined };
  // guard: an entry whose end cannot be read keeps nodes
  const broken = unreadable.find((entry) => isOf(entry, names));
  return {
    change: undefined,
    increase: up === undefined ? undefined : blockOf(up),
    removal: down === undefined ? broken && unreadableBlock(broken) : { ...blockOf(down), ...kept({ pauses: now, unreadable }, names) },
  };
}

/** What the pauses of a group's removals keep together. */
function kept({ pauses, unreadable }: Pauses, names: readonly string[]): Pick<PausedBlock, 'keeps'> {
  const entries = unreadable.filter((entry) => isOf(entry, names));
  // guard: a person's pause keeps what failed, too, although a schedule lasts longer
  const isSchedule =
    pauses.every(({ keeps, direction }) => direction === 'scale-up' || keeps === 'nodes') &&
    entries.every(({ of }) => of === 'maintenance');
  return isSchedule ? { keeps: 'nodes' } : {};
}

/** The entries that name no group: they pause nothing. `groups`: the names of each group. */
export function entriesWithoutGroup(
  { pauses, unreadable }: Pauses,
  groups: readonly (readonly string[])[],
  nowMs: number,
): readonly string[] {
  const current = [...pauses.filter(({ untilMs }) => untilMs > nowMs), ...unreadable];
  return current.flatMap((entry) => (entry.pool === undefined || groups.some((names) => isOf(entry, names)) ? [] : [entry.pool]));
}

/** A pool of type VirtualMachines is named as a whole, or one of its sizes with a full stop: a key cannot contain a slash. */
function isOf({ pool }: Pick<Pause, 'pool'>, names: readonly string[]): boolean {
  return pool === undefined || names.some((name) => isSamePool(name, pool));
}

function unreadableBlock(broken: UnreadablePause): RemovalBlock {
  if (broken.of === 'maintenance') return { code: 'hours-unknown', problem: broken.problem };
  return { code: 'pause-unreadable', entry: nameOf(broken), problem: broken.problem };
}

function nameOf({ pool }: UnreadablePause): string {
  return pool ?? CLUSTER_KEY;
}

function lastToEnd(pauses: readonly Pause[], direction: 'scale-up' | 'scale-down'): Pause | undefined {
  const covering = pauses.filter((pause) => pause.direction === direction || pause.direction === 'both');
  // One against both directions comes first among those that end together.
  return covering.toSorted((left, right) => right.untilMs - left.untilMs || rank(left) - rank(right))[0];
}

function rank({ direction }: Pause): number {
  return direction === 'both' ? 0 : 1;
}

function blockOf({ direction, untilMs, by, reason }: Pause) {
  return { code: 'paused', direction, untilMs, by, reason } as const;
}

/**
 * Which instances of the groups are stopped (deallocated), with our own starts and stops laid over what Azure last showed. After a restart
 * only Azure's power states are known, and they are enough. Must not know when instances are started or stopped.
 * Idea: overlay.
 */
import type { LogicalClock } from '../../cache/logical-clock.ts';
import type { Mutation } from '../../cache/table/mutation.ts';
import type { Row } from '../../cache/table/row.ts';
import type { Table } from '../../cache/table/table.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { NodeReadiness } from '../../domain/node.ts';
import type { Clock } from '../../lib/clock.ts';
import { durationAfterMs, type Closure, type ClosureTimes } from '../../lib/closure.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { StoppedCounts, type CountOfSize, type CountReading } from './stopped-counts.ts';

/** `stopping` and `starting`: our own request that Azure has not shown yet. */
export type PowerState = 'up' | 'stopped' | 'stopping' | 'starting';

type Direction = 'start' | 'stop';

interface PowerChange {
  readonly direction: Direction;
  readonly by: 'us' | 'others';
  /** Of the instance that was meant: a later one under the same number is another. */
  readonly vmId: string;
  readonly begunAtMs: number;
  /** undefined: the operation is in progress. */
  end: { readonly outcome: 'succeeded' | 'unknown'; readonly seq: number } | undefined;
  /** The node of a started instance was ready since. */
  joined: boolean;
}

/** For so long a started instance is as young as its start. */
const REMEMBERED_MS = 60 * 60_000;
/** A node that was started and is not ready by then is an unready node. */
const NODE_AWAITED_MS = 20 * 60_000;
/** The same of one that others started: whether it will ever be ready is less certain. */
const STARTED_BY_OTHERS_MS = 5 * 60_000;
/** A change in progress for longer than this counts as lost. */
const LOST_AFTER_MS = 30 * 60_000;
/** A stopped node shows its last readiness for this time at most, milliseconds. */
const STALE_READY_MS = 2 * 60_000;
/** After a start failed, new instances are created instead. */
const START_FAILED: ClosureTimes = { firstMs: 5 * 60_000, longestMs: 30 * 60_000 };

export interface StartClosure extends Closure {
  readonly failures: number;
  readonly message: string;
}

/** The stopped instances of one group. */
export interface StoppedOfGroup {
  /** No VM runs, or it is being stopped: they count in the capacity of a scale set, and not in the size of the group. */
  readonly counted: number;
  /** How many of them are in the number that Azure shows: all of a scale set. undefined: not known, so that nothing may be written. */
  readonly inSize: number | undefined;
  /** What a size of a VMs pool shows of that. undefined: it is a scale set, or its nodes are deleted. */
  readonly counting: CountReading | undefined;
  /** Those that a start may name. */
  readonly stopped: readonly Row<InstanceRow>[];
  /** False while the effect of a start or a stop is not known. */
  readonly confirmed: boolean;
}

/** What a group does with removed nodes. undefined: it deletes them, as usual. */
export type StopRule = { readonly kind: 'stops'; readonly max: number } | { readonly kind: 'deletes'; readonly why: string };

interface StoppedDeps {
  /** By the folded name of the group. */
  readonly ruleOf: (group: string) => StopRule | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly order: Pick<LogicalClock, 'tick'>;
  readonly instances: Pick<Table<InstanceRow>, 'scope' | 'get' | 'seen' | 'removalOf'>;
  /** What AKS says of a group that is a size of a VMs pool. undefined: it is a scale set. */
  readonly sizeOf: (group: string) => CountOfSize | undefined;
  /** Reads the instances of a group again. */
  readonly readAgain: (group: string) => void;
}

const NONE: StoppedOfGroup = { counted: 0, inSize: 0, counting: undefined, stopped: [], confirmed: true };

export class StoppedInstances {
  readonly #deps: StoppedDeps;
  readonly #changes = new Map<InstanceKey, PowerChange>();
  readonly #startClosures = new Map<string, StartClosure>();
  readonly #counts: StoppedCounts;
  /** When this process first saw each stopped instance stopped, with its `vmId`. */
  readonly #since = new Map<InstanceKey, { readonly vmId: string; readonly atMs: number }>();
  /** A replica that stands by does not look. */
  #firstLookMs: number | undefined;
  #version = 0;

  constructor(deps: StoppedDeps) {
    this.#deps = deps;
    this.#counts = new StoppedCounts(deps.clock);
  }

  /** Grows with each start and stop of ours, and with each end of one. */
  get version(): number {
    return this.#version;
  }

  /** Lays a start or a stop over the rows, before its request is sent. */
  begin(direction: Direction, group: string, rows: readonly Row<InstanceRow>[]): Mutation {
    const begunAtMs = this.#deps.clock.now();
    const changes = rows.map(({ key, value }) => {
      const change: PowerChange = { direction, by: 'us', vmId: value.vmId, begunAtMs, end: undefined, joined: false };
      this.#changes.set(key as InstanceKey, change);
      return [key as InstanceKey, change] as const;
    });
    this.#version += 1;
    let isOpen = true;
    return {
      seq: this.#deps.order.tick(),
      accepted: () => undefined,
      settle: (outcome) => {
        if (!isOpen) return false;
        isOpen = false;
        this.#version += 1;
        const seq = this.#deps.order.tick();
        for (const [key, change] of changes) {
          if (outcome === 'refused') this.#drop(key, change);
          // Of a failed operation a part may have been carried out: a read decides.
          else change.end = { outcome: outcome === 'succeeded' ? 'succeeded' : 'unknown', seq };
        }
        this.#deps.readAgain(group);
        return true;
      },
    };
  }

  /** What the instance is, as far as Azure and our own requests show. */
  stateOf(row: Row<InstanceRow>): PowerState {
    const change = this.#changeOf(row);
    const shown: PowerState = this.#isShownStopped(row, change) ? 'stopped' : 'up';
    if (change === undefined) return shown;
    const nowMs = this.#deps.clock.now();
    // guard: a read from before the end of a start or a stop does not undo it
    const isShown = change.end !== undefined && (this.#deps.instances.seen(row.key)?.restSeq ?? 0) > change.end.seq;
    if (isShown || nowMs - change.begunAtMs > LOST_AFTER_MS) {
      const isStarted = change.direction === 'start' && shown === 'up';
      if (!isStarted || nowMs - change.begunAtMs > REMEMBERED_MS) this.#drop(row.key as InstanceKey, change);
      return shown;
    }
    if (change.direction === 'start') return 'starting';
    return change.end?.outcome === 'succeeded' ? 'stopped' : 'stopping';
  }

  /** When a start was requested, or seen if others made it, milliseconds since the epoch. undefined: the instance was not started lately. */
  startedAtMs(row: Row<InstanceRow>): number | undefined {
    const change = this.#changeOf(row);
    return change?.direction === 'start' ? change.begunAtMs : undefined;
  }

  /** Whether the instance has no working node yet: it is stopped, or its start has not made the node ready. */
  isNodeAbsent(row: Row<InstanceRow>, { ready, sinceMs }: Pick<NodeReadiness, 'ready' | 'sinceMs'>): boolean {
    const state = this.stateOf(row);
    if (state === 'stopped') return true;
    const change = this.#changeOf(row);
    if (change?.direction !== 'start' || change.joined) return false;
    const ageMs = this.#deps.clock.now() - change.begunAtMs;
    const isReady = ready && (sinceMs >= change.begunAtMs || ageMs > STALE_READY_MS);
    change.joined = (isReady && state === 'up') || ageMs > (change.by === 'us' ? NODE_AWAITED_MS : STARTED_BY_OTHERS_MS);
    return !change.joined;
  }

  ruleOf(group: string): StopRule | undefined {
    return this.#deps.ruleOf(group);
  }

  /** The stopped instances of the group, as last listed. None where nodes are deleted. */
  of(group: string): StoppedOfGroup {
    const { instances } = this.#deps;
    if (this.ruleOf(group)?.kind !== 'stops') return NONE;
    const stopped: Row<InstanceRow>[] = [];
    const found = { stopping: 0, running: 0, confirmed: true, areChanging: false };
    for (const row of instances.scope(group).values()) {
      const state = this.stateOf(row);
      const isLeaving = row.value.state === 'deleting' || instances.removalOf(row.key) === 'under-way';
      if (isLeaving || isChanging(state, row.value)) found.areChanging = true;
      if (isLeaving) continue;
      if (state === 'stopped') stopped.push(row);
      else if (state === 'stopping') found.stopping += 1;
      else found.running += 1;
      if (this.#changeOf(row)?.end?.outcome === 'unknown' && isMoving(state)) found.confirmed = false;
    }
    const counted = stopped.length + found.stopping;
    const counting = this.#countingOf(group, { ...found, stopped: counted });
    return { counted, counting, inSize: inSizeOf(counting, counted), stopped, confirmed: found.confirmed };
  }

  #countingOf(group: string, machines: Parameters<StoppedCounts['read']>[2]): CountReading | undefined {
    const size = this.#deps.sizeOf(group);
    return size === undefined ? undefined : this.#counts.read(group, size, machines);
  }

  /** When this process first saw the instance stopped, milliseconds since the epoch. */
  sinceMs({ key, value }: Row<InstanceRow>): number {
    const known = this.#since.get(key as InstanceKey);
    if (known !== undefined && known.vmId === value.vmId) return known.atMs;
    const atMs = this.#deps.clock.now();
    this.#since.set(key as InstanceKey, { vmId: value.vmId, atMs });
    return atMs;
  }

  /** Takes in that an instance runs which this process saw stopped. If no start of ours did it, another writer has started it now. */
  noteRuns(row: Row<InstanceRow>): void {
    const key = row.key as InstanceKey;
    const known = this.#since.get(key);
    if (known === undefined || this.stateOf(row) !== 'up') return;
    this.#since.delete(key);
    // guard: an instance that another writer started is awaited, not replaced
    if (known.vmId === row.value.vmId && this.#changeOf(row) === undefined) this.#noteStartByOthers(row);
  }

  /**
   * Takes in a node that has not been ready since before this process looked for the first time although its instance runs, and that has the
   * taint of a stop: an earlier process has started it, and is gone.
   */
  noteInherited(row: Row<InstanceRow>, { ready, sinceMs }: Pick<NodeReadiness, 'ready' | 'sinceMs'>): void {
    if (ready || sinceMs >= (this.#firstLookMs ?? 0) || !this.mayInherit() || this.#changeOf(row) !== undefined) return;
    // guard: an instance that an earlier process started is awaited, not replaced
    if (this.stateOf(row) === 'up') this.#noteStartByOthers(row);
  }

  /** Whether a start of an earlier process may be in progress: soon after this process looked for the first time. */
  mayInherit(): boolean {
    this.#firstLookMs ??= this.#deps.clock.now();
    const ageMs = this.#deps.clock.now() - this.#firstLookMs;
    return ageMs >= 0 && ageMs < STARTED_BY_OTHERS_MS;
  }

  #noteStartByOthers({ key, value }: Row<InstanceRow>): void {
    const end = { outcome: 'succeeded', seq: -1 } as const;
    const begunAtMs = this.#deps.clock.now();
    this.#changes.set(key as InstanceKey, { direction: 'start', by: 'others', vmId: value.vmId, begunAtMs, end, joined: false });
    this.#version += 1;
  }

  /** A start failed: for a while, longer each time, the group creates instances instead. */
  closeStarts(group: string, message: string): StartClosure {
    const failures = (this.#startClosures.get(group)?.failures ?? 0) + 1;
    const durationMs = durationAfterMs(START_FAILED, failures);
    const closure = { untilMs: this.#deps.clock.now() + durationMs, durationMs, failures, message };
    this.#startClosures.set(group, closure);
    this.#version += 1;
    return closure;
  }

  openStarts(group: string): void {
    if (this.#startClosures.delete(group)) this.#version += 1;
  }

  /** Why stopped instances of the group are not started now; undefined: they are. */
  startClosure(group: string): StartClosure | undefined {
    const closure = this.#startClosures.get(group);
    if (closure === undefined) return undefined;
    const leftMs = closure.untilMs - this.#deps.clock.now();
    // If more time is left than there was at first, the clock was set back.
    return leftMs > 0 && leftMs <= closure.durationMs ? closure : undefined;
  }

  /** One that did not start is stopped as before; one that was never created has failed. */
  #isShownStopped({ key, value }: Row<InstanceRow>, change: PowerChange | undefined): boolean {
    if (value.state === 'deallocated') return true;
    const wasStopped = change !== undefined || this.#since.get(key as InstanceKey)?.vmId === value.vmId;
    // guard: an instance whose start failed is not deleted as one whose creation failed
    return wasStopped && value.isFailedWithoutVm === true;
  }

  #changeOf({ key, value }: Row<InstanceRow>): PowerChange | undefined {
    const change = this.#changes.get(key as InstanceKey);
    return change !== undefined && (change.vmId === '' || value.vmId === '' || change.vmId === value.vmId) ? change : undefined;
  }

  #drop(key: InstanceKey, change: PowerChange): void {
    if (this.#changes.get(key) !== change) return;
    this.#changes.delete(key);
    this.#version += 1;
  }
}

function isMoving(state: PowerState): boolean {
  return state === 'stopping' || state === 'starting';
}

function isChanging(state: PowerState, { state: shown }: InstanceRow): boolean {
  return isMoving(state) || shown === 'creating' || shown === 'unknown';
}

function inSizeOf(counting: CountReading | undefined, counted: number): number | undefined {
  if (counting === undefined) return counted;
  if (!counting.known) return undefined;
  return counting.how === 'included' ? counted : 0;
}

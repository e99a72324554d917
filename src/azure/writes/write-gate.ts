/** Which groups may be written now. A group backs off after a refusal that the next try would meet again. */
import { describeBlock, keepsNodesAlone, type GroupBlock } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { DeleteOutcome, AnsweredIncrease } from '../../domain/outcome.ts';
import type { PauseReader } from '../../domain/ports/pauses.ts';
import type { ForeignLock } from '../../domain/ports/leadership.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { OwnWrites } from '../groups/own-writes.ts';
import { blockAgainstChange, inputOfRows } from '../groups/group-rules.ts';
import { pauseBlocks, type PauseBlocks } from '../groups/pauses.ts';
import type { GroupSchedules } from '../groups/group-schedules.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';

export interface WriteGateDeps {
  readonly inventory: AzureInventory;
  readonly ownWrites: Pick<OwnWrites, 'backoffs'>;
  /** Freezes every group while it is held. If absent, no lock is watched. */
  readonly foreignLock?: ForeignLock | undefined;
  readonly pauses: PauseReader;
  readonly schedules: GroupSchedules;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** What a write does. `give-back`: it ends what failed to become a node. `count`: it brings AKS's own count in step, and changes no size. */
export type WriteKind = 'increase' | 'removal' | 'give-back' | 'count';

export class WriteGate {
  readonly #deps: WriteGateDeps;

  constructor(deps: WriteGateDeps) {
    this.#deps = deps;
  }

  /** The group, or why it may not be written so. */
  writableGroup(id: NodeGroupId, write: WriteKind): RegisteredGroup | string {
    const { inventory, ownWrites, foreignLock, clock } = this.#deps;
    const group = inventory.registration().byId.get(id);
    if (group === undefined) return 'it is not a managed node group';
    const { facts, scaleSets } = inventory;
    const ours = facts.ownOperationReason(group) !== undefined;
    const locked = foreignLock?.heldBecause();
    const paused = this.#pausedBlocks(group);
    const block = blockAgainstChange('gate', {
      ...inputOfRows(group, { row: scaleSets.get(group.key)?.value, pool: facts.poolOf(group), ours }),
      paused: paused.change,
      refusedWrite: ownWrites.backoffs.reasonFor(group.key, clock.now()),
      foreignLock: locked === undefined ? undefined : { code: 'locked', message: locked },
    });
    const against = block ?? pausedFor(paused, write);
    return against === undefined ? group : describeBlock(against);
  }

  /** Why such a write of the group is paused now; undefined: it is not. */
  pausedBecause(group: RegisteredGroup, write: WriteKind): string | undefined {
    const paused = this.#pausedBlocks(group);
    return describeBlock(paused.change ?? pausedFor(paused, write));
  }

  #pausedBlocks(group: RegisteredGroup): PauseBlocks {
    const { inventory, pauses, schedules, clock } = this.#deps;
    const nowMs = clock.now();
    // guard: what a schedule pauses is not written
    const all = schedules.pausesOf(pauses.current(), schedules.of(group, nowMs));
    return pauseBlocks(all, inventory.facts.namesOf(group), nowMs);
  }

  /** A group backs off after a permanent refusal, until a write of it is accepted. */
  recordOutcome({ key, id }: RegisteredGroup, outcome: AnsweredIncrease | DeleteOutcome): void {
    if (outcome.kind !== 'failed' && outcome.kind !== 'accepted') return;
    const { ownWrites, clock, log } = this.#deps;
    const error = outcome.kind === 'failed' ? outcome.error : undefined;
    const block = ownWrites.backoffs.recordOutcome(key, error, clock.now());
    if (block !== undefined)
      log.warn({ nodeGroup: id, code: error?.code, reason: describeBlock(block) }, 'Node group backs off after a permanent refusal');
  }
}

function pausedFor({ increase, removal }: PauseBlocks, write: WriteKind): GroupBlock | undefined {
  if (write === 'increase') return increase;
  const ofAll = removal !== undefined && keepsNodesAlone(removal) ? undefined : removal;
  // guard: a pause in either direction keeps AKS's count from being written
  if (write === 'count') return increase ?? ofAll;
  return write === 'give-back' ? ofAll : removal;
}

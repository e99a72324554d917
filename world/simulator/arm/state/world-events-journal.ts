/** Journal entries for changes that the world makes by itself. Without them the journal would not explain the state. */
import type { Principal } from '../http/messages.ts';
import { clusterId } from './resource-names.ts';
import { poolSize } from './agent-pool-document.ts';
import { capacityOf, etagText, type AgentPool, type ArmWorld, type ScaleSet } from './arm-state.ts';
import { defined } from '../../../../src/lib/defined.ts';

export interface WorldChange {
  /** One word: the event's name. */
  readonly why: string;
  readonly principal: Principal;
  /** Capacity of the set, or size of the pool, before the change. */
  readonly before: number;
  readonly opId?: string;
}

/** Records a change of a scale set without a request. Call it after the change. */
export function recordSetChange(world: ArmWorld, set: ScaleSet, change: WorldChange): void {
  addJournalEntry(world, change, { path: set.resourceId, pool: set.pool.name, after: capacityOf(set), etag: etagText(set.etag) });
}

/** Records a change of an agent pool's own count without a request. */
export function recordPoolChange(world: ArmWorld, pool: AgentPool, change: WorldChange): void {
  addJournalEntry(world, change, {
    path: `${clusterId(world.spec)}/agentPools/${pool.name}`,
    pool: pool.name,
    after: poolSize(pool),
    etag: undefined,
  });
}

interface Subject {
  readonly path: string;
  readonly pool: string;
  readonly after: number;
  readonly etag: string | undefined;
}

function addJournalEntry(world: ArmWorld, { why, principal, before, opId }: WorldChange, { path, pool, after, etag }: Subject): void {
  world.journal.add({
    seq: world.journal.nextSeq(),
    at: world.clock.now(),
    method: 'EVENT',
    route: `EVENT ${why}`,
    path,
    status: 200,
    principal: principal.clientId,
    pool,
    capacityBefore: before,
    capacityAfter: after,
    ...defined({ etagOut: etag, opId }),
  });
}

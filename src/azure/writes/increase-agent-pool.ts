/**
 * A count in the document of an agent pool: read the document, change this one number, write it back under the tag that was
 * read. Groups share a document, so nothing of it is reused by the next write: a failed write for one size cannot
 * reappear in the body of a write for another.
 */
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { putAgentPool } from '../arm/agent-pool-api.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { blockAgainstChange, inputOfRows } from '../groups/group-rules.ts';
import { describeBlock } from '../../domain/group-blocks.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import { busy, type IncreaseAnswer, type SizeRead } from './increase.ts';
import { assertNotLower, type WriteDeps } from './write-context.ts';
import { isRecord } from '../../lib/json.ts';

export interface PoolDocument extends SizeRead {
  /** As AKS spells it. */
  readonly name: string;
  readonly raw: unknown;
  readonly etag: string | undefined;
}

/** The number in the document that a group's size follows. */
export interface PoolCount {
  bodyWith(raw: unknown, to: number): unknown;
  countIn(body: unknown): number | undefined;
  /** Whether the rows show the change, and its tag, as soon as AKS has answered. */
  readonly modelled: boolean;
}

/** The pool's JSON with only its count changed. Fields that we do not know are kept. */
export function withPoolCount(raw: unknown, count: number): unknown {
  const pool = isRecord(raw) ? raw : {};
  return { ...pool, properties: { ...(isRecord(pool['properties']) ? pool['properties'] : {}), count } };
}

/** One writer per pool, not per size. No scale set can have such a name. */
export function poolLockKey(poolKey: string): string {
  return `pool:${poolKey}`;
}

/** What the rules have against the increase, over the pool that was just read. undefined: nothing. */
export function checkRules(
  group: RegisteredGroup,
  read: { readonly size?: PoolSizeRow | undefined; readonly pool?: AgentPoolRow },
): AnsweredIncrease | undefined {
  const block = blockAgainstChange('lock', inputOfRows(group, read));
  if (block === undefined) return undefined;
  // AKS takes one operation of a pool at a time, from all clients together.
  return block.code === 'pool-state'
    ? busy(group, `an operation of AKS is in progress in its agent pool (${block.state})`)
    : { kind: 'refused', group: group.id, reason: describeBlock(block) };
}

/** Without an entity tag the write could overwrite another writer's change. undefined: there is one. */
export function checkPoolTag(group: RegisteredGroup, { etag }: PoolDocument): AnsweredIncrease | undefined {
  const reason = 'AKS returned no entity tag for its agent pool, so a write could overwrite the change of another writer';
  return etag === undefined ? { kind: 'refused', group: group.id, reason } : undefined;
}

/** @throws AutoscalerError */
export async function putPoolCount(
  deps: WriteDeps,
  count: PoolCount,
  { document, to }: { readonly document: PoolDocument; readonly to: number },
  signal: AbortSignal,
): Promise<IncreaseAnswer> {
  const { name, raw, etag, shown } = document;
  if (etag === undefined) throw new AutoscalerError({ kind: 'bug' }, `Agent pool ${name} has no entity tag.`);
  // guard: no count below the size just read is written to an agent pool
  assertNotLower(name, to, shown);
  const counted = count.countIn(raw);
  // guard: no count below that in the document is written to an agent pool
  if (counted !== undefined) assertNotLower(name, to, counted);
  const answer = await putAgentPool(deps, name, { body: count.bodyWith(raw, to), etag }, signal);
  const answered = count.countIn(answer.body);
  return {
    operationUrl: answer.operationUrl,
    retryAfterMs: answer.retryAfterMs,
    correlationId: answer.correlationId,
    acceptance: { etag: count.modelled ? answer.etag : undefined, expect: answered, modelled: count.modelled && answered === to },
  };
}

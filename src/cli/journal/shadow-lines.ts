/** The form of the lines of a dry run's record on disk, checked one by one: a line may be cut off, edited, or of another version. */
import * as z from 'zod';
import type { ShadowLine } from '../../planning/shadow/record.ts';
import { readHistoryFiles } from './history-files.ts';

const atMs = z.number().min(0).max(8.64e15);
const amount = z.number().min(0);
const count = amount.int();
const text = z.string().max(10_000);
const pool = z.string().max(512);
const yes = z.literal(true).exactOptional();

const pools = z.array(z.object({ pool, min: count, max: count, vmSize: text, perHour: amount.exactOptional() }));

const line = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pools'), atMs, pools, started: yes, currency: text.exactOptional() }),
  z.object({ kind: z.literal('size'), atMs, pool, from: count, to: count, ours: text.exactOptional(), agreed: yes }),
  z.object({ kind: z.literal('wish'), atMs, pool, nodes: count, pods: count, why: text }),
  z.object({ kind: z.literal('wish-end'), atMs, pool, nodes: count, pods: count }),
  z.object({ kind: z.literal('free'), atMs, pool, node: text, why: text }),
  z.object({ kind: z.literal('free-end'), atMs, pool, node: text, how: z.enum(['removed', 'needed']), pods: count }),
  z.object({ kind: z.literal('gone'), atMs, pool, node: text, ours: text, dueMs: atMs.exactOptional() }),
  z.object({
    kind: z.literal('repacking'),
    atMs,
    text,
    nodes: count,
    needed: count,
    perHour: z.number().exactOptional(),
    leftOut: z.array(text).max(100),
  }),
  z.object({ kind: z.literal('said'), atMs, about: text, reason: text, message: text }),
  z.object({ kind: z.literal('sample'), atMs, forMs: amount, waitedMs: amount, longestMs: amount, cost: amount.exactOptional() }),
]);

interface ShadowOnDisk {
  readonly lines: readonly ShadowLine[];
  /** Lines that are not of this version. */
  readonly skippedLines: number;
}

/** In order of time. @throws what the disk throws. */
export async function readShadowLines(directory: string): Promise<ShadowOnDisk> {
  const { entries, skippedLines } = await readHistoryFiles(directory, 'shadow');
  const lines = entries.flatMap((each): readonly ShadowLine[] => {
    const checked = line.safeParse(each);
    return checked.success ? [checked.data] : [];
  });
  return { lines: lines.toSorted((left, right) => left.atMs - right.atMs), skippedLines: skippedLines + entries.length - lines.length };
}

/** The form of the lines of a history on disk, checked one by one: a line may be cut off, edited, or of another version. */
import * as z from 'zod';
import { type HistoryEntry, SCALE_UP_STAGES } from '../../domain/history.ts';
import { nodeGroupId } from '../../domain/ids.ts';
import { readHistoryFiles } from './history-files.ts';

const time = z.number().min(0).max(8.64e15);
const count = z.number().int().min(0);
const text = z.string().max(10_000);
const group = z.string().max(512).transform(nodeGroupId);
const stage = z.enum(SCALE_UP_STAGES);

const change = z.object({
  atMs: time,
  group,
  from: count,
  to: count,
  actor: z.enum(['autoscaler', 'eviction', 'aks', 'another-writer']),
  actorName: text.exactOptional(),
  why: text,
  outcome: z.enum(['accepted', 'refused', 'failed', 'observed']),
  decision: text.exactOptional(),
});

const progress = z.object({
  id: text,
  group,
  from: count,
  to: count,
  cause: text,
  pods: count,
  decision: text,
  stages: z.array(z.object({ stage, atMs: time.exactOptional(), count })),
  expectedReadyMs: time.exactOptional(),
  lateAfterMs: time.exactOptional(),
  failure: text.exactOptional(),
  endedMs: time.exactOptional(),
});

const decision = z.object({
  id: text,
  atMs: time,
  kind: z.enum(['increase', 'removal', 'pending', 'withheld']),
  sentence: text,
  groups: z.array(group),
  document: z.looseObject({ kind: z.literal('decision'), id: text, sentence: text }),
  dumpFile: text.exactOptional(),
});

const entry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), atMs: time }),
  z.object({ kind: z.literal('change'), change }),
  z.object({ kind: z.literal('size'), group, sample: z.object({ atMs: time, target: count, ready: count }) }),
  z.object({ kind: z.literal('stage'), atMs: time, group, stage, ms: z.number().min(0) }),
  z.object({ kind: z.literal('scale-up'), progress }),
  z.object({ kind: z.literal('decision'), decision }),
]);

interface HistoryOnDisk {
  readonly entries: readonly HistoryEntry[];
  /** Lines that are not entries of this version. */
  readonly skippedLines: number;
}

/** @throws what the disk throws. */
export async function readHistory(directory: string): Promise<HistoryOnDisk> {
  const { entries, skippedLines } = await readHistoryFiles(directory);
  const read = entries.flatMap((each): readonly HistoryEntry[] => {
    const checked = entry.safeParse(each);
    return checked.success ? [checked.data] : [];
  });
  return { entries: read, skippedLines: skippedLines + entries.length - read.length };
}

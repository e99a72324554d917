/** Holds recordings of the real Azure against the daemon and the world. Must not know how its result is shown. */
import { readRecordings, type Recordings } from './recordings/read-recordings.ts';
import type { Interaction } from './recordings/interaction.ts';
import { wireCallOf } from './recordings/wire-call.ts';
import { checkAnswer, type JudgedAnswer } from './adapter/adapter-check.ts';
import { checkShapes } from './world/shape-check.ts';
import { judgeSpecifications, type SpecSummary } from './specs/spec-check.ts';
import type { WorldAnswer } from './world/world-client.ts';
import { operationTimes, type OperationTimes } from './operation-times.ts';
import { Findings, inOrder, isArgued, type ArguedDifference, type Finding } from './finding.ts';

export interface WireOptions {
  /** Of recordings. undefined: none are compared. */
  readonly folder: string | undefined;
  /** Answers before this time are not judged, ms since the epoch. Those without a date are. undefined: all are. */
  readonly sinceMs: number | undefined;
  /** Of Azure's OpenAPI documents. undefined: none are compared. */
  readonly specs: string | undefined;
  readonly argued: readonly ArguedDifference[];
  /** The world's own answers. */
  readonly examples: () => Promise<readonly WorldAnswer[]>;
}

interface RecordingResult {
  readonly files: number;
  readonly interactions: number;
  /** Requests that the daemon does not make. */
  readonly skipped: number;
  readonly old: number;
  readonly judged: number;
  readonly operations: readonly OperationTimes[];
  /** Kinds of answers that the world gives in no example. */
  readonly notCompared: readonly string[];
}

export interface WireResult {
  readonly recordings: RecordingResult | undefined;
  readonly documents: SpecSummary | undefined;
  readonly findings: readonly Finding[];
  readonly argued: readonly Finding[];
}

/** @throws Error if a folder cannot be listed. */
export async function runWire({ folder, sinceMs, specs, argued, examples }: WireOptions): Promise<WireResult> {
  const found: Finding[] = [];
  const keep = <Summary>({ findings, ...summary }: Summary & { readonly findings: readonly Finding[] }): Omit<Summary, 'findings'> => {
    found.push(...findings);
    return summary;
  };
  const recordings = folder === undefined ? undefined : keep(await judgeRecordings(folder, sinceMs, examples));
  const documents = specs === undefined ? undefined : keep(await judgeSpecifications(specs, examples));
  const all = inOrder(found);
  return {
    recordings,
    documents,
    findings: all.filter((each) => !isArgued(each, argued)),
    argued: all.filter((each) => isArgued(each, argued)),
  };
}

async function judgeRecordings(
  folder: string,
  sinceMs: number | undefined,
  examples: WireOptions['examples'],
): Promise<RecordingResult & { readonly findings: readonly Finding[] }> {
  const recordings = readRecordings(folder);
  const isOld = ({ dateMs }: Interaction): boolean => sinceMs !== undefined && dateMs !== undefined && dateMs < sinceMs;
  const recent = recordings.interactions.filter((each) => !isOld(each));
  const judged = recent.flatMap(judgedAnswer);
  const findings = new Findings();
  noteBroken(recordings, findings);
  for (const answer of judged) await checkAnswer(answer, findings);
  const shapes = checkShapes(judged, judged.length === 0 ? [] : await examples());
  return {
    files: recordings.files,
    interactions: recordings.interactions.length,
    skipped: recent.length - judged.length,
    old: recordings.interactions.length - recent.length,
    judged: judged.length,
    operations: operationTimes(recent),
    notCompared: shapes.notCompared,
    findings: [...findings.list().filter((each) => !isTolerated(each)), ...shapes.findings],
  };
}

/** An answer of a resource that is being made or deleted lacks fields. */
const TOLERATED_SHARE = 0.05;

function isTolerated({ weight, what, count, of }: Finding): boolean {
  return weight === 'daemon' && / without /.test(what) && count <= of * TOLERATED_SHARE;
}

function judgedAnswer(interaction: Interaction): readonly JudgedAnswer[] {
  const call = wireCallOf(interaction);
  if (call === undefined) return [];
  const provider = call.kind.startsWith('getOperation') ? ` ${call.provider}` : '';
  return [{ interaction, call, route: `${call.kind}${provider} ${interaction.status}` }];
}

function noteBroken({ broken }: Recordings, findings: Findings): void {
  for (const { file, index, reason } of broken)
    findings.add('daemon', 'recordings', `cannot be read: ${reason}`, { file, index: index ?? 0 });
}

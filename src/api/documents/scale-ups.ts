/** Increases stage by stage, beside what each stage usually takes in the pool. */
import {
  type DurationSummary,
  type HistoryReader,
  SCALE_UP_STAGES,
  type ScaleUpProgress,
  type ScaleUpStage,
} from '../../domain/history.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { type DocumentInput, knownTime } from './document-input.ts';
import { isoTime } from '../../lib/duration.ts';

export interface StageDocument {
  readonly name: ScaleUpStage;
  /** When the last of them reached it. Absent if none has. */
  readonly at?: string;
  /** Nodes that reached it; of `bound`, pods. */
  readonly count: number;
  /** What the stage took in this pool before. Absent if it was not seen. */
  readonly p50Ms?: number;
  readonly p90Ms?: number;
}

export interface ScaleUpDocument {
  readonly id: string;
  readonly pool: string;
  readonly from: number;
  readonly to: number;
  readonly cause: string;
  readonly pods: number;
  readonly decision: string;
  readonly stages: readonly StageDocument[];
  readonly expectedAt?: string;
  /** When nine of ten earlier ones were ready. */
  readonly lateAfter?: string;
  readonly failure?: string;
  readonly endedAt?: string;
}

/** A page shows no more. */
const MOST_ON_THE_WAY = 12;

/** Not ended, the newest first. */
export function scaleUpsOnTheWay({ history }: Pick<DocumentInput, 'history'>): readonly ScaleUpDocument[] {
  const running = history.scaleUps().filter(({ endedMs }) => endedMs === undefined);
  return running.slice(0, MOST_ON_THE_WAY).map((each) => scaleUpDocument(each, history));
}

export interface ScaleUpQuery {
  readonly pool?: string | undefined;
  /** `running`, `ended` or `failed`. If absent, all. */
  readonly state?: string | undefined;
}

export function scaleUpDocuments(history: HistoryReader, { pool, state }: ScaleUpQuery): readonly ScaleUpDocument[] {
  return history
    .scaleUps()
    .filter(({ group }) => pool === undefined || group === pool)
    .filter((each) => state === undefined || stateOf(each) === state)
    .map((each) => scaleUpDocument(each, history));
}

function stateOf({ endedMs, failure }: ScaleUpProgress): string {
  if (failure !== undefined) return 'failed';
  return endedMs === undefined ? 'running' : 'ended';
}

function scaleUpDocument(progress: ScaleUpProgress, history: HistoryReader): ScaleUpDocument {
  const { id, group, from, to, cause, pods, decision, stages, failure } = progress;
  const usual = new Map(history.durations(group).map((each) => [each.stage, each]));
  return {
    id,
    pool: group,
    from,
    to,
    cause,
    pods,
    decision,
    stages: stages.map(({ stage, atMs, count }) => ({
      name: stage,
      count,
      ...defined({ at: knownTime(atMs), p50Ms: usual.get(stage)?.p50Ms, p90Ms: usual.get(stage)?.p90Ms }),
    })),
    ...defined({
      expectedAt: knownTime(progress.expectedReadyMs),
      lateAfter: knownTime(progress.lateAfterMs),
      failure,
      endedAt: progress.endedMs === undefined ? undefined : isoTime(progress.endedMs),
    }),
  };
}

/** Of one pool: how long increases took, as a whole and by stage. */
export interface PoolStages {
  readonly pool: string;
  /** From the accepted write to the ready node. */
  readonly ready?: DurationSummary;
  readonly stages: readonly (DurationSummary & { readonly name: ScaleUpStage })[];
  /** Increases that failed, as far as they are remembered. */
  readonly failed: number;
  /** The stage with the largest p50. */
  readonly slowest?: ScaleUpStage;
}

/** By pool. */
export function stageDocuments(history: HistoryReader, pool: string | undefined): readonly PoolStages[] {
  const groups = new Set([...history.durations().map(({ group }) => group), ...history.scaleUps().map(({ group }) => group)]);
  return [...groups]
    .filter((group) => pool === undefined || group === pool)
    .sort(compareText)
    .map((group) => {
      const durations = history.durations(group);
      const stages = SCALE_UP_STAGES.flatMap((name) =>
        durations.filter(({ stage }) => stage === name).map(({ count, p50Ms, p90Ms }) => ({ name, count, p50Ms, p90Ms })),
      );
      const slowest = [...stages].sort((left, right) => right.p50Ms - left.p50Ms)[0]?.name;
      const failed = history.scaleUps().filter((each) => each.group === group && each.failure !== undefined).length;
      return { pool: group, stages, failed, ...defined({ ready: history.timeToReady(group), slowest }) };
    });
}

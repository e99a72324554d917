/** Documents from whole loops over ports that remember. */
import type { DocumentInput, ObservedReport } from '../../src/api/documents/document-input.ts';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import { adviseClass, helplessClasses } from '../../src/planning/explain/advice/advice.ts';
import { aStage, type StageOptions } from '../loop/support.ts';
import { FIRST_PLAN } from '../../src/planning/scale-up/plan-input.ts';
import { resourceNames, START_MS } from '../support/builders.ts';
import { ONLY_DECIDED } from '../../src/planning/explain/answers/pod-answer.ts';

export interface DocumentsOptions extends StageOptions {
  readonly loops?: number;
  readonly prepare?: (stage: ReturnType<typeof aStage>) => void;
  /** false: nothing is simulated. Default true. */
  readonly advise?: boolean;
  readonly change?: Partial<DocumentInput>;
}

/** Runs loops ten seconds apart and returns what documents are made from after the last one. */
export async function documentInput(options: DocumentsOptions): Promise<DocumentInput & { readonly stage: ReturnType<typeof aStage> }> {
  const stage = aStage(options);
  options.prepare?.(stage);
  let report: LoopReport | undefined;
  for (let loop = 0; loop < (options.loops ?? 1); loop++) {
    if (loop > 0) await stage.clock.advance(10_000);
    report = await stage.runOnce();
  }
  const record = stage.records.findLast(({ scaleUp }) => scaleUp.length > 0);
  const [plan] = record?.scaleUp ?? [];
  if (report?.observation === undefined || record === undefined || plan === undefined) throw new Error('no loop decided anything');
  const input = {
    ...FIRST_PLAN,
    observation: record.observation,
    state: record.stateBefore,
    policy: stage.deps.policy,
    names: resourceNames,
  };
  const classes = options.advise === false ? [] : helplessClasses(plan);
  const advice = new Map(classes.map((each) => [each.verdict, adviseClass({ input, plan }, each)]));
  return {
    report: report as ObservedReport,
    pods: { ...ONLY_DECIDED, input, scaleUp: plan, scaleDown: report.scaleDown },
    advice,
    policy: stage.deps.policy,
    replica: {
      name: 'aks-autoscaler-0',
      startedAtMs: START_MS,
      leadsSinceMs: START_MS,
      dryRun: false,
      version: '0.1.0',
      scanIntervalMs: 10_000,
      configuration: { generation: 1, sinceMs: START_MS },
    },
    azureReadAtMs: START_MS,
    tokens: new Map(),
    history: stage.history,
    stage,
    ...options.change,
  };
}

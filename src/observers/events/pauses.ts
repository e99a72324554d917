/** Reports each pause when it begins and when it ends, and entries that cannot be read or that name no group. Must not know where entries are stored. */
import type { LoopListener, LoopReport } from '../../domain/loop-report.ts';
import type { Observation } from '../../domain/observation.ts';
import { CLUSTER_KEY, type Pause, type PauseReader, type Pauses, type UnreadablePause } from '../../domain/ports/pauses.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface PauseEventDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics['config'], 'findings'>;
  /** Namespace of the status object. */
  readonly namespace: string;
  /** If absent, nothing is paused. */
  readonly pauses: PauseReader | undefined;
}

/** One thing that is reported once, and once more if its text changes. */
interface Report {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'NodeGroupPaused' | 'PauseInvalid' | 'PauseWithoutGroup';
  readonly message: string;
}

/** After a restart, what lasts is reported once more. */
export function pauseEvents({ events, log, metrics, namespace, pauses }: PauseEventDeps): LoopListener {
  let reported: ReadonlyMap<string, string> = new Map();
  const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  return ({ observation }) => {
    if (pauses === undefined || observation === undefined) return;
    const now = reportsOf(pauses, observation);
    const count = (wanted: Report['reason']): number => [...now.values()].filter(({ reason }) => reason === wanted).length;
    metrics.findings.set({ kind: 'bad-pauses' }, count('PauseInvalid'));
    metrics.findings.set({ kind: 'pauses-without-group' }, count('PauseWithoutGroup'));
    for (const [key, { type, reason, message }] of now) {
      if (reported.get(key) === message) continue;
      if (type === 'Warning') log.warn({ reason }, message);
      else log.info({ reason }, message);
      events.record({ subject, type, reason, message });
    }
    for (const key of reported.keys()) {
      const [reason = '', pool = ''] = key.split(' ');
      if (now.has(key) || reason !== 'NodeGroupPaused' || lasts(pool, pauses.current(), observation)) continue;
      const message = `The pause of ${nameOf(pool)} has ended`;
      log.info({ reason: 'NodeGroupResumed' }, message);
      events.record({ subject, type: 'Normal', reason: 'NodeGroupResumed', message });
    }
    reported = new Map([...now].map(([key, { message }]) => [key, message]));
  };
}

/** Whether the entry is still there: its pool is not known now, or it was changed into one that cannot be read. */
function lasts(key: string, { pauses, unreadable }: Pauses, { nowMs }: Pick<Observation, 'nowMs'>): boolean {
  return [...pauses.filter(({ untilMs }) => untilMs > nowMs), ...unreadable].some(({ pool }) => (pool ?? CLUSTER_KEY) === key);
}

/** By kind and entry. */
function reportsOf(
  reader: PauseReader,
  { nowMs, cloud: { pausesWithoutGroup } }: NonNullable<LoopReport['observation']>,
): ReadonlyMap<string, Report> {
  const { pauses, unreadable } = reader.current();
  const current = pauses.filter(({ untilMs }) => untilMs > nowMs);
  const odd: readonly (Pause | UnreadablePause)[] = [...current, ...unreadable];
  return new Map([
    ...current
      .filter(({ pool }) => pool === undefined || !pausesWithoutGroup.includes(pool))
      .map((pause) => entry(pause.pool, { type: 'Normal', reason: 'NodeGroupPaused', message: begun(pause) })),
    ...odd.flatMap((each) => {
      const { pool, problem } = each;
      if (problem === undefined) return [];
      const effect = 'untilMs' in each ? 'both directions are paused' : 'no node is removed, and increases go on';
      return [
        entry(pool, {
          type: 'Warning',
          reason: 'PauseInvalid',
          message: `Pause "${pool ?? CLUSTER_KEY}": ${problem}; until it is corrected, ${effect}`,
        }),
      ];
    }),
    ...pausesWithoutGroup.map((pool) =>
      entry(pool, { type: 'Warning', reason: 'PauseWithoutGroup', message: `Pause "${pool}" names no node group and has no effect` }),
    ),
  ]);
}

function entry(pool: string | undefined, report: Report): readonly [string, Report] {
  return [`${report.reason} ${pool ?? CLUSTER_KEY}`, report];
}

const PAUSED = { both: '', 'scale-up': ' (increases)', 'scale-down': ' (removals)' } as const;

function begun({ pool, direction, untilMs, by, reason }: Pause): string {
  const until = new Date(untilMs).toISOString().replace('.000Z', 'Z');
  const who = `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
  return `Changes of ${nameOf(pool ?? CLUSTER_KEY)} are paused${PAUSED[direction]} until ${until}${who}`;
}

function nameOf(key: string): string {
  return key === CLUSTER_KEY ? 'every pool' : `pool ${key}`;
}

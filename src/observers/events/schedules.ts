/** One event for each rule of a schedule that begins or ends to decide something, whatever the number of pools. Must not know when rules hold. */
import { isDeepStrictEqual } from 'node:util';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { describeSource, type SaidBy, type ScheduleRule } from '../../domain/schedule-rules.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { scheduledParts } from '../../planning/explain/schedule-text.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';

interface ScheduleEventDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Log;
  /** Namespace of the status object. */
  readonly namespace: string;
}

const MOST_NAMES = 3;

/** After a restart, rules that hold are reported once more. */
export function scheduleEvents({ events, log, namespace }: ScheduleEventDeps): LoopListener {
  let reported: ReadonlyMap<SaidBy, string> = new Map();
  let rules: readonly ScheduleRule[] = [];
  const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  const report = (reason: string, message: string): void => {
    log.info({ reason }, message);
    events.record({ subject, type: 'Normal', reason, message });
  };
  return ({ observation }) => {
    if (observation === undefined) return;
    const { schedules, groups } = observation.cloud;
    const changed = changedRules(rules, schedules.rules);
    rules = schedules.rules;
    const now = rulesIn(groups, observation.nowMs);
    for (const [rule, { key, message }] of now) {
      if (reported.get(rule) !== key || changed.has(rule)) report('ScheduleRuleBegan', message);
    }
    for (const rule of reported.keys()) {
      if (!now.has(rule)) report('ScheduleRuleEnded', `${nameOf(rule)} ${rule === 'maintenance' ? 'decide' : 'decides'} nothing any more`);
    }
    reported = new Map([...now].map(([rule, { key }]) => [rule, key]));
  };
}

/** The numbers under which other rules are written than before. */
function changedRules(before: readonly ScheduleRule[], now: readonly ScheduleRule[]): ReadonlySet<SaidBy> {
  if (before === now) return new Set();
  return new Set(now.flatMap((rule, index) => (isDeepStrictEqual(rule, before[index]) ? [] : [rule.number])));
}

interface RuleReport {
  /** Another text is another report: a minimum is prepared, then it holds. */
  readonly key: string;
  readonly message: string;
}

function rulesIn(groups: readonly NodeGroup[], nowMs: number): ReadonlyMap<SaidBy, RuleReport> {
  const found = new Map<SaidBy, { readonly says: Set<string>; readonly times: Set<string>; readonly names: string[] }>();
  for (const { id, schedule } of groups) {
    for (const { rule, what, when } of scheduledParts(schedule, nowMs)) {
      const entry = found.get(rule) ?? { says: new Set(), times: new Set(), names: [] };
      entry.says.add(what);
      entry.times.add(when);
      if (entry.names.at(-1) !== id) entry.names.push(id);
      found.set(rule, entry);
    }
  }
  return new Map([...found].map(([rule, { says, times, names }]) => [rule, reportOf(rule, [...says], [...times], names)]));
}

/** At the start of a sentence. */
function nameOf(rule: SaidBy): string {
  return rule === 'maintenance' ? describeSource(rule) : `Schedule rule ${rule}`;
}

function reportOf(rule: SaidBy, says: readonly string[], times: readonly string[], names: readonly string[]): RuleReport {
  const shown = names.slice(0, MOST_NAMES).join(', ');
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const isEarly = times.every((when) => when.startsWith('prepared'));
  // A size inside of a pool's limits may differ from pool to pool.
  const what = says.length <= MOST_NAMES ? says.join(', ') : `${says.slice(0, MOST_NAMES).join(', ')} and others`;
  return { key: isEarly ? 'early' : 'holds', message: `${nameOf(rule)} for ${shown}${more}: ${what} ${times[0] ?? ''}` };
}

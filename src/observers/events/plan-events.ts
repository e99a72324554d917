/** Events and log lines about plans: planning time and configuration warnings. */
import type { LoopListener } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { describeExcessiveMaximum } from '../../domain/platform-limits.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';

/**
 * Records when plans start to be cut short by their time limit, and when this ends, with the Cluster Autoscaler's reasons.
 * Unlike there, no loop is reserved for removals: every loop plans them.
 */
export function planDeadlineEvents(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let isLate = false;
  const record = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    events.record({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type, reason, message });
  return ({ rounds }) => {
    if (rounds.length === 0) return;
    const wasCut = rounds.some(({ plan }) => plan.cutShortAfter !== undefined);
    if (wasCut && !isLate)
      record(
        'Warning',
        'GracefulDegradationStarted',
        'Planning exceeds its time limit: each loop acts on the part that was planned in time',
      );
    if (!wasCut && isLate) record('Normal', 'GracefulDegradationStopped', 'Planning finishes within its time limit again');
    isLate = wasCut;
  };
}

/**
 * Logs each new configuration warning: a pattern, name or tag that matches nothing, a VM size without a price, or a maximum that no pool
 * can reach. Warnings that depend on the cloud are events too, since others manage the pools.
 */
export function configWarnings(events: EventRecorder, log: Log, namespace: string): LoopListener {
  const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  const warnAs =
    (reason: string) =>
    (message: string): void =>
      events.record({ subject, type: 'Warning', reason, message });
  const reportPlanWarnings = warningReporter(log, () => undefined);
  const reportCloudWarnings = warningReporter(log, warnAs('ConfigMatchesNothing'));
  const reportSchedules = warningReporter(log, warnAs('ScheduleWithoutEffect'));
  const reportMaximums = warningReporter(log, warnAs('MaximumAbovePoolLimit'));
  return ({ observation, rounds }) => {
    // Without a plan, the earlier warnings still hold.
    const notes = rounds.at(-1)?.plan.notes;
    if (notes !== undefined) reportPlanWarnings(notes.map(({ text }) => text));
    if (observation === undefined) return;
    const { optionsWithoutGroup, rulesWithoutGroup, scheduleFindings, groups } = observation.cloud;
    reportMaximums(groups.flatMap(excessiveMaximum));
    reportSchedules(scheduleFindings);
    reportCloudWarnings([
      ...optionsWithoutGroup.map((name) => `nodeGroupOptions: no node group is named ${name}.`),
      ...rulesWithoutGroup.map((rule) => `${rule} matches no pool.`),
    ]);
  };
}

function excessiveMaximum({ id, configuredMax }: NodeGroup): readonly string[] {
  return configuredMax === undefined ? [] : [`Node group ${id}: ${describeExcessiveMaximum(configuredMax)}.`];
}

function warningReporter(log: Log, record: (note: string) => void): (notes: readonly string[]) => void {
  let reported: ReadonlySet<string> = new Set();
  return (notes) => {
    for (const note of notes) {
      if (reported.has(note)) continue;
      log.warn({ note }, 'Configuration warning');
      record(note);
    }
    reported = new Set(notes);
  };
}

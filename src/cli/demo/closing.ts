/** The account as lines for a person. Pure. */
import type { Summary } from './summary.ts';

export function closingLines(summary: Summary): readonly string[] {
  const calls = Object.values(summary.armCalls).reduce((sum, count) => sum + count, 0);
  return [
    '',
    'What happened, as the simulated world wrote it down',
    `  pods        ${summary.pods.created} created, ${summary.pods.bound} bound, ${summary.pods.pendingAtEnd} pending at the end`,
    ...summary.scaleUps.map(
      (entry) =>
        `  grown       ${entry.group} ${entry.from} -> ${entry.to}, ${entry.secondsFromUnschedulable} s after the first pod found no place`,
    ),
    ...summary.stockouts.map(
      (entry) => `  no stock    ${entry.group} (${entry.code}); another pool was asked ${entry.secondsToFallback} s later`,
    ),
    ...summary.scaleDowns.map((entry) => `  shrunk      ${entry.group} by ${entry.nodes} nodes, ${entry.evictedPods} pods evicted`),
    `  conflicts   ${summary.conflicts.seen} met (412), ${summary.conflicts.replannedInSameLoop} planned again in the same loop, ${summary.lostUpdates} updates lost`,
    `  ARM calls   ${calls} in ${summary.durationSeconds} s`,
    ...summary.violations.map((violation) => `  VIOLATION   ${violation.rule} on ${violation.subject}: ${violation.detail}`),
    ...summary.unmet.map((promise) => `  NOT SEEN    ${promise}`),
    summary.ok ? '  All of it as it should be.' : '  Something is not as it should be.',
  ];
}

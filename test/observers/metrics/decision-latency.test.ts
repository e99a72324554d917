import { describe, expect, it } from 'vitest';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { decisionLatency } from '../../../src/observers/metrics/decision-latency.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aPod, START_MS } from '../../support/builders.ts';
import { aRecord, aReport, GROUP } from '../history/support.ts';

const SECOND = 1_000;
const pod = aPod({ name: 'web', unschedulable: { sinceMs: START_MS - 5 * SECOND, message: '' } });
const backoff: PodVerdict = { kind: 'helpless', byGroup: [{ group: GROUP, skip: { kind: 'backoff', untilMs: 0, cause: 'x' } }] };
const full: PodVerdict = { kind: 'helpless', byGroup: [{ group: GROUP, skip: { kind: 'max-size', max: 1 } }] };
const upcoming: PodVerdict = { kind: 'fits-upcoming-node', group: GROUP };

type Step = readonly [seconds: number, verdict: PodVerdict | 'written' | 'refused'];

/** [seconds to the write, number of writes, and seconds of back-offs] */
async function measured(...steps: readonly Step[]) {
  const { scaleUp } = createMetrics();
  const observe = decisionLatency(scaleUp);
  // The first plan of a process: without pods.
  observe(aReport({ afterMs: -10 * SECOND }));
  for (const [seconds, what] of steps) {
    const afterMs = seconds * SECOND;
    const refused = { kind: 'refused', group: GROUP, reason: 'x' } as const;
    if (what === 'written' || what === 'refused')
      observe(aReport({ afterMs, records: [aRecord([pod], afterMs + SECOND, what === 'refused' ? refused : undefined)] }));
    else observe(aReport({ afterMs, plan: { verdicts: new Map([[pod, what]]) } }));
  }
  const { values } = await scaleUp.podsToDecision.get();
  const of = (name: string): number => values.find(({ metricName }) => metricName?.endsWith(name) === true)?.value ?? 0;
  const waits = (await scaleUp.podsBackedOff.get()).values;
  const waited = waits.find(({ metricName }) => metricName?.endsWith('_sum') === true)?.value ?? 0;
  return [of('_sum'), of('_count'), waited];
}

describe('the time to the capacity write', () => {
  it.each<[string, readonly Step[], readonly unknown[]]>([
    ['is all of it if a pool could grow', [[0, 'written']], [6, 1, 0]],
    [
      'leaves out the time of a back-off, which is counted apart',
      [
        [0, backoff],
        [300, 'written'],
      ],
      [6, 1, 300],
    ],
    [
      'leaves out the time at the maximum, too',
      [
        [0, backoff],
        [100, full],
        [300, 'written'],
      ],
      [6, 1, 100],
    ],
    [
      'keeps waits of before a node was on its way',
      [
        [0, backoff],
        [100, upcoming],
        [150, 'written'],
      ],
      [56, 1, 100],
    ],
    [
      'is not measured if nothing was written',
      [
        [0, backoff],
        [100, 'refused'],
      ],
      [0, 0, 0],
    ],
  ])('%s', async (_, steps, expected) => expect(await measured(...steps)).toEqual(expected));

  it('a pod that waited before this process began waited for the same', async () => {
    const { scaleUp } = createMetrics();
    const observe = decisionLatency(scaleUp);
    observe(aReport({ plan: { verdicts: new Map([[pod, full]]) } }));
    observe(aReport({ afterMs: 10 * SECOND, records: [aRecord([pod], 11 * SECOND)] }));
    const { values } = await scaleUp.podsToDecision.get();
    expect(values.find(({ metricName }) => metricName?.endsWith('_sum') === true)?.value).toBe(1);
  });
});

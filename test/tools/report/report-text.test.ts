import { describe, expect, it } from 'vitest';
import { renderReport } from '../../../src/tools/report/report-text.ts';
import type { Disagreement, ShadowReport } from '../../../src/planning/shadow/report.ts';

const DAY = 86_400_000;
const END = Date.UTC(2026, 10, 22, 12);

const skipped: Disagreement = {
  kind: 'other pool, no capacity',
  atMs: END - 4 * DAY,
  pools: ['aks-reserve-31774203-vmss', 'aks-compute-31774203-vmss'],
  nodes: 9,
  ours: 'reserve by 9: pending pods: 9, new nodes: 9',
  theirs: 'TriggeredScaleUp: compute 9->18',
  cost: 18.2,
  podMinutes: -1884,
};
const removed: Disagreement = {
  kind: 'removal only here',
  atMs: END - DAY,
  pools: ['batch'],
  nodes: 1,
  ours: 'n1 removed: empty',
  theirs: 'kept',
  cost: -1011.4,
  podMinutes: 0,
};

const REPORT: ShadowReport = {
  fromMs: END - 7 * DAY,
  toMs: END,
  isPartial: false,
  seenMs: 7 * DAY,
  pools: 14,
  currency: 'USD',
  theirs: { cost: 11_918.2, podMinutes: 5078, nodesAdded: 412, nodesRemoved: 398, longestWaitMs: 41 * 60_000 },
  ours: { cost: 10_925, podMinutes: 3194, nodesAdded: 377, nodesRemoved: 371 },
  disagreements: [skipped, removed],
  sizesWithoutPrice: [],
  assumptions: ['a node takes 3 min'],
};

const { currency: _currency, ...WITHOUT_CURRENCY } = REPORT;

const shown = (change: Partial<ShadowReport> = {}, all = false) =>
  renderReport({ report: { ...REPORT, ...change }, all, nowMs: END, from: 'From here.' });

describe('the text of a report', () => {
  it("names no currency where the prices are the user's own", () => {
    const text = renderReport({ report: WITHOUT_CURRENCY, all: true, nowMs: END, from: 'From here.' });
    expect(text).toMatch(/^aks-autoscaler would have saved 993\.20 of cost \(8\.3 %\)/);
    expect(text).toContain('cost +18.20, -1 884 pod-minutes');
    expect(text).not.toContain('USD');
  });

  it('begins with the answer, then the scope, the totals of both sides and the kinds of disagreement, most money first', () => {
    expect(shown()).toBe(`aks-autoscaler would have saved 993.20 USD (8.3 %) and 1 884 pod-minutes of waiting (37.1 %).
Shadow mode, 2026-11-15 12:00 UTC to 2026-11-22 12:00 UTC, beside the AKS autoscaler: 14 pools, 2
disagreements, no writes.

                      AKS AUTOSCALER  AKS-AUTOSCALER  DIFFERENCE
Cost, USD                  11 918.20       10 925.00      -8.3 %
Pending, pod-minutes           5 078           3 194     -37.1 %
Longest wait, min               41.0         unknown
Nodes added/removed          412/398         377/371

DISAGREEMENT                               TIMES        USD  POD-MIN  LARGEST
node removed that the AKS autoscaler kept      1  -1 011.40        0  11-21 12:00, batch, 1 node
pool without capacity skipped                  1     +18.20   -1 884  11-18 12:00, reserve, not
                                                                      compute, 9 nodes

Estimated: a node takes 3 min.
One by one, with the reasons of both: --all
From here.
`);
  });

  it('says what repacking would save, as plan does, with what keeps the other nodes', () => {
    const leftOut = ['a', 'b', 'c', 'd'].map((reason) => `3 nodes stay: ${reason}`);
    const repacking = {
      atMs: END - 1_800_000,
      text: '41 nodes, 29 would do: 480 USD a week less',
      nodes: 41,
      needed: 29,
      perHour: 2.86,
      leftOut,
    };
    const text = shown({ repacking });
    expect(text).toContain(`
Repacking at 2026-11-22 11:30 UTC: 41 nodes, 29 would do: 480 USD a week less, with what is removed
anyway.
- Left out: 3 nodes stay: a.
- Left out: 3 nodes stay: b.
- Left out: 3 nodes stay: c.
`);
    expect(text).not.toContain('stay: d');
    expect(shown({ repacking }, true)).toContain('stay: d');
  });

  it.each<[string, Partial<ShadowReport>, RegExp]>([
    ['both sides alike', { disagreements: [] }, /^aks-autoscaler would have done what the AKS autoscaler did: no disagreement\./],
    [
      'more money and less waiting',
      { ours: { ...REPORT.ours, cost: 12_000 } },
      /^aks-autoscaler would have cost 81\.80 more USD \(0\.7 %\) and saved 1 884 pod-minutes/,
    ],
    ['neither', { ours: { ...REPORT.ours, ...REPORT.theirs } }, /^aks-autoscaler would have saved neither money nor waiting\./],
    [
      'sizes without a price',
      { sizesWithoutPrice: ['Standard_X'], theirs: { podMinutes: 1, nodesAdded: 0, nodesRemoved: 0, longestWaitMs: 0 } },
      /Cost +unknown +unknown[\s\S]*Without a price, so not in any sum: Standard_X\./,
    ],
    ['a record that begins later', { isPartial: true, fromMs: END - DAY, seenMs: DAY }, /The record begins at 2026-11-21 12:00 UTC\./],
    ['a dry run that stood still', { seenMs: 5 * DAY }, /Loops were recorded for 5 d of 7 d\./],
  ])('says %s', (_what, change, expected) => {
    expect(shown(change).replaceAll(/(\S)\n(\S)/g, '$1 $2')).toMatch(expected);
  });

  it('with --all has each disagreement with the reasons of both', () => {
    expect(shown({}, true)).toContain(`2026-11-18 12:00 UTC, 4 d ago: pool without capacity skipped (reserve, not compute, 9 nodes)
aks-autoscaler  reserve by 9: pending pods: 9, new nodes: 9
AKS autoscaler  TriggeredScaleUp: compute 9->18
Difference      +18.20 USD, -1 884 pod-minutes
`);
  });
});

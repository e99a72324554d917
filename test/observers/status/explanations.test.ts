import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/domain/pod.ts';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import type { UnremovableNode } from '../../../src/domain/plan.ts';
import { describeExplanations } from '../../../src/observers/status/explanations.ts';
import { anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { aReport, GROUP } from '../history/support.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';

const full: PodVerdict = { kind: 'helpless', byGroup: [{ group: GROUP, skip: { kind: 'max-size', max: 1 } }] };
const backoff: PodVerdict = { kind: 'helpless', byGroup: [{ group: GROUP, skip: { kind: 'backoff', untilMs: 0, cause: 'x' } }] };
const coming: PodVerdict = { kind: 'triggered', group: GROUP };
const pods = (owner: string, count: number): readonly Pod[] =>
  Array.from({ length: count }, () => aPod({ controller: { kind: 'Job', name: owner, uid: owner } }));
const verdicts = (...given: readonly (readonly [readonly Pod[], PodVerdict])[]) =>
  new Map(given.flatMap(([some, verdict]) => some.map((pod) => [pod, verdict] as const)));
const kept: readonly UnremovableNode[] = ['a-0', 'a-1'].map((node) => ({
  node,
  reason: 'BlockedByPod',
  blocker: { pod: 'pay/api', reason: 'NotEnoughPdb', detail: '' },
}));
const nodes = ['a-0', 'a-1'].map((name) => aNode({ name }));
const instances = ['a-0', 'a-1'].map((node) => anInstance({ node }));

describe('the explanations of the status', () => {
  it('has the largest groups of pods with their fix, and what keeps nodes', () => {
    const plan = { verdicts: verdicts([pods('small', 1), backoff], [pods('big', 3), full], [pods('new', 2), coming]) };
    const report = {
      ...aReport({ plan, nodes, instances, scaleDown: { kept } }),
      prices: { ...NO_PRICES, prices: { standard_d4s_v5: 0.2 } },
    };
    expect(describeExplanations(report, (verdict) => (verdict === full ? 'raise the maximum' : undefined))).toEqual({
      summary: '6 pods pending: 3 need a change, 1 waits for a pool, 2 have nodes coming',
      pods: [
        {
          count: 3,
          owner: 'default/big',
          verdict: 'blocked-by-max',
          since: new Date(START_MS - 30_000).toISOString().replace('.000', ''),
          why: 'a: at its maximum (1 of 1 nodes)',
          fix: 'raise the maximum',
        },
        expect.objectContaining({ count: 1, owner: 'default/small', verdict: 'blocked-by-backoff' }),
      ],
      nodes: [{ count: 2, reason: 'BlockedByPod', blockedBy: 'NotEnoughPdb', perHour: 0.4, example: 'a-0' }],
      more: { pods: 0, nodes: 0 },
    });
  });

  it('describes 150,000 equal pods', () => {
    const [pod] = pods('big', 1);
    const many = new Map(Array.from({ length: 150_000 }, () => [{ ...pod } as Pod, full] as const));
    expect(describeExplanations(aReport({ plan: { verdicts: many } }), () => undefined)).toMatchObject({ pods: [{ count: 150_000 }] });
  });

  it('says that none is pending', () => {
    expect(describeExplanations(aReport(), () => undefined)).toEqual({
      summary: 'No pods are pending',
      pods: [],
      nodes: [],
      more: { pods: 0, nodes: 0 },
    });
  });

  it.each([
    ['a number of rows', 'x', 10],
    ['a number of bytes', 'x'.repeat(280), 10],
  ])('is bounded by %s, and counts the rest', (_, fix, most) => {
    const many = verdicts(...Array.from({ length: 40 }, (_each, at) => [pods(`${'job'.repeat(80)}-${at}`, 1), { ...full }] as const));
    const document = describeExplanations(aReport({ plan: { verdicts: many } }), () => fix);
    const { pods: shown, more } = JSON.parse(JSON.stringify(document)) as {
      readonly pods: readonly object[];
      readonly more: { readonly pods: number };
    };
    expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThanOrEqual(8 * 1024);
    expect(shown.length).toBeLessThanOrEqual(most);
    expect(shown.length).toBeGreaterThan(3);
    expect(shown.length + more.pods).toBe(40);
  });
});

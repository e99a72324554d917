/** Plans that run out of time: what the loop does in the meantime, and how the next one goes on. */
import { describe, expect, it } from 'vitest';
import { planningTimer } from '../../src/loop/scale-up/rounds.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage } from './support.ts';

const TEAM = { team: 'a' };
const policy = aPolicy({
  scaleUp: { enforceMinSize: false, maxPlanningMs: 0 },
  scaleDown: { unneededForMs: 5_000, delayAfterAddMs: 0 },
});
const groups = [
  aGroup({ id: 'a', target: 1, instances: [anInstance({ node: 'a-0' })] }),
  aGroup({ id: 'b', target: 1, instances: [anInstance({ node: 'b-0' })], template: aTemplate({ labels: TEAM }) }),
];
const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'b-0', labels: TEAM })];
const pods = [0, 1, 2].map((at) => aPod({ name: `web-${at}`, cpu: '100', shape: { cpu: `${100 + at}`, nodeSelector: TEAM } }));

describe('a plan that runs out of time', () => {
  it('stops no removal in pools that no pod without a search could use', async () => {
    const small = [...pods.slice(0, 2), aPod({ name: 'web-small', shape: { cpu: '1', nodeSelector: TEAM } })];
    const stage = aStage({ groups, nodes, pods: small, policy });
    await stage.runOnce();
    await stage.clock.advance(6_000);
    const report = await stage.runOnce();
    expect(report.rounds.at(-1)?.plan.searchedUntilLate).toBe(1);
    expect(report.scaleDown?.removals.map(({ node }) => node)).toEqual(['a-0']);
    expect(report.scaleDown?.kept.find(({ node }) => node === 'b-0')?.detail).toMatch(
      /^pod default\/web-small, whose place was not searched/,
    );
  });

  it('is followed by one that goes on where it stopped', async () => {
    const stage = aStage({ groups, nodes, pods, policy });
    const searched: (string | undefined)[] = [];
    for (let loop = 0; loop < 3; loop++) {
      const { rounds } = await stage.runOnce();
      const verdicts = [...(rounds.at(-1)?.plan.verdicts ?? [])];
      searched.push(...verdicts.flatMap(([pod, verdict]) => (verdict.kind === 'helpless' ? [pod.name] : [])));
      await stage.clock.advance(10_000);
    }
    expect(searched).toEqual(['web-0', 'web-1', 'web-2']);
  });

  it('leaves half of its time to the estimates of new nodes, however long the searches would take', async () => {
    const clock = new FakeClock(START_MS);
    const isLate = planningTimer({ clock, policy: aPolicy({ scaleUp: { maxPlanningMs: 1_000 } }) }, 200);
    const late = async (ms: number) => {
      await clock.advance(ms);
      return [isLate(1, 1), isLate(1)];
    };
    expect([await late(399), await late(1), await late(399), await late(1)]).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [true, true],
    ]);
  });

  it('is written before the pods that stay pending are explained', async () => {
    const stage = aStage({
      groups,
      pods: [aPod({ name: 'web', shape: { cpu: '1' } }), ...pods],
      policy: aPolicy({ scaleUp: { enforceMinSize: false } }),
    });
    const order: string[] = [];
    stage.cloud.onCall = (call) => void order.push(call);
    stage.deps.journal.record = (entry) => {
      if (entry.scaleUp.length > 0) order.push('explained');
    };
    const { rounds } = await stage.runOnce();
    expect(order).toEqual([expect.stringMatching(/^increase/), 'explained']);
    expect([...(rounds[0]?.plan.verdicts.values() ?? [])].map(({ kind }) => kind).toSorted()).toEqual([
      'helpless',
      'helpless',
      'helpless',
      'triggered',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aGroup, anInstance, aNode, aPod, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage, type StageOptions } from './support.ts';

const A = nodeGroupId('a');
/** The pause after the look at the cloud: three precede it. */
const AFTER_THE_LOOK = 4;

/** Plans are interrupted wherever they may be. `meanwhile` gets the number of the pause. */
function pausing(
  options: StageOptions,
  meanwhile: (pause: number, stage: ReturnType<typeof aStage>) => Promise<void> | void = () => undefined,
) {
  let pauses = 0;
  const stage: ReturnType<typeof aStage> = aStage({
    ...options,
    pacing: {
      sliceMs: 0,
      pause: async () => {
        pauses += 1;
        await meanwhile(pauses, stage);
      },
    },
  });
  return { stage, pauses: () => pauses };
}

const pods = (count: number) => Array.from({ length: count }, (_, index) => aPod({ name: `web-${index}`, cpu: '1200m', memory: '1Gi' }));
const GROWS: StageOptions = { groups: [aGroup({ id: 'a', target: 0 })], pods: pods(6) };
const targetOf = (stage: ReturnType<typeof aStage>): number => {
  const target = stage.cloud.groups.get(A)?.target;
  return target?.known === true ? target.value : Number.NaN;
};

const NO_DELAYS = aPolicy({ scaleDown: { unneededForMs: -1, delayAfterAddMs: 0 } });
const SHRINKS: StageOptions = {
  groups: [aGroup({ id: 'a', target: 2 })],
  nodes: [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })],
  pods: [aPod({ name: 'stays', nodeName: 'a-0', cpu: '3' })],
  policy: NO_DELAYS,
};

describe('a plan that is made in slices', () => {
  it('is the plan that is made at once', async () => {
    const { stage, pauses } = pausing(GROWS);
    const sliced = await stage.runOnce();
    const whole = await aStage(GROWS).runOnce();
    expect(pauses()).toBeGreaterThan(3);
    expect(sliced.rounds[0]?.plan).toEqual(whole.rounds[0]?.plan);
    expect(targetOf(stage)).toBe(2);
  });

  it('is about the observation that it began with, whatever changes meanwhile', async () => {
    const { stage } = pausing(GROWS, (_pause, { cluster }) => cluster.pods.clear());
    const report = await stage.runOnce();
    expect(report.rounds[0]?.plan.increases[0]?.pods).toHaveLength(6);
  });

  it('meets a capacity that another writer moved meanwhile as a conflict, and the other nodes count', async () => {
    const { stage } = pausing(GROWS, (pause, { cloud }) => {
      if (pause !== AFTER_THE_LOOK) return;
      const coming = anInstance({ node: 'a-theirs', state: 'creating', firstSeenMs: START_MS });
      const target = { known: true, value: 1, version: '"other"', confirmed: true, observedAtMs: START_MS } as const;
      cloud.groups.set(A, { ...aGroup({ id: 'a', target: 1 }), target, instances: [coming] });
    });
    const report = await stage.runOnce();
    expect(report.rounds.map((round) => round.increases.map(({ outcome }) => outcome.kind))).toEqual([['conflict'], ['accepted']]);
    expect(targetOf(stage)).toBe(2);
  });

  it('removes an idle node', async () => {
    const { stage, pauses } = pausing(SHRINKS);
    await removalOf(stage);
    expect(pauses()).toBeGreaterThan(3);
    expect(stage.cloud.deletes.flatMap(({ instances }) => instances)).toHaveLength(1);
  });

  it('removes no node that got a pod meanwhile', async () => {
    const { stage } = pausing(SHRINKS, (_pause, { cluster }) => {
      const pod = aPod({ name: 'late', nodeName: 'a-1', cpu: '3' });
      cluster.pods.set(pod.uid, pod);
    });
    const report = await removalOf(stage);
    expect(report.scaleDown?.removals.map(({ node }) => node)).toEqual(['a-1']);
    expect(stage.cloud.deletes).toEqual([]);
  });

  it('removes no node that is gone meanwhile', async () => {
    const { stage } = pausing(SHRINKS, (_pause, { cluster }) => void cluster.nodes.delete('a-1'));
    await removalOf(stage);
    expect(stage.cloud.deletes).toEqual([]);
  });

  it('ends when the process stops: nothing is written, and the next plan is whole', async () => {
    let ends = true;
    const { stage } = pausing(GROWS, (pause, { stop }) => {
      if (ends && pause === AFTER_THE_LOOK) stop.abort();
    });
    const report = await stage.runOnce();
    expect([report.outcome, report.rounds, targetOf(stage)]).toEqual(['cancelled', [], 0]);
    ends = false;
    await stage.loop.runOnce('manual', new AbortController().signal);
    expect(targetOf(stage)).toBe(2);
  });

  it('has the time that earlier plans of the loop left', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxPlanningMs: 1_000 } });
    const groups = ['a', 'b', 'c'].map((id) => aGroup({ id, target: 0 }));
    const { stage } = pausing({ ...GROWS, groups, policy }, (_pause, { clock }) => clock.advance(30));
    let writers = 0;
    stage.cloud.onIncrease = ({ group }) => {
      writers += 1;
      const target = { known: true, value: 0, version: `"other-${writers}"`, confirmed: true, observedAtMs: START_MS } as const;
      stage.cloud.groups.set(group, { ...aGroup({ id: group, target: 0 }), target });
      return { kind: 'conflict', group, observed: 0 };
    };
    const { rounds } = await stage.runOnce();
    // One plan alone is within the limit, three are not.
    const isCut = rounds.map(({ plan }) => plan.cutShortAfter !== undefined);
    expect([isCut.length, isCut.at(0), isCut.at(-1)]).toEqual([3, false, true]);
  });
});

describe('the steps of a loop', () => {
  it('leave other work its turn before the model is updated, between steps, and between those who look at the report', async () => {
    const { stage, pauses } = pausing({ groups: [] });
    const seen: number[] = [];
    for (let listener = 0; listener < 3; listener++) stage.loop.onLoop(() => void seen.push(pauses()));
    await stage.loop.runOnce('manual', new AbortController().signal);
    const [first = 0] = seen;
    expect(first).toBeGreaterThanOrEqual(8);
    expect(seen).toEqual([first, first + 1, first + 2]);
  });

  it('leave other work its turn after each node that the model of the cluster takes in', async () => {
    const nodes = Array.from({ length: 20 }, (_, index) => aNode({ name: `a-${index}` }));
    const few = pausing({ groups: [] });
    const many = pausing({ groups: [], nodes });
    await few.stage.runOnce();
    await many.stage.runOnce();
    expect(many.pauses() - few.pauses()).toBeGreaterThanOrEqual(20);
  });

  it('do not see what changes in between', async () => {
    const { stage } = pausing(SHRINKS, (_pause, { cluster }) => cluster.nodes.clear());
    const { observation, failures } = await stage.runOnce();
    expect([[...(observation?.cluster.nodes.keys() ?? [])], failures]).toEqual([['a-0', 'a-1'], []]);
  });
});

async function removalOf(stage: ReturnType<typeof aStage>) {
  const report = await stage.runOnce();
  for (let step = 0; step < 30; step++) await stage.clock.advance(10_000);
  return report;
}

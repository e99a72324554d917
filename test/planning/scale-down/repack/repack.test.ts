import { describe, expect, it } from 'vitest';
import type { IncreaseOutcome } from '../../../../src/domain/outcome.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { Increase, RemovalCause } from '../../../../src/domain/plan.ts';
import type { RemovalBudget } from '../../../../src/domain/policy.ts';
import { DEFAULT_REPACK, NOTHING_REPACKED } from '../../../../src/domain/repack.ts';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import { noteRepackIncrease } from '../../../../src/planning/scale-down/repack/repack-memory.ts';
import type { RepackDecision } from '../../../../src/planning/scale-down/repack/repack.ts';
import { START_MS, aNode, aPod, anInstance, podWith } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { MINUTE, type World } from '../world.ts';
import { step, type Step, worldOf } from './repack-world.ts';

const SIZES = { big: { cpu: 80, price: 0.4 }, small: { cpu: 20, price: 0.12 } };
const HOUR = 60 * MINUTE;
const BIG = nodeGroupId('big');

/** Four nodes of 0.12 whose pods fit on one of 0.4. Each pod is of its own age. */
function four(pods = [19, 19, 19, 19], createdAtMs = START_MS - 2 * HOUR): World {
  const world = worldOf({ nodes: pods.map((cpu) => ({ pool: 'small', pods: [cpu] })), most: { big: 1, small: 0 } }, SIZES);
  return {
    ...changed(world, () => ({ options: { repack: true } })),
    pods: (world.pods ?? []).map((pod) => ({ ...pod, createdAtMs })),
  };
}

function changed(world: World, change: (group: NodeGroup) => Partial<NodeGroup>): World {
  return { ...world, groups: world.groups.map((group) => ({ ...group, ...change(group) })) };
}

/** With the new node, ready or not. */
function withBig(world: World, ready = true): World {
  const big = aNode({ name: 'big-0', cpu: '8', memory: '64Gi', readiness: { ready, sinceMs: START_MS, reason: '' } });
  const grown = changed(world, ({ id, target }) =>
    id === BIG && target.known ? { target: { ...target, value: 1 }, instances: [anInstance({ node: 'big-0' })] } : {},
  );
  return { ...grown, nodes: [...world.nodes, big] };
}

const begun = (world = four()) => step({ world }).memory;
const adding = () => step({ world: four(), memory: begun(), afterMs: 5 * MINUTE }).memory;
const draining = () => step({ world: withBig(four()), memory: adding(), afterMs: 8 * MINUTE }).memory;
const stagesOf = ({ memory }: RepackDecision) => memory.running.map(({ stage }) => stage);
const closed = ({ memory }: RepackDecision) => [...memory.closures].map(([node, { durationMs }]) => `${node} ${durationMs / MINUTE}`);

describe('the steps of a repack', () => {
  it('are a search, a check after a wait, the request, and the removals once the new node is ready', () => {
    const found = step({ world: four() });
    expect(found.begun.map(({ set }) => [set.remove.length, set.add])).toEqual([[4, { group: 'big', nodes: 1 }]]);
    expect([stagesOf(found), found.increase]).toEqual([['checked'], undefined]);
    const early = step({ world: four(), memory: found.memory, afterMs: 5 * MINUTE - 1 });
    expect([stagesOf(early), early.increase]).toEqual([['checked'], undefined]);
    const asked = step({ world: four(), memory: found.memory, afterMs: 5 * MINUTE });
    expect([stagesOf(asked), asked.increase]).toEqual([
      ['adding'],
      { group: 'big', from: 0, to: 1, version: '"1"', pods: [], cause: 'repack' },
    ]);
    const starting = step({ world: withBig(four(), false), memory: asked.memory, afterMs: 7 * MINUTE });
    expect(stagesOf(starting)).toEqual(['adding']);
    const ready = step({ world: withBig(four()), memory: asked.memory, afterMs: 8 * MINUTE });
    expect([stagesOf(ready), ready.memory.begunMs.length]).toEqual([['draining'], 4]);
    const gone = withBig({ ...four(), nodes: [], pods: [] });
    const over = step({ world: gone, memory: ready.memory, afterMs: 30 * MINUTE });
    expect([stagesOf(over), over.ended.map(({ outcome }) => outcome), closed(over)]).toEqual([[], ['done'], []]);
  });

  it('say the same of what they save once the new node, which is paid for anyway, is there', () => {
    const paid = (world: World): World => {
      const policy = world.policy ?? aPolicy();
      return { ...world, policy: { ...policy, scaleUp: { ...policy.scaleUp, paidNodes: [{ size: 'standard_big', count: 1 }] } } };
    };
    const saved = ({ memory }: RepackDecision) => memory.running.map(({ stage, set }) => [stage, set.saved.perHour]);
    const found = step({ world: paid(four()) });
    const asked = step({ world: paid(four()), memory: found.memory, afterMs: 5 * MINUTE });
    const ready = step({ world: paid(withBig(four())), memory: asked.memory, afterMs: 8 * MINUTE });
    expect([found, asked, ready].map(saved)).toEqual([[['checked', 0.48]], [['adding', 0.48]], [['draining', 0.48]]]);
  });

  it('wait while pods are pending, while nodes are on their way, and while removals are inhibited', () => {
    const at = { world: four(), memory: begun(), afterMs: 5 * MINUTE };
    expect(stagesOf(step({ ...at, podsWait: true }))).toEqual(['checked']);
    expect(stagesOf(step({ ...at, inhibited: 'cooling down' }))).toEqual(['checked']);
    expect(step({ world: four(), podsWait: true }).memory.search?.why).toBe('pods are pending');
  });

  it('end without a closure if they could not begin for long', () => {
    const late = step({ world: four(), memory: begun(), afterMs: 36 * MINUTE, podsWait: true });
    expect([late.ended.map(({ why }) => why), closed(late)]).toEqual([['it could not begin: pods are pending'], []]);
  });
});

describe('a repack that does not hold', () => {
  const protectedPod = (world: World): World => ({
    ...world,
    pods: (world.pods ?? []).map((pod, at) => (at === 0 ? podWith(pod, { safeToEvict: 'false' }) : pod)),
  });

  it.each([
    { name: 'before its first step', memory: begun, world: four, afterMs: 5 * MINUTE },
    { name: 'once its new node is ready', memory: adding, world: () => withBig(four()), afterMs: 8 * MINUTE },
    { name: 'while its nodes are drained', memory: draining, world: () => withBig(four()), afterMs: 9 * MINUTE },
  ])('is undone $name, and its nodes are left out for a time that doubles', ({ memory, world, afterMs }) => {
    const first = step({ world: protectedPod(world()), memory: memory(), afterMs });
    expect(first.ended.map(({ outcome, why }) => `${outcome}: ${why ?? ''}`)).toEqual([
      'undone: node small-0 cannot be removed: pod default/small-0-pod-0 blocks it (NotSafeToEvictAnnotation: cluster-autoscaler.kubernetes.io/safe-to-evict: "false")',
    ]);
    expect(closed(first)).toEqual(['small-0 30', 'small-1 30', 'small-2 30', 'small-3 30']);
    expect(stagesOf(step({ world: four(), memory: first.memory, afterMs: 20 * MINUTE }))).toEqual([]);
    const again = step({ world: four(), memory: first.memory, afterMs: 41 * MINUTE });
    expect(stagesOf(again)).toEqual(['checked']);
    expect(closed(step({ world: protectedPod(four()), memory: again.memory, afterMs: 50 * MINUTE }))[0]).toBe('small-0 60');
  });

  it('is undone if its new node is taken away', () => {
    expect(step({ world: four(), memory: draining(), afterMs: 9 * MINUTE }).ended.map(({ why }) => why)).toEqual([
      'a new node of pool big is gone',
    ]);
    expect(step({ world: four(), memory: adding(), afterMs: 9 * MINUTE }).ended.map(({ why }) => why)).toEqual([
      'only 0 of 1 new nodes of pool big came',
    ]);
  });

  it('is undone if other pods took the room of its new node', () => {
    const taken = aPod({ name: 'other', nodeName: 'big-0', cpu: '4', memory: '1Mi' });
    const world = withBig(four());
    expect(
      step({ world: { ...world, pods: [...(world.pods ?? []), taken] }, memory: adding(), afterMs: 8 * MINUTE }).ended[0]?.why,
    ).toMatch(/^pod .* would find no place$/);
  });

  it('ends without a closure when its pool is paused, or no longer repacked', () => {
    const paused = { code: 'paused', direction: 'both', untilMs: START_MS + 9 * HOUR, by: undefined, reason: undefined } as const;
    const blocks = { change: paused, increase: undefined, removal: undefined, choice: undefined, deletion: undefined };
    const inPause = step({ world: changed(four(), ({ id }) => (id === BIG ? { blocks } : {})), memory: begun(), afterMs: MINUTE });
    expect([inPause.ended[0]?.why, closed(inPause)]).toEqual(['pool big: paused until 2026-11-21T09:00:00Z', []]);
    const off = step({ world: changed(four(), () => ({ options: { repack: false } })), memory: begun(), afterMs: MINUTE });
    expect([off.ended.length, closed(off)]).toEqual([1, []]);
  });
});

describe('what is not begun', () => {
  const whyNot = (of: Step) => [stagesOf(step(of)).length, step(of).memory.search?.why];

  it('is in pools where it is off', () => {
    const decision = step({ world: changed(four(), () => ({ options: {} })) });
    expect([stagesOf(decision), decision.memory]).toEqual([[], NOTHING_REPACKED]);
    const onlySmall = changed(four(), ({ id }) => ({ options: { repack: id !== BIG } }));
    expect(whyNot({ world: onlySmall })).toEqual([0, 'no set of nodes that saves something was found']);
  });

  it('saves too little for the pods that it moves', () => {
    expect(whyNot({ world: four(), rules: { minScore: 20 } })).toEqual([
      0,
      'the best set saves 13.3 % of a node for each pod that moves, less than 20 %',
    ]);
  });

  it('moves pods that may have been moved within the hour', () => {
    expect(whyNot({ world: four([19, 19, 19, 19], START_MS - 59 * MINUTE) })).toEqual([
      0,
      'no node of a pool that is repacked may be removed now',
    ]);
  });

  it('would exceed the limit of an hour', () => {
    const memory = { ...NOTHING_REPACKED, begunMs: Array.from({ length: 10 }, () => START_MS - MINUTE) };
    expect(whyNot({ world: four(), memory })).toEqual([0, 'repacks began to remove 10 nodes within an hour, of 10']);
    expect(stagesOf(step({ world: four(), memory, afterMs: HOUR }))).toEqual(['checked']);
  });

  it('would find its budget of removals used up', () => {
    const budget: RemovalBudget = { unit: 'nodes', amount: 1, per: 'cluster', causes: ['repacked'] };
    const withBudget = (cause: RemovalCause): World => {
      const world = four();
      const { scaleDown, ...policy } = world.policy ?? aPolicy();
      const budgetedRemovals = [{ group: nodeGroupId('small'), cause, startedAtMs: START_MS - MINUTE }];
      return { ...world, policy: { ...policy, scaleDown: { ...scaleDown, budgets: [budget] } }, state: { budgetedRemovals } };
    };
    const used = 'a removal budget allows 1 node of the cluster within 10 min (repacked); used: 1, needed: 1';
    expect([whyNot({ world: withBudget('repacked') }), whyNot({ world: withBudget('underutilized') })]).toEqual([
      [0, used],
      [1, undefined],
    ]);
  });

  it('is a second repack of the same pools', () => {
    const second = step({ world: four(), memory: { ...begun(), search: undefined }, afterMs: MINUTE });
    expect(stagesOf(second)).toEqual(['checked']);
  });
});

describe('the answer to the request for new nodes', () => {
  const increase: Increase = { group: BIG, from: 0, to: 1, version: '"1"', pods: [], cause: 'repack' };
  const noted = (outcome: IncreaseOutcome) => noteRepackIncrease(adding(), { increase, outcome }, DEFAULT_REPACK, START_MS + HOUR);

  it('undoes the repack if Azure refuses, and its nodes are left out for a while', () => {
    const error = new AutoscalerError({ kind: 'quota' } as never, 'no quota');
    const { memory, ended } = noted({ kind: 'failed', group: BIG, error });
    expect([memory.running.length, memory.closures.size, ended[0]?.why]).toEqual([
      0,
      4,
      'Azure refused the new nodes of pool big: no quota',
    ]);
  });

  it('ends it in a dry run, and asks again after a conflict', () => {
    const withheld = noted({ kind: 'withheld', group: BIG });
    expect([withheld.memory.running.length, withheld.memory.closures.size, withheld.ended[0]?.outcome]).toEqual([0, 0, 'withheld']);
    expect(noted({ kind: 'conflict', group: BIG, observed: undefined } as never).memory.running.map(({ stage }) => stage)).toEqual([
      'checked',
    ]);
  });
});

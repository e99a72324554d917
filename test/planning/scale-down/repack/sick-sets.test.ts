import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Node } from '../../../../src/domain/node.ts';
import { DEFAULT_REPACK, NOTHING_REPACKED, type RepackMemory, type SickNodeRules } from '../../../../src/domain/repack.ts';
import { describeNodeHealth } from '../../../../src/planning/explain/answers/node-health.ts';
import { NODE_IMAGE_LABEL } from '../../../../src/planning/facts/node-images.ts';
import { noteRepackIncrease } from '../../../../src/planning/scale-down/repack/repack-memory.ts';
import type { RepackDecision } from '../../../../src/planning/scale-down/repack/repack.ts';
import { START_MS, aNode, aPod, aTemplate, anAgentPool, anInstance, podWith } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { MINUTE, observe, plan, pool, removed, type World } from '../world.ts';
import { step } from './repack-world.ts';

const HOUR = 60 * MINUTE;
const GPU = nodeGroupId('gpu');
const XID = { type: 'XIDErrors', status: 'True', reason: 'XidPresent' };
const RULES: SickNodeRules = {
  conditions: [{ type: 'XIDErrors', status: 'True', forMs: 10 * MINUTE }],
  maximum: 1,
  breakerPercent: 20,
  remedy: 'replace',
};

interface Shape {
  /** By the number of the node: for how many minutes it has been sick. */
  readonly sick?: Readonly<Record<number, number>>;
  readonly size?: number;
  /** Tenths of a core that the pods of each node request. */
  readonly used?: number;
  readonly rules?: Partial<SickNodeRules> | undefined;
  readonly group?: Partial<NodeGroup>;
  /** Nodes that came later, and when, in minutes. */
  readonly later?: readonly { readonly name: string; readonly minute: number; readonly ready?: boolean; readonly sickFor?: number }[];
}

function nodeOf(name: string, sickFor: number | undefined, options: Partial<Node> = {}): Node {
  const conditions = sickFor === undefined ? {} : { conditions: [{ ...XID, sinceMs: START_MS - sickFor * MINUTE }] };
  return aNode({ name, cpu: '4', memory: '16Gi', labels: { [NODE_IMAGE_LABEL]: 'image-1' }, ...conditions, ...options });
}

/** Nodes of 4 cores, each with one pod that needs most of it. Prices are not known. */
function worldOf({ sick = { 0: 11 }, size = 5, used = 35, rules, group, later = [] }: Shape = {}): World {
  const old = Array.from({ length: size }, (_, at) => nodeOf(`gpu-${at}`, sick[at]));
  const came = later.map(({ name, minute, ready = true, sickFor }) =>
    nodeOf(name, sickFor, { createdAtMs: START_MS + minute * MINUTE, readiness: { ready, sinceMs: START_MS, reason: '' } }),
  );
  const nodes = [...old, ...came];
  const options = { sickNodes: { ...RULES, ...rules } };
  return {
    groups: [
      pool('gpu', nodes.length, {
        maxSize: size + 2,
        minSize: 0,
        template: aTemplate({ cpu: '4', memory: '16Gi' }),
        options,
        instances: nodes.map(({ name }) => anInstance({ node: name })),
        ...group,
      }),
    ],
    nodes,
    pods: old.map(({ name }) => aPod({ name: `on-${name}`, nodeName: name, cpu: `${used * 100}m`, memory: '1Mi' })),
    policy: aPolicy(),
  };
}

const stages = ({ memory }: RepackDecision) =>
  memory.running.map(({ set, stage }) => `${set.remove.map(({ node }) => node).join('+')} ${stage}`);
const whys = ({ ended }: RepackDecision) => ended.map(({ why }) => why);
const left = ({ memory }: RepackDecision) => Object.fromEntries(memory.left);
const begun = (shape: Shape = {}): RepackMemory => step({ world: worldOf(shape) }).memory;
const adding = (): RepackMemory => step({ world: worldOf(), memory: begun(), afterMs: MINUTE }).memory;
const NEW = { name: 'gpu-new', minute: 2 };
const draining = (): RepackMemory => step({ world: worldOf({ later: [NEW] }), memory: adding(), afterMs: 4 * MINUTE }).memory;

describe('a sick node', () => {
  it('is seen twice, gets a new node, and is removed once that is ready', () => {
    const found = step({ world: worldOf() });
    expect([stages(found), found.increase]).toEqual([['gpu-0 checked'], undefined]);
    expect(found.begun[0]?.set).toMatchObject({
      remove: [{ node: 'gpu-0', condition: 'XIDErrors=True' }],
      add: { group: 'gpu', nodes: 1 },
      pods: 1,
    });
    expect(step({ world: worldOf(), memory: found.memory, afterMs: MINUTE - 1 }).increase).toBeUndefined();
    const asked = step({ world: worldOf(), memory: found.memory, afterMs: MINUTE });
    expect([stages(asked), asked.increase]).toMatchObject([['gpu-0 adding'], { group: 'gpu', from: 5, to: 6, cause: 'sick-nodes' }]);
    const starting = worldOf({ later: [{ ...NEW, ready: false }] });
    expect(stages(step({ world: starting, memory: asked.memory, afterMs: 3 * MINUTE }))).toEqual(['gpu-0 adding']);
    const ready = worldOf({ later: [NEW] });
    expect(stages(step({ world: ready, memory: asked.memory, afterMs: 4 * MINUTE }))).toEqual(['gpu-0 draining']);
    const result = plan({ ...ready, state: { repacks: draining() } });
    expect([removed(result), result.removals[0]?.cause, result.removals[0]?.condition]).toEqual([['gpu-0'], 'sick', 'XIDErrors=True']);
  });

  it('needs no new node if its pods have a place on others', () => {
    const world = worldOf({ used: 10 });
    const asked = step({ world, memory: begun({ used: 10 }), afterMs: MINUTE });
    expect([stages(asked), asked.increase]).toEqual([['gpu-0 draining'], undefined]);
  });

  it('is replaced although pods are pending, and although its pods are young', () => {
    const young = worldOf();
    const world = { ...young, pods: (young.pods ?? []).map((pod) => ({ ...pod, createdAtMs: START_MS })) };
    expect(stages(step({ world, memory: step({ world }).memory, afterMs: MINUTE, podsWait: true }))).toEqual(['gpu-0 adding']);
  });

  it('gets its new node first although its pool is at the minimum', () => {
    const shape = { group: { minSize: 5 }, used: 10 };
    const asked = step({ world: worldOf(shape), memory: begun(shape), afterMs: MINUTE });
    expect([stages(asked), asked.increase?.to]).toEqual([['gpu-0 adding'], 6]);
  });

  it.each<{ readonly name: string; readonly shape: Shape; readonly why: string | undefined }>([
    { name: 'has been sick for less than its rule says', shape: { sick: { 0: 9 } }, why: undefined },
    { name: 'is in a pool without rules', shape: { group: { options: {} } }, why: undefined },
    { name: 'shows a condition that no rule names', shape: { rules: { conditions: [] } }, why: undefined },
    {
      name: 'is in a pool at its maximum, and its pods fit nowhere',
      shape: { group: { maxSize: 5 } },
      why: 'pool gpu cannot add 1 nodes now',
    },
    {
      name: 'is in a pool of which too much is sick',
      shape: { sick: { 0: 11, 1: 0 } },
      why: '2 of 5 nodes of pool gpu are sick, more than 1 (20 %): none of them is replaced',
    },
    {
      name: 'is in a pool whose size is not confirmed',
      shape: { group: { target: { known: true, value: 5, version: '1', confirmed: false, observedAtMs: START_MS } } },
      why: 'pool gpu: its target size is not confirmed since its last change',
    },
  ])('stays if it $name', ({ shape, why }) => {
    const found = step({ world: worldOf(shape) });
    expect([stages(found), left(found)]).toEqual([[], why === undefined ? {} : { 'gpu-0': why }]);
  });

  it('stays if a pod blocks it, and others are replaced instead', () => {
    const world = worldOf({ sick: { 0: 12, 1: 11 }, rules: { breakerPercent: 50 } });
    const pods = (world.pods ?? []).map((pod, at) => (at === 0 ? podWith(pod, { safeToEvict: 'false' }) : pod));
    const found = step({ world: { ...world, pods } });
    expect(stages(found)).toEqual(['gpu-1 checked']);
    expect(left(found)).toEqual({ 'gpu-0': expect.stringMatching(/^other sick nodes|NotSafeToEvict/) as string });
  });

  it('that is the second of its pool waits for the first, or goes with it where two may', () => {
    const sick = { 0: 12, 1: 11 };
    const one = step({ world: worldOf({ sick, rules: { breakerPercent: 50 } }) });
    expect([stages(one), Object.keys(left(one))]).toEqual([['gpu-0 checked'], ['gpu-1']]);
    const two = step({ world: worldOf({ sick, rules: { breakerPercent: 50, maximum: 2 } }) });
    expect([stages(two), two.begun[0]?.set.add]).toEqual([['gpu-0+gpu-1 checked'], { group: 'gpu', nodes: 2 }]);
  });

  it('waits while removals are inhibited, and says why', () => {
    const waits = step({ world: worldOf(), memory: begun(), afterMs: 3 * HOUR, inhibited: 'cooling down' });
    expect(stages(waits)).toEqual(['gpu-0 checked']);
  });
});

describe('a replacement', () => {
  it.each([
    { name: 'before anything was done', memory: begun, later: [] },
    { name: 'while its new node is awaited', memory: adding, later: [] },
    { name: 'while it waits for its drain', memory: draining, later: [NEW] },
  ])('ends without a closure if the node is well again $name', ({ memory, later }) => {
    const well = step({ world: worldOf({ sick: {}, later }), memory: memory(), afterMs: 5 * MINUTE });
    expect([stages(well), whys(well), well.memory.closures.size]).toEqual([
      [],
      ['node gpu-0 is well again: it shows XIDErrors=True no longer'],
      0,
    ]);
  });

  it('ends if too much of the pool turns sick meanwhile', () => {
    const many = step({ world: worldOf({ sick: { 0: 11, 1: 0, 2: 0 } }), memory: adding(), afterMs: 2 * MINUTE });
    expect(whys(many)).toEqual(['3 of 5 nodes of pool gpu are sick, more than 1 (20 %): none of them is replaced']);
  });

  it('ends if the rules of the pool are taken away', () => {
    const off = step({ world: worldOf({ group: { options: {} } }), memory: begun(), afterMs: MINUTE });
    expect(whys(off)).toEqual(['pool gpu: sick nodes are not replaced in it (sickNodes turns it on)']);
  });
});

describe('the answer to the request for a new node', () => {
  const increase = { group: GPU, from: 5, to: 6, version: '"1"', pods: [], cause: 'sick-nodes' } as const;

  it('leaves the node out for a while in a dry run, which would find it again each minute', () => {
    const { memory, ended } = noteRepackIncrease(
      adding(),
      { increase, outcome: { kind: 'withheld', group: GPU } },
      DEFAULT_REPACK,
      START_MS,
    );
    expect([memory.running.length, [...memory.closures.keys()], ended[0]?.outcome]).toEqual([0, ['gpu-0'], 'withheld']);
    expect(left(step({ world: worldOf(), memory, afterMs: MINUTE }))).toEqual({
      'gpu-0': 'its last replacement was undone or withheld; it is tried again at 00:30 UTC',
    });
  });
});

describe('a pool whose new node turns sick as well', () => {
  const done = (memory: RepackMemory = draining()): RepackMemory => {
    const world = worldOf({ later: [NEW] });
    const gone = { ...world, nodes: world.nodes.filter(({ name }) => name !== 'gpu-0'), pods: [] };
    return step({ world: gone, memory, afterMs: 20 * MINUTE }).memory;
  };
  const sickAgain = { later: [{ ...NEW, sickFor: -15 }], sick: {} };
  const again = (memory: RepackMemory, minutes: number, shape: Shape = sickAgain): RepackDecision =>
    step({ world: worldOf(shape), memory, afterMs: minutes * MINUTE });

  it('waits for a time that doubles, and then tries one', () => {
    const first = again(done(), 30);
    expect([stages(first), left(first)['gpu-new']]).toEqual([
      [],
      'node gpu-new, which came in place of a sick one, turned sick as well; pool gpu waits until 01:00 UTC',
    ]);
    expect(stages(again(first.memory, 59))).toEqual([]);
    expect(stages(again(first.memory, 61))).toEqual(['gpu-new checked']);
    expect(first.memory.replaced.get(GPU)?.closure?.durationMs).toBe(30 * MINUTE);
    const before = first.memory.replaced.get(GPU);
    if (before === undefined) throw new Error('it is remembered');
    const other = { later: [{ name: 'gpu-newer', minute: 62, sickFor: -70 }], sick: {} };
    const second = again({ ...first.memory, replaced: new Map([[GPU, { ...before, sinceMs: START_MS + 61 * MINUTE }]]) }, 81, other);
    expect(second.memory.replaced.get(GPU)?.closure?.durationMs).toBe(60 * MINUTE);
  });

  it('is not one whose sick node is older, or whose new nodes have another image', () => {
    expect(stages(again(done(), 30, { sick: { 1: -15 }, later: [NEW] }))).toEqual(['gpu-1 checked']);
    const group = { agentPool: anAgentPool({ name: 'gpu', nodeImage: 'image-2' }) };
    expect(stages(again(done(), 30, { ...sickAgain, group }))).toEqual(['gpu-new checked']);
  });

  it('is forgotten after a day', () => {
    expect(step({ world: worldOf({ sick: {} }), memory: done(), afterMs: 48 * HOUR }).memory.replaced.size).toBe(0);
    expect(NOTHING_REPACKED.replaced.size).toBe(0);
  });
});

it('a replacement that is checked again says how long the cooldown of removals still lasts', () => {
  const world = worldOf();
  const observation = observe(world);
  const said = (lastScaleUpMs: number) =>
    describeNodeHealth('gpu-0', {
      observation,
      state: aState({ repacks: begun(), lastScaleUpMs }),
      policy: aPolicy({ scaleDown: { delayAfterAddMs: 10 * MINUTE } }),
    });
  const checked = 'It is sick: XIDErrors=True (XidPresent) for 11 min; its replacement is checked again before anything is done';
  expect([said(START_MS - 4 * MINUTE), said(START_MS - HOUR)]).toEqual([
    `${checked}, after the cooldown of removals, 6 min more.`,
    `${checked}.`,
  ]);
});

import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Node } from '../../../../src/domain/node.ts';
import type { RepackMemory, SickNodeRules } from '../../../../src/domain/repack.ts';
import { TO_BE_DELETED_TAINT } from '../../../../src/domain/taints.ts';
import { describeNodeHealth } from '../../../../src/planning/explain/answers/node-health.ts';
import type { RepackDecision } from '../../../../src/planning/scale-down/repack/repack.ts';
import { aNode, anInstance, aPod, aTemplate, keyOf, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import { MINUTE, observe, plan, pool, removed, type World } from '../world.ts';
import { step } from './repack-world.ts';

const HOUR = 60 * MINUTE;
const RULES: SickNodeRules = {
  conditions: [{ type: 'XIDErrors', status: 'True', forMs: 10 * MINUTE }],
  maximum: 1,
  breakerPercent: 60,
  remedy: 'reimage',
};
const SICK = [{ type: 'XIDErrors', status: 'True', reason: '', sinceMs: START_MS - HOUR }];

/** Five nodes whose pods have room on the others. */
function worldOf(first: Partial<Node> = {}, group: Partial<NodeGroup> = {}, second: Partial<Node> = {}): World {
  const nodes = Array.from({ length: 5 }, (_, at) =>
    aNode({ name: `gpu-${at}`, ...(at === 0 ? { conditions: SICK, ...first } : at === 1 ? second : {}) }),
  );
  return {
    groups: [
      pool('gpu', 5, {
        maxSize: 7,
        minSize: 0,
        template: aTemplate({ cpu: '4', memory: '16Gi' }),
        options: { sickNodes: RULES },
        instances: nodes.map(({ name }) => anInstance({ node: name })),
        ...group,
      }),
    ],
    nodes,
    pods: nodes.map(({ name }) => aPod({ name: `on-${name}`, nodeName: name, cpu: '500m', memory: '1Mi' })),
    policy: aPolicy(),
  };
}

const stages = ({ memory }: RepackDecision) =>
  memory.running.map(({ set, stage }) => `${set.remove.map(({ node }) => node).join('+')} ${stage}`);
const draining = (world = worldOf()): RepackMemory => step({ world, memory: step({ world }).memory, afterMs: MINUTE }).memory;
const minutes = (count: number): number => START_MS + count * MINUTE;

describe('a sick node of a pool that reimages', () => {
  it.each<{
    readonly name: string;
    readonly first?: Partial<Node>;
    readonly group?: Partial<NodeGroup>;
    readonly words: string;
    readonly reimages?: true;
  }>([
    { name: 'is reimaged', words: '; it is reimaged then, not deleted', reimages: true },
    { name: 'that does not ask for it is replaced', group: { options: { sickNodes: { ...RULES, remedy: 'replace' } } }, words: '' },
    {
      name: 'that was reimaged within a day is replaced',
      first: { reimagedAtMs: minutes(-23 * 60) },
      words: '; it is not reimaged: a reimage was tried 23.0 h ago',
    },
    {
      name: 'that was reimaged before is reimaged again',
      first: { reimagedAtMs: minutes(-25 * 60) },
      words: '; it is reimaged then, not deleted',
      reimages: true,
    },
    {
      name: 'with a Flexible set is replaced',
      group: { kind: 'vmss-flexible' },
      words: '; it is not reimaged: only nodes of Uniform scale sets are reimaged, and its pool has a Flexible one',
    },
    {
      name: 'of type VirtualMachines is replaced',
      group: { kind: 'vms-pool' },
      words: '; it is not reimaged: only nodes of Uniform scale sets are reimaged, and its pool has none (type VirtualMachines)',
    },
  ])('$name', ({ first, group, words, reimages }) => {
    const world = worldOf(first, group);
    const repacks = draining(world);
    const result = plan({ ...world, state: { repacks } });
    expect([removed(result), result.removals[0]?.cause, result.removals[0]?.reimages]).toEqual([['gpu-0'], 'sick', reimages]);
    const said = describeNodeHealth('gpu-0', { observation: observe(world), state: aState({ repacks }), policy: aPolicy() });
    expect(said).toBe(`It is sick: XIDErrors=True for 60 min; its replacement drains the nodes that go${words}.`);
  });

  it('that is not ready any more is removed, not reimaged', () => {
    const unready = worldOf({ readiness: { ready: false, sinceMs: START_MS - 2 * HOUR, reason: '' } });
    expect(plan({ ...unready, state: { repacks: draining() } }).removals.some(({ reimages }) => reimages === true)).toBe(false);
  });
});

describe('a set whose node was reimaged', () => {
  const mark = (ready: boolean, sinceMinute: number): Partial<Node> => ({
    reimagedAtMs: minutes(2),
    readiness: { ready, sinceMs: minutes(sinceMinute), reason: '' },
  });
  const after = (first: Partial<Node>, atMinute = 9, memory = draining()): RepackDecision =>
    step({ world: worldOf(first), memory, afterMs: atMinute * MINUTE });

  it('waits as long as the node is away', () => {
    const entry = { group: nodeGroupId('gpu'), instance: keyOf('gpu-0'), sinceMs: minutes(1), sentAtMs: minutes(2) };
    const taints = [{ key: TO_BE_DELETED_TAINT, value: String(minutes(2) / 1000), effect: 'NoSchedule' as const }];
    const world = { ...worldOf({ ...mark(false, 3), taints }), state: { deleting: new Map([['gpu-0', entry]]) } };
    const waits = step({ world, memory: draining(), afterMs: 9 * MINUTE });
    expect([stages(waits), waits.ended]).toEqual([['gpu-0 draining'], []]);
    const { kept } = plan({ ...world, state: { ...world.state, repacks: draining() } });
    expect(kept.find(({ node }) => node === 'gpu-0')?.detail).toBe('it is being reimaged, and comes back');
    // Another one of its pool waits, also if the memory of the set was lost.
    const lost = step({
      world: { ...worldOf({ ...mark(false, 3), taints }, {}, { conditions: SICK }), state: world.state },
      afterMs: 9 * MINUTE,
    });
    expect([stages(lost), lost.memory.left.get('gpu-1')]).toEqual([[], 'node gpu-0 of pool gpu is being reimaged']);
  });

  it('is done once the node is back and well, and does not remove it', () => {
    const back = worldOf({ ...mark(true, 6), conditions: [] });
    expect(removed(plan({ ...back, state: { repacks: draining() } }))).toEqual([]);
    const { ended, memory } = after({ ...mark(true, 6), conditions: [] });
    expect([ended.map(({ outcome }) => outcome), memory.running, memory.closures.size]).toEqual([['done'], [], 0]);
  });

  it.each([
    { name: 'is back and sick', first: mark(true, 6) },
    { name: 'is not ready', first: { ...mark(false, 3), conditions: [] } },
    { name: 'was never reimaged, since Azure refused', first: mark(true, -60) },
  ])('ends if the node $name, and it is replaced next', ({ first }) => {
    const { ended, memory } = after(first);
    expect(ended.map(({ why }) => why)).toEqual(['node gpu-0 is not well after the attempt to reimage it']);
    expect(memory.closures.size).toBe(0);
    const ready = first.readiness?.ready === true;
    expect(memory.running.map(({ stage }) => stage)).toEqual(ready ? ['checked'] : []);
    if (!ready) return;
    const world = worldOf(first);
    const again = step({ world, memory, afterMs: 11 * MINUTE }).memory;
    expect(plan({ ...world, state: { repacks: again } }).removals.map(({ node, reimages }) => [node, reimages])).toEqual([
      ['gpu-0', undefined],
    ]);
  });

  it('of an earlier day ends as usual if the node is well again', () => {
    const first = { reimagedAtMs: minutes(-60), conditions: [] };
    expect(after(first, 2).ended.map(({ why }) => why)).toEqual(['node gpu-0 is well again: it shows XIDErrors=True no longer']);
  });
});

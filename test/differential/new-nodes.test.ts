import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { obey, plan, promised, schedule, unbound, type Pool, type World } from './obeyed-plan.ts';
import { nodeDraft, nodeObject, podDraft, podObject, type NodeDraft, type PodDraft } from './random-cluster.ts';
import { casesOf } from '../support/property-runs.ts';

interface Story {
  readonly nodes: readonly NodeDraft[];
  readonly pools: readonly Pool[];
  readonly pending: readonly { readonly draft: PodDraft; readonly count: number }[];
}

const uncordoned = nodeDraft.map((draft) => ({ ...draft, unschedulable: false }));

function stories(shapes: { readonly minLength: number; readonly maxLength: number }, most: number): fc.Arbitrary<Story> {
  return fc.record({
    nodes: fc.array(nodeDraft, { maxLength: 3 }),
    pools: fc.array(fc.record({ draft: uncordoned, max: fc.integer({ min: 1, max: 6 }) }), { minLength: 1, maxLength: 3 }),
    pending: fc.array(fc.record({ draft: podDraft, count: fc.integer({ min: 1, max: most }) }), shapes),
  });
}

/**
 * Without hard spread: several new domains that appear at once are filled evenly by the scheduler, while a plan fills one
 * pool after the other; how many find a place may differ then, and the second test says what must hold all the same.
 */
const equalPods = stories({ minLength: 1, maxLength: 1 }, 8).map((story) => ({
  ...story,
  pending: story.pending.map(({ draft, count }) => {
    const { topologySpreadConstraints: _spread, ...spec } = draft.spec;
    return { draft: { ...draft, spec }, count };
  }),
}));

function worldOf(story: Story): World {
  return {
    pools: story.pools,
    nodes: story.nodes.map((draft, at) => nodeObject(`n-${at}`, draft)),
    pods: story.pending.flatMap(({ draft, count }, shape) =>
      Array.from({ length: count }, (_, at) => podObject(`p-${shape}-${at}`, draft)),
    ),
  };
}

describe('the plan and the toy scheduler about new nodes', () => {
  it('what is promised to equal pods is bound once the nodes are there', () => {
    let kept = 0;
    fc.assert(
      fc.property(equalPods, (story) => {
        const world = worldOf(story);
        schedule(world);
        const before = unbound(world).length;
        const first = plan(world);
        obey(world, first);
        schedule(world);
        const bound = promised(first).length;
        expect(unbound(world).length).toBeLessThanOrEqual(before - bound);
        kept += bound;
      }),
      casesOf(4, 120),
    );
    expect(kept).toBeGreaterThan(90);
  });

  it('mixed pods never wait for a place that the plan sees and the scheduler does not', () => {
    let asked = 0;
    fc.assert(
      fc.property(stories({ minLength: 2, maxLength: 5 }, 4), (story) => {
        const world = worldOf(story);
        for (let round = 0; round < 30; round++) {
          schedule(world);
          const next = plan(world);
          // What fits on nodes that are there would be bound already.
          expect([...next.verdicts.values()].filter(({ kind }) => kind === 'fits-present-node')).toEqual([]);
          if (next.increases.length === 0) break;
          const before = unbound(world).length;
          obey(world, next);
          schedule(world);
          expect(unbound(world).length).toBeLessThan(before);
          asked += 1;
        }
        expect(plan(world).increases).toEqual([]);
      }),
      casesOf(4, 120),
    );
    expect(asked).toBeGreaterThan(30);
  });
});

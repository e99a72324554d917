import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unrestOf, type GroupSigns } from '../../../src/azure/agents/rest-rule.ts';

const REST: GroupSigns = {
  tag: '"7"',
  listedTag: '"7"',
  isChanging: false,
  capacity: 3,
  listed: 3,
  running: 3,
  nodes: 3,
  readyNodes: 3,
};

describe('signs that a list of instances may show something new', () => {
  it.each<[string, Partial<GroupSigns>, ReturnType<typeof unrestOf>]>([
    ['none', {}, undefined],
    ['none in an empty group', { capacity: 0, listed: 0, running: 0, nodes: 0, readyNodes: 0 }, undefined],
    ['a tag of Azure that is absent covers nothing', { tag: undefined, listedTag: undefined }, 'tag-unknown'],
    ['no complete list yet', { listedTag: undefined }, 'tag-unknown'],
    ['another writer, an upgrade or an eviction moved the tag', { tag: '"8"' }, 'tag-moved'],
    ['an operation', { isChanging: true }, 'group-changing'],
    ['a capacity that moved while its tag did not', { capacity: 4 }, 'capacity-differs'],
    ['a capacity that is unknown', { capacity: undefined }, 'capacity-differs'],
    ['an instance that was deleted although the capacity counts it', { capacity: 4, nodes: 3 }, 'capacity-differs'],
    ['an instance that starts, has failed, is deallocated or is being deleted', { running: 2 }, 'instance-not-running'],
    ['an instance that has not joined', { nodes: 2, readyNodes: 2 }, 'node-missing'],
    ['a node more than instances', { nodes: 4, readyNodes: 4 }, 'node-missing'],
    ['a node of an evicted instance, which is not ready', { readyNodes: 2 }, 'node-not-ready'],
  ])('%s', (_, change, unrest) => {
    expect(unrestOf({ ...REST, ...change })).toBe(unrest);
  });

  it('rest means that all counts agree under one tag', () => {
    const count = fc.integer({ min: 0, max: 2 });
    const signs = fc.record({
      tag: fc.constantFrom(undefined, '"1"', '"2"'),
      listedTag: fc.constantFrom(undefined, '"1"', '"2"'),
      isChanging: fc.boolean(),
      capacity: fc.option(count, { nil: undefined }),
      listed: count,
      running: count,
      nodes: count,
      readyNodes: count,
    });
    fc.assert(
      fc.property(signs, (all) => {
        const { tag, listedTag, isChanging, capacity, listed, running, nodes, readyNodes } = all;
        const agree = new Set([capacity, listed, running, nodes, readyNodes]).size === 1;
        expect(unrestOf(all) === undefined).toBe(tag !== undefined && tag === listedTag && !isChanging && agree);
      }),
      { seed: 17, numRuns: 500 },
    );
  });
});

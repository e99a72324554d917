/** Repacking of pools that are one pool per zone: it keeps the zones even, and waits while a zone is down. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reasonAgainstRepack } from '../../../../src/planning/scale-down/repack/repack-rules.ts';
import { aNode, aTemplate, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { pod, pool, type World } from '../world.ts';
import { contextOf, searchIn } from './repack-world.ts';

const ZONE = 'topology.kubernetes.io/zone';
type Used = Readonly<Record<string, readonly number[]>>;

/** Pools a, b, c, one in each zone, with a node of 4 cores for each number: the tenths of a core that its pod requests. */
function zonal(used: Used, isBalanced = true): World {
  const named = Object.entries(used).flatMap(([id, nodes]) => nodes.map((tenths, at) => ({ id, name: `${id}-${at}`, tenths })));
  return {
    groups: Object.entries(used).map(([id, nodes]) => ({
      ...pool(id, nodes.length, { vmSize: 'Standard_D4s_v5' }),
      zones: [`r-${id}`],
      template: aTemplate({ cpu: '4', memory: '16Gi', zones: [`r-${id}`] }),
    })),
    nodes: named.map(({ id, name }) => aNode({ name, cpu: '4', memory: '16Gi', labels: { [ZONE]: `r-${id}` } })),
    pods: named.filter(({ tenths }) => tenths > 0).map(({ name, tenths }) => pod(name, `${tenths * 100}m`)),
    policy: aPolicy({ scaleUp: { balanceSimilarGroups: isBalanced, prices: { standard_d4s_v5: 0.2 } } }),
  };
}

const goneIn = (world: World): readonly string[] =>
  searchIn(world).sets.flatMap(({ remove }) => remove.map(({ node }) => node.slice(0, 1)));
const left = (used: Used, gone: readonly string[]): readonly number[] =>
  Object.entries(used).map(([id, nodes]) => nodes.length - gone.filter((zone) => zone === id).length);
const skewOf = (counts: readonly number[]): number => Math.max(...counts) - Math.min(...counts);

describe('repacking of pools that are one per zone', () => {
  /** The pods of zone a are the easiest to move. */
  const UNEVEN = { a: [1, 1, 1], b: [20, 20, 20], c: [20, 20, 20] };

  it('leaves the zones even', () => expect(skewOf(left(UNEVEN, goneIn(zonal(UNEVEN))))).toBe(1));

  it('takes what is the easiest where siblings are not balanced', () => {
    expect(left(UNEVEN, goneIn(zonal(UNEVEN, false)))[0]).toBe(0);
  });

  it('never makes them less even, after any number of its removals', () => {
    const node = fc.integer({ min: 0, max: 30 });
    const zone = fc.array(node, { maxLength: 5 });
    fc.assert(
      fc.property(fc.record({ a: zone, b: zone, c: zone }), (used) => {
        const gone = goneIn(zonal(used));
        const skews = gone.map((_, at) => skewOf(left(used, gone.slice(0, at + 1))));
        expect(Math.max(0, ...skews)).toBeLessThanOrEqual(Math.max(1, skewOf(left(used, []))));
      }),
      { numRuns: 40 },
    );
  });
});

describe('while a zone is down', () => {
  const down = (avoidDownZones: boolean): readonly (string | undefined)[] => {
    const given = zonal({ a: [1, 1, 1], b: [1, 1, 1] });
    const unready = { ready: false, sinceMs: START_MS - 60_000, reason: 'NotReady' };
    const policy = given.policy ?? aPolicy();
    const other = pool('other', 0, { vmSize: 'Standard_F8s_v2' });
    const context = contextOf({
      ...given,
      groups: [...given.groups, other],
      nodes: given.nodes.map((node) => (node.name.startsWith('a') ? { ...node, readiness: unready } : node)),
      policy: { ...policy, cluster: { ...policy.cluster, avoidDownZones }, repack: { ...policy.repack, enabled: true } },
    });
    return [...context.groups.values()].map((group) => reasonAgainstRepack(group, context)?.detail);
  };

  it('its pool and the siblings wait, and others do not', () => {
    const why = expect.stringMatching(/^zone r-a is down, 3 of its 3 nodes are not ready, and its pods may need the nodes that work$/);
    expect(down(true)).toEqual([why, why, undefined]);
  });

  it('none waits where outages are not heeded', () => expect(down(false)).toEqual([undefined, undefined, undefined]));
});

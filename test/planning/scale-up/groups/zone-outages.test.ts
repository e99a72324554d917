/** A zone in which most nodes are unready gets no node that another zone can have. */
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../../src/domain/node.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Policy } from '../../../../src/domain/policy.ts';
import { withDownZones } from '../../../../src/planning/scale-up/groups/zone-outages.ts';
import { clusterProblem, reasonNotToAct, zoneOutages } from '../../../../src/planning/state/cluster-health.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { growth, observationOf, planFor, skipOf } from '../world.ts';

const HOUR = 3_600_000;
const ZONE = 'topology.kubernetes.io/zone';
const heeding: Policy = { ...aPolicy(), cluster: { ...aPolicy().cluster, avoidDownZones: true } };

function zonal(id: string, ...zones: readonly string[]): NodeGroup {
  return aGroup({ id, target: 0, zones, template: aTemplate({ cpu: '4', zones: zones.map((zone) => `r-${zone}`) }) });
}
/** `u`: unready, `r`: ready, `s`: starting, `d`: being deleted. */
function nodesOf(zone: string, kinds: string): readonly Node[] {
  return kinds.split('').map((kind, at) => {
    const node = aNode({ name: `n${zone}-${at}`, cpu: '1', labels: { [ZONE]: `r-${zone}` } });
    const readiness = { ready: kind === 'r', sinceMs: START_MS - HOUR, reason: 'NotReady' };
    const createdAtMs = kind === 's' ? START_MS - 60_000 : START_MS - HOUR;
    return { ...node, readiness, createdAtMs, ...(kind === 'd' ? { deletionAtMs: START_MS } : {}) };
  });
}
const groups = [zonal('a', '1'), zonal('b', '2'), zonal('both', '1', '2')];
const seen = (one: string, two: string, change: { readonly policy?: Policy } = {}) => ({
  observation: observationOf({ groups, nodes: [...nodesOf('1', one), ...nodesOf('2', two), ...nodesOf('0', 'uuu')] }),
  state: aState(),
  policy: heeding,
  ...change,
});

describe('a zone is down', () => {
  it.each([
    { one: 'uu', two: 'rr', down: ['1'] },
    { one: 'uur', two: 'rr', down: ['1'] },
    { one: 'uurr', two: 'rr', down: [] },
    { one: 'u', two: 'rr', down: [] },
    { one: 'us', two: 'rr', down: [] },
    { one: 'uudd', two: 'rr', down: ['1'] },
    { one: 'uu', two: 'uu', down: [] },
    { one: 'uu', two: '', down: [] },
    { one: 'rr', two: 'rr', down: [] },
  ])('its nodes are $one, those of the other zone $two: $down', ({ one, two, down }) => {
    expect([...zoneOutages(seen(one, two)).keys()]).toEqual(down);
  });

  it('only if outages are heeded', () => {
    expect([...zoneOutages(seen('uu', 'rr', { policy: aPolicy() })).keys()]).toEqual([]);
    const { observation, state } = seen('uu', 'rr');
    expect(withDownZones(observation, state, aPolicy())).toBe(observation);
  });

  // In a cluster that has most of its nodes there, see the study of the lost zone.
  it.each([
    { one: 'uuuuuuuu', two: 'rrr', acts: true },
    { one: 'uuuuuuuu', two: 'r', acts: true },
    { one: 'uuuuuuuu', two: 'rru', acts: true },
    { one: 'uuuuuuuu', two: 'ru', acts: false },
    { one: 'uuuuuuuu', two: 'u', acts: false },
    { one: 'uuuuuuuu', two: '', acts: false },
    { one: 'uuuuuuuu', two: 'rrr', policy: aPolicy(), acts: false },
  ])(
    'nodes are $one, those of the other zone $two: other zones grow: $acts, and none is removed',
    ({ one, two, acts, policy = heeding }) => {
      const { state } = seen(one, two);
      const observation = observationOf({ groups, nodes: [...nodesOf('1', one), ...nodesOf('2', two)] });
      expect(reasonNotToAct(observation, state, policy)).toEqual(acts ? undefined : expect.stringContaining('nodes are not ready'));
      expect(clusterProblem(observation, state, policy)?.kind).toBe('sick');
    },
  );

  it('its pools are a last resort, and those with another zone are not', () => {
    const { observation, state } = seen('uu', 'rrrrrrrrr');
    const told = withDownZones(observation, state, heeding);
    expect(told.cloud.groups.map(({ blocks }) => blocks.choice?.code)).toEqual(['zone-down', undefined, undefined]);
    const world = { groups: told.cloud.groups, nodes: [...observation.cluster.nodes.values()] };
    const anywhere = [aPod({ cpu: '3', shape: { cpu: '3' } })];
    expect(growth(planFor({ ...world, pods: anywhere })).map((each) => each.split(' ')[0])).not.toContain('a');
    expect(skipOf(planFor({ ...world, pods: anywhere }), 'a')).toEqual({
      kind: 'last-resort',
      detail: 'zone r-1 is down: 2 of its 2 nodes are not ready; it grows only for pods that no other pool can take',
    });
    const there = [aPod({ cpu: '3', shape: { cpu: '3', nodeSelector: { [ZONE]: 'r-1' } } })];
    expect(growth(planFor({ ...world, groups: world.groups.slice(0, 2), pods: there }))).toEqual(['a 0->1']);
  });
});

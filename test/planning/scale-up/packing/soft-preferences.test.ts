/** The expander `preferences`: what pods prefer decides among options that are equal otherwise. */
import { describe, expect, it } from 'vitest';
import type { PreferredTerm } from '../../../../src/domain/pod.ts';
import type { Taint } from '../../../../src/domain/taints.ts';
import type { ExpanderName } from '../../../../src/domain/policy.ts';
import { createPodProjection, projectPod } from '../../../../src/kubernetes/projection/pod.ts';
import { aGroup, aNode, aPod, aTemplate, resourceNames, type ShapeOptions } from '../../../support/builders.ts';
import { growth, planFor } from '../world.ts';

const prefers = (weight: number, key: string, ...values: readonly string[]): PreferredTerm => ({
  weight,
  term: { expressions: [{ key, operator: 'In', values }], fields: [] },
});
const soft = (key: string): Taint => ({ key, value: '', effect: 'PreferNoSchedule' });
type Pool = { readonly labels?: Readonly<Record<string, string>>; readonly taints?: readonly Taint[]; readonly zones?: readonly string[] };

function chosen(shapes: readonly ShapeOptions[], pools: Readonly<Record<string, Pool>>, expanders: readonly ExpanderName[]): string {
  const groups = Object.entries(pools).map(([id, part]) => aGroup({ id, target: 0, template: aTemplate({ cpu: '4', ...part }) }));
  const pods = shapes.map((shape) => aPod({ shape: { cpu: '1', ...shape } }));
  return growth(planFor({ groups, pods, policy: { expanders } })).join();
}

const CHAIN: readonly ExpanderName[] = ['least-waste', 'preferences'];
const DISKS = { a: { labels: { disk: 'hdd' } }, b: { labels: { disk: 'ssd' } } };

describe('of pools that are equal otherwise, the one grows', () => {
  it.each<[string, readonly ShapeOptions[], Readonly<Record<string, Pool>>, string]>([
    ['that pods prefer by its labels', [{ preferred: [prefers(1, 'disk', 'ssd')] }], DISKS, 'b 0->1'],
    ['that meets the greater weight', [{ preferred: [prefers(10, 'disk', 'hdd'), prefers(80, 'disk', 'ssd')] }], DISKS, 'b 0->1'],
    [
      'that more pods prefer',
      [
        { preferred: [prefers(100, 'disk', 'hdd')] },
        { preferred: [prefers(1, 'disk', 'ssd')] },
        { preferred: [prefers(1, 'disk', 'ssd')], labels: { other: 'kind' } },
      ],
      DISKS,
      'b 0->1',
    ],
    ['whose taints repel none', [{}], { a: { taints: [soft('busy')] }, b: {} }, 'b 0->1'],
    [
      'first by name, if pods tolerate the taint',
      [{ tolerations: [{ key: 'busy', operator: 'Exists', value: '', effect: 'PreferNoSchedule' }] }],
      { a: { taints: [soft('busy')] }, b: {} },
      'a 0->1',
    ],
    ['first by name, if pods prefer nothing', [{}], DISKS, 'a 0->1'],
    [
      'that is in the preferred zone for certain',
      [{ preferred: [prefers(1, 'topology.kubernetes.io/zone', 'we-1')] }],
      { a: { zones: ['we-1', 'we-2'] }, b: { zones: ['we-1'] } },
      'b 0->1',
    ],
  ])('%s', (_name, shapes, pools, expected) => {
    expect(chosen(shapes, pools, CHAIN)).toBe(expected);
  });

  it('first by name without that expander, and only at ties with it', () => {
    const pods = [{ preferred: [prefers(1, 'disk', 'ssd')] }];
    expect(chosen(pods, DISKS, ['least-waste'])).toBe('a 0->1');
    const wasteful = aGroup({ id: 'b', target: 0, template: aTemplate({ cpu: '16', labels: { disk: 'ssd' } }) });
    const groups = [aGroup({ id: 'a', target: 0, template: aTemplate({ cpu: '4', labels: { disk: 'hdd' } }) }), wasteful];
    const plan = planFor({ groups, pods: [aPod({ shape: { cpu: '3', ...pods[0] } })], policy: { expanders: CHAIN } });
    expect(growth(plan)).toEqual(['a 0->1']);
  });
});

describe('of pools that are equal otherwise, the one grows where soft spread has the fewest pods', () => {
  const ZONE = 'topology.kubernetes.io/zone';
  const spread = (topologyKey: string, app = 'web'): ShapeOptions => ({
    labels: { app },
    softSpread: [
      {
        topologyKey,
        maxSkew: 1,
        minDomains: 1,
        selector: { requirements: [{ key: 'app', operator: 'In', values: [app] }] },
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  });
  const there = (zone: string, app: string, count: number) => ({
    node: aNode({ name: `n-${zone}-${app}`, cpu: '1', labels: { [ZONE]: zone, disk: zone } }),
    pods: Array.from({ length: count }, (_, at) =>
      aPod({ name: `${zone}-${app}-${at}`, nodeName: `n-${zone}-${app}`, shape: { cpu: '100m', labels: { app } } }),
    ),
  });
  const grown = (
    topologyKey: string,
    present: readonly ReturnType<typeof there>[],
    expanders: readonly ExpanderName[] = CHAIN,
    pods = [aPod({ shape: { cpu: '2', ...spread(topologyKey) } })],
  ) => {
    const groups = ['we-1', 'we-2'].map((zone) =>
      aGroup({ id: zone, target: 0, template: aTemplate({ cpu: '4', zones: [zone], labels: { disk: zone } }) }),
    );
    const nodes = present.map(({ node }) => node);
    return growth(planFor({ groups, nodes, pods: [...present.flatMap((each) => each.pods), ...pods], policy: { expanders } })).join();
  };

  it.each<[string, string, readonly ReturnType<typeof there>[], string]>([
    ['the emptier zone', ZONE, [there('we-1', 'web', 2), there('we-2', 'web', 1)], 'we-2 0->1'],
    ['a zone without such pods', ZONE, [there('we-1', 'web', 1)], 'we-2 0->1'],
    ['other pods do not count', ZONE, [there('we-1', 'db', 3), there('we-2', 'web', 1)], 'we-1 0->1'],
    ['any label of a pool', 'disk', [there('we-1', 'web', 2), there('we-2', 'web', 1)], 'we-2 0->1'],
    ['hosts are all new', 'kubernetes.io/hostname', [there('we-1', 'web', 2)], 'we-1 0->1'],
    ['and by name without pods', ZONE, [], 'we-1 0->1'],
  ])('%s', (_what, key, present, expected) => {
    expect(grown(key, present)).toBe(expected);
    expect(grown(key, present, ['least-waste'])).toBe('we-1 0->1');
  });

  it('for most of the pods, which count by their own rules', () => {
    const pods = ['web', 'db', 'db'].map((app, at) => aPod({ name: `p-${at}`, shape: { cpu: '1', ...spread(ZONE, app) } }));
    expect(grown(ZONE, [there('we-1', 'db', 2), there('we-2', 'web', 2)], CHAIN, pods)).toBe('we-2 0->1');
  });
});

it('soft spread is read only if an expander compares it, and required spread stays what it is', () => {
  const constraint = (whenUnsatisfiable: string) => ({
    topologyKey: whenUnsatisfiable,
    whenUnsatisfiable,
    labelSelector: { matchLabels: { app: 'web' } },
  });
  const spec = { containers: [{ name: 'c' }], topologySpreadConstraints: ['ScheduleAnyway', 'DoNotSchedule'].map(constraint) };
  const read = (affinity: boolean) => projectPod({ metadata: { name: 'p' }, spec }, createPodProjection(resourceNames, { affinity })).shape;
  expect([read(true), read(false)].map(({ softSpread }) => softSpread.map(({ topologyKey }) => topologyKey))).toEqual([
    ['ScheduleAnyway'],
    [],
  ]);
  expect([read(true), read(false)].map(({ topologySpread }) => topologySpread.map(({ topologyKey }) => topologyKey))).toEqual([
    ['DoNotSchedule'],
    ['DoNotSchedule'],
  ]);
});

it('what pods prefer is read only if an expander compares it', () => {
  const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, preference }] };
  const json = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }], affinity: { nodeAffinity } } };
  expect(projectPod(json, createPodProjection(resourceNames, { affinity: true })).shape.preferred).toEqual([prefers(5, 'disk', 'ssd')]);
  const { shape } = projectPod(json, createPodProjection(resourceNames));
  expect([shape.preferred, shape.key.includes('ssd')]).toEqual([[], false]);
});

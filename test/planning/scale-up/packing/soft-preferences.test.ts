/** The expander `preferences`: what pods prefer decides among options that are equal otherwise. */
import { describe, expect, it } from 'vitest';
import type { PreferredTerm } from '../../../../src/domain/pod.ts';
import type { Taint } from '../../../../src/domain/taints.ts';
import type { ExpanderName } from '../../../../src/domain/policy.ts';
import { createPodProjection, projectPod } from '../../../../src/kubernetes/projection/pod.ts';
import { aGroup, aPod, aTemplate, resourceNames, type ShapeOptions } from '../../../support/builders.ts';
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

it('what pods prefer is read only if an expander compares it', () => {
  const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, preference }] };
  const json = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }], affinity: { nodeAffinity } } };
  expect(projectPod(json, createPodProjection(resourceNames, { affinity: true })).shape.preferred).toEqual([prefers(5, 'disk', 'ssd')]);
  const { shape } = projectPod(json, createPodProjection(resourceNames));
  expect([shape.preferred, shape.key.includes('ssd')]).toEqual([undefined, false]);
});

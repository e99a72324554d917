/** Numbers of objects that ask for capacity: a number that no cluster can have makes its own object invalid, and nothing is made from it. */
import { describe, expect, it } from 'vitest';
import { ResourceNames } from '../../../src/domain/resources.ts';
import type { ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import { projectBuffer, projectRequest, projectScalable, type BufferJson } from '../../../src/kubernetes/projection/capacity-objects.ts';
import { Shapes } from '../../../src/kubernetes/projection/pod-shape.ts';
import { projectBudget, projectWorkload } from '../../../src/kubernetes/projection/workloads.ts';

/** Values where a whole number is documented, and whether they are one that a cluster can have. */
const NUMBERS: readonly (readonly [what: string, value: unknown, accepted: number | undefined])[] = [
  ['zero', 0, 0],
  ['a usual number', 12, 12],
  ['the pods of the largest cluster', 150_000, 150_000],
  ['one more', 150_001, undefined],
  ['two thousand million', 2_000_000_000, undefined],
  ['a number beyond all whole ones', 1e308, undefined],
  ['no number', Number.NaN, undefined],
  ['infinity', Number.POSITIVE_INFINITY, undefined],
  ['a negative one', -1, undefined],
  ['a fraction', 1.5, undefined],
  ['a text', '3', undefined],
  ['a list', [3], undefined],
  ['a truth value', true, undefined],
];

const spec = (change: object): BufferJson => ({
  metadata: { name: 'spare', namespace: 'default' },
  spec: { podTemplateRef: { name: 'shape' }, ...change },
});

describe('the replicas of a CapacityBuffer', () => {
  it.each(NUMBERS)('are read if they are %s, or else its problem names them', (_what, value, accepted) => {
    const buffer = projectBuffer(spec({ replicas: value }), new ResourceNames());
    if (accepted !== undefined) expect(buffer).toMatchObject({ replicas: accepted });
    else expect(buffer.problem?.message).toMatch(/^replicas is .+; it must be a whole number from 0 to 150000$/);
    expect(buffer.problem === undefined).toBe(accepted !== undefined);
  });

  it('are zero if they are -0, and absent if they are null', () => {
    expect(Object.is(projectBuffer(spec({ replicas: -0 }), new ResourceNames()).replicas, 0)).toBe(true);
    expect(projectBuffer(spec({ replicas: null, limits: { cpu: '1' } }), new ResourceNames()).problem).toBeUndefined();
  });

  it.each(NUMBERS)('as a percentage of %s are held by the same bound', (_what, value, accepted) => {
    const buffer = projectBuffer(spec({ replicas: 1, percentage: value }), new ResourceNames());
    expect(buffer.problem === undefined).toBe(accepted !== undefined);
  });
});

describe('the counts of a ProvisioningRequest', () => {
  const request = (...counts: readonly unknown[]) =>
    projectRequest({
      metadata: { name: 'r' },
      spec: { podSets: counts.map((count) => ({ podTemplateRef: { name: 'shape' }, count })) },
    } as ObjectJson);

  it.each([
    ['a usual one', [3], undefined],
    ['the most of one set', [16_384], undefined],
    ['one more', [16_385], 'a count is 16385'],
    ['two thousand million', [2_000_000_000], 'a count is 2000000000'],
    ['no number', [Number.NaN], 'a count is NaN'],
    ['a negative one', [-4], 'a count is -4'],
    ['a fraction', [0.5], 'a count is 0.5'],
    ['a text', ['3'], 'a count is "3"'],
    ['nine sets of the most', Array.from({ length: 9 }, () => 16_384), undefined],
    ['ten sets of the most', Array.from({ length: 10 }, () => 16_384), 'they ask for 163840 pods'],
    ['too many sets', Array.from({ length: 33 }, () => 1), '33 pod sets are given, and 32 are accepted'],
  ])('%s', (_what, counts, problem) => {
    const { problem: found, podSets } = request(...counts);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found?.message).toContain(problem);
    expect(podSets).toHaveLength(problem === undefined ? counts.length : 0);
  });
});

describe('numbers that other controllers write', () => {
  it.each([
    ['2,000,000,000 replicas are what the API accepts', 2_000_000_000, 2_000_000_000],
    ['1e308 replicas are none', 1e308, 0],
    ['a text is none', '7', 0],
    ['a negative number is none', -7, 0],
  ])('%s', (_what, replicas, desired) => {
    const json = { metadata: { name: 'web' }, spec: { replicas } } as ObjectJson;
    expect(projectWorkload('ReplicaSet', json).desired).toBe(desired);
    const names = new ResourceNames();
    expect(projectScalable({ kind: 'Deployment', apiGroup: 'apps' }, json, { shapes: new Shapes(names), names }).replicas).toBe(desired);
  });

  it.each([['5'], [Number.NaN], [1e308], [-1], [0.5]])('a disruption budget of %o allows no eviction', (disruptionsAllowed) => {
    expect(projectBudget({ metadata: { name: 'b' }, status: { disruptionsAllowed } } as ObjectJson).disruptionsAllowed).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { IncreaseOutcome } from '../../../src/domain/outcome.ts';
import { NOTHING_PLANNED, type ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { PodGroups } from '../../../src/domain/workloads.ts';
import type { FitReason, GroupRefusal, PodVerdict } from '../../../src/domain/reasons.ts';
import type { Advice } from '../../../src/planning/explain/advice/fix.ts';
import { increaseEvents, podsWithoutScaleUpEvents, type UnhelpedPodsInput } from '../../../src/planning/explain/scale-up-events.ts';
import { aGroup, aPod, somePodGroups, START_MS } from '../../support/builders.ts';

const group = aGroup({ id: 'aks-general-vmss', target: 3 });
const increase = { group: group.id, from: 3, to: 5, version: '', pods: [aPod({ name: 'web' })], cause: 'pods' } as const;
const refusal = new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'No stock.');

/** In the words by which people and their tools find the Cluster Autoscaler's. */
describe('events of a capacity write', () => {
  it.each<[string, IncreaseOutcome, readonly string[]]>([
    [
      'accepted',
      { kind: 'accepted', group: group.id, target: 5 },
      [
        `Normal Pod/web TriggeredScaleUp: pod triggered scale-up: [{aks-general-vmss 3->5 (max: ${group.maxSize})}]`,
        `Normal ConfigMap/cluster-autoscaler-status ScaledUpGroup: Scale-up: group aks-general-vmss size set to 5 instead of 3 (max: ${group.maxSize})`,
      ],
    ],
    [
      'failed',
      { kind: 'failed', group: group.id, error: refusal },
      [
        `Warning ConfigMap/cluster-autoscaler-status FailedToScaleUpGroup: Scale-up failed for group aks-general-vmss: No stock (aks-general-vmss 3->5 (max: ${group.maxSize}))`,
      ],
    ],
    ['met by a conflict', { kind: 'conflict', group: group.id, observed: 4 }, []],
    ['withheld', { kind: 'withheld', group: group.id }, []],
  ])('%s', (_name, outcome, expected) => {
    const told = increaseEvents({ increase, outcome, atMs: START_MS }, group, 'kube-system', undefined);
    expect(told.map(({ type, subject, reason, message }) => `${type} ${subject.kind}/${subject.name} ${reason}: ${message}`)).toEqual(
      expected,
    );
  });
});

it('the event of a scale-up says how a pod of a group is planned', () => {
  const gang = 'pod group train-0';
  const pods = [aPod({ name: 'train', shape: { gang } }), aPod({ name: 'web' })];
  const group = aGroup({ id: 'g', target: 1 });
  const increase = { group: group.id, from: 1, to: 2, version: '"1"', pods, cause: 'pods' as const };
  const record = { increase, outcome: { kind: 'accepted' as const, group: group.id, target: 2 }, atMs: START_MS };
  const told = (podGroups?: PodGroups) => increaseEvents(record, group, 'kube-system', podGroups).map(({ message }) => message);
  expect(told(somePodGroups({ 'train-0': 8 }))[0]).toBe(
    'pod triggered scale-up: [{g 1->2 (max: 10)}]; pod group train-0 starts with 8 pods together',
  );
  expect(told(somePodGroups({ 'train-0': undefined }))[0]).toBe('pod triggered scale-up: [{g 1->2 (max: 10)}]');
  expect(told().slice(0, 2)).toEqual([
    'pod triggered scale-up: [{g 1->2 (max: 10)}]; planned as an ordinary pod although it belongs to pod group train-0',
    'pod triggered scale-up: [{g 1->2 (max: 10)}]',
  ]);
});

describe("why a pod didn't trigger a scale-up", () => {
  const GIB = 2 ** 30;
  const groups = ['full', 'small', 'x1', 'x2', 'x3', 'x4', 'x5'].map((id) => aGroup({ id, target: id === 'full' ? 4 : 0, maxSize: 4 }));
  const short = (resource: string, requested: number, free: number): FitReason => ({
    kind: 'insufficient-resource',
    resource,
    requested,
    free,
  });
  const fits = new Map<string, readonly FitReason[]>([
    ['full', []],
    ['small', [short('memory', 64 * GIB, 24.9 * GIB), short('cpu', 20_000, 3_800)]],
  ]);
  const byGroup = groups.map(({ id }): GroupRefusal => {
    const fit = fits.get(id) ?? [short('nvidia.com/gpu', 1, 0)];
    return { group: id, ...(fit.length === 0 ? { skip: { kind: 'max-size', max: 4 } } : { fit }) };
  });
  const verdict = { kind: 'helpless', byGroup } as const;
  const plan = (pods: readonly Pod[]): ScaleUpPlan => ({
    ...NOTHING_PLANNED,
    verdicts: new Map(pods.map((pod) => [pod, verdict])),
  });
  const NO_ADVICE = { groups, advice: new Map() };
  const messages = (given: Pick<UnhelpedPodsInput, 'plan'> & Partial<UnhelpedPodsInput>) =>
    finishAtOnce(podsWithoutScaleUpEvents({ ...NO_ADVICE, ...given })).map(({ message }) => message);

  it('names every pool with all its obstacles; the nearest pool comes first', () => {
    expect(messages({ plan: plan([aPod()]) })).toEqual([
      "pod didn't trigger scale-up: 7 of 7 pools cannot take this pod now. full: at its maximum (4 of 4 nodes); " +
        'x1, x2, x3 and 2 others: needs 1 nvidia.com/gpu, the node offers 0; ' +
        'small: needs 64 GiB memory, the node offers 24.9, and needs 20 CPU, the node offers 3.8',
    ]);
  });

  it('may be interrupted after a few pods, each of which may need a text of its own', () => {
    const verdicts = new Map(Array.from({ length: 80 }, () => [aPod(), { ...verdict }] as const));
    expect([...podsWithoutScaleUpEvents({ plan: { ...plan([]), verdicts }, ...NO_ADVICE })]).toHaveLength(10);
  });

  it('puts pools that differ only in a value that the pod does not want in one row', () => {
    const gap = (found: string): FitReason => ({
      kind: 'node-selector-mismatch',
      detail: '',
      gaps: [{ key: 'team', operator: 'In', values: ['a'], found }],
    });
    const of = (...values: readonly string[]): PodVerdict => ({
      kind: 'helpless',
      byGroup: values.map((value, at) => ({ group: groups[at]!.id, fit: [gap(value)] })),
    });
    const told = (each: PodVerdict) => messages({ plan: { ...plan([]), verdicts: new Map([[aPod(), each]]) } })[0];
    expect(told(of('b', 'c'))).toContain('full, small: needs the label team=a, the nodes have other values');
    expect(told(of('b', 'b'))).toContain('full, small: needs the label team=a, the node has team=b');
  });

  it('advises only what was simulated for these pods', () => {
    const proof = { pods: 1, of: 1, others: 0, nodes: 1, groups: [] };
    const advice = new Map<PodVerdict, Advice>([
      [verdict, { fix: { changes: [], steps: [], text: 'raise the maximum of full from 4 to 5', proof }, tried: 2 }],
    ]);
    expect(messages({ plan: plan([aPod()]), advice })[0]).toContain(
      'cannot take this pod now. Fix that works: raise the maximum of full from 4 to 5. full: at its maximum',
    );
    expect(messages({ plan: plan([aPod()]), advice: new Map([[verdict, { tried: 9 }]]) })[0]).not.toContain('Fix');
  });

  it('is said once for pods that start together, on their group, with both numbers', () => {
    const gang = { title: 'pod group train', kind: 'PodGroup', namespace: 'ml', name: 'train', uid: 'u', needs: 8, placed: 5 } as const;
    const shared: PodVerdict = { ...verdict, gang };
    const events = finishAtOnce(
      podsWithoutScaleUpEvents({ plan: { ...plan([]), verdicts: new Map([aPod(), aPod()].map((pod) => [pod, shared])) }, ...NO_ADVICE }),
    );
    expect(events.map(({ subject }) => subject)).toEqual([{ kind: 'PodGroup', namespace: 'ml', name: 'train', uid: 'u' }]);
    expect(events[0]?.message).toMatch(
      /^pod group didn't trigger scale-up: pod group train starts with 8 pods together, and 5 have a place; .*cannot take the others now/,
    );
  });

  it('cuts whole rows and counts the pools that are left', () => {
    const many = Array.from({ length: 40 }, (_, at) => ({
      group: aGroup({ id: `pool-${at}` }).id,
      fit: [short('cpu', 9_000 + 10 * at, 4_000)],
    }));
    const long = { ...plan([]), verdicts: new Map([[aPod(), { kind: 'helpless', byGroup: many } as const]]) };
    const [message = ''] = messages({ plan: long });
    expect(message.length).toBeLessThanOrEqual(1024);
    const named = message.match(/pool-\d+: /g)?.length ?? 0;
    expect(message.endsWith(`; and ${40 - named} more pools`)).toBe(true);
    expect(named).toBeGreaterThan(10);
  });
});

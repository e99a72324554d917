import { array, assert, constant, constantFrom, oneof, property, string, type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterLimit, FitReason, LabelGap, SkipReason } from '../../../src/domain/reasons.ts';
import { explainFit } from '../../../src/planning/explain/obstacles.ts';
import { explainRefusal } from '../../../src/planning/explain/refusals.ts';
import { aGroup } from '../../support/builders.ts';

const GIB = 2 ** 30;
const short = (resource: string, requested: number, free: number): FitReason => ({
  kind: 'insufficient-resource',
  resource,
  requested,
  free,
});
const mismatch = (...gaps: readonly LabelGap[]): FitReason => ({ kind: 'node-selector-mismatch', detail: 'not shown', gaps });

describe('an obstacle in words', () => {
  it.each<[string, FitReason, string]>([
    ['CPU with at most 2 decimals', short('cpu', 20_000, 3_825), 'needs 20 CPU, the node offers 3.83'],
    ['CPU that would look equal', short('cpu', 3_861, 3_860), 'needs 3.861 CPU, the node offers 3.86'],
    ['memory in one unit', short('memory', 64 * GIB, 24.93 * GIB), 'needs 64 GiB memory, the node offers 24.9'],
    ['memory that would look equal', short('memory', 24.94 * GIB, 24.92 * GIB), 'needs 24.94 GiB memory, the node offers 24.92'],
    ['a node that DaemonSets fill', short('memory', 512 * 2 ** 20, -5), 'needs 512 MiB memory, the node offers 0'],
    ['an extended resource', short('nvidia.com/gpu', 2, 1), 'needs 2 nvidia.com/gpu, the node offers 1'],
    ['places for pods', short('pods', 1, 0), 'the node has room for 0 pods besides its DaemonSet and static pods'],
    ['volumes', short('attachable-volumes-csi-x', 5, 4), 'needs 5 volumes attached, the node has room for 4'],
    ['a taint', { kind: 'untolerated-taint', taint: 'team=data:NoSchedule' }, 'taint team=data:NoSchedule is not tolerated'],
    ['a label that is absent', mismatch({ key: 'a', operator: 'In', values: ['1'] }), 'needs the label a=1, the node does not have it'],
    [
      'a label with another value',
      mismatch({ key: 'a', operator: 'In', values: ['1', '2'], found: '3' }),
      'needs the label a=1 or 2, the node has a=3',
    ],
    [
      'two labels of one term',
      mismatch({ key: 'a', operator: 'Exists', values: [] }, { key: 'b', operator: 'DoesNotExist', values: [], found: '' }),
      'needs a label a, the node does not have it and needs a node without the label b, the node has b=',
    ],
    ['a number', mismatch({ key: 'a', operator: 'Gt', values: ['5'], found: '4' }), 'needs a above 5, the node has a=4'],
    ['the name of a pool', mismatch({ key: 'agentpool', operator: 'In', values: ['gpu'], found: 'cpu' }), 'the pod selects pool gpu'],
    ['the name of a node', mismatch({ key: 'metadata.name', operator: 'In', values: ['n-1'], found: ':t' }), 'needs a node that is n-1'],
    ['a recorded reason of an earlier version', { kind: 'node-selector-mismatch', detail: 'a=1 is required' }, 'a=1 is required'],
  ])('%s', (_what, reason, words) => {
    expect(explainFit(reason)).toBe(words);
  });

  it('of a volume has no separator inside', () => {
    const reason: FitReason = { kind: 'volume', message: 'node(s) had no zone', detail: 'wants a; the node has b;' };
    expect(explainFit(reason)).toBe('node(s) had no zone: wants a, the node has b');
  });
});

describe('the obstacles of a pool', () => {
  it('are all named: those of the pod, then that of the pool', () => {
    const fit = [short('cpu', 40_000, 7_800), { kind: 'untolerated-taint', taint: 'gpu:NoSchedule' } as const];
    const group = aGroup({ id: 'a', target: 4, maxSize: 4 });
    expect(explainRefusal({ group: group.id, fit, skip: { kind: 'max-size', max: 4 } }, group).detail).toBe(
      'needs 40 CPU, the node offers 7.8; taint gpu:NoSchedule is not tolerated; at its maximum (4 of 4 nodes)',
    );
  });

  const text = string({ unit: constantFrom('a', ';', ' ', 'b'), maxLength: 12 });
  const limit: ClusterLimit = { limit: 'cores', value: 8, used: 8, needs: 4 };
  const skips: Arbitrary<SkipReason> = oneof(
    text.map((detail) => ({ kind: 'frozen', detail }) as const),
    text.map((cause) => ({ kind: 'backoff', untilMs: 0, cause }) as const),
    text.map((code) => ({ kind: 'stockout', untilMs: 0, code }) as const),
    text.map((quota) => ({ kind: 'quota', quota, used: 1, limit: 1, needs: 1 }) as const),
    constant({ kind: 'cluster-limit', ...limit, also: [{ ...limit, limit: 'memory' }] } as const),
    text.map(
      (quota) =>
        ({
          kind: 'capacity-quota',
          exceeded: ['x', quota].map((each) => ({ quota: each, resources: ['cpu', 'memory'], short: [{ left: 1, needs: 2 }] })),
        }) as const,
    ),
  );
  const fits: Arbitrary<FitReason> = oneof(
    text.map((detail) => ({ kind: 'volume', message: detail, detail }) as const),
    text.map((detail) => ({ kind: 'unsupported', feature: detail, detail }) as const),
    text.map((detail) => ({ kind: 'node-selector-mismatch', detail }) as const),
    text.map((taint) => ({ kind: 'untolerated-taint', taint }) as const),
  );

  it('can be told apart: the separator stands between reasons only', () => {
    assert(
      property(array(fits, { maxLength: 4 }), skips, (fit, skip) => {
        const separate = new Set([...fit.map(explainFit), explainRefusal({ group: aGroup({ id: 'a' }).id, skip }, undefined).detail]);
        const { detail } = explainRefusal({ group: aGroup({ id: 'a' }).id, fit, skip }, undefined);
        expect(detail.split('; ')).toEqual([...separate]);
      }),
      { seed: 15 },
    );
  });
});

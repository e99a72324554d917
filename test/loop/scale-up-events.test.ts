import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/domain/errors.ts';
import type { IncreaseOutcome } from '../../src/domain/outcome.ts';
import { increaseEvents } from '../../src/loop/scale-up-events.ts';
import { aGroup, aPod, START_MS } from '../support/builders.ts';

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
        `Warning ConfigMap/cluster-autoscaler-status FailedToScaleUpGroup: Scale-up failed for group aks-general-vmss 3->5 (max: ${group.maxSize}): No stock.`,
      ],
    ],
    ['met by a conflict', { kind: 'conflict', group: group.id, observed: 4 }, []],
    ['withheld', { kind: 'withheld', group: group.id }, []],
  ])('%s', (_name, outcome, expected) => {
    const told = increaseEvents({ increase, outcome, atMs: START_MS }, group, 'kube-system');
    expect(told.map(({ type, subject, reason, message }) => `${type} ${subject.kind}/${subject.name} ${reason}: ${message}`)).toEqual(
      expected,
    );
  });
});

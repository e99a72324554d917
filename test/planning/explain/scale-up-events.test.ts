import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { IncreaseOutcome } from '../../../src/domain/outcome.ts';
import type { FitReason } from '../../../src/domain/reasons.ts';
import { countReasons, increaseEvents } from '../../../src/planning/explain/scale-up-events.ts';
import { aGroup, aPod, START_MS } from '../../support/builders.ts';

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
    const told = increaseEvents({ increase, outcome, atMs: START_MS }, group, 'kube-system');
    expect(told.map(({ type, subject, reason, message }) => `${type} ${subject.kind}/${subject.name} ${reason}: ${message}`)).toEqual(
      expected,
    );
  });
});

describe("why a pod didn't trigger a scale-up, in kube-scheduler's words", () => {
  const short = (resource: string): FitReason => ({ kind: 'insufficient-resource', resource, requested: 2, free: 1 });
  const placed = (rule: Extract<FitReason, { kind: 'pod-affinity' }>['rule']): FitReason => {
    return { kind: 'pod-affinity', rule, topologyKey: 'zone', detail: 'other pods' };
  };
  it.each<[FitReason, string]>([
    [short('cpu'), 'Insufficient cpu'],
    [short('nvidia.com/gpu'), 'Insufficient nvidia.com/gpu'],
    [short('pods'), 'Too many pods'],
    [short('attachable-volumes-csi-disk.csi.azure.com'), 'node(s) exceed max volume count'],
    [{ kind: 'untolerated-taint', taint: 'dedicated=gpu:NoSchedule' }, 'node(s) had untolerated taint(s)'],
    [{ kind: 'node-selector-mismatch', detail: 'pool=a is required' }, "node(s) didn't match Pod's node affinity/selector"],
    [{ kind: 'host-port-taken', port: 80, protocol: 'TCP' }, "node(s) didn't have free ports for the requested pod ports"],
    [{ kind: 'unschedulable' }, 'node(s) were unschedulable'],
    [{ kind: 'node-features', features: ['A'] }, "node(s) didn't match Pod's required features"],
    [{ kind: 'topology-spread', topologyKey: 'zone', detail: 'skew 2 > 1' }, "node(s) didn't match pod topology spread constraints"],
    [
      { kind: 'topology-spread', topologyKey: 'zone', detail: 'missing required label' },
      "node(s) didn't match pod topology spread constraints (missing required label)",
    ],
    [placed('repelled'), "node(s) didn't satisfy existing pods anti-affinity rules"],
    [placed('anti-affinity'), "node(s) didn't match pod anti-affinity rules"],
    [placed('affinity'), "node(s) didn't match pod affinity rules"],
    [{ kind: 'volume', message: 'node(s) had no available volume zone', detail: 'it is in we-1' }, 'node(s) had no available volume zone'],
  ])('%o', (fit, words) => {
    const refusals = ['a', 'b'].map((name) => ({ group: aGroup({ id: name }).id, fit: [fit] }));
    expect(countReasons(refusals)).toBe(`2 ${words}`);
  });
});

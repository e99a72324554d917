/** What answers say about the past and the near future, as documents. */
import { describe, expect, it } from 'vitest';
import type { CapacityChange } from '../../../../src/domain/history.ts';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { answerOn } from '../../../../src/planning/explain/answers/answer.ts';
import { countByOwner, ownerKind, ownerName } from '../../../../src/planning/explain/pod-owners.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { aRecord, aReport } from '../../../observers/history/support.ts';
import { aCluster, aGroup, anObservation, aPod, aTemplate, resourceNames, START_MS } from '../../../support/builders.ts';
import { aHistory } from '../../../support/history.ts';
import { aPolicy } from '../../../support/policy.ts';
import { FIRST_PLAN } from '../../../../src/planning/scale-up/plan-input.ts';
import { anAcceptedIncrease, aState, type StateParts } from '../../../support/state.ts';
import { ONLY_DECIDED } from '../../../../src/planning/explain/answers/pod-answer.ts';

const MINUTE = 60_000;
const A = nodeGroupId('a');
const pod = aPod({ name: 'web', cpu: '3' });

interface AnswersOptions {
  readonly state?: StateParts;
  readonly pods?: readonly Pod[];
  readonly maxSize?: number;
  /** Groups beside `a`. */
  readonly others?: readonly NodeGroup[];
}

function answers({ state = {}, pods = [pod], maxSize = 10, others = [] }: AnswersOptions = {}) {
  const observation = anObservation([aGroup({ id: 'a', target: 1, maxSize, instances: [] }), ...others], aCluster({ pods }));
  const input = {
    ...FIRST_PLAN,
    observation,
    state: aState(state),
    policy: aPolicy({ scaleUp: { enforceMinSize: false } }),
    names: resourceNames,
  };
  return { ...ONLY_DECIDED, input, scaleUp: planScaleUp(input) };
}

it.each([
  [{ unseen: true }, 'kube-scheduler has not tried it yet, or a scheduling gate holds it (spec.schedulingGates)'],
  [{}, 'kube-scheduler does not try it: a scheduling gate holds it (spec.schedulingGates) until its controller removes the gate'],
] as const)('a pod that kube-scheduler did not refuse, %j, is said to wait for kube-scheduler', (more, why) => {
  const gated: Pod = aPod({ name: 'gated', unschedulable: undefined, ...more });
  const answer = answerOn({ kind: 'pod', name: 'default/gated' }, answers({ pods: [gated] }));
  expect(answer?.sentence).toBe(`Pending: it causes no scale-up, ${why}.`);
});

it('a pool of last resort is said to be able to grow, and why it does not', () => {
  const lastResort = 'another cluster got no Standard_D4s_v5, and it grows only for pods that no other pool can take';
  const other = aGroup({ id: 'b', target: 0, lastResort });
  expect(answerOn({ kind: 'pool', name: 'b' }, answers({ others: [other] }))?.sentence).toBe(
    `May grow, and does not: ${lastResort} (0 of at most 10 nodes).`,
  );
});

it.each([
  [
    'a pause',
    { frozen: 'paused until 2026-11-29T00:00:00Z by ann' },
    'Cannot grow: node group is frozen: paused until 2026-11-29T00:00:00Z by ann.',
  ],
  ['a pause of increases', { growthHeld: 'increases are paused' }, 'Cannot grow: node group is frozen: increases are paused.'],
])('a pool that may not grow is not said to be able to although no pod is pending: %s', (_, blocks, sentence) => {
  const other = aGroup({ id: 'b', target: 0, ...blocks });
  expect(answerOn({ kind: 'pool', name: 'b' }, answers({ others: [other], pods: [] }))?.sentence).toBe(sentence);
});

it('a pool with reserved capacity says how many nodes fit into it, and what is unknown of it', () => {
  const group = aGroup({ id: 'r', target: 0, template: { ...aTemplate(), reservations: ['crg|1', 'crg|2'] } });
  const answered = (unknown?: string) => {
    const reserved = ['crg|1', 'crg|2'].map((name, at) => ({
      name,
      group: 'crg',
      reserved: 3,
      used: at + 1,
      ...(unknown === undefined ? {} : { unknown }),
    }));
    const { input, ...decided } = answers({ others: [group] });
    const observation = { ...input.observation, cloud: { ...input.observation.cloud, reservations: reserved } };
    const answer = answerOn({ kind: 'pool', name: 'r' }, { ...decided, input: { ...input, observation } });
    return answer?.kind === 'pool' ? answer.reservation : undefined;
  };
  expect(answered()).toEqual({ group: 'crg', reserved: 3, used: 2, room: 1 });
  expect(answered('it has not been read yet')).toMatchObject({ unknown: 'it has not been read yet' });
});

it('a pool whose machines AKS creates says that nodes on their way are hardly cancelled, where they are to be', () => {
  const { input, ...decided } = answers({ others: [aGroup({ id: 'vms/standard_d4s_v5', kind: 'vms-pool', target: 0 })] });
  const cancelling = (name: string, cancelIncreases: boolean) => {
    const policy = { ...input.policy, scaleDown: { ...input.policy.scaleDown, cancelIncreases } };
    const answer = answerOn({ kind: 'pool', name }, { ...decided, input: { ...input, policy } });
    return answer?.kind === 'pool' ? answer.cancelling : '';
  };
  expect(cancelling('vms/standard_d4s_v5', true)).toContain('AKS accepts no other request for the pool');
  expect([cancelling('vms/standard_d4s_v5', false), cancelling('a', true)]).toEqual([undefined, undefined]);
});

describe('the expected time of a node', () => {
  const on = { group: A, nodes: 1, requestedAtMs: START_MS - MINUTE, expectedByMs: START_MS + 14 * MINUTE };
  const accepted = new Map([[A, [anAcceptedIncrease({ acceptedAtMs: START_MS - MINUTE, pods: [{ uids: [pod.uid] }] })]]]);
  const readyTimes = new Map([[A, [3 * MINUTE, 2 * MINUTE, 9 * MINUTE]]]);

  it.each<[string, StateParts, object]>([
    ['of a request that is made now', { readyTimes }, { requestedAt: at(0), readyAt: at(3), lateAfter: at(9), seen: 3 }],
    [
      'of a request that was made before',
      { readyTimes, accepted, awaited: new Map([[A, on]]) },
      { requestedAt: at(-1), readyAt: at(2), lateAfter: at(8), p50Ms: 3 * MINUTE, p90Ms: 9 * MINUTE },
    ],
  ])('%s', (_, state, expected) => {
    expect(answerOn({ kind: 'pod', name: 'default/web' }, answers({ state }))).toMatchObject({ expected: { pool: 'a', ...expected } });
  });

  it('is unknown before the first increase of the pool', () => {
    expect(answerOn({ kind: 'pod', name: 'default/web' }, answers())).toMatchObject({ expected: { pool: 'a', seen: 0 } });
    expect(answerOn({ kind: 'pod', name: 'default/web' }, answers())).not.toHaveProperty('expected.readyAt');
  });
});

function at(minutes: number): string {
  return new Date(START_MS + minutes * MINUTE).toISOString();
}

describe('what was done before', () => {
  const history = aHistory();
  history.observe(aReport({ records: [aRecord([pod])] }));
  const change: CapacityChange = { atMs: START_MS + 1, group: A, from: 2, to: 4, actor: 'aks', why: 'x', outcome: 'observed' };
  history.restore([{ kind: 'change', change: { ...change, atMs: START_MS, actorName: 'ci@example.com' } }]);

  it('for a pod: the changes whose decisions name it', () => {
    const answer = answerOn({ kind: 'pod', name: 'default/web' }, { ...answers(), history });
    expect(answer).toMatchObject({ before: [{ pool: 'a', from: 1, to: 2, by: 'autoscaler', decision: '20261121-000000-1' }] });
  });

  it('for another pod: the last change of the pool that would take it', () => {
    const other = aPod({ name: 'web-2', cpu: '3' });
    const answer = answerOn({ kind: 'pod', name: 'default/web-2' }, { ...answers({ pods: [other] }), history });
    expect(answer).toMatchObject({ before: [{ pool: 'a', from: 2, to: 4, by: 'AKS: ci@example.com' }] });
  });

  it('for a pod that no pool fits: the last change of the pool that the fix is about', () => {
    const tainted = aGroup({
      id: 'b',
      target: 0,
      template: aTemplate({ cpu: '8', taints: [{ key: 'x', value: 'y', effect: 'NoSchedule' }] }),
    });
    const large = aPod({ name: 'large', cpu: '6' });
    const answer = answerOn({ kind: 'pod', name: 'default/large' }, { ...answers({ pods: [large], others: [tainted] }), history });
    expect(answer).toMatchObject({ advice: { text: expect.stringContaining('x=y:NoSchedule') as unknown }, before: [] });
  });

  it('to a pool: every change with its writer', () => {
    const answer = answerOn({ kind: 'pool', name: 'a' }, { ...answers(), history });
    expect(answer).toMatchObject({ changesSince: at(0), changes: [{ by: 'AKS: ci@example.com' }, { by: 'autoscaler' }] });
  });

  it('is empty without a history', () => {
    expect(answerOn({ kind: 'pool', name: 'a' }, answers())).toMatchObject({ changes: [] });
    expect(answerOn({ kind: 'pool', name: 'a' }, answers())).not.toHaveProperty('changesSince');
  });
});

describe('owners of pods', () => {
  const hash = { labels: { 'pod-template-hash': '5d9c' } };
  const replicaSet = { kind: 'ReplicaSet', name: 'shop-5d9c', uid: 'rs' };
  it.each<[string, Pod, string]>([
    ['a Deployment', aPod({ controller: replicaSet, shape: hash }), 'Deployment default/shop'],
    ['a ReplicaSet of its own', aPod({ controller: replicaSet }), 'ReplicaSet default/shop-5d9c'],
    ['a Job', aPod({ controller: { kind: 'Job', name: 'train', uid: 'j' } }), 'Job default/train'],
    ['nothing', aPod({ name: 'lone', controller: undefined }), 'Pod default/lone'],
  ])('%s', (_, owned, name) => expect(`${ownerKind(owned)} ${ownerName(owned)}`).toBe(name));

  it('are counted, the most pods first', () => {
    expect(countByOwner([])).toBe('no pods');
    expect(countByOwner([aPod({ name: 'lone', controller: undefined }), aPod(), aPod()])).toBe('2 pods of default/web and 1 other');
  });
});

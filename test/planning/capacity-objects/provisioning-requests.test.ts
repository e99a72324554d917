/** Requests for capacity: whose turn it is, what a turn finds, what is held after it, and how each ends. */
import { describe, expect, it } from 'vitest';
import {
  type CapacityObjects,
  type CapacityStatus,
  conditionOf,
  NO_CAPACITY_OBJECTS,
  type ProvisioningRequest,
  type StatusCondition,
} from '../../../src/domain/capacity-objects.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { InstanceState } from '../../../src/domain/node-group.ts';
import type { Increase } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import {
  statusOverTime,
  statusAfterTurn,
  bookedPods,
  dueRequests,
  rememberTurn,
  staleRequests,
} from '../../../src/planning/capacity-objects/provisioning-requests.ts';
import { failureOfRequest, followRequests, madeForRequest } from '../../../src/planning/state/increases/requests-of-increases.ts';
import { followedIncreases } from '../../../src/planning/state/increases/increase-records.ts';
import type { IncreaseRecord } from '../../../src/domain/loop-report.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import {
  START_MS,
  aCluster,
  aGroup,
  aNode,
  aPod,
  aPodTemplate,
  aProvisioningRequest,
  aRef,
  aShape,
  aTemplate,
  anInstance,
  anObservation,
  resourceNames,
} from '../../support/builders.ts';
import { aCapacityPolicy, aPolicy } from '../../support/policy.ts';
import { growth } from '../scale-up/world.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { aBackoff, aState, withMade, type StateParts } from '../../support/state.ts';

const CHECK = 'check-capacity.autoscaling.x-k8s.io';
const ATOMIC = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const on = aCapacityPolicy({ requests: true });
const policy = { ...aPolicy({ scaleUp: { enforceMinSize: false } }), capacity: on };

const is = (type: string, sinceMs = START_MS - MINUTE, status: StatusCondition['status'] = 'True'): StatusCondition => ({
  type,
  status,
  reason: 'r',
  message: 'm',
  sinceMs,
});
const said = (...conditions: readonly StatusCondition[]): CapacityStatus => ({ conditions });

function aRequest(name: string, change: Partial<ProvisioningRequest> = {}): ProvisioningRequest {
  return aProvisioningRequest(name, { className: CHECK, podSets: [{ podTemplate: 'big', count: 2 }], ...change });
}

interface Setting {
  readonly requests: readonly ProvisioningRequest[];
  readonly nodes?: number;
  readonly pods?: readonly Pod[];
  readonly max?: number;
  readonly nowMs?: number;
  readonly groups?: readonly ReturnType<typeof aGroup>[];
}

function observe({ requests, nodes = 1, pods = [], max = 10, nowMs = START_MS, groups }: Setting) {
  const shape = aShape({ cpu: '3', memory: '1Gi' });
  const capacity: CapacityObjects = {
    ...NO_CAPACITY_OBJECTS,
    requests,
    podTemplates: new Map([['default/big', aPodTemplate('big', shape)]]),
  };
  const here = Array.from({ length: nodes }, (_none, at) => aNode({ name: `a-${at}` }));
  const cluster = aCluster({ nodes: here, pods, capacity });
  return anObservation(groups ?? [aGroup({ id: 'a', target: nodes, maxSize: max })], cluster, { nowMs });
}

function turn(setting: Setting, uid: string, granted: readonly string[] = []) {
  const observation = observe(setting);
  return planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy, names: resourceNames, request: { uid, granted } });
}
const kinds = (plan: ReturnType<typeof turn>): readonly string[] =>
  [...plan.verdicts].filter(([pod]) => pod.origin === 'request').map(([, { kind }]) => kind);
const words = (status: CapacityStatus): readonly string[] =>
  status.conditions.map(({ type, status: truth, reason }) => `${type} ${truth} ${reason}`);

describe('whose turn it is', () => {
  const due = (request: ProvisioningRequest, state: LoopState = aState(), change: Partial<typeof on> = {}): boolean =>
    dueRequests(observe({ requests: [request] }), state, { ...on, ...change }).length === 1;
  it.each([
    ['a new one', aRequest('r'), true],
    ['one that was not granted yet', aRequest('r', { status: said(is('Provisioned', 0, 'False')) }), true],
    ['one that is granted', aRequest('r', { status: said(is('Provisioned')) }), false],
    ['one that failed', aRequest('r', { status: said(is('Failed')) }), false],
    ['one whose capacity was revoked', aRequest('r', { status: said(is('CapacityRevoked')) }), false],
    ["another's class", aRequest('r', { className: 'example.com/mine' }), false],
    ["another instance's", aRequest('r', { parameters: { processorInstance: 'other' } }), false],
    ['an atomic one, whatever instance it names', aRequest('r', { className: ATOMIC, parameters: { processorInstance: 'other' } }), true],
    ['one whose template is not there', aRequest('r', { podSets: [{ podTemplate: 'gone', count: 1 }] }), false],
  ])('%s', (_what, request, expected) => {
    expect(due(request)).toBe(expected);
  });

  it('an instance serves those that name it; turned off, it serves none', () => {
    const named = aRequest('r', { parameters: { processorInstance: 'mine' } });
    expect(due(named, aState(), { processorInstance: 'mine' })).toBe(true);
    expect(due(aRequest('r'), aState(), { processorInstance: 'mine' })).toBe(false);
    expect(due(aRequest('r'), aState(), { requests: false })).toBe(false);
  });

  it('after a turn without room it waits a minute, then two, ten at most; the oldest memories go first', () => {
    let state: LoopState = aState();
    const waits: number[] = [];
    for (let tries = 0; tries < 6; tries++) {
      state = rememberTurn(state, 'uid-r', 'not-found', { policy: on, nowMs: START_MS });
      waits.push((state.requests?.retries.get('uid-r')?.untilMs ?? 0) - START_MS);
    }
    expect(waits.map((ms) => ms / MINUTE)).toEqual([1, 2, 4, 8, 10, 10]);
    expect(due(aRequest('r'), state)).toBe(false);
    expect(rememberTurn(state, 'uid-r', 'found', { policy: on, nowMs: START_MS }).requests?.retries.size).toBe(0);
    const small = { policy: { ...on, requestBackoffs: 1 }, nowMs: START_MS };
    expect([...(rememberTurn(state, 'other', 'not-found', small).requests?.retries.keys() ?? [])]).toEqual(['other']);
  });
});

describe('what a turn finds', () => {
  it('check-capacity: room that is there, and never a node', () => {
    expect(kinds(turn({ requests: [aRequest('r')], nodes: 2 }, 'uid-r'))).toEqual(['fits-present-node', 'fits-present-node']);
    const short = turn({ requests: [aRequest('r')], nodes: 1 }, 'uid-r');
    expect(kinds(short)).toContain('helpless');
    expect(growth(short)).toEqual([]);
  });

  it('check-capacity: pods whose turn it is not keep the room that they have, and wait with the rest', () => {
    const pods = [aPod({ cpu: '3' }), aPod({ cpu: '3' }), aPod({ cpu: '3' })];
    const plan = turn({ requests: [aRequest('r')], nodes: 2, pods }, 'uid-r');
    expect(kinds(plan)).toEqual(['helpless', 'helpless']);
    expect(pods.map((pod) => plan.verdicts.get(pod)?.kind)).toEqual(['fits-present-node', 'fits-present-node', 'waiting']);
  });

  it('a request granted in the same loop holds its room already', () => {
    const requests = [aRequest('r'), aRequest('s')];
    expect(kinds(turn({ requests, nodes: 2 }, 'uid-s', ['uid-r']))).toEqual(['helpless', 'helpless']);
    expect(kinds(turn({ requests, nodes: 4 }, 'uid-s', ['uid-r']))).toEqual(['fits-present-node', 'fits-present-node']);
  });

  it('atomic: what does not fit is ordered in one group, all of it or nothing', () => {
    const request = aRequest('r', { className: ATOMIC, podSets: [{ podTemplate: 'big', count: 4 }] });
    expect(growth(turn({ requests: [request], nodes: 1, max: 10 }, 'uid-r'))).toEqual(['a 1->4']);
    const capped = turn({ requests: [request], nodes: 1, max: 3 }, 'uid-r');
    expect(growth(capped)).toEqual([]);
    expect(kinds(capped).filter((kind) => kind === 'helpless')).toHaveLength(3);
    // Two groups could do it together, but where similar ones are not grown together one alone must.
    const groups = ['a', 'b'].map((id) => aGroup({ id, target: id === 'a' ? 1 : 0, maxSize: 3 }));
    expect(growth(turn({ requests: [request], groups }, 'uid-r'))).toEqual(['b 0->3']);
    const small = ['a', 'b'].map((id) => aGroup({ id, target: id === 'a' ? 1 : 0, maxSize: 2 }));
    expect(growth(turn({ requests: [request], groups: small }, 'uid-r'))).toEqual([]);
  });

  it('atomic: groups that are alike serve it together where similar groups are balanced, all of it or nothing', () => {
    const request = aRequest('r', { className: ATOMIC, podSets: [{ podTemplate: 'big', count: 5 }] });
    const balanced = { ...policy, scaleUp: { ...policy.scaleUp, balanceSimilarGroups: true } };
    const plan = (maxSize: number, part: Partial<Parameters<typeof aGroup>[0]> = {}) => {
      const groups = [aGroup({ id: 'a', target: 1, maxSize }), aGroup({ id: 'b', target: 0, maxSize, ...part })];
      const observation = observe({ requests: [request], groups });
      return planScaleUp({
        ...FIRST_PLAN,
        observation,
        state: aState(),
        policy: balanced,
        names: resourceNames,
        request: { uid: 'uid-r', granted: [] },
      });
    };
    const served = plan(3);
    expect(growth(served)).toEqual(['a 1->3', 'b 0->2']);
    expect(kinds(served)).toEqual(['fits-present-node', 'triggered', 'triggered', 'triggered', 'triggered']);
    // One node short: nothing is ordered at all.
    const short = plan(2);
    expect(growth(short)).toEqual([]);
    expect(kinds(short).filter((kind) => kind === 'helpless')).toHaveLength(4);
    // What is not alike is another option.
    expect(growth(plan(3, { maxSize: 1, template: aTemplate({ cpu: '8', memory: '16Gi' }) }))).toEqual([]);
  });
});

describe('what is said after a turn', () => {
  const after = (outcome: Parameters<typeof statusAfterTurn>[1], change: Partial<ProvisioningRequest> = {}) =>
    words(statusAfterTurn(aRequest('r', change), outcome, START_MS));
  it.each([
    ['found', {}, ['Accepted True Accepted', 'Provisioned True CapacityIsFound']],
    ['unchecked', {}, ['Accepted True Accepted', 'Provisioned False FailedToCheckCapacity']],
    ['provisioned', { className: ATOMIC }, ['Accepted True Accepted', 'Provisioned True CapacityIsProvisioned']],
    ['not-found', {}, ['Accepted True Accepted', 'Provisioned False CapacityIsNotFound']],
    ['undecided', {}, []],
  ] as const)('%s', (outcome, change, expected) => {
    expect(after(outcome, change)).toEqual(expected);
  });

  it('one that does not want to be tried again fails', () => {
    expect(after('not-found', { parameters: { noRetry: 'true' } })).toEqual(['Accepted True Accepted', 'Failed True CapacityIsNotFound']);
    expect(after('not-found', { parameters: { noRetry: 'false' } })).toContain('Provisioned False CapacityIsNotFound');
  });
});

describe('what is granted', () => {
  const granted = aRequest('r', { status: said(is('Accepted'), is('Provisioned')) });
  const consumer = (node: string, options: Parameters<typeof aPod>[0] = {}): Pod =>
    aPod({ cpu: '3', nodeName: node, consumes: 'r', ...options });
  const held = (request: ProvisioningRequest, pods: readonly Pod[] = [], nowMs = START_MS): number =>
    bookedPods(observe({ requests: [request], pods, nowMs, nodes: 3 })).length;

  it('is held for ten minutes, but not beside the pods that have taken it up', () => {
    expect(held(granted)).toBe(2);
    expect(held(granted, [consumer('a-0')])).toBe(1);
    expect(held(granted, [consumer('a-0', { consumes: 'other' })])).toBe(2);
    expect(held(granted, [], START_MS + 9 * MINUTE)).toBe(2);
    expect(held(granted, [], START_MS + 9 * MINUTE + 1)).toBe(0);
    for (const type of ['Failed', 'BookingExpired', 'CapacityRevoked'])
      expect(held({ ...granted, status: said(is('Provisioned'), is(type)) })).toBe(0);
  });

  it('other pods cannot have it, its own cause no scale-up of their own', () => {
    const other = aPod({ name: 'other', cpu: '3' });
    const own = aPod({ name: 'own', cpu: '3', consumes: 'r' });
    const observation = observe({ requests: [granted], nodes: 2, pods: [other, own] });
    const plan = planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy, names: resourceNames });
    expect(growth(plan)).toEqual(['a 2->3']);
    expect(plan.verdicts.get(other)).toEqual({ kind: 'triggered', group: 'a' });
    expect(plan.verdicts.get(own)).toEqual({ kind: 'ignored', reason: 'consumes-request' });
    expect(plan.reserved).toHaveLength(2);
    const off = planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy: aPolicy(), names: resourceNames });
    expect(growth(off)).toEqual([]);
  });

  it('is revoked when nodes of its order do not come, while it is held', () => {
    const aged = (nowMs: number, broken?: string) => words(statusOverTime(granted, observe({ requests: [granted], nowMs }), on, broken));
    expect(aged(START_MS)).toHaveLength(2);
    expect(aged(START_MS, 'AllocationFailed')).toContain('CapacityRevoked True CapacityIsNotFound');
    expect(aged(START_MS + 10 * MINUTE, 'AllocationFailed')).toContain('BookingExpired True CapacityReservationTimeExpired');
  });

  it('consumed by all of its pods it is over, by fewer it is not, and after ten minutes it is over all the same', () => {
    const aged = (pods: readonly Pod[], nowMs = START_MS) =>
      words(statusOverTime(granted, observe({ requests: [granted], pods, nowMs, nodes: 3 }), on, undefined));
    expect(aged([consumer('a-0'), consumer('a-1')])).toContain('BookingExpired True CapacityBookingConsumed');
    expect(aged([consumer('a-0')])).toHaveLength(2);
    expect(aged([], START_MS + 10 * MINUTE)).toContain('BookingExpired True CapacityReservationTimeExpired');
  });

  it('a request that is never granted fails after a week, one without its template after a minute, and both are deleted a week later', () => {
    const age = (request: ProvisioningRequest, nowMs: number) =>
      statusOverTime(request, observe({ requests: [request], nowMs }), on, undefined);
    const old = aRequest('r');
    expect(age(old, START_MS)).toBe(old.status);
    const failed = age(old, START_MS + 7 * DAY);
    expect(words(failed)).toEqual(['Failed True Expired']);
    const lacking = aRequest('r', { podSets: [{ podTemplate: 'gone', count: 1 }] });
    expect(age(lacking, START_MS)).toBe(lacking.status);
    expect(words(age(lacking, START_MS + 1))).toEqual(['Failed True FailedToCreatePods']);
    const sinceMs = conditionOf(failed, 'Failed')?.sinceMs ?? 0;
    const over = { ...old, status: failed };
    expect(staleRequests(observe({ requests: [over], nowMs: sinceMs + 7 * DAY }), on)).toEqual([]);
    expect(staleRequests(observe({ requests: [over], nowMs: sinceMs + 7 * DAY + 1 }), on)).toEqual([over]);
    expect(staleRequests(observe({ requests: [old], nowMs: START_MS + 30 * DAY }), on)).toEqual([]);
  });

  it('a template that goes while its room is held ends the booking; templates that cannot be read end nothing', () => {
    const of = (request: ProvisioningRequest, templates: CapacityObjects['podTemplates']) => {
      const observation = observe({ requests: [request] });
      const known = { ...observation.cluster.capacity, podTemplates: templates };
      return words(statusOverTime(request, { ...observation, cluster: { ...observation.cluster, capacity: known } }, on, undefined)).at(-1);
    };
    const held = aRequest('r', { status: said(is('Accepted'), is('Provisioned', START_MS - 2 * MINUTE)) });
    expect(of(held, new Map())).toBe('Failed True FailedToBookCapacity');
    expect(of(held, undefined)).toBe('Provisioned True r');
    const old = aRequest('r', { ref: aRef('ProvisioningRequest', 'r', { createdAtMs: START_MS - DAY }) });
    expect(of(old, new Map())).toBe('Failed True FailedToCreatePods');
    expect(of(old, undefined)).toBeUndefined();
  });
});

describe('an all-or-nothing increase', () => {
  const A = nodeGroupId('a');
  const increase: Increase = { group: A, from: 0, to: 2, version: 'v', pods: [], cause: 'pods' };
  const records: readonly IncreaseRecord[] = [{ increase, outcome: { kind: 'accepted', group: A, target: 2 }, atMs: START_MS }];
  const ordered = madeForRequest(withMade(new Map(), records, 1), 'uid-r', records, 1);
  const coming = new Map([[A, { group: A, nodes: 2, requestedAtMs: START_MS, expectedByMs: START_MS + DAY }]]);
  const failed = (atMs: number) =>
    new Map([[A, aBackoff({ untilMs: atMs + DAY, durationMs: DAY, lastFailureMs: atMs, cause: 'AllocationFailed' })]]);
  const look = (state: StateParts, machines: readonly InstanceState[], change: Partial<Setting> = {}) => {
    const instances = machines.map((is, at) => anInstance({ node: `a-${at}`, state: is }));
    const setting = { requests: [aRequest('r')], groups: [aGroup({ id: 'a', target: 2, instances })], nowMs: START_MS + MINUTE, ...change };
    return { increases: followRequests(ordered, aState(state), observe(setting)) };
  };
  const why = (...given: Parameters<typeof look>) => failureOfRequest(look(...given), 'uid-r');

  it.each<[string, string | undefined, number, Parameters<typeof look>]>([
    ['is on its way', undefined, 1, [{ awaited: coming }, ['running', 'creating']]],
    ['came', undefined, 0, [{}, ['running', 'running']]],
    ['has a machine that failed', 'AllocationFailed', 1, [{ backoffs: failed(START_MS + 1) }, ['running', 'failed']]],
    ['has one that is not listed', 'AllocationFailed', 1, [{ backoffs: failed(START_MS + 1) }, ['running']]],
    ['failed, and the list does not show it yet', undefined, 1, [{ backoffs: failed(START_MS + 1) }, ['running', 'creating']]],
    ['is all there, and others failed beside it', undefined, 1, [{ backoffs: failed(START_MS + 1) }, ['running', 'running', 'failed']]],
    ['had a failure before it', undefined, 1, [{ awaited: coming, backoffs: failed(START_MS - 1) }, ['running']]],
    ['has no group any more', 'its node group no longer exists', 1, [{ awaited: coming }, [], { groups: [] }]],
    ['is of a request that is gone', undefined, 0, [{ awaited: coming }, ['running'], { requests: [] }]],
    ['is of an hour ago', undefined, 0, [{ awaited: coming }, ['running'], { nowMs: START_MS + 60 * MINUTE }]],
  ])('%s: %s', (_name, cause, kept, given) => {
    expect([why(...given), followedIncreases(look(...given)).filter(({ request }) => request !== undefined).length]).toEqual([cause, kept]);
  });

  it('does not exist if nothing was accepted', () => {
    const refused: readonly IncreaseRecord[] = [{ increase, outcome: { kind: 'refused', group: A, reason: 'x' }, atMs: START_MS + 1 }];
    expect(madeForRequest(ordered, 'uid-r', refused, 1)).toBe(ordered);
  });

  it('replaces the earlier one of its request', () => {
    const later = records.map((record) => ({ ...record, atMs: START_MS + 1 }));
    const both = madeForRequest(withMade(ordered, later, 2), 'uid-r', later, 2);
    expect(followedIncreases({ increases: both }).map(({ request }) => request?.uid)).toEqual([undefined, 'uid-r']);
  });
});

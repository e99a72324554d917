import { describe, expect, it } from 'vitest';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Backoff, LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { CloudEvent } from '../../../src/domain/observation.ts';
import type { RemovalOutcome, RemovalStep } from '../../../src/domain/outcome.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { reduceIncrease, reduceObservation, reduceRemovals, reduceScaleDownPlan } from '../../../src/planning/state/loop-state.ts';
import { failIncrease } from '../../../src/planning/state/closures.ts';
import { aCloud, aCluster, aGroup, anInstance, aNode, anObservation, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { inFlight, inFlightByGroup } from '../../../src/planning/state/increases/increase-records.ts';
import { aScaleDownPlan } from '../../support/loop-report.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const G = nodeGroupId('g');
const policy = aPolicy();
const START = aState();

/** A look at one group of which `registered` nodes have joined. */
function look(group: NodeGroup, registered: number, at = START_MS, events: readonly CloudEvent[] = []) {
  const nodes = Array.from({ length: registered }, (_, index) => aNode({ name: `g-${index}` }));
  const cluster = aCluster({ nodes });
  return anObservation([group], cluster, { nowMs: at, cloud: aCloud([group], cluster, { events }) });
}

const group = (target: number, rest: Partial<NodeGroup> = {}): NodeGroup => ({ ...aGroup({ id: 'g', target }), ...rest });
const seen = (state: LoopState, target: number, registered: number, at = START_MS) =>
  reduceObservation(state, look(group(target), registered, at), policy);
const failure = (detail: ErrorKind, atMs = START_MS, code = 'AllocationFailed'): CloudEvent => ({
  kind: 'increase-failed',
  group: G,
  requested: 2,
  error: { detail, code, message: 'no' },
  atMs,
});
const grow = (from: number, to: number) => ({
  increase: { group: G, from, to, version: '"1"', pods: [], cause: 'pods' as const },
  outcome: { kind: 'accepted' as const, group: G, target: to },
  group: undefined,
  followed: undefined,
});
const NO_STOCK: ErrorKind = { kind: 'out-of-capacity', scope: {} };

describe('backoff', () => {
  it('5 min, 5 min again while resting, then doubled up to 30 min, forgotten after 3 h', () => {
    const fail = (known: Backoff | undefined, atMs: number): Backoff => {
      const state = aState({ backoffs: new Map(known === undefined ? [] : [[G, known]]) });
      const failure = {
        groupId: G,
        group: undefined,
        detail: NO_STOCK,
        cause: 'x',
        message: '',
        atMs,
        correlationId: undefined,
        waitMs: 0,
      };
      const backoff = failIncrease(state, failure, policy).backoffs.get(G);
      if (backoff === undefined) throw new Error('The group does not back off.');
      return backoff;
    };
    const first = fail(undefined, 0);
    expect(first).toMatchObject({ untilMs: 5 * MINUTE, durationMs: 5 * MINUTE });
    const during = fail(first, 2 * MINUTE);
    expect(during).toMatchObject({ untilMs: 7 * MINUTE, durationMs: 5 * MINUTE });
    const after = fail(during, 7 * MINUTE);
    expect(after.durationMs).toBe(10 * MINUTE);
    const fourth = fail(fail(after, 17 * MINUTE), 37 * MINUTE);
    expect(fourth.durationMs).toBe(30 * MINUTE);
    expect(fail(fourth, fourth.untilMs).durationMs).toBe(30 * MINUTE);
    expect(fail(fourth, fourth.lastFailureMs + 3 * HOUR).durationMs).toBe(5 * MINUTE);
  });

  it('an increase is awaited for as long as its own group may take', () => {
    const slow = { ...group(3), options: { maxProvisionMs: 40 * MINUTE } };
    const asked = reduceIncrease(seen(START, 1, 1), { ...grow(1, 3), group: slow }, START_MS, policy);
    const at = (minutes: number) => reduceObservation(asked, look(slow, 1, START_MS + minutes * MINUTE), policy);
    expect(at(39).backoffs.size).toBe(0);
    expect(at(41).backoffs.get(G)).toMatchObject({ cause: 'timeout' });
  });

  const instances = [0, 1].map((index) => anInstance({ node: `g-${index}` }));

  it.each([
    { listed: 1, awaited: undefined },
    { listed: 2, awaited: 1 },
  ])(
    'an increase that fails late rests the group; of it only machines that are there are awaited: $listed listed',
    ({ listed, awaited }) => {
      const asked = reduceIncrease(seen(START, 1, 1), grow(1, 3), START_MS, policy);
      const failed = look(group(3, { instances: instances.slice(0, listed) }), 1, START_MS + MINUTE, [
        failure(NO_STOCK, START_MS + MINUTE),
      ]);
      const after = reduceObservation(asked, failed, policy);
      expect(after.backoffs.get(G)).toMatchObject({ cause: 'AllocationFailed', untilMs: START_MS + 6 * MINUTE });
      expect(inFlight(after, G)).toEqual(awaited === undefined ? undefined : { ...inFlight(asked, G), nodes: awaited });
      const later = seen(after, 3, 1, START_MS + 20 * MINUTE);
      expect(inFlightByGroup(later).size).toBe(0);
      expect(later.backoffs.size).toBe(1);
      expect(seen(later, 3, 1, START_MS + 4 * HOUR).backoffs.size).toBe(0);
    },
  );

  it('a write that fails at once leaves what was asked for before it awaited', () => {
    const asked = reduceIncrease(seen(START, 1, 1), grow(1, 3), START_MS, policy);
    const error = new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'none');
    const after = reduceIncrease(asked, { ...grow(3, 5), outcome: { kind: 'failed', group: G, error } }, START_MS + MINUTE, policy);
    expect([after.increases, after.backoffs.size]).toEqual([asked.increases, 1]);
  });

  it.each(['conflict', 'cancelled'] as const)('a %s is not the fault of the group', (kind) => {
    const after = reduceObservation(START, look(group(1), 1, START_MS, [failure({ kind })]), policy);
    expect(after.backoffs.size).toBe(0);
  });

  it('a change from outside does not rest the group', () => {
    const event: CloudEvent = { kind: 'external-change', group: G, from: 1, to: 3, atMs: START_MS };
    expect(reduceObservation(START, look(group(3), 1, START_MS, [event]), policy).backoffs.size).toBe(0);
  });

  it("another writer's increase starts the cooldown of removals only where a dry run follows it, and a decrease never", () => {
    const event: CloudEvent = { kind: 'external-change', group: G, from: 1, to: 3, atMs: START_MS };
    const cooldown = (change: Partial<CloudEvent>): number =>
      reduceObservation(START, look(group(3), 1, START_MS, [{ ...event, ...change } as CloudEvent]), policy).lastScaleUpMs;
    expect(cooldown({ followed: true })).toBe(START_MS);
    expect(cooldown({})).toBe(START.lastScaleUpMs);
    expect(cooldown({ followed: true, from: 3, to: 1 })).toBe(START.lastScaleUpMs);
  });

  it.each([
    { kind: 'out-of-capacity', scope: { vmSize: 'Standard_D4s_v5' } },
    { kind: 'quota', quota: 'cores' },
    { kind: 'quota', quota: 'cores', counted: true },
    { kind: 'throttled', retryAfterMs: 1 },
    { kind: 'conflict' },
    { kind: 'unavailable', effect: 'none' },
    { kind: 'unavailable', effect: 'unknown' },
  ] satisfies readonly ErrorKind[])('a write that fails with $kind', (detail: ErrorKind) => {
    const isRefused =
      !(detail.kind === 'quota' && detail.counted === true) && !(detail.kind === 'unavailable' && detail.effect === 'unknown');
    const isScarce = detail.kind === 'out-of-capacity' || (detail.kind === 'quota' && detail.counted !== true);
    const outcome = { kind: 'failed', group: G, error: new AutoscalerError(detail, 'no') } as const;
    const after = reduceIncrease(START, { ...grow(1, 2), outcome, group: group(1) }, START_MS, policy);
    expect(after.backoffs.has(G)).toBe(isRefused);
    expect(after.stockouts).toHaveLength(isScarce ? 1 : 0);
  });

  it.each([
    { kind: 'conflict', group: G, observed: 4 },
    { kind: 'refused', group: G, reason: 'unknown size' },
  ] as const)('a $kind changes nothing', (outcome) => {
    expect(reduceIncrease(START, { ...grow(1, 2), outcome }, START_MS, policy)).toBe(START);
  });
});

describe('increases in flight', () => {
  const asked = reduceIncrease(seen(START, 1, 1), grow(1, 6), START_MS, policy);

  it('are remembered from the accepted write', () => {
    expect(inFlight(asked, G)).toEqual({ group: G, nodes: 5, requestedAtMs: START_MS, expectedByMs: START_MS + 15 * MINUTE });
    expect(asked.lastScaleUpMs).toBe(START_MS);
  });

  it('shrink as nodes join, time out into a backoff after 15 min', () => {
    const half = seen(asked, 6, 4, START_MS + 14 * MINUTE);
    expect(inFlight(half, G)?.nodes).toBe(2);
    const late = seen(half, 6, 4, START_MS + 15 * MINUTE + 1);
    expect(inFlightByGroup(late).size).toBe(0);
    expect(late.backoffs.get(G)).toMatchObject({ cause: 'timeout', message: '2 nodes did not join within 15 minutes' });
  });

  it('end when all have joined', () => {
    expect(inFlightByGroup(seen(asked, 6, 6, START_MS + MINUTE)).size).toBe(0);
  });

  it('failed instances fail the increase once and are not awaited, the others of the order are', () => {
    const instances = [
      ...Array.from({ length: 4 }, (_, index) => anInstance({ node: `g-${index}` })),
      ...[4, 5].map((index) =>
        anInstance({
          node: `g-${index}`,
          state: 'failed',
          firstSeenMs: START_MS + 1,
          error: { detail: NO_STOCK, code: 'ZonalAllocationFailed', message: '' },
        }),
      ),
    ];
    const first = reduceObservation(asked, look(group(6, { instances }), 1, START_MS + MINUTE), policy);
    expect(first.backoffs.get(G)).toMatchObject({ cause: 'ZonalAllocationFailed', lastFailureMs: START_MS + MINUTE });
    expect(first.stockouts).toHaveLength(1);
    const second = reduceObservation(first, look(group(6, { instances }), 1, START_MS + 2 * MINUTE), policy);
    expect(second.backoffs).toEqual(first.backoffs);
    const [began] = [inFlight(asked, G)];
    for (const state of [first, second]) expect(inFlight(state, G)).toEqual({ ...began, nodes: 3 });
    const lost = reduceObservation(second, look(group(6, { instances }), 1, START_MS + 15 * MINUTE + 1), policy);
    expect([inFlightByGroup(lost).size, lost.backoffs.get(G)?.cause]).toEqual([0, 'timeout']);
  });

  it.each([
    ['a list that began half a minute after the increase: nothing is awaited', START_MS + 30_000, undefined],
    ['a list that began earlier: Azure may not list them yet', START_MS + 29_999, 4],
  ])('of failed instances whose fellows are not in %s', (_name, instancesObservedAtMs, awaited) => {
    const error = { detail: NO_STOCK, code: 'AllocationFailed', message: '' };
    const instances = [anInstance({ node: 'g-0' }), anInstance({ node: 'g-1', state: 'failed', firstSeenMs: START_MS + 1, error })];
    const next = reduceObservation(asked, look(group(6, { instances, instancesObservedAtMs }), 1, START_MS + MINUTE), policy);
    expect([inFlight(next, G)?.nodes, next.backoffs.get(G)?.cause]).toEqual([awaited, 'AllocationFailed']);
  });

  it('registered nodes whose machines report a failure neither fail an increase nor stand in for what is awaited', () => {
    const error = { detail: NO_STOCK, code: 'ProvisioningFailed', message: '' };
    const instances = [0, 1, 2].map((index) => anInstance({ node: `g-${index}`, state: 'failed', firstSeenMs: START_MS + 1, error }));
    const state = reduceIncrease(seen(START, 3, 3), grow(3, 5), START_MS, policy);
    const next = reduceObservation(state, look(group(5, { instances }), 3, START_MS + MINUTE), policy);
    expect(inFlight(next, G)?.nodes).toBe(2);
    expect([next.backoffs.size, next.stockouts.length]).toEqual([0, 0]);
  });

  it('after a restart what Azure was asked for is awaited', () => {
    expect(inFlight(seen(START, 6, 1), G)).toMatchObject({ nodes: 5, expectedByMs: START_MS + 15 * MINUTE });
  });

  it("another writer's nodes are awaited too", () => {
    expect(inFlight(seen(seen(START, 1, 1), 4, 1), G)?.nodes).toBe(3);
  });

  it('a target that comes back while the group rests promises nothing, then or later', () => {
    const event = failure(NO_STOCK, START_MS + MINUTE);
    const failed = reduceObservation(asked, look(group(1), 1, START_MS + MINUTE, [event]), policy);
    const resting = seen(failed, 6, 1, START_MS + 2 * MINUTE);
    expect(inFlightByGroup(resting).size).toBe(0);
    expect(inFlightByGroup(seen(resting, 6, 1, START_MS + 7 * MINUTE)).size).toBe(0);
  });

  it('more registered than asked for is nothing to await', () => {
    expect(inFlightByGroup(seen(START, 3, 5)).size).toBe(0);
  });

  it('an unknown size changes nothing', () => {
    const unknown = group(6, { target: { known: false, reason: 'no read' } });
    expect(reduceObservation(asked, look(unknown, 6, START_MS + MINUTE), policy).increases).toEqual(asked.increases);
  });

  it('a group that vanished is forgotten', () => {
    const empty = anObservation([], aCluster());
    expect(inFlightByGroup(reduceObservation(asked, empty, policy)).size).toBe(0);
  });
});

describe('scale-down', () => {
  const plan = aScaleDownPlan;
  const started: RemovalOutcome = {
    kind: 'started',
    group: G,
    node: 'g-0',
    instance: keyOf('g-0'),
    pods: [],
    utilization: 0,
    empty: false,
    budgeted: undefined,
    atMs: START_MS,
  };
  const undone = (step: RemovalStep): RemovalOutcome => ({
    kind: 'undone',
    group: G,
    node: 'g-0',
    step,
    message: 'no',
    ofGroup: false,
    atMs: START_MS,
    retryAtMs: step === 'recheck' ? START_MS : START_MS + 5 * MINUTE,
  });

  it('takes the timers of the plan and remembers costly verdicts only', () => {
    const kept = [
      { node: 'a', reason: 'BlockedByPod', recheckAtMs: START_MS + MINUTE },
      { node: 'b', reason: 'NotUnneededLongEnough', recheckAtMs: START_MS + MINUTE },
      { node: 'c', reason: 'RecentlyUnremovable', recheckAtMs: START_MS + MINUTE },
      { node: 'd', reason: 'NoPlaceToMovePods', recheckAtMs: START_MS + MINUTE },
      { node: 'e', reason: 'BlockedByPod' },
    ] as const;
    const next = reduceScaleDownPlan(START, plan({ kept, unneeded: new Map([['u', 7]]) }), look(group(1), 1));
    expect([...next.unremovable.keys()]).toEqual(['a', 'd']);
    expect(next.unneededSince.get('u')).toBe(7);
  });

  it('a removal begun is in flight until its node has gone', () => {
    const begun = reduceRemovals(START, [started], START_MS);
    expect(begun.deleting.has('g-0')).toBe(true);
    expect(begun.removals).toEqual([START_MS]);
    const accepted = reduceRemovals(
      begun,
      [{ kind: 'deleted', group: G, node: 'g-0', instance: keyOf('g-0'), drained: false, reimaged: false, atMs: START_MS + 1 }],
      START_MS + 1,
    );
    expect(seen(accepted, 1, 1).deleting.has('g-0')).toBe(true);
    expect(seen(accepted, 0, 0).deleting.size).toBe(0);
    expect(accepted.lastScaleDownMs).toBe(START_MS + 1);
  });

  it('takes in outcomes together as one after the other, and edits no state', () => {
    const empty = { ...started, node: 'g-1', instance: keyOf('g-1'), empty: true, atMs: START_MS + 1 };
    const gone = {
      kind: 'deleted' as const,
      group: G,
      node: 'g-1',
      instance: keyOf('g-1'),
      drained: false,
      reimaged: false,
      atMs: START_MS + 2,
    };
    const instances = { kind: 'instances' as const, group: G, instances: [keyOf('x'), keyOf('y')], cause: 'failed' as const, message: '' };
    const accepted = { ...instances, accepted: true, atMs: START_MS + 3 };
    const outcomes = [started, empty, undone('delete'), gone, accepted, started, undone('evict')];
    const state: LoopState = {
      ...START,
      unneededSince: new Map([
        ['g-0', 1],
        ['g-1', 2],
        ['g-2', 3],
      ]),
    };
    const before = structuredClone(state);

    const together = reduceRemovals(state, outcomes, START_MS);

    expect(together).toEqual(outcomes.reduce<LoopState>((next, outcome) => reduceRemovals(next, [outcome], START_MS), state));
    expect([together.removals.length, together.emptyRemovals?.length, [...together.unneededSince.keys()]]).toEqual([4, 1, ['g-2']]);
    expect(state).toEqual(before);
  });

  it.each([
    { step: 'recheck', cooldown: false, memory: undefined },
    { step: 'taint', cooldown: true, memory: 'UnexpectedError' },
    { step: 'evict', cooldown: false, memory: 'BlockedByPod' },
    { step: 'wait', cooldown: false, memory: 'BlockedByPod' },
    { step: 'delete', cooldown: true, memory: 'UnexpectedError' },
  ] as const)('a removal undone at $step', ({ step, cooldown, memory }) => {
    const next = reduceRemovals(START, [started, undone(step)], START_MS);
    expect(next.deleting.size).toBe(0);
    expect(next.lastScaleDownFailureMs === START_MS).toBe(cooldown);
    expect(next.unremovable.get('g-0')?.reason).toBe(memory);
  });

  it('a deletion that a check of the group refused is a failure of that group alone', () => {
    const refused = { ...undone('delete'), ofGroup: true } as const;
    const next = reduceRemovals(START, [started, refused], START_MS);
    expect(next.lastScaleDownFailureMs).toBe(START.lastScaleDownFailureMs);
    expect(next.groupTimes?.get(G)?.scaleDownFailureMs).toBe(START_MS);
    expect(next.unremovable.get('g-0')?.reason).toBe('UnexpectedError');
  });

  it('remembers per group when it grew, shrank and failed to; a changed node is no failure', () => {
    const grown = reduceIncrease(START, grow(1, 2), START_MS - 9, policy);
    const begun = reduceRemovals(grown, [{ ...started, atMs: START_MS - 5 }, undone('recheck')], START_MS);
    expect(begun.groupTimes?.get(G)).toEqual({ scaleUpMs: START_MS - 9, scaleDownMs: START_MS - 5 });
    const failed = reduceRemovals(begun, [undone('delete')], START_MS);
    expect(failed.groupTimes?.get(G)).toEqual({ scaleUpMs: START_MS - 9, scaleDownMs: START_MS - 5, scaleDownFailureMs: START_MS });
  });

  it('a deletion that Azure gave up frees its node for judgement', () => {
    const begun = reduceRemovals(START, [started], START_MS);
    const event: CloudEvent = { kind: 'delete-failed', group: G, instances: [keyOf('g-0')], message: 'no', atMs: START_MS };
    expect(reduceObservation(begun, look(group(1), 1, START_MS, [event]), policy).deleting.size).toBe(0);
  });

  it('a marked node whose machine is being deleted is in flight after a restart', () => {
    const node = aNode({ name: 'g-0', taints: [{ key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' }] });
    const leaving = group(0, { instances: [anInstance({ node: 'g-0', state: 'deleting' })] });
    expect(reduceObservation(START, anObservation([leaving], aCluster({ nodes: [node] })), policy).deleting.has('g-0')).toBe(true);
  });

  it('counts removals inside the window only', () => {
    const state = { ...START, removals: [START_MS - 11 * MINUTE, START_MS - MINUTE] };
    expect(seen(state, 1, 1).removals).toEqual([START_MS - MINUTE]);
  });

  it('counts accepted deletions of instances, and no refused ones', () => {
    const outcome = (accepted: boolean): RemovalOutcome => ({
      kind: 'instances',
      cause: 'failed',
      group: G,
      instances: [keyOf('x')],
      accepted,
      message: '',
      atMs: START_MS,
    });
    expect(reduceRemovals(START, [outcome(true), outcome(false)], START_MS).removals).toEqual([START_MS]);
  });
});

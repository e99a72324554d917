/** What a lack of stock is about, how long it counts, and how it is tried out again: a row for each. */
import { describe, expect, it } from 'vitest';
import type { ErrorKind, StockScope } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState, Stockout } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { CloudEvent } from '../../../src/domain/observation.ts';
import { classifyVerdict } from '../../../src/planning/explain/verdicts.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCloud, aCluster, aGroup, anObservation, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { aPolicy as fullPolicy } from '../../support/policy.ts';
import { growth, planFor, skipOf, verdictOf } from '../scale-up/world.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const D4 = 'Standard_D4s_v5';
const FAMILY = { name: 'standarddsv5family', vcpus: 4 };
const group = (id: string, part: Partial<NodeGroup> = {}): NodeGroup => ({
  ...aGroup({ id, target: 1, vmSize: D4, ...(part.zones === undefined ? {} : { template: aTemplate({ zones: part.zones }) }) }),
  ...part,
});
/** A template of a node that draws four cores on each of these quotas. */
const drawing = (...quotas: readonly string[]) => ({ ...aTemplate(), draws: quotas.map((quota) => ({ quota, cores: 4 })) });
const pods = (count: number) => Array.from({ length: count }, (_, at) => aPod({ name: `p-${at}`, cpu: '3', shape: { cpu: '3' } }));
const lack = (scope: StockScope, endsInMs: number): Stockout => ({
  scope,
  code: 'AllocationFailed',
  sinceMs: START_MS - 4 * MINUTE,
  untilMs: START_MS + endsInMs,
});

/** The state after one increase of the group failed so. */
function after(detail: ErrorKind, failed: NodeGroup, state: LoopState = aState(), atMs = START_MS): LoopState {
  const error = { detail, code: 'Code', message: 'no' };
  return seeing({ kind: 'increase-failed', group: failed.id, requested: 2, error, atMs }, [failed], state, atMs);
}

function seeing(event: CloudEvent, groups: readonly NodeGroup[], state: LoopState, atMs: number): LoopState {
  const cluster = aCluster();
  return reduceObservation(
    state,
    anObservation([...groups], cluster, { nowMs: atMs, cloud: aCloud([...groups], cluster, { events: [event] }) }),
    fullPolicy(),
  );
}

const NO_STOCK: ErrorKind = { kind: 'out-of-capacity', scope: {} };

describe('what a failed increase teaches', () => {
  it.each<[string, ErrorKind, Partial<NodeGroup>, number | undefined, StockScope | undefined]>([
    [
      'sold out: the size, and what is larger of its family',
      NO_STOCK,
      { sizeFamily: FAMILY },
      5,
      { vmSize: D4, priority: 'Regular', family: FAMILY },
    ],
    ['sold out, of a family that is not known: the size', NO_STOCK, {}, 5, { vmSize: D4, priority: 'Regular' }],
    ['sold out in the one zone of a group', NO_STOCK, { zones: ['we-1'] }, 5, { vmSize: D4, zone: 'we-1', priority: 'Regular' }],
    ['sold out in a group of two zones: the size', NO_STOCK, { zones: ['we-1', 'we-2'] }, 5, { vmSize: D4, priority: 'Regular' }],
    [
      'sold out in a zone that the error names',
      { kind: 'out-of-capacity', scope: { zone: 'we-2' } },
      { zones: ['we-1', 'we-2'] },
      5,
      { vmSize: D4, zone: 'we-2', priority: 'Regular' },
    ],
    ['sold out as Spot', NO_STOCK, { priority: 'Spot' }, 5, { vmSize: D4, priority: 'Spot' }],
    [
      'not on offer: that size alone, and for longer',
      { ...NO_STOCK, lack: 'offer' },
      { sizeFamily: FAMILY },
      30,
      { vmSize: D4, priority: 'Regular' },
    ],
    [
      'a quota: that size, for as long as people need',
      { kind: 'quota', quota: 'q' },
      { sizeFamily: FAMILY },
      10,
      { vmSize: D4, priority: 'Regular' },
    ],
    [
      'a quota that its nodes draw on: all that draws on it',
      { kind: 'quota', quota: 'Total Regional Cores', name: 'cores' },
      { sizeFamily: FAMILY, template: drawing('standarddsv5family', 'cores') },
      10,
      { quota: 'cores' },
    ],
    [
      'a quota that its nodes are not known to draw on: that size',
      { kind: 'quota', quota: 'Public IP Addresses', name: 'publicipaddresses' },
      { template: drawing('cores') },
      10,
      { vmSize: D4, priority: 'Regular' },
    ],
    [
      'a full subnet, a policy or a lock: the group alone',
      { kind: 'quota', quota: 'q', local: true },
      { sizeFamily: FAMILY },
      undefined,
      undefined,
    ],
    ['constraints: the group alone', { ...NO_STOCK, lack: 'constraints' }, { sizeFamily: FAMILY }, undefined, undefined],
    ['no answer: the group alone', { kind: 'unavailable', effect: 'unknown' }, {}, undefined, undefined],
  ])('%s', (_, detail, part, minutes, scope) => {
    const state = after(detail, group('a', part));
    expect(state.backoffs.get(nodeGroupId('a'))).toMatchObject({ kind: detail.kind, cause: 'Code', message: 'no' });
    const untilMs = START_MS + (minutes ?? 0) * MINUTE;
    expect(state.stockouts).toEqual(scope === undefined ? [] : [{ scope, code: 'Code', sinceMs: START_MS, untilMs }]);
  });

  it('a weaker signal afterwards neither shortens it nor narrows it', () => {
    const first = after(NO_STOCK, group('a', { sizeFamily: FAMILY }));
    const again = after({ kind: 'quota', quota: 'q' }, group('a', { sizeFamily: FAMILY }), first, START_MS + 1);
    expect(again.stockouts.map(({ scope, untilMs }) => [scope.family, untilMs])).toEqual([
      [FAMILY, START_MS + 5 * MINUTE],
      [undefined, START_MS + 1 + 10 * MINUTE],
    ]);
  });
});

describe('a lack that is remembered', () => {
  it('is not shortened by a weaker signal later', () => {
    const first = after({ kind: 'quota', quota: 'q' }, group('a'));
    const [again, ...others] = after(NO_STOCK, group('a'), first, START_MS + MINUTE).stockouts;
    expect([again?.sinceMs, again?.untilMs, others]).toEqual([START_MS, START_MS + 10 * MINUTE, []]);
  });

  it.each([
    [20 * MINUTE - 1, 1],
    [20 * MINUTE, 0],
  ])('is kept until there was time for a try: after %i ms %i', (afterMs, kept) => {
    const look = anObservation([group('a')], aCluster(), { nowMs: START_MS + afterMs });
    expect(reduceObservation(after(NO_STOCK, group('a')), look, fullPolicy()).stockouts).toHaveLength(kept);
  });
});

describe('while a lack lasts', () => {
  const scope: StockScope = { vmSize: D4, priority: 'Regular', family: FAMILY };
  const other = { vmSize: 'Standard_X', sizeFamily: { name: FAMILY.name, vcpus: 8 } };
  it.each<[string, StockScope, Partial<NodeGroup>, boolean]>([
    ['the same size is not asked for', scope, {}, true],
    ['nor in another letter case', scope, { vmSize: D4.toUpperCase() }, true],
    ['nor a larger one of the family', scope, other, true],
    ['but a smaller one is', scope, { ...other, sizeFamily: { name: FAMILY.name, vcpus: 2 } }, false],
    ['and one of another family', scope, { ...other, sizeFamily: { name: 'standardesv5family', vcpus: 8 } }, false],
    ['and one whose family is not known', scope, { vmSize: 'Standard_X' }, false],
    ['and Spot of the same size', scope, { priority: 'Spot' }, false],
    ['and other zones', { ...scope, zone: 'we-1' }, { zones: ['we-2'] }, false],
    ['a quota closes what draws on it, of any size and family', { quota: 'cores' }, { ...other, template: drawing('f', 'cores') }, true],
    ['but not what draws on others', { quota: 'cores' }, { priority: 'Spot', template: drawing('lowprioritycores') }, false],
    ['nor what nobody knows to draw on it', { quota: 'cores' }, {}, false],
    ['its own zone is not', { ...scope, zone: 'we-1' }, { zones: ['we-1'] }, true],
    ['a group of several zones goes on in the others', { ...scope, zone: 'we-1' }, { zones: ['we-1', 'we-2'] }, false],
  ])('%s', (_, of, part, closed) => {
    const plan = planFor({ groups: [group('a', part)], pods: pods(1), state: { stockouts: [lack(of, MINUTE)] } });
    expect(skipOf(plan, 'a')?.kind === 'stockout').toBe(closed);
  });

  it('the next option is ordered in the same plan', () => {
    const groups = [group('a'), group('b', { vmSize: 'Standard_E4s_v5' })];
    const plan = planFor({ groups, pods: pods(2), state: { stockouts: [lack(scope, MINUTE)] } });
    expect(growth(plan)).toEqual(['b 1->3']);
  });
});

describe('when a lack is over', () => {
  const over = [lack({ vmSize: D4, family: FAMILY }, 0)];
  const flying = new Map([
    [nodeGroupId('a'), { group: nodeGroupId('a'), nodes: 1, requestedAtMs: START_MS, expectedByMs: START_MS + 15 * MINUTE }],
  ]);

  it('one node is asked for first, and the rest goes to the next option', () => {
    const groups = [group('a'), group('b', { vmSize: 'Standard_E4s_v5' })];
    const plan = planFor({ groups, pods: pods(3), state: { stockouts: over } });
    expect(growth(plan)).toEqual(['a 1->2', 'b 1->3']);
  });

  it('allows nothing more while it is under way, and the pods get that reason', () => {
    const waiting = pods(2);
    const plan = planFor({ groups: [group('a')], pods: waiting, state: { stockouts: over, awaited: flying } });
    expect(growth(plan)).toEqual([]);
    expect(skipOf(plan, 'a')).toEqual({ kind: 'probing', code: 'AllocationFailed' });
    expect(waiting.map((pod) => classifyVerdict(verdictOf(plan, pod)!))).toContain('coming');
  });

  it('a larger size of the family is tried in the same way, a smaller one is free', () => {
    const sized = (vcpus: number) => group('a', { vmSize: 'Standard_X', sizeFamily: { name: FAMILY.name, vcpus } });
    expect(growth(planFor({ groups: [sized(8)], pods: pods(3), state: { stockouts: over } }))).toEqual(['a 1->2']);
    expect(growth(planFor({ groups: [sized(2)], pods: pods(3), state: { stockouts: over } }))).toEqual(['a 1->4']);
  });

  it('a node that came ends it; one of another size does not', () => {
    const state = aState({ stockouts: over });
    const came = (id: string): CloudEvent => ({ kind: 'increase-succeeded', group: nodeGroupId(id), atMs: START_MS });
    const groups = [group('a'), group('b', { vmSize: 'Standard_E4s_v5' })];
    expect(seeing(came('b'), groups, state, START_MS).stockouts).toHaveLength(1);
    expect(seeing(came('a'), groups, state, START_MS).stockouts).toEqual([]);
  });

  it('a larger size is tried after five minutes, however often the smaller one is refused, and its success is its own', () => {
    const refusedAgain = { ...lack({ vmSize: D4, family: FAMILY }, 20 * MINUTE), sinceMs: START_MS - 5 * MINUTE };
    const larger = group('b', { vmSize: 'Standard_X', sizeFamily: { name: FAMILY.name, vcpus: 8 } });
    const plan = planFor({ groups: [group('a'), larger], pods: pods(3), state: { stockouts: [refusedAgain] } });
    expect(growth(plan)).toEqual(['b 1->2']);
    const came: CloudEvent = { kind: 'increase-succeeded', group: larger.id, atMs: START_MS };
    const state = aState({ stockouts: [refusedAgain] });
    expect(seeing(came, [group('a'), larger], state, START_MS).stockouts.map(({ scope }) => scope)).toEqual([{ vmSize: D4 }]);
  });

  it('a success that began before it does not end a lack that lasts', () => {
    const state = aState({ stockouts: [lack({ vmSize: D4 }, MINUTE)] });
    const came: CloudEvent = { kind: 'increase-succeeded', group: nodeGroupId('a'), atMs: START_MS };
    expect(seeing(came, [group('a')], state, START_MS).stockouts).toHaveLength(1);
  });

  it('another failure closes it again, for longer', () => {
    const first = after(NO_STOCK, group('a'));
    const atMs = START_MS + 5 * MINUTE;
    const [again] = after(NO_STOCK, group('a'), first, atMs).stockouts;
    expect(again).toMatchObject({ sinceMs: START_MS, untilMs: atMs + 10 * MINUTE });
  });

  it('is forgotten after a quarter of an hour without a try', () => {
    const late = [lack({ vmSize: D4 }, -15 * MINUTE)];
    expect(growth(planFor({ groups: [group('a')], pods: pods(3), state: { stockouts: late } }))).toEqual(['a 1->4']);
  });

  it('a group of use only as a whole does not ask for a part', () => {
    const whole = group('a', { options: { zeroOrMax: true }, maxSize: 4 });
    expect(growth(planFor({ groups: [whole], pods: pods(3), state: { stockouts: over } }))).toEqual(['a 1->4']);
  });
});

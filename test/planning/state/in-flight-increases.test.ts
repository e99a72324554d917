/** Which instances an in-flight increase waits for, where others of the pool have no node and never get one. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Instance, NodeGroup } from '../../../src/domain/node-group.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import { recallMemory } from '../../../src/planning/state/after-restart.ts';
import { emptyLoopState, reduceIncrease, reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCloud, aCluster, aGroup, anInstance, aNode, anObservation, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { inFlight } from '../../../src/planning/state/increases/increase-records.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const WEEK = 7 * 24 * 60 * MINUTE;
const LOOP = 30 * SECOND;
/** Between two loops: the next sees the new size and the instance together. */
const LISTED_AFTER = 5 * SECOND;
const JOINS_AFTER = 90 * SECOND;
const G = nodeGroupId('g');
const POLICY = aPolicy();

interface Member {
  readonly instance: Instance;
  readonly countsFromMs: number;
  readonly joinsAtMs: number;
}

/** A pool with three nodes and these instances, with which a process goes through loops and restarts. */
class Pool {
  state: LoopState;
  nowMs = START_MS;
  members: Member[];
  readonly #kind: NodeGroup['kind'];
  readonly #stray: 'none' | 'of the group' | 'of no group';
  #startedAtMs = START_MS;

  constructor(kind: NodeGroup['kind'], odd: readonly Instance[], stray: 'none' | 'of the group' | 'of no group' = 'none') {
    const old = [0, 1, 2].map((index) => anInstance({ node: `g-${index}`, createdAtMs: START_MS - WEEK, firstSeenMs: START_MS }));
    this.members = [
      ...old.map((instance) => ({ instance, countsFromMs: 0, joinsAtMs: 0 })),
      ...odd.map((instance) => ({ instance, countsFromMs: 0, joinsAtMs: Infinity })),
    ];
    this.#kind = kind;
    this.#stray = stray;
    this.state = aState();
  }

  get target(): number {
    return this.members.filter(({ countsFromMs }) => countsFromMs <= this.nowMs).length;
  }

  look(): Observation {
    const listed = this.members.filter(({ countsFromMs }) => countsFromMs === 0 || countsFromMs + LISTED_AFTER <= this.nowMs);
    const instances = listed.map(({ instance }) => ({ ...instance, firstSeenMs: Math.max(instance.firstSeenMs, this.#startedAtMs) }));
    const joined = listed.filter(({ joinsAtMs }) => joinsAtMs <= this.nowMs).map(({ instance }) => aNode({ name: instance.instanceId }));
    const nodes = [...joined, ...(this.#stray === 'none' ? [] : [aNode({ name: 'stray' })])];
    const group = aGroup({ id: 'g', kind: this.#kind, target: this.target, instances, instancesObservedAtMs: this.nowMs });
    const cluster = aCluster({ nodes });
    const cloud = aCloud([group], cluster);
    const groupOfNode = this.#stray === 'of the group' ? new Map([...cloud.groupOfNode, ['stray', G] as const]) : cloud.groupOfNode;
    return anObservation([group], cluster, { nowMs: this.nowMs, cloud: { ...cloud, groupOfNode } });
  }

  pass(durationMs: number): void {
    const endMs = this.nowMs + durationMs;
    while (this.nowMs < endMs) {
      this.nowMs += LOOP;
      this.state = reduceObservation(this.state, this.look(), POLICY);
    }
  }

  /** One node more, which joins after a while or never; by this process or another writer. */
  grow({ joins = true, byUs = true }: { readonly joins?: boolean; readonly byUs?: boolean } = {}): void {
    const from = this.target;
    const firstSeenMs = this.nowMs + LISTED_AFTER;
    const instance = anInstance({ node: `g-${this.members.length}`, createdAtMs: this.nowMs + SECOND, firstSeenMs });
    this.members.push({ instance, countsFromMs: this.nowMs, joinsAtMs: joins ? this.nowMs + JOINS_AFTER : Infinity });
    if (!byUs) return;
    const increase = { group: G, from, to: from + 1, version: '"1"', pods: [], cause: 'pods' as const };
    const outcome = { kind: 'accepted' as const, group: G, target: from + 1 };
    this.state = reduceIncrease(this.state, { increase, outcome, group: undefined, followed: undefined }, this.nowMs, POLICY);
  }

  /** Azure reports that the last increase failed, and removes its instance. */
  fail(): void {
    this.members.pop();
    const error = { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: 'no' } as const;
    const seen = this.look();
    const event = { kind: 'increase-failed', group: G, requested: 1, error, atMs: this.nowMs } as const;
    this.state = reduceObservation(this.state, { ...seen, cloud: { ...seen.cloud, events: [event] } }, POLICY);
  }

  restart({ withMemory }: { readonly withMemory: boolean }): void {
    const saved = { ...this.state, savedAtMs: this.nowMs };
    const { unregisteredSince: _process, ...memory } = saved;
    this.nowMs += 30 * SECOND;
    this.#startedAtMs = this.nowMs;
    const state = emptyLoopState(this.nowMs);
    this.state = withMemory ? recallMemory(state, memory, this.look(), POLICY.scaleDown) : state;
    this.state = reduceObservation(this.state, this.look(), POLICY);
  }

  get verdict(): { readonly inFlight: number | undefined; readonly failures: readonly string[] } {
    const failures = [...this.state.backoffs.values()].map(({ message = '' }) => message);
    return { inFlight: inFlight(this.state, G)?.nodes, failures };
  }
}

const NOTHING = { inFlight: undefined, failures: [] };
const AWAITED = { inFlight: 1, failures: [] };
const old = (change: Partial<Instance> = {}) =>
  anInstance({ node: 'g-odd', createdAtMs: START_MS - WEEK, firstSeenMs: START_MS, ...change });

const LEFTOVERS = [
  { name: 'a deallocated instance whose Node object was deleted', odd: old({ state: 'deallocated' }), stray: 'none' },
  { name: 'an instance with protection that never registered', odd: old({ protectedFrom: 'scale-in' }), stray: 'none' },
  { name: 'an instance whose node has a foreign provider id', odd: old({ hostName: 'stray' }), stray: 'of no group' },
  { name: 'an instance whose node has the provider id of another instance', odd: old({ hostName: 'stray' }), stray: 'of the group' },
] as const;
const CASES = (['vmss-uniform', 'vms-pool'] as const).flatMap((kind) => LEFTOVERS.map((leftover) => ({ kind, ...leftover })));

describe.each(CASES)('$name, in a pool of kind $kind', ({ kind, odd, stray }) => {
  const pool = (): Pool => {
    const made = new Pool(kind, [odd], stray);
    made.pass(20 * MINUTE);
    expect(made.verdict).toEqual(NOTHING);
    return made;
  };

  it('is not awaited by the first, second and third increase: each ends when its node joins', () => {
    const own = pool();
    for (const _increase of [1, 2, 3]) {
      own.grow();
      own.pass(MINUTE);
      expect(own.verdict).toEqual(AWAITED);
      own.pass(MINUTE);
      expect(own.verdict).toEqual(NOTHING);
      own.pass(20 * MINUTE);
      expect(own.verdict).toEqual(NOTHING);
    }
  });

  it("is not awaited by another writer's increase", () => {
    const other = pool();
    other.grow({ byUs: false });
    other.pass(MINUTE);
    expect(other.verdict).toEqual(AWAITED);
    other.pass(20 * MINUTE);
    expect(other.verdict).toEqual(NOTHING);
  });

  it.each([true, false])('is not awaited by an increase that a restart interrupts (memory kept: %s)', (withMemory) => {
    const restarted = pool();
    restarted.grow();
    restarted.pass(MINUTE / 2);
    restarted.restart({ withMemory });
    expect(restarted.verdict).toEqual(AWAITED);
    restarted.pass(2 * MINUTE);
    restarted.grow();
    restarted.pass(2 * MINUTE);
    expect(restarted.verdict).toEqual(NOTHING);
    restarted.pass(20 * MINUTE);
    expect(restarted.verdict).toEqual(NOTHING);
  });

  it.each([
    { name: 'an increase', by: { byUs: true } },
    { name: "another writer's increase", by: { byUs: false } },
  ])('does not hide a node of $name that never joins', ({ by }) => {
    const failing = pool();
    failing.grow();
    failing.pass(5 * MINUTE);
    failing.grow({ joins: false, ...by });
    failing.pass(14 * MINUTE);
    expect(failing.verdict).toEqual(AWAITED);
    failing.pass(2 * MINUTE);
    expect(failing.verdict.failures).toEqual(['1 nodes did not join within 15 minutes']);
  });

  it('is not awaited in place of the nodes of an increase that failed', () => {
    const failing = pool();
    failing.grow({ joins: false });
    failing.pass(MINUTE);
    failing.fail();
    expect(failing.verdict).toEqual({ inFlight: undefined, failures: ['no'] });
    failing.pass(20 * MINUTE);
    expect(failing.verdict).toEqual({ inFlight: undefined, failures: ['no'] });
  });

  it.each([true, false])('does not hide it after a restart either (memory kept: %s)', (withMemory) => {
    const failing = pool();
    failing.grow({ joins: false });
    failing.pass(5 * MINUTE);
    failing.restart({ withMemory });
    failing.pass(9 * MINUTE);
    expect(failing.verdict).toEqual(AWAITED);
    failing.pass(2 * MINUTE);
    expect(failing.verdict.failures).toEqual(['1 nodes did not join within 15 minutes']);
  });
});

it('an instance that Azure deallocates before it joined fails its own increase, and is not awaited by the next', () => {
  const spot = new Pool('vmss-uniform', []);
  spot.pass(MINUTE);
  spot.grow({ joins: false });
  spot.pass(MINUTE);
  spot.members = spot.members.map((member) =>
    member.joinsAtMs === Infinity ? { ...member, instance: { ...member.instance, state: 'deallocated' } } : member,
  );
  spot.pass(13 * MINUTE);
  expect(spot.verdict).toEqual(AWAITED);
  spot.pass(2 * MINUTE);
  expect(spot.verdict.failures).toEqual(['1 nodes did not join within 15 minutes']);
  spot.pass(10 * MINUTE);
  spot.grow();
  spot.pass(2 * MINUTE);
  expect(spot.verdict.inFlight).toBeUndefined();
});

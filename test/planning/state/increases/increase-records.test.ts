/** Every memory of increases is a view of their records: random lives of two groups, through failures, restarts and a clock that is set. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId, type NodeGroupId } from '../../../../src/domain/ids.ts';
import type { CloudEvent, Observation } from '../../../../src/domain/observation.ts';
import type { Instance } from '../../../../src/domain/node-group.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { readMemory, writeMemory } from '../../../../src/loop/memory/memory-text.ts';
import { awaitedPods } from '../../../../src/planning/state/accepted-increases.ts';
import { afterClockShift, recallMemory } from '../../../../src/planning/state/after-restart.ts';
import { followedSince, missingInstances } from '../../../../src/planning/state/increases/follow-increases.ts';
import { followedIncreases, inFlight, inFlightByGroup, isOwn } from '../../../../src/planning/state/increases/increase-records.ts';
import { requestedLastMinute } from '../../../../src/planning/state/increases/increase-rate.ts';
import { emptyLoopState, reduceIncrease, reduceObservation } from '../../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, aPod, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const POLICY = aPolicy();
const GROUPS = ['g', 'h'].map(nodeGroupId);

interface Member {
  readonly instance: Instance;
  readonly joinedAtMs: number | undefined;
}

interface Asked {
  readonly group: NodeGroupId;
  readonly nodes: number;
  readonly atMs: number;
}

/** What really happened, beside what the state knows. */
class World {
  nowMs = START_MS;
  state = emptyLoopState(START_MS);
  readonly targets = new Map(GROUPS.map((group) => [group, 0]));
  members = new Map<NodeGroupId, readonly Member[]>(GROUPS.map((group) => [group, []]));
  pods: readonly Pod[] = [];
  asked: readonly Asked[] = [];
  /** Groups whose increases failed or were overdue: then Azure's list says what is still awaited. */
  readonly failed = new Set<NodeGroupId>();
  #loop = 0;
  #born = 0;

  constructor() {
    this.look();
  }

  look(events: readonly CloudEvent[] = []): Observation {
    const seen = this.#observe(events);
    this.state = reduceObservation(this.state, seen, POLICY);
    for (const group of this.state.backoffs.keys()) this.failed.add(group);
    return seen;
  }

  #observe(events: readonly CloudEvent[] = []): Observation {
    this.#loop += 1;
    const groups = GROUPS.map((id) =>
      aGroup({ id, target: this.target(id), maxSize: 1_000, instances: this.#list(id).map(({ instance }) => instance) }),
    );
    const nodes = GROUPS.flatMap((id) =>
      this.#list(id).flatMap(({ instance, joinedAtMs }) =>
        joinedAtMs === undefined ? [] : [aNode({ name: instance.instanceId, createdAtMs: joinedAtMs })],
      ),
    );
    const seen = anObservation(groups, aCluster({ nodes, pods: this.pods }), { nowMs: this.nowMs, loopId: this.#loop });
    return { ...seen, cloud: { ...seen.cloud, events } };
  }

  target(group: NodeGroupId): number {
    return this.targets.get(group) ?? 0;
  }

  joined(group: NodeGroupId): number {
    return this.#list(group).filter(({ joinedAtMs }) => joinedAtMs !== undefined).length;
  }

  instances(group: NodeGroupId): readonly Instance[] {
    return this.#list(group).map(({ instance }) => instance);
  }

  #list(group: NodeGroupId): readonly Member[] {
    return this.members.get(group) ?? [];
  }

  increase(group: NodeGroupId, nodes: number): void {
    const from = this.target(group);
    const pods = Array.from({ length: nodes }, () => aPod({ cpu: '3', createdAtMs: this.nowMs }));
    const increase = { group, from, to: from + nodes, version: '"1"', pods, cause: 'pods' as const };
    const record = { increase, outcome: { kind: 'accepted', group, target: from + nodes } as const, atMs: this.nowMs };
    this.state = reduceIncrease(
      this.state,
      { ...record, group: undefined, followed: followedSince(record, this.#loop) },
      this.nowMs,
      POLICY,
    );
    this.asked = [...this.asked, { group, nodes, atMs: this.nowMs }];
    this.pods = [...this.pods, ...pods];
    this.targets.set(group, from + nodes);
  }

  /** Azure lists instances that were requested. */
  list(group: NodeGroupId, count: number): void {
    const known = this.#list(group);
    const missing = Math.min(count, Math.max(0, this.target(group) - known.length));
    const added = Array.from({ length: missing }, (): Member => {
      const node = `${group}-${(this.#born += 1)}`;
      return { instance: anInstance({ node, state: 'creating', firstSeenMs: this.nowMs }), joinedAtMs: undefined };
    });
    this.members.set(group, [...known, ...added]);
  }

  /** Nodes join, and kube-scheduler binds as many pods. */
  join(group: NodeGroupId, count: number): void {
    let left = count;
    const members = this.#list(group).map((member): Member => {
      if (member.joinedAtMs !== undefined || left === 0) return member;
      left -= 1;
      return { instance: { ...member.instance, state: 'running' }, joinedAtMs: this.nowMs };
    });
    this.members.set(group, members);
    this.pods = this.pods.slice(count - left);
  }

  /** Azure says that an increase failed, and takes back what is not there. */
  fail(group: NodeGroupId): void {
    const error = { code: 'AllocationFailed', message: '', detail: { kind: 'out-of-capacity', scope: {} } } as const;
    this.targets.set(group, this.#list(group).length);
    this.look([{ kind: 'increase-failed', group, requested: 1, error, atMs: this.nowMs }]);
  }

  /** Another process goes on with the saved text. What it made itself is followed no more. */
  restart(): void {
    const read = readMemory(writeMemory(this.state, this.nowMs).text);
    if (!read.ok) throw new Error(read.reason);
    const before = inFlightByGroup(this.state);
    this.state = recallMemory(emptyLoopState(this.nowMs), read.memory, this.#observe(), POLICY.scaleDown);
    expect(inFlightByGroup(this.state)).toEqual(before);
    this.look();
  }

  setClock(byMs: number): void {
    this.state = afterClockShift(this.state, byMs);
    this.nowMs += byMs;
    this.asked = this.asked.map((each) => ({ ...each, atMs: each.atMs + byMs }));
    this.pods = this.pods.map((pod) => ({ ...pod, createdAtMs: pod.createdAtMs + byMs }));
    const moved = ({ instance, joinedAtMs }: Member): Member => ({
      instance: { ...instance, firstSeenMs: instance.firstSeenMs + byMs },
      joinedAtMs: joinedAtMs === undefined ? undefined : joinedAtMs + byMs,
    });
    this.members = new Map([...this.members].map(([group, members]) => [group, members.map(moved)]));
  }
}

const group = fc.constantFrom(...GROUPS);
const count = fc.integer({ min: 1, max: 4 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('increase' as const), group, count }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('others' as const), group, count }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('list' as const), group, count }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('join' as const), group, count }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), group, count }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), group, count }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), group, count }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('set clock' as const), group, count: fc.integer({ min: -40, max: 40 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

function take(world: World, { kind, group: id, count: many }: Step): void {
  if (kind === 'increase') return world.increase(id, many);
  world.nowMs += kind === 'wait' ? many * MINUTE : 7 * SECOND;
  if (kind === 'others') world.targets.set(id, world.target(id) + many);
  if (kind === 'list') world.list(id, many);
  if (kind === 'join') world.join(id, many);
  if (kind === 'set clock') world.setClock(many * MINUTE);
  if (kind === 'fail') return world.fail(id);
  if (kind === 'restart') return world.restart();
  world.look();
}

function check(world: World): void {
  checkNodes(world);
  checkInstances(world);
  checkPods(world);
  const recent = requestedLastMinute(world.state, world.nowMs);
  for (const id of GROUPS) {
    const expected = world.asked.filter((each) => each.group === id && world.nowMs - each.atMs < MINUTE);
    expect(recent.get(id) ?? [], 'every request of the last minute counts').toEqual(expected.map(({ atMs, nodes }) => ({ atMs, nodes })));
  }
}

function checkNodes(world: World): void {
  for (const [id, records] of world.state.increases) {
    const open = records.flatMap(({ nodes, coming }) => (coming === undefined ? [] : [{ nodes, left: coming.nodes }]));
    for (const { nodes, left } of open) expect(left >= 0 && left <= nodes, 'no increase awaits more than it requested').toBe(true);
    expect(inFlight(world.state, id)?.nodes ?? 0).toBe(open.reduce((sum, { left }) => sum + left, 0));
    const hasUse = records.every((record) => record.coming ?? record.followed ?? (record.by === 'us' ? record : undefined));
    expect(hasUse, 'an increase by others ends with its nodes').toBe(true);
  }
  for (const id of GROUPS) {
    const missing = world.target(id) - world.joined(id);
    const awaited = inFlight(world.state, id)?.nodes ?? 0;
    if (world.failed.has(id)) expect(awaited).toBeLessThanOrEqual(missing);
    else expect(awaited, 'requested less what came').toBe(missing);
  }
}

function checkInstances(world: World): void {
  const followed = followedIncreases(world.state);
  const owned = followed.flatMap((each) => [...each.instances.keys()]);
  expect(new Set(owned).size, 'an instance is of one increase').toBe(owned.length);
  for (const each of followed) expect(each.instances.size).toBeLessThanOrEqual(each.nodes);
  for (const each of followed.filter((increase) => missingInstances(increase) > 0)) {
    const late = world.instances(each.group).filter(({ firstSeenMs }) => firstSeenMs > each.answeredAtMs);
    expect(
      late.filter(({ key }) => !owned.includes(key)),
      'no instance is lost while an increase misses one',
    ).toEqual([]);
  }
}

function checkPods({ state, nowMs }: World): void {
  const own = [...state.increases.values()].flat().filter(isOwn);
  const all = own.flatMap(({ pods }) => pods.flatMap(({ uids }) => uids ?? []));
  expect(new Set(all).size, 'a pod is of one increase').toBe(all.length);
  for (const uid of awaitedPods(state, nowMs, new Set()).keys())
    expect(all, 'an awaited pod is of an increase that is not over').toContain(uid);
  const over = [...state.increases.values()].flat().filter(({ isOver }) => isOver);
  expect(over.flatMap(({ pods, planned }) => [...pods, ...planned])).toEqual([]);
}

describe('the records of increases', () => {
  it('agree with every view, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const world = new World();
        for (const each of steps) {
          take(world, each);
          check(world);
        }
      }),
      { seed: 31, numRuns: 150 },
    );
  });
});

/**
 * A drain that goes wrong, and a process that dies while it undoes it: the ways out are walked call by call, too. The faults
 * last as long as the first process; the second starts with nothing but the cluster and the cloud.
 */
import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { EvictOutcome } from '../../../src/domain/outcome.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { CORDONED_BEFORE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { aPod } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { assertSafe, Life, makeWorld, POLICY, type World } from './crash-support.ts';

/** Short, so that every way out is reached within one life. */
const HASTY: Policy = {
  ...POLICY,
  scaleDown: { ...POLICY.scaleDown, recheckUnremovableAfterMs: 30_000 },
  drain: { ...POLICY.drain, maxGracefulTerminationMs: 1_000, evictionTimeoutMs: 12_000, evictionRetryMs: 5_000 },
};
const NO_MORE: Policy = { ...HASTY, scaleDown: { ...HASTY.scaleDown, enabled: false } };
const NEVER = new Promise<void>(() => undefined);

/** What goes wrong: before a call is carried out, or in its answer. `once`: only the first such call of each node or pod. */
interface Fault {
  readonly name: string;
  /** Throws, or changes the world, when the call begins. */
  readonly before?: (call: string, subject: string, world: World, seen: Set<string>) => void;
  readonly set?: (world: World) => void;
}

const BLOCKED: EvictOutcome = { kind: 'blocked', message: 'budget', retryAfterMs: undefined };
const away = (): never => {
  throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'The API server answered 500.');
};

const FAULTS: readonly Fault[] = [
  {
    name: 'evictions are refused for as long as it asks',
    set: ({ cluster }) => (cluster.onEvict = () => BLOCKED),
  },
  {
    name: 'the first eviction of each pod is refused',
    set: ({ cluster }) => {
      const seen = new Set<string>();
      cluster.onEvict = ({ uid }) => (seen.has(uid) ? undefined : (seen.add(uid), BLOCKED));
    },
  },
  { name: 'pods do not end', set: ({ cluster }) => (cluster.endsAfterPolls = Infinity) },
  { name: 'no taint can be written', before: (call) => (call === 'taint' ? away() : undefined) },
  { name: 'no fresh read succeeds', before: (call) => (call === 'readFresh' ? away() : undefined) },
  { name: 'no owner can be read', before: (call) => (call === 'readOwner' ? away() : undefined) },
  {
    name: 'evictions are refused, and no mark comes off at once',
    before: (call, node, _world, seen) => {
      if (call === 'untaint' && !seen.has(node)) {
        seen.add(node);
        away();
      }
    },
    set: ({ cluster }) => (cluster.onEvict = () => BLOCKED),
  },
  {
    name: 'a pod comes to a node that is being drained',
    before: (call, pod, { cluster }, seen) => {
      if (call !== 'evict' || seen.has(pod)) return;
      seen.add(pod);
      const late = aPod({ name: `late-${pod}`, nodeName: cluster.podsOn('g-1').length > 0 ? 'g-1' : 'g-0', cpu: '10m' });
      cluster.pods.set(late.uid, late);
    },
  },
  {
    name: 'Azure refuses to delete',
    set: ({ cloud }) => (cloud.onDelete = ({ group }) => ({ kind: 'refused', group, reason: 'the pool is being upgraded' })),
  },
  {
    name: 'Azure fails to delete',
    set: ({ cloud }) =>
      (cloud.onDelete = ({ group }) => ({
        kind: 'failed',
        group,
        error: new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'no'),
      })),
  },
  {
    name: 'Azure is busy at first',
    set: ({ cloud }) => {
      let asked = 0;
      cloud.onDelete = ({ group }) =>
        ++asked > 2 ? undefined : { kind: 'failed', group, error: new AutoscalerError({ kind: 'throttled', retryAfterMs: 3_000 }, 'busy') };
    },
  },
];

/** Lives with the fault and dies at the call of that number. Answers how many calls it made, and how many undid something. */
async function firstLife(world: World, fault: Fault, dieAt: number): Promise<{ readonly calls: number; readonly undone: number }> {
  const seen = new Set<string>();
  let calls = 0;
  let undone = 0;
  const onCall = (call: string, subject: string): Promise<void> | undefined => {
    calls += 1;
    if (calls >= dieAt) return NEVER;
    if (call === 'untaint') undone += 1;
    fault.before?.(call, subject, world, seen);
    return undefined;
  };
  world.cluster.onCall = onCall;
  world.cloud.onCall = onCall;
  fault.set?.(world);
  const life = new Life(world, HASTY);
  for (let round = 0; round < 8; round++) {
    // A loop may be what hangs, so nobody waits for it. Who is dead begins none.
    if (calls < dieAt) void life.loop().catch(() => undefined);
    await world.clock.advance(10_000);
    if (calls < dieAt) for (const name of world.cloud.finishDeletions()) world.cluster.removeNode(name);
  }
  return { calls, undone };
}

function lift({ cluster, cloud }: World): void {
  cluster.onCall = () => undefined;
  cloud.onCall = () => undefined;
  cluster.onEvict = () => undefined;
  cloud.onDelete = () => undefined;
  cluster.endsAfterPolls = 2;
}

function marksOf({ cluster }: World) {
  return [...cluster.nodes.values()].flatMap(({ name, taints, unschedulable }) => {
    const left = [TO_BE_DELETED_TAINT, CORDONED_BEFORE_TAINT].filter((key) => hasTaint(taints, key));
    const isHumans = name === 'g-0';
    return left.length > 0 || unschedulable !== isHumans ? [{ name, left, unschedulable }] : [];
  });
}

describe('a death in the midst of a failure', () => {
  it.each(FAULTS)('$name: at whichever call it comes, the next start puts everything right', async (fault) => {
    const { calls } = await firstLife(makeWorld(), fault, Infinity);
    expect(calls).toBeGreaterThan(4);
    for (let dieAt = 1; dieAt <= calls; dieAt++) {
      const world = makeWorld();
      await firstLife(world, fault, dieAt);
      lift(world);
      await new Life({ ...world, clock: new FakeClock(world.clock.now()) }, NO_MORE).live(3);
      assertSafe(world);
      expect({ dieAt, marks: marksOf(world) }).toEqual({ dieAt, marks: [] });
    }
  });

  it('the ways out are really walked: of the faults that do not pass, all but two end in something that is undone', async () => {
    const undone = await Promise.all(
      FAULTS.map(async (fault) => ({ name: fault.name, ...(await firstLife(makeWorld(), fault, Infinity)) })),
    );
    expect(undone.filter((entry) => entry.undone === 0).map(({ name }) => name)).toEqual([
      'the first eviction of each pod is refused',
      'no fresh read succeeds',
      'no owner can be read',
      'Azure is busy at first',
    ]);
  });

  it('a failure alone, without a death, leaves nothing behind either', async () => {
    for (const fault of FAULTS) {
      const world = makeWorld();
      await firstLife(world, fault, Infinity);
      lift(world);
      // The same process would go on; what is under way comes to its end within two minutes.
      await world.clock.advance(120_000);
      assertSafe(world);
      const second = new Life({ ...world, clock: new FakeClock(world.clock.now()) }, NO_MORE);
      await second.live(1);
      expect({ fault: fault.name, marks: marksOf(world) }).toEqual({ fault: fault.name, marks: [] });
    }
  });
});

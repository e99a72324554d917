import { describe, expect, it } from 'vitest';
import { type LoopRecord, NOTHING_DECIDED } from '../../../../src/domain/ports/records.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { wasteRows } from '../../../../src/planning/explain/removal-advice/waste.ts';
import { RememberedWaste } from '../../../../src/planning/explain/removal-advice/remembered-waste.ts';
import { aBudget, aPod, resourceNames } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { nodes, observe, plan, pool, type World } from '../../scale-down/world.ts';
import { aState } from '../../../support/state.ts';

const PRICED = aPolicy({ scaleUp: { prices: { standard_d4s_v5: 0.5 } } });

/** Two budgets, over one and over two nodes; a pod without a controller; a pool at its minimum. */
function world(policy = PRICED): World {
  const app = (name: string, nodeName: string) =>
    aPod({
      name: `${name}-${nodeName}`,
      nodeName,
      cpu: '500m',
      controller: { kind: 'StatefulSet', name, uid: name },
      shape: { labels: { app: name } },
    });
  const strict = (name: string, pods: number) =>
    aBudget({
      name,
      selector: { requirements: [{ key: 'app', operator: 'In', values: [name] }] },
      disruptionsAllowed: 0,
      expectedPods: pods,
      currentHealthy: pods,
      desiredHealthy: pods,
      demand: { kind: 'minAvailable', value: pods },
    });
  return {
    groups: [pool('p', 4), pool('q', 1, { minSize: 1 })],
    nodes: [...nodes('p-0', 'p-1', 'p-2', 'p-3'), ...nodes('q-0')],
    pods: [app('small', 'p-0'), app('large', 'p-1'), app('large', 'p-2'), aPod({ name: 'pet', nodeName: 'p-3', controller: undefined })],
    budgets: [strict('small', 1), strict('large', 2)],
    policy,
  };
}

function recordOf(of: World): LoopRecord {
  const scaleDown = plan(of);
  return { ...NOTHING_DECIDED, observation: observe(of), stateBefore: aState(), scaleUp: [], scaleDown, policy: of.policy ?? PRICED };
}

describe('what keeps nodes', () => {
  it('is summed up by kind, each with the fix that frees most and the money that it saves', () => {
    const rows = wasteRows(recordOf(world()), resourceNames);
    expect(
      rows.map(({ reason, blockedBy, nodes: count, cores, perHour, fix }) => ({
        reason,
        blockedBy,
        count,
        cores,
        perHour,
        fix: fix?.text,
        frees: fix?.proof.nodes,
      })),
    ).toEqual([
      {
        reason: 'BlockedByPod',
        blockedBy: 'NotEnoughPdb',
        count: 3,
        cores: 12,
        perHour: 1.5,
        fix: 'run 3 replicas of default/large',
        frees: 2,
      },
      {
        reason: 'BlockedByPod',
        blockedBy: 'NotReplicated',
        count: 1,
        cores: 4,
        perHour: 0.5,
        fix: 'run pod default/pet as a Deployment, StatefulSet or Job',
        frees: 1,
      },
      {
        reason: 'NodeGroupMinSizeReached',
        blockedBy: undefined,
        count: 1,
        cores: 4,
        perHour: 0.5,
        fix: 'lower the minimum of q from 1 to 0',
        frees: 1,
      },
    ]);
  });

  it('costs no more simulations than allowed', () => {
    const rows = wasteRows(recordOf(world()), resourceNames, { mostTried: 1 });
    expect(rows.map(({ fix }) => fix !== undefined)).toEqual([true, false, false]);
  });

  it('has no fix while removals were not decided', () => {
    expect(wasteRows({ ...recordOf(world()), scaleDown: undefined }, resourceNames)).toEqual([]);
  });
});

describe('the fixes of an hour', () => {
  it('are simulated once for the same blockers, and again after five minutes or for another blocker', () => {
    const clock = { nowMs: 0, monotonic: () => clock.nowMs };
    const remembered = new RememberedWaste(clock);
    const record = recordOf(world());
    const before = finishAtOnce(remembered.fixes(record, resourceNames, 1));
    expect([...before.values()].map(({ text }) => text)).toContain('lower the minimum of q from 1 to 0');
    clock.nowMs = 299_999;
    expect(finishAtOnce(remembered.fixes(recordOf(world()), resourceNames, 1))).toBe(before);
    const { scaleDown } = record;
    if (scaleDown === undefined) throw new Error('no plan');
    const fewer = { ...record, scaleDown: { ...scaleDown, kept: scaleDown.kept.slice(1) } };
    expect(finishAtOnce(remembered.fixes(fewer, resourceNames, 1))).not.toBe(before);
    const again = finishAtOnce(remembered.fixes(record, resourceNames, 1));
    clock.nowMs += 300_000;
    expect(finishAtOnce(remembered.fixes(record, resourceNames, 1))).not.toBe(again);
  });

  it('are not simulated where a plan takes too long', () => {
    expect(finishAtOnce(new RememberedWaste({ monotonic: () => 0 }).fixes(recordOf(world()), resourceNames, 400)).size).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { summarize, type Account, type ArmCall } from '../../../commands/demo/summary.ts';

function aWrite(change: Partial<ArmCall>): ArmCall {
  return {
    seq: 1,
    atMs: 10_000,
    method: 'PUT',
    route: 'virtualMachineScaleSets/{name}',
    status: 200,
    pool: 'general',
    capacityBefore: 1,
    capacityAfter: 3,
    instances: 0,
    ...change,
  };
}

const EMPTY: Account = {
  startedMs: 0,
  endedMs: 60_000,
  calls: [],
  failures: [],
  pods: [],
  evictions: [],
  violations: [],
  replans: 0,
  unmet: [],
};

const POD = { uid: 'a', unschedulableMs: 9_000, triggered: ['general'], bound: true, gone: false };

describe('the account of the demo', () => {
  it('is ok when nothing is pending, broken or unmet', () => {
    expect(summarize({ ...EMPTY, pods: [POD] })).toMatchObject({
      ok: true,
      durationSeconds: 60,
      pods: { created: 1, bound: 1, pendingAtEnd: 0 },
    });
  });

  it.each([
    ['a pod is pending', { pods: [{ ...POD, bound: false }] }],
    ['a rule was broken', { violations: [{ rule: 'below-min', subject: 'general', detail: '' }] }],
    ['a promise did not come true', { unmet: ['all pods are bound'] }],
  ])('is not ok when %s', (_, change) => expect(summarize({ ...EMPTY, ...change }).ok).toBe(false));

  it('gives each pod to the first write for it', () => {
    const calls = [aWrite({ atMs: 10_000 }), aWrite({ atMs: 20_000, capacityBefore: 3, capacityAfter: 4 })];
    const pods = [POD, { ...POD, uid: 'b', unschedulableMs: 19_500 }];
    expect(summarize({ ...EMPTY, calls, pods }).scaleUps).toEqual([
      { group: 'general', from: 1, to: 3, pods: 1, secondsFromUnschedulable: 1 },
      { group: 'general', from: 3, to: 4, pods: 1, secondsFromUnschedulable: 0.5 },
    ]);
  });

  it('counts a 412 as a conflict and not as a scale-up', () => {
    const account = summarize({ ...EMPTY, calls: [aWrite({ status: 412 }), aWrite({ atMs: 10_100 })], replans: 1 });
    expect(account.conflicts).toEqual({ seen: 1, replannedInSameLoop: 1 });
    expect(account.scaleUps).toHaveLength(1);
    expect(account.armCalls).toEqual({ 'PUT virtualMachineScaleSets/{name}': 2 });
  });

  it('measures the way from a stockout to the next pool, and says when no stockout happened', () => {
    const failures = [{ pool: 'general', code: 'AllocationFailed', endedMs: 12_000 }];
    const seconds = (calls: readonly ArmCall[]): unknown => summarize({ ...EMPTY, failures, calls }).stockouts;
    expect(seconds([aWrite({}), aWrite({ pool: 'reserve', atMs: 13_500 })])).toEqual([
      { group: 'general', code: 'AllocationFailed', secondsToFallback: 1.5 },
    ]);
    expect(seconds([aWrite({})])).toEqual([{ group: 'general', code: 'AllocationFailed', secondsToFallback: -1 }]);
  });

  it('adds up what was deleted and evicted by pool', () => {
    const remove = { method: 'POST', route: 'virtualMachineScaleSets/{name}/delete', status: 202 };
    const calls = [
      aWrite({ ...remove, instances: 2 }),
      aWrite({ ...remove, instances: 1 }),
      aWrite({ ...remove, instances: 3, status: 400 }),
    ];
    const evictions = [{ pod: 'x', pool: 'general' }];
    expect(summarize({ ...EMPTY, calls, evictions }).scaleDowns).toEqual([{ group: 'general', nodes: 3, evictedPods: 1 }]);
  });
});

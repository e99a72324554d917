import { describe, expect, it } from 'vitest';
import { RateLimits, remainingTokens } from '../../../src/azure/arm/rate-limits.ts';
import type { ArmOperation } from '../../../src/azure/arm/call-list.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function budgets(): { readonly b: RateLimits; readonly low: Map<string, boolean> } {
  const b = new RateLimits(new FakeClock(START_MS), createMetrics().arm);
  const low = new Map<string, boolean>();
  b.onLow((family, isLow) => low.set(family, isLow));
  return { b, low };
}

const told = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];
const READS = 'x-ms-ratelimit-remaining-subscription-reads';
const GLOBAL_READS = 'x-ms-ratelimit-remaining-subscription-global-reads';
const RESOURCE = 'x-ms-ratelimit-remaining-resource';

describe('the headers of an answer', () => {
  it('is every budget: of the policy, of the gateway, and of all principals together', () => {
    const verbs = ['reads', 'writes', 'deletes'];
    const headers = Object.fromEntries(
      verbs.flatMap((verb, index) => [
        [`x-ms-ratelimit-remaining-subscription-${verb}`, String(249 - index)],
        [`x-ms-ratelimit-remaining-subscription-global-${verb}`, String(3749 - index)],
      ]),
    );
    const policies = new Map(remainingTokens(told(headers)).map(({ policy, remaining }) => [policy, remaining]));
    expect(Object.fromEntries(policies)).toEqual({
      'subscription-reads': 249,
      'subscription-writes': 248,
      'subscription-deletes': 247,
      'subscription-global-reads': 3749,
      'subscription-global-writes': 3748,
      'subscription-global-deletes': 3747,
    });
  });

  it.each([
    ['nothing', {}],
    ['an empty header', { [RESOURCE]: '' }],
    ['an invalid count', { [RESOURCE]: 'Microsoft.Compute/GetVMScaleSetResource;many' }],
    ['a negative count', { [READS]: '-1' }],
    ['a name without a count', { [RESOURCE]: 'Microsoft.Compute/GetVMScaleSetResource' }],
  ])('of %s is nothing', (_what, headers) => {
    expect(remainingTokens(told(headers))).toEqual([]);
  });
});

describe('reads slow down', () => {
  const call = { operation: 'listScaleSets', resource: '' } as const;

  it.each([READS, GLOBAL_READS])('all of them, writes not, while %s is low', (header) => {
    const { b, low } = budgets();
    b.recordHeaders(call, told({ [header]: '1000' }));
    expect(low.size).toBe(0);
    b.recordHeaders(call, told({ [header]: '199' }));
    expect([low.get('HighCostGetVMScaleSet'), low.get('Skus'), low.get('AgentPools')]).toEqual([true, true, true]);
    expect(low.has('CreateVMScaleSet')).toBe(false);
    b.recordHeaders(call, told({ [header]: '900' }));
    expect(new Set(low.values())).toEqual(new Set([false]));
  });

  it('one family that is low stays slow when the others need not be any more', () => {
    const { b, low } = budgets();
    const family = 'Microsoft.Compute/HighCostGetVMScaleSetSubscriptionMaximum';
    b.recordHeaders(call, told({ [READS]: '1000', [RESOURCE]: `${family};1000` }));
    b.recordHeaders(call, told({ [READS]: '10', [RESOURCE]: `${family};10` }));
    b.recordHeaders(call, told({ [READS]: '1000' }));
    expect([low.get('HighCostGetVMScaleSet'), low.get('Skus')]).toEqual([true, false]);
  });

  it('that view instances, lists and single ones, while their common limit is low (recorded in 2025)', () => {
    const { b, low } = budgets();
    for (const count of [30_000, 5_000])
      b.recordHeaders(call, told({ [RESOURCE]: `Microsoft.Compute/VMScaleSetVMViewsSubscriptionMaximum;${count}` }));
    expect(Object.fromEntries(low)).toEqual({ HighCostGetVMScaleSet: true, GetVMScaleSetVM: true });
    expect(b.remainingCallsOf('GetVMScaleSetVM')).toMatchObject({ remaining: 5_000, largest: 30_000 });
    expect(b.remainingCallsOf('GetVMScaleSet')).toBeUndefined();
    b.recordHeaders(call, told({ [RESOURCE]: 'Microsoft.Compute/VMScaleSetVMViewsSubscriptionMaximum;20000' }));
    expect(Object.fromEntries(low)).toEqual({ HighCostGetVMScaleSet: false, GetVMScaleSetVM: false });
  });

  // Azure's CLI recorded the first names in August 2024; the documentation has the second ones.
  it.each([
    ['deleteInstances', 'VMScaleSetActions', 'DeleteVMScaleSet'],
    ['listVms', 'HighCostGet', 'HighCostGetVM'],
  ] as const)('that %s makes, under both names of its limit', (operation, recorded, documented) => {
    for (const name of [recorded, documented]) {
      const { b, low } = budgets();
      for (const count of [1_500, 100])
        b.recordHeaders({ operation, resource: 'set' }, told({ [RESOURCE]: `Microsoft.Compute/${name}SubscriptionMaximum;${count}` }));
      expect([Object.fromEntries(low), b.remainingCallsOf(recorded)?.remaining]).toEqual([{ [recorded]: true }, 100]);
    }
  });

  it('for a policy under its name of before 2024, too', () => {
    const { b, low } = budgets();
    for (const count of [2500, 100]) b.recordHeaders(call, told({ [RESOURCE]: `Microsoft.Compute/HighCostGetVMScaleSet30Min;${count}` }));
    expect(low.get('HighCostGetVMScaleSet')).toBe(true);
  });
});

describe('Azure refuses a read for a limit that several kinds of reads share', () => {
  it.each(['listInstances', 'getInstance'] as const)(
    '%s has no views left: neither lists nor single reads are sent, other reads are',
    (operation) => {
      const { b } = budgets();
      const detail = { kind: 'throttled', retryAfterMs: 36_000, policy: 'VMScaleSetVMViewsSubscriptionMaximum' } as const;
      b.recordThrottled({ operation, resource: 'set' }, new AutoscalerError(detail, 'm', { code: 'OperationNotAllowed' }));
      const isHeld = (read: ArmOperation): boolean => b.admit({ operation: read, resource: 'other' }) !== undefined;
      expect([isHeld('listInstances'), isHeld('getInstance'), isHeld('getScaleSet'), isHeld('listVms')]).toEqual([
        true,
        true,
        false,
        false,
      ]);
    },
  );
});

describe('AKS throttles a pool', () => {
  const throttled = new AutoscalerError({ kind: 'throttled', retryAfterMs: 36_000 }, 'm', { code: 'Throttled' });
  const isHeld = (b: RateLimits, operation: ArmOperation, resource: string): boolean => b.admit({ operation, resource }) !== undefined;

  it('that pool waits, the others do not', () => {
    const { b } = budgets();
    b.recordThrottled({ operation: 'putAgentPool', resource: 'one' }, throttled);
    expect([isHeld(b, 'putAgentPool', 'one'), isHeld(b, 'putAgentPool', 'two'), isHeld(b, 'listAgentPools', '')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('a list of pools is throttled as a whole', () => {
    const { b } = budgets();
    b.recordThrottled({ operation: 'listAgentPools', resource: '' }, throttled);
    expect([isHeld(b, 'listAgentPools', ''), isHeld(b, 'putAgentPool', 'one')]).toEqual([true, false]);
  });
});

describe('until when a policy holds calls back', () => {
  const call = (resource: string) => ({ operation: 'getScaleSet', resource }) as const;
  const refusal = (retryAfterMs: number) =>
    new AutoscalerError({ kind: 'throttled', retryAfterMs, policy: 'GetVMScaleSetResource' }, 'Too many requests.');

  it('is reported from the first answer on, as that of the set with the longest wait', async () => {
    const metrics = createMetrics().arm;
    const clock = new FakeClock(START_MS);
    const b = new RateLimits(clock, metrics);
    const secondsLeft = async () =>
      Object.fromEntries(
        (await metrics.throttledUntil.get()).values.map(({ labels, value }) => [
          labels.policy,
          value === 0 ? 0 : value - clock.now() / 1000,
        ]),
      );
    b.recordAnswer(call('a'));
    expect(await secondsLeft()).toEqual({ GetVMScaleSet: 0, 'subscription-reads': 0 });
    b.recordThrottled(call('a'), refusal(300_000));
    b.recordThrottled(call('b'), refusal(20_000));
    expect(await secondsLeft()).toMatchObject({ GetVMScaleSet: 300 });
    await clock.advance(30_000);
    // The short hold is over and a call let through: the long one goes on.
    b.recordAnswer(call('b'));
    b.recordAnswer(call('c'));
    expect(await secondsLeft()).toMatchObject({ GetVMScaleSet: 270 });
    await clock.advance(300_000);
    b.recordAnswer(call('a'));
    expect(await secondsLeft()).toMatchObject({ GetVMScaleSet: 0 });
  });
});

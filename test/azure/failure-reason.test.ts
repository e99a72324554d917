import { describe, expect, it } from 'vitest';
import { classifyInstanceFailure, failureReason } from '../../src/azure/arm/errors.ts';
import { classify, wrapped } from './arm-answers.ts';

describe('what was in the way', () => {
  const group = { vmSize: 'Standard_D4s_v5' };
  it.each([
    ['quota', { kind: 'quota', quota: 'standardDSv5Family Cores' }, 'OperationNotAllowed'],
    ['spot-quota', { kind: 'quota', quota: 'LowPriorityCores' }, 'QuotaExceeded'],
    ['spot-quota', { kind: 'quota', quota: 'Total Regional Spot vCPUs' }, 'QuotaExceeded'],
    ['stock', { kind: 'out-of-capacity', scope: group }, 'AllocationFailed'],
    ['stock', { kind: 'out-of-capacity', scope: group }, 'OverconstrainedAllocationRequest'],
    ['zone-stock', { kind: 'out-of-capacity', scope: { ...group, zone: '1' } }, 'ZonalAllocationFailed'],
    ['sku', { kind: 'out-of-capacity', scope: group }, 'SkuNotAvailable'],
    ['identity', { kind: 'auth' }, 'AuthorizationFailed'],
    ['bootstrap', { kind: 'unavailable', effect: 'unknown' }, 'VMExtensionProvisioningError'],
    ['bootstrap', { kind: 'unavailable', effect: 'unknown' }, 'OSProvisioningTimedOut'],
    ['throttled', { kind: 'throttled', retryAfterMs: undefined }, 'TooManyRequests'],
    ['unavailable', { kind: 'unavailable', effect: 'none' }, 'InternalServerError'],
    ['other', { kind: 'bug' }, undefined],
  ] as const)('%s: %o %s', (reason, detail, code) => {
    expect(failureReason({ detail, code })).toBe(reason);
  });

  it.each([
    ['subnet', wrapped('SubnetIsFull', 'Subnet with address prefix 10.224.0.0/24 does not have enough capacity for 3 IP addresses.')],
    ['policy', wrapped('RequestDisallowedByPolicy', "Resource 'aks-user1-vmss' was disallowed by policy.")],
    ['spot-quota', wrapped('QuotaExceeded', 'Operation results in exceeding approved LowPriorityCores quota.')],
    ['identity', wrapped('AuthorizationFailed', 'The client does not have authorization to perform action.')],
  ])('%s, of an answer', (reason, body) => {
    expect(failureReason(classify({ status: 400, body }))).toBe(reason);
  });

  it('bootstrap, of a machine', () => {
    expect(failureReason(classifyInstanceFailure('VMExtensionProvisioningError', 'vmssCSE exited with 50'))).toBe('bootstrap');
  });
});

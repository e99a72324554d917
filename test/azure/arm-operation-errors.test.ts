import { describe, expect, it } from 'vitest';
import { classifyOperationError } from '../../src/azure/arm/errors.ts';
import { HINTS, QUOTA_TEXT } from './arm-answers.ts';

describe('arm errors: operations that failed after they were accepted', () => {
  const zonal = { scope: HINTS.scope, zoneOf: (id: string) => (id === '4' ? 'eastus2-2' : undefined) };

  it.each([
    [
      'fault 5',
      { code: 'AllocationFailed', message: 'Allocation failed.' },
      { kind: 'out-of-capacity', scope: HINTS.scope },
      'AllocationFailed',
    ],
    [
      'with the zone of the instance it names',
      { code: 'ZonalAllocationFailed', message: 'Allocation failed.', target: '4' },
      { kind: 'out-of-capacity', scope: { ...HINTS.scope, zone: 'eastus2-2' } },
      'ZonalAllocationFailed',
    ],
    [
      'fault 7',
      { code: 'OverconstrainedAllocationRequest', message: 'Constraints applied are:\n  - VM Size\n' },
      { kind: 'out-of-capacity', scope: HINTS.scope },
      'OverconstrainedAllocationRequest',
    ],
    [
      'a code hidden below the outer one',
      {
        code: 'VMScaleSetOperationFailed',
        message: 'see details',
        details: [{ code: 'AllocationFailed', message: 'Allocation failed.', target: '7' }],
      },
      { kind: 'out-of-capacity', scope: HINTS.scope },
      'AllocationFailed',
    ],
    [
      'a code in the inner error',
      { code: 'Failed', message: 'x', innererror: { code: 'QuotaExceeded', message: QUOTA_TEXT } },
      { kind: 'quota', quota: 'standardDSv5Family Cores', limit: 10, usage: 8, required: 8 },
      'QuotaExceeded',
    ],
    [
      'zonal',
      { code: 'OverconstrainedZonalAllocationRequest', message: 'Constraints applied are:', target: '4' },
      { kind: 'out-of-capacity', scope: { ...HINTS.scope, zone: 'eastus2-2' } },
      'OverconstrainedZonalAllocationRequest',
    ],
    [
      'an allocation that took too long',
      { code: 'AllocationTimeout', message: 'Allocation timed out.' },
      { kind: 'out-of-capacity', scope: HINTS.scope },
      'AllocationTimeout',
    ],
    [
      'a lack told in words alone',
      { code: 'Conflict', message: 'We do not have sufficient capacity for the requested VM size in this region.' },
      { kind: 'out-of-capacity', scope: HINTS.scope },
      'Conflict',
    ],
    [
      'fault 11',
      { code: 'VMExtensionProvisioningError', message: 'VM has reported a failure when processing extension vmssCSE. exit status=50' },
      { kind: 'unavailable', effect: 'unknown' },
      'VMExtensionProvisioningError',
    ],
    [
      'fault 35',
      { code: 'InternalExecutionError', message: 'An internal execution error occurred.' },
      { kind: 'unavailable', effect: 'unknown' },
      'InternalExecutionError',
    ],
    [
      'a policy that speaks late',
      { code: 'RequestDisallowedByPolicy', message: 'disallowed' },
      { kind: 'quota', quota: 'policy or lock (RequestDisallowedByPolicy)', local: true },
      'RequestDisallowedByPolicy',
    ],
    ['fault 18', { code: 'OperationPreempted', message: 'preempted by a newer operation' }, { kind: 'conflict' }, 'OperationPreempted'],
    [
      'an entity tag that AKS itself lost (terraform-azurerm-aks 354)',
      {
        code: 'EtagMismatch',
        message: 'Operation is not allowed: Another operation is in progress',
        details: [{ code: 'Unspecified', message: '' }],
      },
      { kind: 'conflict' },
      'EtagMismatch',
    ],
    [
      'an operation that AKS preempted (kaito 2075)',
      {
        code: 'ResourceOperationFailure',
        message: 'The resource operation completed with terminal provisioning state Failed.',
        details: [{ code: 'OriginalEtagNotExpect', message: 'The operation has been preempted by Deleting operation.' }],
      },
      { kind: 'conflict' },
      'OriginalEtagNotExpect',
    ],
    [
      'fault 63',
      { code: 'SubnetIsFull', message: 'Subnet s with address prefix 10.224.0.0/24 does not have enough capacity for 1 IP addresses.' },
      { kind: 'quota', quota: 'subnet addresses', local: true },
      'SubnetIsFull',
    ],
    [
      'fault 12',
      { code: 'OSProvisioningTimedOut', message: 'timed out' },
      { kind: 'unavailable', effect: 'unknown' },
      'OSProvisioningTimedOut',
    ],
    ['no error object at all', undefined, { kind: 'unavailable', effect: 'unknown' }, 'Failed'],
  ])('%s', (_name, body, detail, code) => {
    expect(classifyOperationError(body, zonal)).toMatchObject({ detail, code });
  });

  it('keeps what was said of each instance', () => {
    const details = [
      { code: 'AllocationFailed', message: 'a', target: '4' },
      { code: 'QuotaExceeded', message: 'exceeding approved X Cores quota', target: 'aks-user1-vmss_5' },
    ];
    const failure = classifyOperationError({ code: 'AllocationFailed', message: 'partly', target: '4', details }, zonal);
    expect(failure.instances.map(({ instanceId, detail }) => [instanceId, detail.kind])).toEqual([
      ['4', 'out-of-capacity'],
      ['5', 'quota'],
    ]);
  });

  it('survives a body nested without end', () => {
    const endless: Record<string, unknown> = { code: 'A', message: 'm' };
    endless['innererror'] = endless;
    expect(classifyOperationError(endless).code).toBe('A');
  });
});

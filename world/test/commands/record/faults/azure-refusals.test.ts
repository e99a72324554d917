import { describe, expect, it } from 'vitest';
import { refusalsOf } from '../../../../commands/record/azure-pools.ts';
import type { Instance, NodeGroup } from '../../../../../src/domain/node-group.ts';
import { instanceKey, nodeGroupId } from '../../../../../src/domain/ids.ts';

const NOW_MS = 1_760_000_000_000;

function failed(change: Partial<Instance>): Pick<NodeGroup, 'id' | 'agentPool' | 'instances'> {
  const instance: Instance = {
    key: instanceKey('s|g|vmss|aks-general-12345678-vmss|3'),
    providerId: 'azure:///x/3',
    instanceId: '3',
    state: 'failed',
    zone: '2',
    error: { detail: { kind: 'out-of-capacity', scope: {} }, code: 'ZonalAllocationFailed', message: 'No capacity.' },
    firstSeenMs: NOW_MS - 5_000,
    createdAtMs: NOW_MS - 60_000,
    startedAtMs: undefined,
    hostName: undefined,
    uid: undefined,
    protectedFrom: undefined,
    ...change,
  };
  return { id: nodeGroupId('aks-general-12345678-vmss'), instances: [instance], agentPool: undefined };
}

describe('a VM in the list of its scale set', () => {
  it('that could not be allocated is a refusal, in its zone', () => {
    expect(refusalsOf(failed({}), NOW_MS)).toEqual([
      { atMs: NOW_MS - 60_000, pool: 'general', why: 'stock', zone: '2', code: 'ZonalAllocationFailed' },
    ]);
  });

  it.each<{ what: string; change: Partial<Instance> }>([
    { what: 'runs', change: { state: 'running', error: undefined } },
    {
      what: 'failed after its allocation',
      change: { error: { detail: { kind: 'unavailable', effect: 'none' }, code: 'VMExtensionProvisioningError', message: 'x' } },
    },
  ])('that $what is not a refusal', ({ change }) => {
    expect(refusalsOf(failed(change), NOW_MS)).toEqual([]);
  });
});

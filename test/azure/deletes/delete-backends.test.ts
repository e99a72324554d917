import { describe, expect, it } from 'vitest';
import { allowsForce } from '../../../src/azure/deletes/delete-backends.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';

const HOSTS = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/hostGroups/h';

function forced(vmSize: string, hostGroup?: string): boolean {
  const raw = { name: 's', location: 'l', sku: { name: vmSize, capacity: 1 } };
  return allowsForce(projectScaleSet(hostGroup === undefined ? raw : { ...raw, hostGroup: { id: hostGroup } }));
}

describe('a forced delete', () => {
  it.each([
    'Standard_E80ids_v4',
    'Standard_E80is_v4',
    'Standard_E104i_v5',
    'Standard_E104is_v5',
    'Standard_E104id_v5',
    'Standard_E104ids_v5',
    'Standard_M192is_v2',
    'Standard_M192ims_v2',
    'Standard_M192ids_v2',
    'Standard_M192idms_v2',
    'Standard_F72s_v2',
    'Standard_M128ms',
  ])('is not asked of %s, in any letter case: it has its host to itself', (size) => {
    expect([size, size.toLowerCase(), size.toUpperCase()].map((name) => forced(name))).toEqual([false, false, false]);
  });

  it.each([
    'Standard_D4s_v5',
    'Standard_E80ds_v4',
    'Standard_E104s_v5',
    'Standard_M128s',
    'Standard_F64s_v2',
    'Standard_NC24ads_A100_v4',
    'Standard_D2ps_v5',
  ])('is asked of %s, unless it is on a dedicated host', (size) => {
    expect([forced(size), forced(size, HOSTS), forced(size, '')]).toEqual([true, false, true]);
  });

  it('is asked of a set that was not read: a refusal leads to one without force', () => {
    expect(allowsForce(undefined)).toBe(true);
  });
});

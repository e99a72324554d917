/** The zones of a group whose instances Azure places, as its facts combine them, and why it does not grow while they are not known. */
import { describe, expect, it } from 'vitest';
import { GroupFacts } from '../../../src/azure/inventory/group-facts.ts';
import type { RegisteredGroup } from '../../../src/azure/groups/registry.ts';
import { projectScaleSet, type ScaleSetRow } from '../../../src/azure/rows/scale-set.ts';
import { unavailableReason, type Sku } from '../../../src/azure/sizes/sku-catalog.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';

const NO_SELECTION = { nodeGroups: [], discovery: [], nodeGroupOptions: [] };
const GROUP: RegisteredGroup = { id: nodeGroupId('set'), key: 'set', kind: 'scale-set', min: 0, max: 9, explicit: true };
const SIZE: Sku = {
  name: 'Standard_X9',
  vcpus: 4,
  quotaVcpus: 4,
  memoryBytes: 2 ** 34,
  gpus: 0,
  arch: 'amd64',
  zones: ['1', '2', '3'],
  quotaFamily: 'f',
};

function facts({ placement, sku, seen }: { readonly placement: object; readonly sku?: Sku | undefined; readonly seen: readonly string[] }) {
  const set = projectScaleSet({ name: 'set', location: 'westeurope', sku: { name: 'Standard_X9', capacity: 1 }, placement }) as ScaleSetRow;
  return new GroupFacts({
    options: { writePath: 'vmss', clusterName: undefined, clusterResourceGroup: undefined, deallocate: false },
    clock: { monotonic: () => 0 },
    scaleSets: { get: () => ({ key: 'set', scope: '', agentId: 'sets', value: set, etag: '"1"' }) },
    vmsPools: { heldReason: () => undefined, poolHeldReason: () => undefined, sizes: new Map() },
    ownWrites: { increaseHeldReason: () => undefined, isThroughAks: () => false },
    rateLimits: { heldReason: () => undefined },
    quota: { quotas: () => [] },
    known: { pools: undefined, groups: () => [GROUP].values(), selection: NO_SELECTION },
    sizes: { find: () => sku, unavailableReason },
    instanceZones: () => seen,
    machineDisk: () => undefined,
  });
}

const AUTO = { zonePlacementPolicy: 'Auto' };
const UNKNOWN = { code: 'zones-unknown' };
const closed: Sku = { ...SIZE, restrictions: [{ kind: 'zone', zones: ['1'], code: 'NotAvailableForSubscription' }], zones: ['2', '3'] };

describe('a group whose instances Azure places', () => {
  it.each([
    ['the zones of its size', AUTO, SIZE, [], ['1', '2', '3'], undefined],
    ['no zone that is closed to the subscription', AUTO, closed, [], ['2', '3'], undefined],
    ['also a zone in which it has an instance', { ...AUTO, excludeZones: ['3'] }, SIZE, ['westeurope-3'], ['1', '2', '3'], undefined],
    ['no known zone, and does not grow', AUTO, undefined, [], [], UNKNOWN],
    ['no known zone of a size without zones here, and does not grow', AUTO, { ...SIZE, zones: [] }, [], [], UNKNOWN],
    ['the zones of its instances if its size is not known', AUTO, undefined, ['westeurope-2'], ['2'], undefined],
  ])('has %s', (_what, placement, sku, seen, zones, reason) => {
    const known = facts({ placement, sku, seen });
    expect([known.placedZonesOf(GROUP), known.restrictedReason(GROUP)]).toEqual([zones, reason]);
  });

  it('is another than one that names its zones', () => {
    expect(facts({ placement: {}, sku: SIZE, seen: [] }).placedZonesOf(GROUP)).toBeUndefined();
  });
});

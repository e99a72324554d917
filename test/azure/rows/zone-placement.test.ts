/** Groups whose instances Azure places in zones of its choice. Forms: recorded by azure-powershell, December 2025, and AKS's page of July 2026. */
import { describe, expect, it } from 'vitest';
import { mappableBody } from '../../../src/azure/arm/response-bodies.ts';
import { parseAgentPool } from '../../../src/azure/rows/agent-pool-list.ts';
import { projectAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { placedZones } from '../../../src/azure/rows/zone-placement.ts';

const ANY = { included: [], excluded: [] };
const poolOf = (availabilityZones: unknown) => {
  const pool = parseAgentPool({ name: 'general', properties: { type: 'VirtualMachines', availabilityZones } });
  return pool === undefined ? undefined : projectAgentPool(pool);
};

describe('the zones of an agent pool', () => {
  it.each([
    [['1', '3', '2'], ['1', '2', '3'], undefined],
    [['auto'], [], ANY],
    [['Auto'], [], ANY],
    [['any zone', '2'], ['2'], undefined],
    [[2, 1], ['1', '2'], undefined],
    [[], [], undefined],
    [null, [], undefined],
    [undefined, [], undefined],
  ])('%j are the numbers %j; Azure places: %j', (given, zones, placement) => {
    expect(poolOf(given)).toMatchObject({ zones });
    expect(poolOf(given)?.placement).toEqual(placement);
  });
});

describe('the placement of a scale set', () => {
  const setOf = (given: object) => {
    const body = mappableBody(
      'getScaleSet',
      JSON.stringify({ name: 'set', location: 'westeurope', sku: { name: 'S', capacity: 1 }, ...given }),
    );
    const { properties, ...document } = JSON.parse(body ?? '') as { location: string; properties?: object };
    // As the SDK maps it.
    return projectScaleSet({ ...document, ...properties });
  };

  it.each([
    [{ placement: { zonePlacementPolicy: 'Auto', includeZones: ['2', '1'] } }, [], { included: ['1', '2'], excluded: [] }],
    [{ placement: { zonePlacementPolicy: 'auto', excludeZones: ['3'] } }, [], { included: [], excluded: ['3'] }],
    [{ placement: { zonePlacementPolicy: 'Any' } }, [], ANY],
    [{ placement: { zonePlacementPolicy: 'Auto', includeZones: null } }, [], ANY],
    [{ zones: ['3', '1'], placement: {} }, ['1', '3'], undefined],
    [{ zones: ['3', '1'], placement: null }, ['1', '3'], undefined],
    [{}, [], undefined],
  ])('%j: zones %j, placed by Azure: %j', (given, zones, placement) => {
    expect(setOf(given)).toMatchObject({ zones });
    expect(setOf(given)?.placement).toEqual(placement);
  });

  it('and its capacity reservation group survive what is kept of a response', () => {
    const id = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/Paid';
    const profile = { capacityReservation: { capacityReservationGroup: { id } } };
    expect(setOf({ properties: { virtualMachineProfile: profile } })?.reservationGroup).toBe(id.toLowerCase());
  });
});

describe('the zones in which Azure may place instances', () => {
  it.each([
    ['any of the size', ANY, ['1', '2', '3'], [], ['1', '2', '3']],
    ['only those included', { included: ['1', '2'], excluded: [] }, ['1', '2', '3'], [], ['1', '2']],
    ['not those excluded', { included: [], excluded: ['2'] }, ['1', '2', '3'], [], ['1', '3']],
    ['those of its instances, too', { included: ['1'], excluded: [] }, ['1', '2'], ['westeurope-3', 'westeurope-1', undefined], ['1', '3']],
    ['those of its instances if the size is not known', ANY, [], ['westeurope-2'], ['2']],
    ['a fault domain is no zone of Azure’s choice', ANY, [], [undefined, '', 'westeurope'], []],
  ])('are %s', (_what, placement, ofSize, ofInstances, expected) => {
    expect(placedZones(placement, ofSize, ofInstances)).toEqual(expected);
  });
});

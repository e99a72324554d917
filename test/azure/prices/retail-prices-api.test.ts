import { describe, expect, it } from 'vitest';
import { pricesOf } from '../../../src/azure/prices/retail-prices-api.ts';

const NOW = Date.parse('2026-11-21T00:00:00Z');
const D4 = {
  currencyCode: 'USD',
  tierMinimumUnits: 0,
  retailPrice: 0.23,
  armRegionName: 'westeurope',
  effectiveStartDate: '2022-01-01T00:00:00Z',
  productName: 'Virtual Machines DSv5 Series',
  skuName: 'D4s v5',
  serviceName: 'Virtual Machines',
  unitOfMeasure: '1 Hour',
  type: 'Consumption',
  isPrimaryMeterRegion: true,
  armSkuName: 'Standard_D4s_v5',
};
const read = (...items: readonly unknown[]) => pricesOf(items, { vmSize: 'Standard_D4s_v5', currency: 'USD' }, NOW);

describe('meters of managed disks', () => {
  const disk = {
    currencyCode: 'USD',
    tierMinimumUnits: 0,
    retailPrice: 19.71,
    effectiveStartDate: '2022-01-01T00:00:00Z',
    productName: 'Premium SSD Managed Disks',
    skuName: 'P10 LRS',
    meterName: 'P10 LRS Disk',
    serviceName: 'Storage',
    unitOfMeasure: '1/Month',
    type: 'Consumption',
    isPrimaryMeterRegion: true,
  };
  it.each<[string, object, object]>([
    ['by the month', {}, { disk: 0.027 }],
    ['in the older spelling of the unit', { unitOfMeasure: '1 Month' }, { disk: 0.027 }],
    ['mounts of a shared disk', { meterName: 'P10 LRS Disk Mount' }, {}],
    ['operations', { meterName: 'P10 LRS Disk Operations' }, {}],
    ['another size', { skuName: 'P15 LRS', meterName: 'P15 LRS Disk' }, {}],
    ['page blobs', { productName: 'Premium Page Blob' }, {}],
    ['a reservation', { type: 'Reservation' }, {}],
    ['a VM of that name', { unitOfMeasure: '1 Hour', armSkuName: 'P10 LRS' }, {}],
  ])('%s', (_, change, expected) => {
    expect(pricesOf([{ ...disk, ...change }], { vmSize: 'P10 LRS', currency: 'USD' }, NOW).perHour).toEqual(expected);
  });
});

describe('meters of the public price list', () => {
  it.each<[string, object, object]>([
    ['Linux', {}, { linux: 0.23 }],
    ['Windows, by the product', { productName: 'Virtual Machines DSv5 Series Windows' }, { windows: 0.23 }],
    ['Spot, by the SKU', { skuName: 'D4s v5 Spot' }, { 'linux/spot': 0.23 }],
    ['Spot with Windows', { skuName: 'D4s v5 Spot', productName: 'Virtual Machines DSv5 Series Windows' }, { 'windows/spot': 0.23 }],
    ['the size in another case', { armSkuName: 'standard_d4s_v5' }, { linux: 0.23 }],
    ['Low Priority, which is not Spot', { skuName: 'D4s v5 Low Priority' }, {}],
    ['a cloud service', { productName: 'DSv5 Series Cloud Services' }, {}],
    ['a reservation', { type: 'Reservation', reservationTerm: '1 Year' }, {}],
    ['dev/test', { type: 'DevTestConsumption' }, {}],
    ['by the month', { unitOfMeasure: '1/Month' }, {}],
    ['from a number of units on', { tierMinimumUnits: 100 }, {}],
    ['another currency', { currencyCode: 'EUR' }, {}],
    ['another size', { armSkuName: 'Standard_D8s_v5' }, {}],
    ['for nothing', { retailPrice: 0 }, {}],
    ['below nothing', { retailPrice: -1 }, {}],
    ['a text', { retailPrice: '0.23' }, {}],
    ['not begun yet', { effectiveStartDate: '2027-01-01T00:00:00Z' }, {}],
    ['without a beginning', { effectiveStartDate: undefined }, {}],
  ])('%s', (_, change, expected) => {
    expect(read({ ...D4, ...change })).toEqual({ perHour: expected, readAtMs: NOW });
  });

  it('the newest price holds', () => {
    const newer = { ...D4, retailPrice: 0.2, effectiveStartDate: '2025-01-01T00:00:00Z' };
    expect(read(D4, newer).perHour).toEqual({ linux: 0.2 });
    expect(read(newer, D4).perHour).toEqual({ linux: 0.2 });
  });

  it("the region's own meter wins over a borrowed one", () => {
    expect(read({ ...D4, retailPrice: 9, isPrimaryMeterRegion: false, effectiveStartDate: '2025-01-01T00:00:00Z' }, D4).perHour).toEqual({
      linux: 0.23,
    });
  });

  it('two prices at once count as no price: nothing is made up', () => {
    expect(read(D4, { ...D4, retailPrice: 0.3 }, { ...D4, skuName: 'D4s v5 Spot' }).perHour).toEqual({ 'linux/spot': 0.23 });
    expect(read(D4, { ...D4 }).perHour).toEqual({ linux: 0.23 });
  });

  it.each([null, 1, 'x', [], {}, [{}]])('%j is no meter', (item) => {
    expect(read(item).perHour).toEqual({});
  });
});

import { expect, it } from 'vitest';
import { diskProductOf, diskSkuOf } from '../../../src/azure/sizes/disk-skus.ts';

it.each([
  ['Premium_LRS', 128, 'P10 LRS', 'Premium SSD Managed Disks'],
  ['Premium_ZRS', 129, 'P15 ZRS', 'Premium SSD Managed Disks'],
  ['StandardSSD_LRS', 30, 'E4 LRS', 'Standard SSD Managed Disks'],
  ['standard_lrs', 10, 'S4 LRS', 'Standard HDD Managed Disks'],
  ['Premium_LRS', 4095, 'P50 LRS', 'Premium SSD Managed Disks'],
  ['Premium_LRS', 5000, undefined, undefined],
  ['PremiumV2_LRS', 128, undefined, undefined],
  ['UltraSSD_LRS', 128, undefined, undefined],
  ['Premium_LRS', undefined, undefined, undefined],
  [undefined, 128, undefined, undefined],
])('a disk of %s with %s GiB is billed as %s', (tier, gib, sku, product) => {
  expect(diskSkuOf(tier, gib)).toBe(sku);
  expect(diskProductOf(sku ?? 'Standard_D4s_v5')).toBe(product);
});

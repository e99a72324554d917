import { describe, expect, it } from 'vitest';
import { reservedCpuMillis, reservedMemoryBytes } from '../../../src/azure/templates/aks-reservations.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

describe('reservations of AKS', () => {
  it.each([
    [1, 60],
    [2, 100],
    [4, 140],
    [8, 180],
    [16, 260],
    [32, 420],
    [64, 740],
  ])('%d cores keep %d millicores', (cores, millis) => {
    expect(reservedCpuMillis(cores)).toBe(millis);
  });

  it.each([
    [8, 30, '1.33.0', 650],
    [8, 110, '1.33.0', 2048],
    [8, 250, '1.33.0', 2048],
    [16, 30, '1.29.0', 650],
    [16, 110, '1.29.0', 2250],
    [16, 250, undefined, 4096],
    [32, 30, '1.30.1', 650],
    [32, 110, '1.30.1', 2250],
    [32, 250, '1.30.1', 5050],
    [64, 30, '2.0', 650],
    [64, 110, '', 2250],
    [64, 250, '2.0', 5050],
    [128, 250, 'v1.33.2', 5050],
    [256, 110, 'main', 2250],
  ])('%d GB with %d pods on %s keep %d MiB and the eviction threshold', (gib, maxPods, kubernetesVersion, mib) => {
    expect(reservedMemoryBytes({ memoryBytes: gib * GIB, maxPods, kubernetesVersion, os: 'linux' })).toBe((mib + 100) * MIB);
  });

  it.each([
    [8, 1843],
    [16, 2662],
    [32, 3645],
    [64, 5612],
    [128, 9544],
    [256, 12165],
  ])('before 1.29, %d GB keep %d MiB', (gib, mib) => {
    const bytes = reservedMemoryBytes({ memoryBytes: gib * GIB, maxPods: 110, kubernetesVersion: '1.28.9', os: 'linux' });
    expect(Math.round(bytes / MIB) - 750).toBe(mib);
  });
});

describe('reservations beyond the table', () => {
  const newer = { memoryBytes: 64 * GIB, maxPods: 30, kubernetesVersion: '1.33.0' } as const;

  it('Windows keeps two GB more', () => {
    expect(reservedMemoryBytes({ ...newer, os: 'windows' }) - reservedMemoryBytes({ ...newer, os: 'linux' })).toBe(2 * GIB);
  });

  it('more cores never keep less, and no node keeps all that it has', () => {
    const kept = Array.from({ length: 416 }, (_, index) => reservedCpuMillis(index + 1));
    expect(kept).toEqual(kept.toSorted((left, right) => left - right));
    expect(kept.every((millis, index) => millis < (index + 1) * 1000)).toBe(true);
  });
});

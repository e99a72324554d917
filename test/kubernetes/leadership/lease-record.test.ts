import { describe, expect, it } from 'vitest';
import { runsOutAfterMs, SeenLease, STOPS_WITHIN, stopsWithin, type LeaseJson } from '../../../src/kubernetes/leadership/lease-record.ts';
import { LEASE_TIMING } from '../../../src/kubernetes/api/options.ts';

function record(version: string, promise?: string, spec: LeaseJson['spec'] = { holderIdentity: 'a', leaseDurationSeconds: 15 }): LeaseJson {
  return { metadata: { resourceVersion: version, annotations: promise === undefined ? {} : { [STOPS_WITHIN]: promise } }, spec };
}

describe('when the record of another runs out', () => {
  it.each<[string, LeaseJson, number]>([
    ['by its duration, where its holder promises nothing', record('1'), 15_000],
    ['two seconds before, where the holder will have stopped after ten', record('1', stopsWithin('a', LEASE_TIMING)), 13_000],
    ['by its duration, where the promise was another holder’s', record('1', '10 b'), 15_000],
    ['by its duration, where the promise cannot be read', record('1', 'soon a'), 15_000],
    ['by its duration, where the holder promises no more than that', record('1', '15 a'), 15_000],
    ['by its duration, where the holder promises less than that', record('1', '20 a'), 15_000],
    ['a little before, where there is little between', record('1', '14 a'), 14_600],
    ['by our own duration, where it does not say', record('1', undefined, { holderIdentity: 'a', leaseDurationSeconds: null }), 15_000],
    ['by a duration of its own', record('1', undefined, { holderIdentity: 'a', leaseDurationSeconds: 60 }), 60_000],
  ])('is %s', (_what, lease, expected) => {
    expect(runsOutAfterMs(lease, LEASE_TIMING)).toBe(expected);
  });
});

describe('what is seen of it', () => {
  it('counts from its last change, from any source', () => {
    const seen = new SeenLease(LEASE_TIMING);
    expect(seen.hasRunOut(record('1'), 0)).toBe(false);
    expect(seen.hasRunOut(record('2'), 2_000)).toBe(false);
    // An answer from before the change arrives after it.
    expect(seen.hasRunOut(record('1'), 2_500)).toBe(false);
    expect(seen.untilFreeMs(2_500)).toBe(14_501);
    expect(seen.hasRunOut(record('2'), 17_000)).toBe(false);
    expect(seen.hasRunOut(record('2'), 17_001)).toBe(true);
    expect(seen.untilFreeMs(17_001)).toBe(Infinity);
  });

  it('never takes an answer from before for one that has run out', () => {
    const seen = new SeenLease(LEASE_TIMING);
    for (const [version, atMs] of Object.entries({ 1: 0, 2: 14_999 })) seen.hasRunOut(record(version), atMs);
    expect(seen.hasRunOut(record('1'), 15_100)).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { formatDuration, parseDurationMs } from '../../src/lib/duration.ts';

describe('parseDurationMs', () => {
  it.each<[string, number | undefined]>([
    ['600s', 600_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1000],
    ['+2m', 120_000],
    ['250ms', 250],
    ['500us', 0.5],
    ['500µs', 0.5],
    ['1ns', 1e-6],
    ['0', 0],
    ['+0', 0],
    ['0s', 0],
    ['', undefined],
    ['soon', undefined],
    ['10', undefined],
    ['-1s', undefined],
    ['1 m', undefined],
    ['1M', undefined],
    ['s', undefined],
    ['1d', undefined],
  ])('reads %j as %s ms', (text, ms) => expect(parseDurationMs(text)).toBe(ms));

  it('reads days only where they are accepted', () => {
    expect(parseDurationMs('1d12h', { days: true })).toBe(129_600_000);
    expect(parseDurationMs('1d12h')).toBeUndefined();
  });
});

describe('formatDuration', () => {
  it.each<[number, string]>([
    [-1, '0 s'],
    [0, '0 s'],
    [1_499, '1 s'],
    [119_499, '119 s'],
    [119_500, '2 min'],
    [560_000, '9 min'],
    [119.4 * 60_000, '119 min'],
    [2 * 3_600_000, '2.0 h'],
    [47.94 * 3_600_000, '47.9 h'],
    [48 * 3_600_000, '2.0 days'],
  ])('%d ms are %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
});

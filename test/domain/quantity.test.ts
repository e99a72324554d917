import { describe, expect, it } from 'vitest';
import { cpuMillis, parseQuantity, wholeUnits } from '../../src/domain/quantity.ts';

describe('quantities', () => {
  it.each([
    ['1', 1000],
    ['100m', 100],
    ['1.5', 1500],
    ['0.1', 100],
    ['2500u', 3],
    [2, 2000],
  ])('cpu %s is %d millicores', (text, millis) => expect(cpuMillis(text)).toBe(millis));

  it.each([
    ['1Ki', 1024],
    ['1.5Gi', 1_610_612_736],
    ['1M', 1_000_000],
    ['128974848', 128_974_848],
    ['129e6', 129_000_000],
    ['1E', 1e18],
    ['123Mi', 128_974_848],
    ['0', 0],
  ])('%s is %d units', (text, units) => expect(wholeUnits(text)).toBe(units));

  it.each(['', 'abc', '1.5.1', '1 Gi', 'Gi', '1gi', '--1'])('refuses "%s" naming it', (text) => {
    expect(() => parseQuantity(text)).toThrow(`"${text}" is not a quantity`);
  });
});

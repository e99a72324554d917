import { describe, expect, it } from 'vitest';
import { hasProtectionEnded, isProtectionUnreadable, PROTECTED, protectionOf, protectionText } from '../../src/domain/annotations.ts';

const START = Date.UTC(2026, 10, 23, 8, 0);
const HOUR = 3_600_000;
const NEVER_ENDS = undefined;

describe('karpenter.sh/do-not-disrupt', () => {
  it.each<[string, number | undefined]>([
    ['true', NEVER_ENDS],
    ['4h', START + 4 * HOUR],
    ['30m', START + HOUR / 2],
    ['1h30m', START + 1.5 * HOUR],
    ['1.5h', START + 1.5 * HOUR],
    ['90s', START + 90_000],
    ['2562047h', START + 2_562_047 * HOUR],
  ])('"%s" protects from the start for that long', (value, untilMs) => {
    const protection = protectionOf(value, START);
    expect(protection?.protectedUntilMs).toBe(untilMs);
    expect(isProtectionUnreadable(protection ?? PROTECTED)).toBe(false);
    const endMs = untilMs ?? Number.MAX_SAFE_INTEGER;
    expect([endMs - 1, endMs].map((nowMs) => hasProtectionEnded(protection ?? PROTECTED, nowMs))).toEqual([false, untilMs !== undefined]);
  });

  it.each(['false', '0s', '0', '0h0m'])('"%s" protects nothing, started or not', (value) => {
    expect([protectionOf(value, START), protectionOf(value, undefined)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['a word', 'soon'],
    ['another spelling of true', 'TRUE'],
    ['another spelling of false', 'False'],
    ['nothing', ''],
    ['a number without a unit', '240'],
    ['days, which Go does not have', '2d'],
    ['spaces', ' 4h'],
    ['less than nothing', '-4h'],
    ['more than a Go duration can hold', '2562048h'],
    ['a number beyond all numbers', `${'9'.repeat(400)}h`],
  ])('protects without end, and says so, if its value cannot be read: %s', (_what, value) => {
    const protection = protectionOf(value, START) ?? PROTECTED;
    expect(hasProtectionEnded(protection, Number.MAX_SAFE_INTEGER)).toBe(false);
    expect(isProtectionUnreadable(protection)).toBe(true);
    expect(protectionText(protection)).toMatch(
      /^karpenter\.sh\/do-not-disrupt: ".{0,64}", which is neither true, false nor a duration such as 4h/,
    );
  });

  it('protects for now if the start is not known, and then until long after the start, even if a clock is ahead', () => {
    const waiting = protectionOf('4h', undefined) ?? PROTECTED;
    expect(hasProtectionEnded(waiting, Number.MAX_SAFE_INTEGER)).toBe(false);
    expect(isProtectionUnreadable(waiting)).toBe(false);
    expect(protectionOf('4h', START + HOUR)?.protectedUntilMs).toBe(START + 5 * HOUR);
  });

  it.each([
    ['true', START, 'karpenter.sh/do-not-disrupt: "true"'],
    ['4h', START, 'karpenter.sh/do-not-disrupt: "4h", until 2026-11-23 12:00 UTC'],
    ['4h', undefined, 'karpenter.sh/do-not-disrupt: "4h" from its start, which is not known yet'],
    ['2562047h', 8.64e15, 'karpenter.sh/do-not-disrupt: "2562047h", until +275760-09-13 00:00 UTC'],
  ])('is shown with what it means: "%s" from %s', (value, sinceMs, text) => {
    expect(protectionText(protectionOf(value, sinceMs) ?? PROTECTED)).toBe(text);
  });
});

import type { TokenCredential } from '@azure/core-auth';
import { describe, expect, it } from 'vitest';
import { HeldCredential } from '../../../src/azure/arm/held-credential.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { START_MS } from '../../support/builders.ts';
import { silentLog } from '../../support/silent-log.ts';

const MINUTE = 60_000;

interface Stage {
  readonly ageOnClock?: boolean;
  /** These sign-ins fail, counted from 1. */
  readonly failing?: readonly number[];
  /** These are never answered. */
  readonly silent?: readonly number[];
}

/** Tokens are named by the credential and the sign-in that they come from, and live for an hour. */
function stage({ ageOnClock = false, failing = [], silent = [] }: Stage = {}) {
  const clock = new FakeClock(START_MS);
  let made = 0;
  let signIns = 0;
  const make = (): TokenCredential => {
    const serial = ++made;
    return {
      getToken: (_scopes, options) => {
        signIns += 1;
        if (options?.abortSignal !== undefined) return Promise.reject(new Error('a caller may cancel the sign-in of the others'));
        if (silent.includes(signIns)) return new Promise(() => undefined);
        if (failing.includes(signIns)) return Promise.reject(new Error('no sign-in'));
        return Promise.resolve({ token: `${serial}.${signIns}`, expiresOnTimestamp: clock.now() + 60 * MINUTE });
      },
    };
  };
  const credential = new HeldCredential({ make, clock, log: silentLog(), ageOnClock });
  return {
    credential,
    token: async (options = {}) => (await credential.getToken('scope', options))?.token,
    expiry: async () => (await credential.getToken('scope'))?.expiresOnTimestamp,
    advance: (ms: number) => clock.advance(ms),
  };
}

describe('a credential of all clients', () => {
  it.each([
    { what: 'is held', afterMs: 55 * MINUTE, tokens: ['1.1', '1.1'] },
    { what: 'is renewed before it expires, while requests go on with it', afterMs: 57 * MINUTE, tokens: ['1.1', '1.2'] },
    { what: 'is not used when it expires', afterMs: 60 * MINUTE, tokens: ['1.2', '1.2'] },
  ])('a token $what', async ({ afterMs, tokens }) => {
    const { token, advance } = stage();
    await token();
    await advance(afterMs);
    expect([await token(), await token()]).toEqual(tokens);
  });

  it('a renewal that fails is tried again after a pause, and the token serves until it ends', async () => {
    const { token, advance } = stage({ failing: [2] });
    await token();
    await advance(57 * MINUTE);
    expect([await token(), await token()]).toEqual(['1.1', '1.1']);
    await advance(MINUTE);
    expect([await token(), await token()]).toEqual(['1.1', '1.3']);
  });

  it('callers at the same time share one sign-in', async () => {
    const { token } = stage();
    const abortSignal = AbortSignal.abort();
    expect(await Promise.all([token({ abortSignal }), token(), token()])).toEqual(['1.1', '1.1', '1.1']);
  });

  it('signs in again when Azure sends a claims challenge', async () => {
    const { token } = stage();
    await token();
    expect(await token({ claims: '{}' })).toBe('1.2');
  });

  it('signs in again after a refused sign-in', async () => {
    const { token } = stage({ failing: [1] });
    await expect(token()).rejects.toThrow('no sign-in');
    expect(await token()).toBe('1.2');
  });

  it('signs in again after a sign-in that was not answered for 30 seconds', async () => {
    const { token, advance } = stage({ silent: [1] });
    const both = Promise.allSettled([token(), token()]);
    await advance(30_000);
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await token()).toBe('1.2');
  });

  it('shows the SDK an expired token, so that it asks for every request', async () => {
    expect(await stage().expiry()).toBe(0);
  });
});

describe('tokens that age on the clock of the process', () => {
  it.each([
    { afterMs: 44 * MINUTE, token: '1.1' },
    { afterMs: 45 * MINUTE, token: '2.2' },
    { afterMs: 90 * MINUTE, token: '2.2' },
  ])('after $afterMs ms it is $token', async ({ afterMs, token }) => {
    const { token: read, advance } = stage({ ageOnClock: true });
    await read();
    await advance(afterMs);
    expect(await read()).toBe(token);
  });
});

describe('a token that Azure refuses', () => {
  it('once is sent again: it may have expired on its way', async () => {
    const { credential, token } = stage();
    await token();
    credential.noteRefused();
    credential.noteAccepted();
    credential.noteRefused();
    expect(await token()).toBe('1.1');
  });

  it('twice in a row is replaced by one of a new credential, which is made at most once a minute', async () => {
    const { credential, token, advance } = stage();
    await token();
    for (let refusal = 0; refusal < 2; refusal++) credential.noteRefused();
    expect(await token()).toBe('2.2');
    for (let refusal = 0; refusal < 9; refusal++) credential.noteRefused();
    expect(await token()).toBe('2.2');
    await advance(MINUTE);
    credential.noteRefused();
    expect(await token()).toBe('3.3');
  });
});

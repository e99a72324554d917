import type { TokenCredential } from '@azure/core-auth';
import { describe, expect, it } from 'vitest';
import { credentialOnClock } from '../../../src/azure/arm/credential-on-clock.ts';

const MINUTE = 60_000;

function stage(failures = 0) {
  let nowMs = 0;
  let made = 0;
  const make = (): TokenCredential => {
    const serial = ++made;
    return {
      getToken: (_scopes, options) => {
        if (options?.abortSignal !== undefined) return Promise.reject(new Error('a caller may cancel the sign-in of the others'));
        if (serial <= failures) return Promise.reject(new Error('no sign-in'));
        return Promise.resolve({ token: `token ${serial}`, expiresOnTimestamp: Number.MAX_SAFE_INTEGER });
      },
    };
  };
  const credential = credentialOnClock(make, { monotonic: () => nowMs });
  return {
    token: async (options = {}) => (await credential.getToken('scope', options))?.token,
    expiry: async () => (await credential.getToken('scope'))?.expiresOnTimestamp,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('a credential whose tokens age on the clock of the process', () => {
  it.each([
    { afterMs: 0, token: 'token 1' },
    { afterMs: 44 * MINUTE, token: 'token 1' },
    { afterMs: 45 * MINUTE, token: 'token 2' },
    { afterMs: 90 * MINUTE, token: 'token 2' },
  ])('after $afterMs ms it returns $token', async ({ afterMs, token }) => {
    const { token: read, advance } = stage();
    await read();
    advance(afterMs);
    expect(await read()).toBe(token);
  });

  it('callers at the same time share one sign-in', async () => {
    const { token } = stage();
    const abortSignal = AbortSignal.abort();
    expect(await Promise.all([token({ abortSignal }), token(), token()])).toEqual(['token 1', 'token 1', 'token 1']);
  });

  it('signs in again when Azure sends a claims challenge', async () => {
    const { token } = stage();
    await token();
    expect(await token({ claims: '{}' })).toBe('token 2');
  });

  it('signs in again after a refused sign-in', async () => {
    const { token } = stage(1);
    await expect(token()).rejects.toThrow('no sign-in');
    expect(await token()).toBe('token 2');
  });

  it('shows the SDK an expired token, so that it asks for every request', async () => {
    expect(await stage().expiry()).toBe(0);
  });
});

/**
 * A credential whose tokens age on the clock of this process. The SDK and its credentials read the clock of the machine. In a world of
 * virtual time that clock nearly stands still, so they would send a token long after the world has let it expire.
 */
import type { AccessToken, TokenCredential } from '@azure/core-auth';
import type { Clock } from '../../lib/clock.ts';

/** Entra's tokens live for an hour or longer. */
const RENEWED_AFTER_MS = 45 * 60_000;

interface HeldToken {
  readonly renewAtMs: number;
  readonly token: Promise<AccessToken | null>;
}

/** `make`: a credential without a token. Each credential is used for one token, since it holds on to it by the clock of the machine. */
export function credentialOnClock(make: () => TokenCredential, clock: Pick<Clock, 'monotonic'>): TokenCredential {
  let held: HeldToken | undefined;
  const sign = (scopes: string | string[], options: Parameters<TokenCredential['getToken']>[1]): HeldToken => {
    // The token is for later callers, too, so the signal of this one must not cancel it.
    const { abortSignal: _ofOne, ...shared } = options ?? {};
    const token = make().getToken(scopes, shared).then(askAgain);
    const made: HeldToken = { renewAtMs: clock.monotonic() + RENEWED_AFTER_MS, token };
    token.catch(() => {
      if (held === made) held = undefined;
    });
    return made;
  };
  return {
    getToken: (scopes, options) => {
      if (held === undefined || options?.claims !== undefined || clock.monotonic() >= held.renewAtMs) held = sign(scopes, options);
      return held.token;
    },
  };
}

/** The SDK keeps a token until it has expired: one that has expired is requested for every call. */
function askAgain(token: AccessToken | null): AccessToken | null {
  return token === null ? null : { ...token, expiresOnTimestamp: 0 };
}

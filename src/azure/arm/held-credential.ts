/**
 * The credential of every request. It holds one token for all clients of the SDK, which would each keep a token until it expires: so a
 * token that Azure refuses again and again is replaced. Its replacement comes from a new credential, since a credential keeps its token,
 * too. Must not know how credentials are made.
 */
import type { AccessToken, TokenCredential } from '@azure/core-auth';
import { withTimeout } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';

/** Entra's tokens live for an hour or longer. */
const RENEWED_AFTER_MS = 45 * 60_000;
/** A token is renewed this long before it expires, while requests go on with it. The libraries hand out a new one five minutes before. */
const RENEWED_BEFORE_END_MS = 4 * 60_000;
/** A token this close to its end is not sent any more. */
const LAST_USE_MS = 30_000;
/** Between two attempts to renew a token that can still be used. */
const RENEWAL_PAUSE_MS = 30_000;
/** A sign-in that takes longer is given up, so that the next request begins another one. */
const SIGN_IN_TIMEOUT_MS = 30_000;
/** One refusal may be of a token that expired on its way. */
const REFUSALS_IN_A_ROW = 2;
/** Between two new credentials, however often Azure refuses their tokens. */
const NEW_CREDENTIAL_PAUSE_MS = 60_000;

type TokenOptions = Parameters<TokenCredential['getToken']>[1];

interface HeldCredentialDeps {
  /** Returns a credential without a token. @throws AutoscalerError `config` */
  readonly make: () => TokenCredential;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /**
   * Tokens age on `clock`, whatever they say of themselves, and each comes from a new credential. In a world of virtual time the clock of
   * the machine nearly stands still, and the credentials read that one.
   */
  readonly ageOnClock: boolean;
}

/** A token or the sign-in for it. Times are monotonic, in ms. */
interface HeldToken {
  readonly signIn: Promise<AccessToken | null>;
  /** If absent, the sign-in has not ended. */
  token?: AccessToken | null;
  renewAtMs: number;
  endsAtMs: number;
}

export class HeldCredential implements TokenCredential {
  readonly #deps: HeldCredentialDeps;
  #credential: TokenCredential | undefined;
  #held: HeldToken | undefined;
  #refusals = 0;
  #newCredentialAtMs = Number.NEGATIVE_INFINITY;

  /** @throws AutoscalerError `config` if the credential cannot be made. */
  constructor(deps: HeldCredentialDeps) {
    this.#deps = deps;
    this.#credential = deps.make();
  }

  /** Returns a token that seems to have expired: the SDK keeps any other, and requests such a one for every call. */
  async getToken(scopes: string | string[], options?: TokenOptions): Promise<AccessToken | null> {
    const nowMs = this.#deps.clock.monotonic();
    const held = this.#held;
    if (held === undefined || options?.claims !== undefined || nowMs >= held.endsAtMs) this.#held = this.#signIn(scopes, options);
    else if (nowMs >= held.renewAtMs) this.#renew(held, scopes, options);
    const token = this.#held === undefined ? null : await this.#tokenOf(this.#held);
    return token === null ? null : { ...token, expiresOnTimestamp: 0 };
  }

  /** Azure accepted a token, whatever it answered. */
  noteAccepted(): void {
    this.#refusals = 0;
  }

  /** Azure refused a token (401). After several refusals in a row the next request signs in with a new credential. */
  noteRefused(): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonic();
    this.#refusals += 1;
    if (this.#refusals < REFUSALS_IN_A_ROW || nowMs - this.#newCredentialAtMs < NEW_CREDENTIAL_PAUSE_MS) return;
    this.#newCredentialAtMs = nowMs;
    this.#credential = undefined;
    this.#held = undefined;
    log.warn({ refusals: this.#refusals }, 'Azure refuses the access token; signing in with a new credential');
  }

  async #tokenOf(held: HeldToken): Promise<AccessToken | null> {
    if (held.token !== undefined) return held.token;
    const { clock } = this.#deps;
    const token = await withTimeout(clock, { timeoutMs: SIGN_IN_TIMEOUT_MS, signals: [], run: () => held.signIn });
    if (token !== 'timed-out') return token;
    if (this.#held === held) this.#held = undefined;
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The sign-in to Azure was not answered within 30 s.');
  }

  #signIn(scopes: string | string[], options: TokenOptions): HeldToken {
    const { make, ageOnClock } = this.#deps;
    const credential = this.#credential ?? make();
    this.#credential = ageOnClock ? undefined : credential;
    // The token is for later callers, too, so the signal of this one must not cancel it.
    const { abortSignal: _ofOne, ...shared } = options ?? {};
    const held: HeldToken = {
      signIn: credential.getToken(scopes, shared),
      renewAtMs: Number.POSITIVE_INFINITY,
      endsAtMs: Number.POSITIVE_INFINITY,
    };
    held.signIn.then(
      (token) => this.#age(held, token),
      () => {
        if (this.#held === held) this.#held = undefined;
      },
    );
    return held;
  }

  #age(held: HeldToken, token: AccessToken | null): void {
    const { clock, ageOnClock } = this.#deps;
    const nowMs = clock.monotonic();
    held.token = token;
    const leftMs = token === null ? 0 : token.expiresOnTimestamp - clock.now();
    held.endsAtMs = nowMs + (ageOnClock ? RENEWED_AFTER_MS : leftMs - LAST_USE_MS);
    held.renewAtMs = ageOnClock ? held.endsAtMs : nowMs + leftMs - RENEWED_BEFORE_END_MS;
  }

  /** Does not wait: the old token serves until the new one is there. */
  #renew(held: HeldToken, scopes: string | string[], options: TokenOptions): void {
    held.renewAtMs = this.#deps.clock.monotonic() + RENEWAL_PAUSE_MS;
    const renewed = this.#signIn(scopes, options);
    renewed.signIn.then(
      () => {
        if (this.#held === held) this.#held = renewed;
      },
      // The next request after the pause tries again.
      () => undefined,
    );
  }
}

/**
 * Who may use /debug: callers on localhost, or callers with a bearer token; never a web page of another site.
 * Must not know what /debug serves.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * Access to /debug. With a token file, requests need its content as bearer token. Without one, only requests from
 * localhost to a name of localhost have access; `kubectl port-forward` is one of them.
 */
export interface DebugAccess {
  /** Returns the token now in the file; throws when the file cannot be read. undefined: no file is configured. */
  readonly token: (() => string) | undefined;
}

/** Access by the token in this file, if there is one. Reads it for each request, so a rotated secret applies at once. */
export function debugAccess(file: string | undefined): DebugAccess {
  return { token: file === undefined ? undefined : () => readFileSync(file, 'utf8') };
}

interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

type DebugRequest = Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } };

/** Why the request may not use /debug. undefined: it may. */
export function debugRefusal(request: DebugRequest, { token }: DebugAccess): DebugRefusal | undefined {
  // guard: /debug refuses a foreign Origin
  if (isCrossSite(request)) return forbidden('/debug refuses requests from web pages of other origins (header Origin)');
  if (token === undefined) {
    // guard: /debug without a token is for this machine only
    if (!isLoopback(request.socket.remoteAddress ?? '')) {
      return forbidden(
        '/debug is served to localhost only: use kubectl port-forward, or set http.debugTokenFile and send its bearer token',
      );
    }
    // A web page can point its own name at 127.0.0.1 (DNS rebinding). The browser then sends that name as Host.
    // guard: /debug refuses a foreign Host
    if (isLocalHost(request.headers.host ?? '')) return undefined;
    return forbidden('/debug is served under localhost, 127.0.0.1 and [::1] only (header Host)');
  }
  const expected = contentOf(token);
  // A missing or empty file must not grant access.
  if (expected === '') return { status: 503, text: 'the file of http.debugTokenFile is empty or cannot be read', headers: {} };
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (sameText(given, expected)) return undefined;
  return {
    status: 401,
    text: '/debug needs the bearer token of http.debugTokenFile',
    headers: { 'www-authenticate': 'Bearer realm="aks-autoscaler"' },
  };
}

function forbidden(text: string): DebugRefusal {
  return { status: 403, text, headers: {} };
}

/** Browsers send Origin with every POST and with every read by a script of another site. It may only name this server. */
function isCrossSite({ headers: { origin, host } }: DebugRequest): boolean {
  if (origin === undefined) return false;
  return host === undefined || !['http:', 'https:'].some((scheme) => origin.toLowerCase() === `${scheme}//${host.toLowerCase()}`);
}

/** Whether a Host header names this machine; the port may be any, since port-forwards choose their own. */
function isLocalHost(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

function contentOf(token: () => string): string {
  try {
    return token().trim();
  } catch {
    return '';
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/** Compares in constant time: the duration reveals neither the first difference nor the expected length. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

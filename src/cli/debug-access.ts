/**
 * Who may see /debug: with a token file, who sends its content as bearer token; without one, this machine alone (a pod's
 * `kubectl port-forward` comes from there). The file is read anew each time, so that a rotated secret counts at once.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface DebugAccess {
  /** The token as the file holds it now; throws when it cannot be read. undefined: there is no such file by configuration. */
  readonly token: (() => string) | undefined;
}

export interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why the request may not see /debug; undefined: it may. */
export function debugRefusal(
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
  { token }: DebugAccess,
): DebugRefusal | undefined {
  if (token === undefined) {
    if (isLoopback(request.socket.remoteAddress ?? '')) return undefined;
    const text = '/debug answers on this machine only (kubectl port-forward), or with http.debugTokenFile to who has the token';
    return { status: 403, text, headers: {} };
  }
  const expected = contentOf(token);
  // A file that is away or empty opens no door.
  if (expected === '') return { status: 503, text: 'the file of http.debugTokenFile cannot be read or is empty', headers: {} };
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (sameText(given, expected)) return undefined;
  return {
    status: 401,
    text: '/debug needs the bearer token of http.debugTokenFile',
    headers: { 'www-authenticate': 'Bearer realm="aks-autoscaler"' },
  };
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

/** In a time that tells nothing of where they differ, nor of how long the expected one is. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

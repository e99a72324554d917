/**
 * Where requests may go. Each carries the bearer token, so it leaves only for the configured endpoint, whatever link or
 * redirect named its address. Also finds lists whose links lead in a circle.
 */
import type { PipelineResponse } from '@azure/core-rest-pipeline';
import { AutoscalerError } from '../../lib/errors.ts';

export const FOREIGN_ORIGIN = 'ForeignOrigin';

/** @throws AutoscalerError with code `ForeignOrigin` unless scheme, host and port are those of the endpoint, compared after parsing. */
export function checkOrigin(url: string, endpointOrigin: string, what: string): void {
  const { origin } = parseAddress(url, undefined, what);
  // guard: the token goes to one origin
  if (origin === endpointOrigin) return;
  throw foreignOrigin(`${what} was not sent: its address is on ${origin}, and the token belongs to ${endpointOrigin}.`);
}

/** A redirect that carried nothing out, since its target was not requested. Its code is `RedirectNotFollowed`. */
export function redirectNotFollowed(
  { status, headers, request }: Pick<PipelineResponse, 'status' | 'headers' | 'request'>,
  what: string,
  endpointOrigin: string,
): AutoscalerError {
  const location = headers.get('location');
  const target = location === undefined || !URL.canParse(location, request.url) ? 'no address' : new URL(location, request.url).origin;
  const why = target === endpointOrigin ? 'such redirects are not followed' : `the token belongs to ${endpointOrigin}`;
  const message = `${what} was redirected to ${target} (HTTP ${status}) and had no effect: ${why}.`;
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { code: 'RedirectNotFollowed', context: { status } });
}

/** Resolves a link of a response. @throws AutoscalerError with code `ForeignOrigin` if it is no address. */
export function parseAddress(url: string, base: string | undefined, what: string): URL {
  try {
    return new URL(url, base);
  } catch (thrown) {
    throw foreignOrigin(`${what} was not sent: its address cannot be parsed.`, thrown);
  }
}

function foreignOrigin(message: string, cause?: unknown): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { code: FOREIGN_ORIGIN, cause });
}

/** The addresses of one list's pages. A page may be requested several times: reads are retried, and a 401 may be challenged. */
export class PageAddresses {
  readonly #pageOf = new Map<string, object>();

  /** `page` is the identity of the page that is read. @throws AutoscalerError if an earlier page had the same address. */
  visit(url: string, page: object, what: string): void {
    // guard: empty pages that lead in a circle end a list as broken
    const first = this.#pageOf.get(url) ?? page;
    // guard: a list whose page links to an earlier one is broken
    if (first !== page) {
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `${what} returned a link to a page that was already read.`, {
        code: 'RepeatedLink',
      });
    }
    this.#pageOf.set(url, page);
  }
}

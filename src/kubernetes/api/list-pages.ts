/** The tokens of a list's pages: a list that leads in a circle, or never ends, is broken. */
import { AutoscalerError } from '../../lib/errors.ts';

/** A million objects at the usual page size. */
const MAX_PAGES = 2_000;

export class PageTokens {
  readonly #seen = new Set<string>();
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  /** The token of the next page, empty after the last one. @throws AutoscalerError `unavailable` if the list does not end. */
  next(token: unknown): string {
    if (token === undefined || token === null || token === '') return '';
    // guard: the pages of a list of the API server end
    if (typeof token !== 'string' || this.#seen.has(token) || this.#seen.size >= MAX_PAGES)
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The pages of the list of ${this.#what} do not end.`);
    this.#seen.add(token);
    return token;
  }
}

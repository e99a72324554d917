/** Lists in pages. As in Azure there is no snapshot: an item that changes between two pages may be missing or appear twice. */
import { invalidParameter } from './errors.ts';
import { parseJson, pick, pickText, type Json } from './json.ts';
import type { ArmReply, ArmRequest } from './messages.ts';

export interface Listing<Item> {
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly render: (item: Item) => Json;
  readonly pageSize: number;
  /** Whether a list that could be complete has a link to one more page, which is empty. Default: false. */
  readonly endsWithEmptyPage?: boolean;
}

/** One page that starts at the request's token, with an absolute link to the next page that keeps the other parameters. */
export function answerPage<Item>(request: ArmRequest, listing: Listing<Item>): ArmReply {
  const begin = startOf(request, listing);
  if (begin === undefined) return invalidParameter('$skiptoken', 'The value of parameter $skiptoken is invalid.');
  const page = listing.items.slice(begin, begin + listing.pageSize);
  const end = begin + page.length;
  const last = page.at(-1);
  // The page after the last item is empty and has no link.
  const more = last !== undefined && (end < listing.items.length || listing.endsWithEmptyPage === true);
  return {
    status: 200,
    body: { value: page.map(listing.render), ...(more ? { nextLink: nextLink(request, encode(end, listing.keyOf(last))) } : {}) },
  };
}

/** Index to continue from: after the token's item, or at its old place if the item is gone. undefined: an invalid token. */
function startOf<Item>(request: ArmRequest, { items, keyOf }: Listing<Item>): number | undefined {
  const token = request.query['$skiptoken'];
  if (token === undefined) return 0;
  const decoded = parseJson(Buffer.from(token, 'base64url').toString('utf8'));
  const end = pick(decoded, 'end');
  const after = pickText(decoded, 'after');
  if (typeof end !== 'number' || after === undefined) return undefined;
  const index = items.findIndex((item) => keyOf(item) === after);
  return index >= 0 ? index + 1 : Math.max(0, end - 1);
}

function encode(end: number, after: string): string {
  return Buffer.from(JSON.stringify({ end, after })).toString('base64url');
}

function nextLink(request: ArmRequest, token: string): string {
  const query = new URLSearchParams(request.query);
  query.set('$skiptoken', token);
  return `${request.base}${request.path}?${query.toString().replaceAll('%24', '$')}`;
}

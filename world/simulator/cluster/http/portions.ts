/**
 * Long bodies in portions: 150,000 pods are a gigabyte of JSON. A body of one piece would not fit into a string, would fill the memory if
 * the client reads slowly, and would keep the world from everything else. Must not know what it sends.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { isRecord } from '../store/patches.ts';

/** As many objects are still sent at once. */
export const FEW = 1_000;
const PORTION = 250;

/** Sends `lineOf` each item, and lets the world go on after each portion. Ends early if the client has left. */
export async function writeInPortions<Item>(
  response: ServerResponse,
  items: readonly Item[],
  lineOf: (item: Item, index: number) => string,
): Promise<void> {
  for (let from = 0; from < items.length && !response.destroyed; from += PORTION) {
    const lines = items.slice(from, from + PORTION).map((item, offset) => lineOf(item, from + offset));
    if (response.write(lines.join(''))) await nextTurn();
    else await drained(response);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}

/** The body of a LIST. */
interface LongList {
  readonly items: readonly unknown[];
}

export function isLongList(body: unknown): body is LongList {
  return isRecord(body) && Array.isArray(body['items']) && body['items'].length > FEW;
}

/** Resolves when all is handed to the socket, or the client has left. */
export async function sendLongList(response: ServerResponse, { items, ...head }: LongList): Promise<void> {
  response.write(`${JSON.stringify(head).slice(0, -1)},"items":[`);
  await writeInPortions(response, items, (item, index) => `${index === 0 ? '' : ','}${JSON.stringify(item)}`);
  if (!response.destroyed) response.end(']}');
}

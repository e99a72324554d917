/** Reads the body of a watch as events. Must not know what an event changes. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AutoscalerError } from '../../lib/errors.ts';
import type { ObjectJson, StatusJson } from '../api/core-json.ts';
import { BROKEN, cutError } from './watch-errors.ts';
import { LineSplitter, decodeWithoutManagedFields } from './watch-lines.ts';

/** Yields to other work after this many bytes: a socket delivers megabytes at once, and the lease renewal must not wait. */
const TURN_BYTES = 256 * 1024;

export interface WatchEvent {
  readonly type?: string;
  readonly object?: ObjectJson & StatusJson;
}

interface EventReader {
  /** For messages. */
  readonly resource: string;
  readonly take: (event: WatchEvent) => void;
  /** Called after the events of each chunk of the body. */
  readonly chunkTaken: () => void;
}

/** Resolves at the end of the body. @throws AutoscalerError, also what `take` throws; with code `BROKEN` if the content of a line is lost. */
export async function readEvents(body: AsyncIterable<Buffer>, { resource, take, chunkTaken }: EventReader): Promise<void> {
  const lines = new LineSplitter(decodeWithoutManagedFields);
  let taken = 0;
  try {
    for await (const chunk of body) {
      lines.push(chunk, (line) => take(parseEvent(resource, line)));
      chunkTaken();
      taken += chunk.length;
      if (taken < TURN_BYTES) continue;
      taken = 0;
      await nextTurn();
    }
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) throw thrown;
    throw cutError(`The watch of ${resource} was cut: ${thrown instanceof Error ? thrown.message : String(thrown)}.`);
  }
  if (lines.unfinished > 0) throw cutError(`The watch of ${resource} ended in the middle of a line.`);
}

function parseEvent(resource: string, line: string): WatchEvent {
  try {
    const event: unknown = JSON.parse(line);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    throw brokenWatch(resource, 'a line that is not JSON');
  }
  throw brokenWatch(resource, 'a line that is not an event');
}

/** The content of a broken line is lost, so everything must be read again. */
export function brokenWatch(resource: string, what: string): AutoscalerError {
  return cutError(`The watch of ${resource} brought ${what}.`, BROKEN);
}

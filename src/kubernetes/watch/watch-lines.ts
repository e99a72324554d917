/** Splits a stream of bytes at newlines. Works on bytes, so that a multi-byte character split between chunks stays whole. */
import { AutoscalerError } from '../../lib/errors.ts';

const NEWLINE = 10;
/** An object has up to 3 MiB in the API server's own limit for requests; its JSON may be larger than what it was written from. */
const MAX_LINE_BYTES = 16 * 2 ** 20;

export class LineSplitter {
  readonly #decode: (line: Buffer) => string;
  #pending: Buffer[] = [];
  #unfinished = 0;

  /** `decode` turns the bytes of one line into text. If absent, UTF-8. */
  constructor(decode: (line: Buffer) => string = (line) => line.toString('utf8')) {
    this.#decode = decode;
  }

  /** Calls `onLine` for each line that this chunk completes. Skips empty lines. @throws AutoscalerError for a line without end. */
  push(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#complete(chunk, start, end);
      start = end + 1;
      if (line !== '') onLine(line);
    }
    if (start >= chunk.length) return;
    this.#pending.push(chunk.subarray(start));
    this.#unfinished += chunk.length - start;
    // guard: no line of a watch is read on without end
    if (this.#unfinished > MAX_LINE_BYTES)
      throw new AutoscalerError(
        { kind: 'unavailable', effect: 'none' },
        `A line of a watch has more than ${MAX_LINE_BYTES / 2 ** 20} MiB.`,
      );
  }

  /** Bytes of a line that has not ended yet. */
  get unfinished(): number {
    return this.#unfinished;
  }

  #complete(chunk: Buffer, start: number, end: number): string {
    if (this.#pending.length === 0) return this.#decode(chunk.subarray(start, end));
    const whole = Buffer.concat([...this.#pending, chunk.subarray(start, end)]);
    this.#pending = [];
    this.#unfinished = 0;
    return this.#decode(whole);
  }
}

/**
 * Removes `metadata.managedFields` from API JSON before it is parsed. It is the larger half of most objects, nothing
 * here reads it, and parsing it would cost more than the rest of a full read.
 *
 * Why a search is enough: the array is followed by the end of the metadata and the next part of the object. In compact
 * JSON neither that sequence nor the key can begin inside a string, because a quote inside a string follows a
 * backslash. If the first `]` after the key belongs to that sequence, no other array lies between. Anything else is
 * kept, which costs time but never correctness.
 */
const KEY = Buffer.from('"managedFields":[');
const ENDS = ['},"spec":', '},"status":'].map((text) => Buffer.from(text));
const COMMA = 0x2c;
const CLOSE = 0x5d;

/** Returns the text of one object's or event's JSON. */
export function decodeWithoutManagedFields(json: Buffer): string {
  const key = json.indexOf(KEY);
  if (key === -1) return json.toString('utf8');
  const close = json.indexOf(CLOSE, key);
  if (close === -1 || !ENDS.some((end) => isAt(json, end, close + 1))) return json.toString('utf8');
  const from = json[key - 1] === COMMA ? key - 1 : key;
  return json.toString('utf8', 0, from) + json.toString('utf8', close + 1);
}

function isAt(json: Buffer, part: Buffer, offset: number): boolean {
  return json.length >= offset + part.length && json.compare(part, 0, part.length, offset, offset + part.length) === 0;
}

/** Splits a stream of bytes at newlines. Works on bytes, so that a multi-byte character split between chunks stays whole. */
const NEWLINE = 10;

export class LineSplitter {
  readonly #decode: (line: Buffer) => string;
  #pending: Buffer[] = [];

  /** `decode` turns the bytes of one line into text. If absent, UTF-8. */
  constructor(decode: (line: Buffer) => string = (line) => line.toString('utf8')) {
    this.#decode = decode;
  }

  /** Calls `onLine` for each line that this chunk completes. Skips empty lines. */
  push(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#complete(chunk, start, end);
      start = end + 1;
      if (line !== '') onLine(line);
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start));
  }

  /** Bytes of a line that has not ended yet. */
  get unfinished(): number {
    return this.#pending.reduce((sum, part) => sum + part.length, 0);
  }

  #complete(chunk: Buffer, start: number, end: number): string {
    if (this.#pending.length === 0) return this.#decode(chunk.subarray(start, end));
    const whole = Buffer.concat([...this.#pending, chunk.subarray(start, end)]);
    this.#pending = [];
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

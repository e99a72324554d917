/** Cuts a stream of bytes at newlines. Works on bytes, so that a multi-byte character split between chunks stays whole. */
const NEWLINE = 10;

export class LineSplitter {
  readonly #decode: (line: Buffer) => string;
  #pending: Buffer[] = [];

  /** `decode` turns the bytes of one line into its text; UTF-8 unless said otherwise. */
  constructor(decode: (line: Buffer) => string = (line) => line.toString('utf8')) {
    this.#decode = decode;
  }

  /** Calls `onLine` for each line that this chunk completes; empty lines are left out. */
  push(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#complete(chunk, start, end);
      start = end + 1;
      if (line !== '') onLine(line);
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start));
  }

  /** Bytes of a line that has not ended. */
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

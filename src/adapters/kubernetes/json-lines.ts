/** Cuts a stream of bytes at newlines. Works on bytes, so that a multi-byte character split between chunks stays whole. */
const NEWLINE = 10;

export class LineSplitter {
  #pending: Buffer[] = [];

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
    if (this.#pending.length === 0) return chunk.toString('utf8', start, end);
    const whole = Buffer.concat([...this.#pending, chunk.subarray(start, end)]);
    this.#pending = [];
    return whole.toString('utf8');
  }
}

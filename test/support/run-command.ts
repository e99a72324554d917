import { createReadStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { dispatch } from '../../src/cli/dispatch.ts';
import type { Terminal } from '../../src/cli/process/process.ts';

export interface CommandWorld {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Files that exist in memory only, beside those of the disk. */
  readonly files?: Readonly<Record<string, string>>;
  /** The width of a terminal; absent: a pipe. */
  readonly columns?: number;
  /** If absent, the clock of the system. */
  readonly clock?: Terminal['clock'];
  /** If absent, no signal ever comes. */
  readonly signals?: Terminal['signals'];
  /** Files of any bytes, in memory only; `-` is the standard input. */
  readonly bytes?: Readonly<Record<string, Uint8Array>>;
}

/** One command, as a shell would run it. */
export async function runCommand(argv: readonly string[], world: CommandWorld = {}) {
  const written = { out: '', err: '' };
  const terminal: Terminal = {
    env: world.env ?? {},
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    readFile: (path) => world.files?.[path] ?? readFileSync(path, 'utf8'),
    readChunks: (path) => {
      const content = world.bytes?.[path] ?? world.files?.[path];
      return content === undefined ? createReadStream(path) : Readable.from([Buffer.from(content)]);
    },
    hostname: 'here',
    ...(world.columns === undefined ? {} : { screen: { columns: world.columns } }),
    ...(world.clock === undefined ? {} : { clock: world.clock }),
    signals: world.signals ?? { on: () => undefined, off: () => undefined, exit: () => undefined },
  };
  const code = await dispatch(argv, terminal);
  return { code, ...written };
}

/**
 * The program's entry: passes the process to `dispatch` and ends with its exit code. The room `cli` turns command lines into
 * running commands and connects the rings. Must not know how a decision is made: planning, loop and adapters decide.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dispatch } from './dispatch.ts';

// An unhandled rejection is a bug. The process must not continue in an unknown state.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(`Unexpected failure: ${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.exit(1);
});

const CHUNK_BYTES = 256 * 1024;

const code = await dispatch(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readFile: (path) => readFileSync(path, 'utf8'),
  readChunks: (path) => (path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES })),
  hostname: hostname(),
  ...(process.stdout.isTTY ? { screen: { columns: process.stdout.columns } } : {}),
  signals: {
    on: (name, listener) => process.on(name, listener),
    off: (name, listener) => process.off(name, listener),
    exit: (exitCode) => process.exit(exitCode),
  },
});
process.exitCode = code;

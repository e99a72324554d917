/** The program's entry: hands the process to `dispatch` and ends with its code. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dispatch } from './dispatch.ts';

// A promise that nobody waited for is a mistake of ours; the process must not go on in a state nobody knows.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(`Unexpected failure: ${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.exit(1);
});

const code = await dispatch(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readFile: (path) => readFileSync(path, 'utf8'),
  hostname: hostname(),
  signals: {
    on: (name, listener) => process.on(name, listener),
    off: (name, listener) => process.off(name, listener),
    exit: (exitCode) => process.exit(exitCode),
  },
});
process.exitCode = code;

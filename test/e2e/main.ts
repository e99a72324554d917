/**
 * `npm run test:e2e`: finds or builds the control plane's programs, then runs the scenarios against them. Where they
 * cannot be had it says so in one line and is content, unless E2E_REQUIRED=1. Other arguments are given on to the test runner.
 *
 *     npm run test:e2e -- --kubernetes 1.35            another minor version of Kubernetes, built once
 *     npm run test:e2e -- --kubernetes 1.35 --record   after a whole run that passed: writes it into versions.json
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBinaries, knownMinors, minorOf } from './binaries.ts';
import { BINARIES_VARIABLE, MINOR_VARIABLE } from './given.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const RUNNER = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const RECORD = join(import.meta.dirname, 'versions.json');

/** What is left of the arguments, and the ones that are ours. */
function parseArguments(argv: readonly string[]): { readonly minor?: string; readonly record: boolean; readonly rest: readonly string[] } {
  const at = argv.findIndex((argument) => argument === '--kubernetes' || argument.startsWith('--kubernetes='));
  const inline = argv[at]?.split('=')[1];
  const minor = at < 0 ? undefined : (inline ?? argv[at + 1] ?? '');
  const ours = at < 0 ? [] : inline === undefined ? [at, at + 1] : [at];
  const rest = argv.filter((argument, index) => !ours.includes(index) && argument !== '--record');
  return { ...(minor === undefined ? {} : { minor: minor.replace(/^v/, '') }), record: argv.includes('--record'), rest };
}

async function main(argv: readonly string[]): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`test:e2e: ${line}\n`);
  const { minor, record, rest } = parseArguments(argv);
  const found = await findBinaries(process.env, say, minor);
  if (found.kind === 'missing') {
    say(`skipped: ${found.reason}`);
    // A version that was asked for by name is not skipped in silence.
    return process.env['E2E_REQUIRED'] === '1' || minor !== undefined ? 1 : 0;
  }
  if (rest.includes('--build-only')) {
    say(`the control plane is ${found.origin}`);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'e2e-record-'));
  const report = join(folder, 'report.json');
  const reporters = record ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`] : [];
  const env = {
    ...process.env,
    [BINARIES_VARIABLE]: JSON.stringify(found.binaries),
    [MINOR_VARIABLE]: minor ?? knownMinors().at(-1) ?? '',
  };
  const code = await runTests([...reporters, ...rest], env);
  if (record && code === 0) writeRecord(found.version, report);
  rmSync(folder, { recursive: true });
  return code;
}

function runTests(more: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const args = [RUNNER, 'run', `--config=${join(import.meta.dirname, 'vitest.config.ts')}`, ...more];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((done) => child.once('close', (code) => done(code ?? 1)));
}

interface Counts {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
}

/** `docs/supported-versions.md` is made from this file. */
function writeRecord(version: string, report: string): void {
  const { numPassedTests: passed, numPendingTests: skipped } = JSON.parse(readFileSync(report, 'utf8')) as Counts;
  const before = JSON.parse(readFileSync(RECORD, 'utf8')) as Readonly<Record<string, unknown>>;
  const run = { version, ranOn: new Date().toISOString().slice(0, 10), passed, skipped };
  const all = Object.entries({ ...before, [minorOf(version)]: run });
  const sorted = all.sort(([left], [right]) => left.localeCompare(right, 'en', { numeric: true }));
  writeFileSync(RECORD, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

process.exitCode = await main(process.argv.slice(2));

/**
 * `npm run test:e2e`: finds or builds the control plane's programs, then runs the scenarios against them. Where they
 * cannot be had it says so in one line and is content, unless E2E_REQUIRED=1; so it does with Azure's CLI and its cases. Other arguments are given on to the test runner.
 *
 *     npm run test:e2e -- --kubernetes 1.35            another minor version of Kubernetes, built once
 *     npm run test:e2e -- --kubernetes 1.35 --record   adds the files that passed to versions.json
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { findAzureCli } from './azure-cli/find-azure-cli.ts';
import { findBinaries, minorOf, usualMinor } from './binaries.ts';
import { BINARIES_VARIABLE, MINOR_VARIABLE, PROGRAM_VARIABLE } from './given.ts';
import { bundleInto } from '../support/bundle.ts';
import { endGroup } from '../support/process-group.ts';

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
  const cli = wantsAzureCli(rest) ? findAzureCli(process.env, say) : undefined;
  if (cli?.kind === 'missing') say(`the cases of Azure's CLI are skipped: ${cli.reason}`);
  const folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-e2e-run-'));
  const report = join(folder, 'report.json');
  const reporters = record ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`] : [];
  const env = {
    ...process.env,
    ...(cli?.kind === 'found' ? cli.variables : {}),
    [BINARIES_VARIABLE]: JSON.stringify(found.binaries),
    [MINOR_VARIABLE]: minor ?? usualMinor(),
    [PROGRAM_VARIABLE]: bundleInto(join(folder, 'program')),
  };
  const code = await runTests([...reporters, ...rest], env);
  if (record && existsSync(report)) writeRecord(found.version, report);
  rmSync(folder, { recursive: true });
  return code;
}

/** All files run it, or one whose name says so. */
function wantsAzureCli(rest: readonly string[]): boolean {
  const files = rest.filter((argument) => !argument.startsWith('-'));
  return files.length === 0 || files.some((file) => file.includes('azure'));
}

function runTests(more: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const args = [RUNNER, 'run', `--config=${join(import.meta.dirname, 'vitest.config.ts')}`, ...more];
  // A group of its own: a signal ends the runner, its workers, and every daemon and control plane that they have started.
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env, detached: true });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => endGroup(child, signal));
  return new Promise((done) => child.once('close', (code) => done(code ?? 1)));
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** What passed with one version, by file. `docs/supported-versions.md` is made from it. */
interface VersionRecord {
  readonly version: string;
  /** The last day. */
  readonly ranOn: string;
  readonly files: Readonly<Record<string, { readonly passed: number; readonly skipped: number }>>;
}

/** Adds the files whose tests have all passed. Those of another patch version are forgotten. */
function writeRecord(version: string, report: string): void {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const before = JSON.parse(readFileSync(RECORD, 'utf8')) as Readonly<Record<string, VersionRecord>>;
  const known = before[minorOf(version)];
  const passed = testResults.flatMap(({ name, status, assertionResults }) => {
    const count = (wanted: string): number => assertionResults.filter((test) => test.status === wanted).length;
    const skipped = assertionResults.length - count('passed') - count('failed');
    return status === 'passed' ? [[basename(name), { passed: count('passed'), skipped }] as const] : [];
  });
  const files = { ...(known?.version === version ? known.files : {}), ...Object.fromEntries(passed) };
  const run: VersionRecord = { version, ranOn: new Date().toISOString().slice(0, 10), files: inOrder(files) };
  writeFileSync(RECORD, `${JSON.stringify(inOrder({ ...before, [minorOf(version)]: run }), undefined, 2)}\n`);
}

function inOrder<Value>(map: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(map).sort(([left], [right]) => left.localeCompare(right, 'en', { numeric: true })));
}

process.exitCode = await main(process.argv.slice(2));

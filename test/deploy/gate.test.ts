/** `.ci/run` with an npm that does nothing: the end of its output names what failed, before the line of counts. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..', '..');
/** Writes the report that vitest would write, and fails where a test says so. */
const NPM = `#!/bin/sh
for last; do :; done
case "$*" in
  *--outputFile.json=*) file=\${last#--outputFile.json=}; cp "$REPORTS/$(basename "$file")" "$file" ;;
esac
case "$*" in
  test*|*test:e2e*) exit 1 ;;
  *demo*) echo "the demo said this"; exit 1 ;;
  *sbom*) mkdir -p dist; echo '{"components":[1]}' >dist/sbom.cdx.json ;;
esac
exit 0
`;
let folder: string;

function aTest(fullName: string, status: string, ...failureMessages: readonly string[]): unknown {
  return { fullName, status, failureMessages };
}

function report(name: string, passed: number, failed: number, ...testResults: readonly unknown[]): void {
  const text = JSON.stringify({ numPassedTests: passed, numFailedTests: failed, testResults });
  writeFileSync(join(folder, 'reports', name), text);
}

function aProgram(name: string, text: string): void {
  writeFileSync(join(folder, 'bin', name), text);
  chmodSync(join(folder, 'bin', name), 0o755);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-'));
  for (const name of ['bin', 'reports', 'project']) mkdirSync(join(folder, name));
  aProgram('npm', NPM);
  // Nothing is installed, whoever runs this.
  aProgram('apt-get', '#!/bin/sh\nexit 1\n');
  aProgram('id', '#!/bin/sh\necho 1000\n');
  const project = join(folder, 'project');
  cpSync(join(ROOT, '.ci'), join(project, '.ci'), { recursive: true });
  writeFileSync(join(project, 'package-lock.json'), '{}');
  const git = (...args: readonly string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.invalid', ...args], { cwd: project });
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The output from the first named failure on. */
function endOfGate(): readonly string[] {
  const PATH = [join(folder, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const env = { PATH, HOME: folder, REPORTS: join(folder, 'reports') };
  const { stdout, status } = spawnSync('bash', [join(folder, 'project', '.ci', 'run')], { env, encoding: 'utf8' });
  expect(status).toBe(1);
  // Where the time goes: of each step, of what is only prepared, and of all.
  const seconds = (name: string): RegExp => new RegExp(`^-- ${name}: \\d+ s, CPU \\d+ s user, \\d+ s system$`, 'm');
  for (const name of ['npm ci', 'npm run helm', 'npm test']) expect(stdout).toMatch(seconds(name));
  expect(stdout).toMatch(/^-- all: \d+ s$/m);
  const lines = stdout.trimEnd().split('\n');
  // Each step's output is in one piece.
  const marks = lines.filter((line) => /^(?:==|--) /.test(line)).map((line) => line.replace(/: \d+ s.*$/, ''));
  for (const [at, mark] of marks.entries()) if (mark.startsWith('== ')) expect(marks[at + 1]).toBe(mark.replace('==', '--'));
  return lines.slice(lines.findIndex((line) => line.startsWith('failed step: ')));
}

describe('the gate', () => {
  it('names failed steps, tests and files, and tests that passed when tried again, before its line of counts', () => {
    const broken = { name: '/a/broken.test.ts', message: 'Cannot find module', status: 'failed', assertionResults: [] };
    const failing = [aTest('a rule holds', 'failed', 'AssertionError: 1 is not 2\n at line'), aTest('another', 'passed')];
    report('vitest-unit.json', 2, 1, { name: '/a/rule.test.ts', message: '', status: 'failed', assertionResults: failing }, broken);
    const unsteady = [aTest('is late', 'passed', 'Error: not within 60 s')];
    report('vitest-e2e.json', 1, 0, { name: '/a/late.e2e.ts', message: '', status: 'passed', assertionResults: unsteady });
    report('vitest-browser.json', 3, 0);
    const end = endOfGate();
    // Steps run beside each other.
    expect(end.filter((line) => line.startsWith('failed step: ')).toSorted()).toEqual(
      ['npm run demo', 'npm run test:e2e', 'npm test'].map((name) => `failed step: ${name}; its last lines:`),
    );
    expect(end).toContainEqual('    the demo said this');
    const named = end.filter((line) => /^(failed (test|file)|passed when)/.test(line));
    // Reports are read in the order of their names.
    expect(named.map((line) => line.replace(/: \S*\/a\//, ': '))).toEqual([
      'passed when tried again: late.e2e.ts > is late: Error: not within 60 s',
      'failed test: rule.test.ts > a rule holds: AssertionError: 1 is not 2',
      'failed file: broken.test.ts: Cannot find module',
    ]);
    expect(end.at(-1)).toMatch(/^\d+ passed, 4 failed$/);
  });
});

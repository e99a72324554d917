import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { causeOf, runGo } from '../support/go-build.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});

/** A program in place of Go, and how often it was started. */
function aGo(script: string): { readonly program: string; readonly cwd: string; readonly starts: () => number } {
  const cwd = mkdtempSync(join(tmpdir(), 'go-'));
  dirs.push(cwd);
  const program = join(cwd, 'go');
  writeFileSync(program, `#!/bin/sh\necho x >> starts\n${script}\n`);
  chmodSync(program, 0o755);
  return { program, cwd, starts: () => readFileSync(join(cwd, 'starts'), 'utf8').split('x').length - 1 };
}

const run = ({ program, cwd }: ReturnType<typeof aGo>, limitMs = 60_000) => runGo({ args: [], cwd, env: {}, limitMs, program });
const TIMEOUT = 'go: example.org/a@v1: Get "https://proxy.golang.org/a": dial tcp 10.0.0.1:443: i/o timeout';

describe('the cause of a failed build', () => {
  it.each([
    ['a slow proxy', `go: downloading a v1\n${TIMEOUT}\ngo: downloading b v1`, TIMEOUT],
    [
      'a full disk, before what follows from it',
      `# k8s.io/a\ncompile: no space left on device\n${TIMEOUT}`,
      'compile: no space left on device',
    ],
    [
      'a certificate',
      'go: a: tls: failed to verify certificate: x509: certificate signed by unknown authority\nexit',
      'go: a: tls: failed to verify certificate: x509: certificate signed by unknown authority',
    ],
    ['too little memory', '# k8s.io/b\ncompile: signal: killed\n# k8s.io/c', 'compile: signal: killed'],
    ['another one', 'go: a: b\nc', 'go: a: b'],
    ['nothing', '', 'Go ended without a word'],
  ])('%s', (_what, text, cause) => {
    expect(causeOf(text)).toBe(cause);
  });
});

describe('a build', () => {
  it('is tried again while the proxy is slow, up to four times', async () => {
    const passes = aGo(`[ $(wc -l < starts) -ge 3 ] && exit 0; echo '${TIMEOUT}' >&2; exit 1`);
    expect([await run(passes), passes.starts()]).toEqual([undefined, 3]);
    const never = aGo(`echo '${TIMEOUT}' >&2; exit 1`);
    expect([await run(never), never.starts()]).toEqual([`${TIMEOUT} (after 4 tries)`, 4]);
  });

  it('is not tried again for what does not pass', async () => {
    const full = aGo("echo 'write: no space left on device' >&2; exit 1");
    expect([await run(full), full.starts()]).toEqual(['write: no space left on device', 1]);
  });

  it('names a program that is not there', async () => {
    expect(await runGo({ args: [], cwd: tmpdir(), env: {}, limitMs: 1_000, program: '/no/go' })).toContain('ENOENT');
  });
});

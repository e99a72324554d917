import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBinaries } from '../e2e/binaries.ts';
import { causeOf, runGo } from '../support/go-build.ts';
import { buildHelm } from './helm.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A program in place of Go, and how often it was started. */
function aGo(script: string): { readonly program: string; readonly cwd: string; readonly starts: () => number } {
  const cwd = temporaryFolder();
  const program = join(cwd, 'go');
  writeFileSync(program, `#!/bin/sh\necho x >> "\${0%/*}/starts"\n${script}\n`);
  chmodSync(program, 0o755);
  return { program, cwd, starts: () => readFileSync(join(cwd, 'starts'), 'utf8').split('x').length - 1 };
}

const run = ({ program, cwd }: ReturnType<typeof aGo>, limitMs = 60_000) => runGo({ args: [], cwd, env: {}, limitMs, program, pauseMs: 0 });
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

describe('the builds that tests need', () => {
  /** A Go that answers its version, and then does what the script says. Nothing else is on the path, so that a Helm of the machine does not count. */
  function environment(script: string) {
    const go = aGo(`PATH=/usr/bin:/bin\n[ "$1" = version ] && exit 0\necho "$1" >>"$HOME/builds"\n${script}`);
    return { cwd: go.cwd, env: { PATH: go.cwd, HOME: go.cwd, XDG_CACHE_HOME: join(go.cwd, 'cache') } };
  }
  const builds = (cwd: string): number => readFileSync(join(cwd, 'builds'), 'utf8').trim().split('\n').length;

  it('of Helm says the true cause, and that nothing else came of it', async () => {
    const { env, cwd } = environment(`echo '${TIMEOUT}' >&2; exit 1`);
    expect(await buildHelm(env, 0)).toEqual({
      found: false,
      sentence: `skipped: building Helm v3.22.0 failed: ${TIMEOUT} (after 4 tries)`,
    });
    expect(builds(cwd)).toBe(4);
  });

  it('of Helm works behind a proxy that is slow at first, and is not made twice', async () => {
    const script = `[ $(wc -l <"$HOME/builds") -lt 3 ] && { echo '${TIMEOUT}' >&2; exit 1; }; touch "$GOBIN/helm"`;
    const { env, cwd } = environment(script);
    const built = await buildHelm(env, 0);
    expect([built.found, built.sentence]).toEqual([true, expect.stringMatching(/^Helm v3\.22\.0 was built: \/.*\/helm$/)]);
    expect((await buildHelm(env, 0)).sentence).toMatch(/^Helm is \//);
    expect(builds(cwd)).toBe(3);
  });

  it('of a control plane says the true cause, and leaves nothing behind', async () => {
    const { env, cwd } = environment("echo 'k8s.io/a: write: no space left on device' >&2; exit 1");
    const said: string[] = [];
    expect(await findBinaries(env, (line) => said.push(line), '1.35')).toEqual({
      kind: 'missing',
      reason: 'building them failed: k8s.io/a: write: no space left on device',
    });
    expect(said).toEqual([expect.stringMatching(/^building the control plane of v1\.35\.\d+ with /)]);
    expect(
      readdirSync(join(cwd, 'cache', 'aks-autoscaler', 'control-plane')).flatMap((name) =>
        readdirSync(join(cwd, 'cache', 'aks-autoscaler', 'control-plane', name)),
      ),
    ).toEqual([]);
  });

  it('of a version that is not known names those that are', async () => {
    const { env } = environment('exit 1');
    const found = await findBinaries(env, () => undefined, '1.20');
    expect(found).toMatchObject({
      kind: 'missing',
      reason: expect.stringMatching(/^Kubernetes 1\.20 is not among 1\.34, 1\.35, 1\.36, 1\.37$/),
    });
  });
});

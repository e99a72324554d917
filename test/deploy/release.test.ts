/** The scripts of the release workflow, run with programs that only record how they are called. `npm run workflows` lints the file itself. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VERSION } from '../../src/lib/version.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const DIGEST = `sha256:${'a'.repeat(64)}`;

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly name?: string; readonly run?: string }[] }>>;
}

const { jobs } = parse(readFileSync(join(ROOT, '.github', 'workflows', 'release.yaml'), 'utf8')) as Workflow;
/** A program that ends without having read its password ends the `echo` before it, too, if that writes late. */
const TAKE_PASSWORD = 'case "$*" in *--password-stdin*) cat >/dev/null ;; esac';
/** Each notes its folder and arguments; some also leave or print what the script reads. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npm: 'case "$*" in "run package") mkdir -p dist/npm/package ;; esac',
  helm: `case "$1" in push) echo "Digest: ${DIGEST}" >&2 ;; esac`,
  cosign: '',
  docker: `echo "${DIGEST}"`,
};

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder, 'bin'));
  for (const [name, text] of Object.entries(PROGRAMS)) {
    const file = join(folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\necho "\${PWD#$FOLDER} ${name} $*" >>"$FOLDER/calls"\n${TAKE_PASSWORD}\n${text}\n`);
    chmodSync(file, 0o755);
  }
  for (const file of ['package.json', 'Dockerfile', 'CHANGELOG.md', 'helm'])
    cpSync(join(ROOT, file), join(folder, file), { recursive: true });
});

/** Runs the step of that name, or the first with that text in its name, as the runner does. */
function runStep(job: string, named: RegExp, env: Readonly<Record<string, string>> = {}) {
  const script = jobs[job]?.steps.find(({ name = '' }) => named.test(name))?.run ?? 'exit 99';
  const PATH = [join(folder, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const all = { PATH, FOLDER: folder, GITHUB_OUTPUT: join(folder, 'output'), GITHUB_REPOSITORY: 'Shop/Nodes', ...env };
  const { status, stderr } = spawnSync('bash', ['-eo', 'pipefail', '-c', script], { cwd: folder, env: all, encoding: 'utf8' });
  return { status, stderr };
}

const linesOf = (file: string): readonly string[] => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');

describe('a release', () => {
  const check = (tag: string) => runStep('version', /name one version/, { TAG: tag, OWNER: 'Shop' });

  it('is refused unless the change log has the version, too', () => {
    expect(check(`v${VERSION}`).status).not.toBe(0);
    writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## ${VERSION}\n`);
    expect(check(`v${VERSION}`)).toMatchObject({ status: 0 });
    expect(linesOf('output')).toEqual([`version=${VERSION}`, 'image=ghcr.io/shop/aks-autoscaler', 'charts=ghcr.io/shop/charts']);
    expect(check('v9.9.9').status).not.toBe(0);
  });

  it('builds the image from base images that are named by their digests', () => {
    expect(runStep('image', /digests of the base images/).status).toBe(0);
    expect(linesOf('output')).toEqual([
      expect.stringMatching(new RegExp(`^build=node:24\\S*@${DIGEST}$`)),
      expect.stringMatching(new RegExp(`^runtime=gcr\\.io/distroless/nodejs24\\S*@${DIGEST}$`)),
    ]);
  });

  it('pushes a chart whose image is the one just built, and signs it by its digest', () => {
    const env = {
      VERSION: '1.2.3',
      IMAGE: 'ghcr.io/shop/aks-autoscaler',
      CHARTS: 'ghcr.io/shop/charts',
      DIGEST,
      TOKEN: 't',
      GITHUB_ACTOR: 'a',
    };
    expect(runStep('chart', /Push the chart/, env).status).toBe(0);
    const values = parse(readFileSync(join(folder, 'chart', 'values.yaml'), 'utf8')) as { readonly image: object };
    expect(values.image).toMatchObject({ repository: env.IMAGE, digest: DIGEST });
    expect(linesOf('calls')).toContain(` cosign sign --yes ${env.CHARTS}/aks-autoscaler@${DIGEST}`);
  });

  it('publishes the package that `npm run package` makes, and says where it was built', () => {
    expect(runStep('package', /Publish/)).toMatchObject({ status: 0 });
    expect(linesOf('calls')).toEqual([
      ' npm ci',
      ' npm run package',
      '/dist/npm/package npm pkg set repository.url=git+https://github.com/Shop/Nodes.git',
      '/dist/npm/package npm publish --provenance --access public',
    ]);
  });
});

/** Where the programs of a real control plane are looked for, and what is said if they are not there. */
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { buildsFolder, findPrograms, PARTS } from '../../../simulator/real-control-plane/find-programs.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';

const BUILD_OF_THIS_MACHINE = `${process.platform}-${process.arch}-0a1b2c3d4e5f`;

let home: string;
beforeEach(() => {
  home = temporaryFolder();
});

function program(folder: string, name: string, mode = 0o755): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), '');
  chmodSync(join(folder, name), mode);
  return join(folder, name);
}

/** @param madeSeconds since the epoch; default: now */
function build(version: string, rest = BUILD_OF_THIS_MACHINE, madeSeconds?: number): string {
  const made = program(join(buildsFolder({ HOME: home }), `${version}-${rest}`), 'control-plane');
  if (madeSeconds !== undefined) utimesSync(made, madeSeconds, madeSeconds);
  return made;
}

function assets(...names: readonly string[]): string {
  const folder = join(home, 'assets');
  for (const name of names) program(folder, name);
  return folder;
}

describe('the programs of a real control plane', () => {
  it('are those of KUBEBUILDER_ASSETS, before any build', () => {
    build('v1.36.3');
    const folder = assets(...PARTS);
    expect(findPrograms({ HOME: home, KUBEBUILDER_ASSETS: folder })).toEqual({
      kind: 'found',
      programs: Object.fromEntries(PARTS.map((part) => [part, [join(folder, part)]])),
      origin: folder,
      notes: [],
    });
  });

  it('are one build of the cache as a whole if KUBEBUILDER_ASSETS lacks one, and a note says so', () => {
    const built = build('v1.36.3');
    const folder = assets('etcd', 'kube-apiserver', 'kubectl');
    expect(findPrograms({ HOME: home, KUBEBUILDER_ASSETS: folder })).toEqual({
      kind: 'found',
      programs: Object.fromEntries(PARTS.map((part) => [part, [built, part]])),
      origin: built,
      notes: [`KUBEBUILDER_ASSETS (${folder}) has no program kube-controller-manager, kube-scheduler.`],
    });
  });

  it('are the last build of the newest version for this machine', () => {
    build('v1.9.9');
    build('v1.10.2', `${process.platform}-${process.arch}-ffffffffffff`, 1000);
    const newest = build('v1.10.2');
    build('v1.99.0', 'plan9-mips-0a1b2c3d4e5f');
    program(join(buildsFolder({ HOME: home }), `v1.98.0-${BUILD_OF_THIS_MACHINE}`), 'unfinished-17');
    program(join(buildsFolder({ HOME: home }), `v1.97.0-${BUILD_OF_THIS_MACHINE}`), 'control-plane', 0o644);
    expect(findPrograms({ HOME: home })).toMatchObject({ kind: 'found', origin: newest });
  });

  it('are missing with one sentence about each place and one for each way to get them', () => {
    expect(findPrograms({ HOME: home })).toEqual({
      kind: 'missing',
      sentences: [
        'KUBEBUILDER_ASSETS is not set.',
        `${buildsFolder({ HOME: home })} has no build of a control plane.`,
        expect.stringMatching(/^Either put etcd, .* set KUBEBUILDER_ASSETS to it: setup-envtest .*\.$/),
        expect.stringMatching(/^Or, .* run: npm run test:e2e -- --build-only$/),
      ],
    });
  });
});

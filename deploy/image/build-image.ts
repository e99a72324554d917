/**
 * `npm run image`: builds the image of the Dockerfile on a machine that has no container engine and no registry of images, looks at every
 * file in it, and starts it against a simulated cluster. `npm run image -- world` builds that of the simulated cluster and starts it. Needs root, Debian's
 * packages and those of npm.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBuildBase, makeRuntimeBase } from './base-images.ts';
import { missingCommands, run } from './commands.ts';
import { findingsIn } from './image-contents.ts';
import { runWorldInChroot } from './world-trial.ts';
import { OTHER_COMMAND, runInChroot, runInContainer, startEmulator, type TrialResult } from './trial-run.ts';

const IMAGE = 'localhost/aks-autoscaler';
const WORLD_IMAGE = 'localhost/aks-autoscaler-world';
const NEEDED = ['buildah', 'mmdebstrap', 'dpkg-deb', 'apt-get', 'unshare', 'chroot'];
const FILE_LIST = join('dist', 'image-files.txt');
const PORTS = { chroot: 18_085, container: 18_086 };

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The build stage fetches packages of npm with the settings of the user who builds. They are mounted, so that no image contains them. */
function buildMounts(): readonly string[] {
  const settings = run('npm', ['config', 'get', 'userconfig']).trim();
  return existsSync(settings) ? [`--volume=${settings}:/root/.npmrc:ro`] : [];
}

function build(workDir: string, target: readonly string[]): void {
  say('image: making the base images from Debian packages');
  const [buildBase, runtimeBase] = [makeBuildBase(workDir), makeRuntimeBase(workDir)];
  say('image: building the Dockerfile');
  const args = [`--build-arg=BUILD_IMAGE=${buildBase}`, `--build-arg=RUNTIME_IMAGE=${runtimeBase}`];
  run('buildah', ['build', '--isolation=chroot', '--network=host', '--format=oci', ...args, ...buildMounts(), ...target, '.']);
}

/** @returns how many findings there are. */
function inspectFiles(root: string): number {
  const paths = run('find', [root, '(', '-type', 'f', '-o', '-type', 'l', ')', '-printf', '%P\\n']).trim().split('\n').sort();
  const bytes = paths.reduce((sum, path) => sum + (statSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0), 0);
  mkdirSync('dist', { recursive: true });
  writeFileSync(FILE_LIST, `${paths.join('\n')}\n`);
  const findings = findingsIn(paths);
  say(`image: ${paths.length} files, ${(bytes / 2 ** 20).toFixed(1)} MiB; the list is in ${FILE_LIST}`);
  for (const finding of findings) say(`image: FAILED ${finding}`);
  if (findings.length === 0) say('image: no shell, no package manager, licences and bill of materials inside');
  return findings.length;
}

function describe(where: string, { firstLine, readyMs, readyCpuMs, residentMiB }: TrialResult): string {
  return `image: ${where}: ready after ${readyMs} ms, ${readyCpuMs} ms of CPU, ${residentMiB} MiB, user 65532, read-only root; first line "${firstLine}"`;
}

async function tryOut(root: string): Promise<void> {
  const world = await startEmulator();
  try {
    say(describe('chroot', await runInChroot(root, world, PORTS.chroot)));
    say(describe(`chroot, as ${OTHER_COMMAND[0]}`, await runInChroot(root, world, PORTS.chroot, OTHER_COMMAND)));
    const contained = missingCommands(['crun']).length > 0 ? 'crun is not installed' : await runInContainer(root, world, PORTS.container);
    say(typeof contained === 'string' ? `image: container: skipped, ${contained}` : describe('container', contained));
  } finally {
    await world.stop();
  }
}

async function main(): Promise<number> {
  const missing = missingCommands(NEEDED);
  if (missing.length > 0 || process.getuid?.() !== 0) {
    say(`image: not built: ${missing.length > 0 ? `needs ${missing.join(', ')} (Debian packages)` : 'needs root'}`);
    return 1;
  }
  const workDir = mkdtempSync(join(tmpdir(), 'aks-autoscaler-image-'));
  try {
    if (process.argv[2] !== 'world') {
      build(workDir, [`--tag=${IMAGE}`]);
      return await inRootOf(IMAGE, async (root) => {
        const findings = inspectFiles(root);
        await tryOut(root);
        return findings;
      });
    }
    build(workDir, ['--target=world', `--tag=${WORLD_IMAGE}`]);
    return await inRootOf(WORLD_IMAGE, async (root) => {
      say(`image: the world in a chroot: ${await runWorldInChroot(root)}`);
      return 0;
    });
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

/** @returns 0 if `look` finds nothing. */
async function inRootOf(image: string, look: (root: string) => Promise<number>): Promise<number> {
  const container = run('buildah', ['from', '--pull-never', image]).trim();
  try {
    return (await look(run('buildah', ['mount', container]).trim())) === 0 ? 0 : 1;
  } finally {
    run('buildah', ['rm', container]);
  }
}

process.exitCode = await main();

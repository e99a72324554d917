/**
 * The two base images of the Dockerfile, made of Debian packages alone, for machines without a registry of images: a system for the build
 * stage, and for the final stage only what a Node binary needs. The Node binary is the one that runs this file.
 */
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { run } from './commands.ts';

const SUITE = 'bookworm';
/** What `ldd` lists for the Node binary, and the authorities that sign the certificates of Azure and of the internet. */
const RUNTIME_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'ca-certificates'];
/** Of these packages, but of no use to a process: conversions of other encodings, locales, and a shell script. */
const UNUSED = [
  'usr/sbin',
  'usr/lib/x86_64-linux-gnu/gconv',
  'usr/lib/aarch64-linux-gnu/gconv',
  'usr/share/lintian',
  'usr/share/i18n',
  'usr/share/locale',
];
const AUTHORITIES = 'usr/share/ca-certificates/mozilla';
export const USER = 65_532;

/** A Debian with a shell, Node and npm. @returns the name of the image. */
export function makeBuildBase(workDir: string): string {
  const root = join(workDir, 'build-base');
  mkdirSync(root, { recursive: true });
  const archive = join(workDir, 'build-base.tar');
  run('mmdebstrap', ['--variant=essential', '--include=libstdc++6', '--quiet', SUITE, archive]);
  run('tar', ['--extract', '--exclude=./dev/*', '--file', archive, '--directory', root]);
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
  const npm = 'usr/local/lib/node_modules/npm';
  cpSync(join(run('npm', ['root', '--global']).trim(), 'npm'), join(root, npm), { recursive: true, dereference: true });
  symlinkSync(`/${npm}/bin/npm-cli.js`, join(root, 'usr/local/bin/npm'));
  addAuthorities(root);
  return imageOf(root, 'aks-autoscaler-build-base');
}

/** The authorities that npm trusts on this machine, if they are not those of Node. */
function addAuthorities(root: string): void {
  const configured = [run('npm', ['config', 'get', 'cafile']).trim(), process.env['NODE_EXTRA_CA_CERTS'] ?? ''];
  const file = configured.find((each) => existsSync(each));
  if (file === undefined) return;
  const copy = 'etc/ssl/extra-authorities.pem';
  mkdirSync(join(root, 'etc/ssl'), { recursive: true });
  copyFileSync(file, join(root, copy));
  mkdirSync(join(root, 'usr/local/etc'), { recursive: true });
  writeFileSync(join(root, 'usr/local/etc/npmrc'), `cafile=/${copy}\n`);
}

/** Files of four packages, a Node binary and a user: no shell, no package manager. @returns the name of the image. */
export function makeRuntimeBase(workDir: string): string {
  const root = join(workDir, 'runtime-base');
  const packages = join(workDir, 'packages');
  for (const folder of [packages, ...['etc/ssl/certs', 'nodejs/bin', 'tmp', 'home/nonroot'].map((each) => join(root, each))])
    mkdirSync(folder, { recursive: true });
  run('apt-get', ['download', '--quiet', ...RUNTIME_PACKAGES], packages);
  for (const file of readdirSync(packages)) run('dpkg-deb', ['--extract', join(packages, file), root]);
  for (const path of UNUSED) rmSync(join(root, path), { recursive: true, force: true });
  const bundle = join(root, 'etc/ssl/certs/ca-certificates.crt');
  for (const file of readdirSync(join(root, AUTHORITIES)).sort()) appendFileSync(bundle, readFileSync(join(root, AUTHORITIES, file)));
  copyFileSync(process.execPath, join(root, 'nodejs/bin/node'));
  copyFileSync(resolve(dirname(process.execPath), '..', 'LICENSE'), join(root, 'nodejs/LICENSE'));
  chmodSync(join(root, 'nodejs/bin/node'), 0o755);
  chmodSync(join(root, 'tmp'), 0o1777);
  writeFileSync(
    join(root, 'etc/passwd'),
    `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/sbin/nologin\n`,
  );
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nnonroot:x:${USER}:\n`);
  return imageOf(root, 'aks-autoscaler-runtime-base');
}

function imageOf(root: string, name: string): string {
  const container = run('buildah', ['from', 'scratch']).trim();
  run('buildah', ['add', '--quiet', container, root, '/']);
  const image = `localhost/${name}`;
  run('buildah', ['commit', '--quiet', '--rm', container, image]);
  return image;
}

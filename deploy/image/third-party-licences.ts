/** `npm run licences`: one file with the licence of each package that the bundle may contain, as the packages themselves state it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TARGET = join('dist', 'third-party-licences.txt');
const LICENCE_FILE = /^(licen[cs]e|copying|notice|thirdpartynotices?)([-.].*)?$/i;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The folders of the packages that are installed without the development dependencies; the first is our own. */
function shippedFolders(): readonly string[] {
  const output = execFileSync('npm', ['ls', '--omit=dev', '--omit=optional', '--all', '--parseable'], { encoding: 'utf8' });
  return output.trim().split('\n').slice(1);
}

/** @throws Error for a package that states no licence at all. */
function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const files = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort();
  if (files.length === 0 && license === undefined) throw new Error(`${name} ${version} states no licence`);
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license ?? 'see below'})`, ...texts].join('\n\n');
}

const licences = shippedFolders().map(licenceOf).sort();
mkdirSync('dist', { recursive: true });
writeFileSync(TARGET, `${licences.join(`\n\n${'-'.repeat(100)}\n\n`)}\n`);
process.stdout.write(`${TARGET}: ${licences.length} packages\n`);

/** The licences of packages, as the packages themselves state them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LICENCE_FILE = /^(licen[cs]e|copying|notice|thirdpartynotices?)([-.].*)?$/i;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** One text for the packages in these folders. @throws Error for a package that states no licence at all. */
export function licenceTexts(folders: readonly string[]): string {
  return `${folders
    .map(licenceOf)
    .sort()
    .join(`\n\n${'-'.repeat(100)}\n\n`)}\n`;
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const files = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort();
  if (files.length === 0 && license === undefined) throw new Error(`${name} ${version} states no licence`);
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license ?? 'see below'})`, ...texts].join('\n\n');
}

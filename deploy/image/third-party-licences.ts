/** `npm run licences`: one file with the licence of each package that the bundle may contain. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { licenceTexts } from './licence-texts.ts';

const TARGET = join('dist', 'third-party-licences.txt');

/** The folders of the packages that are installed without the development dependencies; the first is our own. */
function shippedFolders(): readonly string[] {
  const output = execFileSync('npm', ['ls', '--omit=dev', '--omit=optional', '--all', '--parseable'], { encoding: 'utf8' });
  return output.trim().split('\n').slice(1);
}

const folders = shippedFolders();
mkdirSync('dist', { recursive: true });
writeFileSync(TARGET, licenceTexts(folders));
process.stdout.write(`${TARGET}: ${folders.length} packages\n`);

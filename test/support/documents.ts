/** The pages that people read: those of the repository's root, those of the autoscaler, and those of the world. */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..', '..');
const FOLDERS = ['docs', join('world', 'docs')];

/** From the root of the repository, sorted. */
export const PAGES: readonly string[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .toSorted()
    .map((file) => join(folder, file)),
);

export const DOCUMENTS: readonly string[] = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...PAGES];

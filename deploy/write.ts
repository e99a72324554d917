/** `npm run manifests`: writes the chart's templates and schema, the plain manifests and the golden files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { generatedFiles } from './files.ts';

const root = resolve(import.meta.dirname, '..');
for (const [path, text] of generatedFiles(root)) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

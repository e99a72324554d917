/** `npm run manifests`: writes the chart's templates and the plain manifests. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generatedFiles } from './files.ts';

const root = resolve(import.meta.dirname, '..');
for (const [path, text] of generatedFiles(root)) writeFileSync(join(root, path), text);

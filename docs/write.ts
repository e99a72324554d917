/** `npm run docs`: writes the generated documents. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generatedDocuments } from './files.ts';

const root = resolve(import.meta.dirname, '..');
for (const [path, text] of await generatedDocuments(root)) writeFileSync(join(root, path), text);

/** The table of `docs/saving-money.md`, from the figures that `lab savings` measured. The text around it is written by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StudyResults, studyTable } from '../world/lab/studies/study-table.ts';

const TABLE = /^\| Turned on \|.*\n(?:\|.*\n)*/m;

export function savingMoneyDocument(root: string): string {
  const results = JSON.parse(readFileSync(join(root, 'bench', 'savings.json'), 'utf8')) as StudyResults;
  const text = readFileSync(join(root, 'docs', 'saving-money.md'), 'utf8');
  return text.replace(TABLE, `${studyTable(results).join('\n')}\n`);
}

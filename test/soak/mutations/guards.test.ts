import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { THEMES } from '../themes.ts';
import { findMarks, GUARDS } from './guards.ts';
import { markedStatements, removeGuard } from './marked-statements.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const ADVICE = 'adjust test/soak/mutations, and run npm run soak -- --mutations --guard "part of the title"';

describe('the list of guards', () => {
  const marks = findMarks(ROOT);
  const titles = new Set(GUARDS.map(({ title }) => title));

  it('has a row for each mark in the sources, and each title marks one statement', () => {
    const unlisted = [...marks.keys()].filter((title) => !titles.has(title));
    const repeated = [...marks].filter(([, files]) => files.length !== 1);
    expect({ unlisted, repeated }, ADVICE).toEqual({ unlisted: [], repeated: [] });
  });

  it.each(GUARDS)('$title: its change makes another program of the marked one', ({ title, change }) => {
    const [file] = marks.get(title) ?? [];
    expect(file, `no source has the mark "// guard: ${title}": ${ADVICE}`).toBeDefined();
    const source = readFileSync(join(ROOT, file ?? ''), 'utf8');
    const [marked] = markedStatements(source).filter((statement) => statement.title === title);
    const changed = marked === undefined ? undefined : removeGuard(source, marked, change);
    expect(changed, `the change does not fit the statement in ${file}: ${ADVICE}`).toBeDefined();
    expect(() => stripTypeScriptTypes(changed ?? '')).not.toThrow();
  });

  it.each(GUARDS)('$title: names a test or a run that exists', ({ test, row, run }) => {
    expect(test !== undefined || run !== undefined).toBe(true);
    if (test !== undefined) expect(existsSync(join(ROOT, test))).toBe(true);
    if (row !== undefined) expect(readFileSync(join(ROOT, test ?? ''), 'utf8')).toContain(row);
    if (run !== undefined) expect(Object.keys(THEMES)).toContain(run.theme);
  });

  it('has each row once', () => {
    expect(new Set(GUARDS.map(({ title, test, row }) => [title, test, row].join('\n'))).size).toBe(GUARDS.length);
  });
});

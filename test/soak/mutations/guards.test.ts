import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { THEMES } from '../themes.ts';
import { GUARDS } from './guards.ts';
import { replaceOnce } from './replace-once.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the list of guards', () => {
  it.each(GUARDS)('$guard: its text occurs once in $file', ({ file, text, instead }) => {
    const changed = replaceOnce(readFileSync(join(ROOT, file), 'utf8'), text, instead);
    expect(changed, `${file} has changed: adjust the row in test/soak/mutations, and run npm run soak -- --mutations`).toBeDefined();
    expect(instead).not.toBe(text);
  });

  it.each(GUARDS)('$guard: names a test or a run that exists', ({ test, row, run }) => {
    expect(test !== undefined || run !== undefined).toBe(true);
    if (test !== undefined) expect(existsSync(join(ROOT, test))).toBe(true);
    if (row !== undefined) expect(readFileSync(join(ROOT, test ?? ''), 'utf8')).toContain(row);
    if (run !== undefined) expect(Object.keys(THEMES)).toContain(run.theme);
  });

  it('has each guard once', () => {
    expect(new Set(GUARDS.map(({ guard }) => guard)).size).toBe(GUARDS.length);
    expect(new Set(GUARDS.map(({ file, text }) => `${file} ${text}`)).size).toBe(GUARDS.length);
  });
});

describe('replaceOnce', () => {
  it.each([
    { whole: 'a guard b', changed: 'a gone b' },
    { whole: 'no such text', changed: undefined },
    { whole: 'guard guard', changed: undefined },
  ])('makes "$changed" of "$whole"', ({ whole, changed }) => expect(replaceOnce(whole, 'guard', 'gone')).toBe(changed));
});

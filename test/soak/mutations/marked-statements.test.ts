import { describe, expect, it } from 'vitest';
import { markedStatements, removeGuard, type Change } from './marked-statements.ts';

/** The source without its first guard. */
function without(source: string, change?: Change): string | undefined {
  const [marked] = markedStatements(source);
  return marked === undefined ? undefined : removeGuard(source, marked, change);
}

describe('a marked statement', () => {
  it.each([
    ['if (a) b();\nc();', 'if (a) b();'],
    ['if (a(")")) {\n  b();\n}\nc();', 'if (a(")")) {\n  b();\n}'],
    ['if (/[)]/.test(a)) b();\nelse c();\nd();', 'if (/[)]/.test(a)) b();\nelse c();'],
    [
      'if (a) {\n  b();\n} else if (c) {\n  d();\n} else {\n  e();\n}\nf();',
      'if (a) {\n  b();\n} else if (c) {\n  d();\n} else {\n  e();\n}',
    ],
    ['if (a)\n  return b(`;${c(";")}`);\nd();', 'if (a)\n  return b(`;${c(";")}`);'],
    ['for (let a = 0; a < b; a++) if (c) d();\ne();', 'for (let a = 0; a < b; a++) if (c) d();'],
    ['const a = new Map<string, number>([[b, 1]]);\nc();', 'const a = new Map<string, number>([[b, 1]]);'],
    ['const a = b((c) => {\n  d();\n});\ne();', 'const a = b((c) => {\n  d();\n});'],
    ['// Why.\n/* And how; */ a();\nb();', 'a();'],
  ])('ends where it ends: %j', (source, statement) => {
    const whole = `before();\n// guard: one\n${source}`;
    expect(markedStatements(whole).map(({ title, start, end }) => [title, whole.slice(start, end)])).toEqual([['one', statement]]);
  });

  it.each([
    ['const a = {\n  b,\n  // guard: one\n  c: d(e, f),\n  g,\n};', 'c: d(e, f),'],
    ['const a = {\n  // guard: one\n  ...b({ c }),\n};', '...b({ c }),'],
    ['a(\n  b,\n  // guard: one\n  (c) => d(c, e)\n);', '(c) => d(c, e)\n'],
    ['const a = [\n  // guard: one\n  b,\n  c,\n];', 'b,'],
    ['a(() => {\n  // guard: one\n  b();\n});', 'b();'],
    ['if (a) b();\n// guard: one\nelse if (c) d();\ne();', 'else if (c) d();'],
  ])('may be a property, an element or a branch: %j', (whole, part) => {
    expect(markedStatements(whole).map(({ start, end }) => whole.slice(start, end))).toEqual([part]);
  });

  it('may have several marks; a text has no marks', () => {
    const whole = 'const a = `\n// guard: text\n`;\n  // guard: one\n  // guard: two\n  b();\n';
    expect(markedStatements(whole).map(({ title, start, end }) => [title, whole.slice(start, end)])).toEqual([
      ['one', 'b();'],
      ['two', 'b();'],
    ]);
  });
});

describe('a guard', () => {
  it.each<[string, string | undefined, Change?]>([
    ['if (a(b)) c();', 'if (false) c();'],
    ['if (a(b)) c();', 'if (true) c();', 'always'],
    ['else if (a) c();', 'else if (false) c();'],
    ['return a(b, c);', 'return;'],
    ['const a: (b: C) => D = e(f);', 'const a: (b: C) => D = undefined;'],
    ['const { a = 1 } = b;', 'const { a = 1 } = undefined;'],
    ['await a(b);', ''],
    ['throw new Error("a");', ''],
    ['a: b(c),', ''],
    ['for (const a of b) if (a) c();', undefined],
    ['for (const a of b) if (a) c();', 'for (const a of b) if (false) c();', ['(a)', '(false)']],
    ['return a && b;', 'return a ;', ['&& b']],
    ['return a && b;', undefined, ['c']],
    ['return a && a;', undefined, ['a', 'b']],
    ['return a;', undefined, ['a', 'a']],
    ['return a;', undefined, 'always'],
  ])('is removed from %j', (statement, changed, change) => {
    const mark = 'before();\n// guard: one\n';
    expect(without(`${mark}${statement}\nafter();`, change)).toBe(changed === undefined ? undefined : `${mark}${changed}\nafter();`);
  });
});

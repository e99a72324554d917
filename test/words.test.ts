/**
 * Plain words: names file and line of words that are never right here, in what people read. Comments and texts of the program,
 * documents, settings and values, alerts and dashboards, and test titles. The list of words is short and certain; review does
 * the rest.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DOCUMENTS } from './support/documents.ts';
import { codeOf, textsOf, type SourceText } from './support/source-text.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Each with the better way. */
const WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\b(?:nobody|somebody|anybody|whoever)\b/gi, instead: 'the writer, process or person that is meant' },
  { pattern: /\banew\b/gi, instead: 'again' },
  { pattern: /\buntold\b/gi, instead: 'unknown' },
  { pattern: /\b(?:told|tells|telling|tell)\b(?! (?:[\w']+ ){0,4}apart)/gi, instead: 'report, record, return, show, notify' },
  { pattern: /\bat the (?:most|least)\b/gi, instead: 'at most, at least' },
  { pattern: /\bleft alone\b/gi, instead: 'frozen, unchanged, not touched' },
  { pattern: /(?<!\b(?:none|one|each|all|some|most|both|many|any|two) )\bof which\b/gi, instead: 'a sentence of its own' },
  { pattern: /(?<!\bthere )\b(?:is|are|was|were) none\b/gi, instead: 'is absent, does not exist, is not a ...' },
  { pattern: /\bas ever\b/gi, instead: 'as usual' },
  { pattern: /\b(?:befalls?|befell|misfortunes?)\b/gi, instead: 'fault' },
  { pattern: /\bAbsent: /g, instead: 'If absent, ...' },
  {
    pattern: /(?:^|[.:;] )(?:Did|Has|Have|Had|Is|Are|Was|Were|Does|Do|Should|Can|Could) [^.?!;:\n]{3,120}, then\b/gm,
    instead: 'If ...',
  },
];

const LIST =
  '(?:azure provider|azure-wire|azure wire|azure fault|azure|faults?|caching|conformance|invariants?|config|discovery|soak seed|ca-core)';
const ENTRY = `(?:${LIST} \\d+|[A-Z]{1,2}\\d{1,2})`;
/** The number of a title in a list that is not in this repository: `PS05: `, `fault 31 (soak seed 50): `. */
const CODE = new RegExp(`^${ENTRY}[\\d.]*(?:(?:, | and )(?:${ENTRY}|\\d+))*(?: \\(soak seed \\d+\\))?: `);

interface Passage {
  readonly line: number;
  readonly text: string;
}

function filesUnder(folder: string, ...endings: readonly string[]): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => endings.some((ending) => file.endsWith(ending)))
    .map((file) => join(folder, file));
}

/** The world without its tests and its documents. */
function worldFiles(): readonly string[] {
  return filesUnder('world', '.ts').filter((file) => !/^world\/(?:test|docs)\//.test(file));
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** A key, a name or a path is no text for people. */
function isProse({ kind, text }: SourceText): boolean {
  return kind === 'comment' || /\s/.test(text);
}

/** Names of code in a comment may be anything. */
function sourcePassages(file: string): readonly Passage[] {
  return textsOf(textOf(file))
    .filter(isProse)
    .map(({ kind, text, line }) => ({ line, text: kind === 'comment' ? text.replace(/`[^`\n]*`/g, ' ') : text }));
}

/** The first argument of a call whose next argument is a function or options: `it('...', () => ...)`. */
function titles(file: string): readonly Passage[] {
  return textsOf(textOf(file)).filter(
    ({ kind, before, after }) =>
      kind === 'string' && /[(]\s*$/.test(before) && /^\s*,\s*(?:\{[^}]*\},\s*)?(?:async\b|function\b|\(|\w+\s*=>)/.test(after),
  );
}

/** Without code: a quoted name may be anything. */
function markdownPassages(file: string): readonly Passage[] {
  const text = textOf(file)
    .replace(/^```[\s\S]*?^```/gm, (code) => code.replace(/[^\n]/g, ' '))
    .replace(/`[^`\n]*`/g, ' ');
  return [{ line: 1, text }];
}

function yamlComments(file: string): readonly Passage[] {
  return textOf(file)
    .split('\n')
    .flatMap((line, index) => {
      const comment = /(?:^|\s)#\s?(.*)$/.exec(line)?.[1];
      return comment === undefined ? [] : [{ line: index + 1, text: comment }];
    });
}

/** Everything that people read, by file. Generated files are read at their source as well. */
const READERS: readonly (readonly [readonly string[], (file: string) => readonly Passage[]])[] = [
  [[...filesUnder('src', '.ts'), ...worldFiles()], sourcePassages],
  [[...filesUnder('deploy', '.ts'), ...filesUnder('docs', '.ts'), ...filesUnder('bench', '.ts')], sourcePassages],
  [[...filesUnder('test', '.test.ts', '.e2e.ts'), ...filesUnder('world/test', '.test.ts')], titles],
  [DOCUMENTS, markdownPassages],
  [['config/aks-autoscaler.yaml', ...filesUnder('helm/aks-autoscaler', 'values.yaml'), '.ci/run'], yamlComments],
];

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly words: string;
  readonly instead: string;
}

function findingsIn(file: string, passages: readonly Passage[]): readonly Finding[] {
  return passages.flatMap(({ line, text }) =>
    WORDS.flatMap(({ pattern, instead }) =>
      [...text.matchAll(pattern)].map((match) => ({
        file,
        line: line + text.slice(0, match.index).split('\n').length - 1,
        words: match[0].trim(),
        instead,
      })),
    ),
  );
}

/** The strings of the last argument of each call of a log. */
function logMessages(file: string): readonly Passage[] {
  const source = textOf(file);
  const calls = [...source.matchAll(/\blog\.(?:trace|debug|info|warn|error|fatal)\(/gi)];
  if (calls.length === 0) return [];
  const texts = textsOf(source);
  const masked = codeOf(source);
  return calls.flatMap((call) => {
    const [start, end] = lastArgument(masked, call.index + call[0].length);
    const isMessage = (text: SourceText): boolean =>
      text.kind === 'string' && text.start >= start && text.end <= end && !/[{(]/.test(masked.slice(start, text.start));
    return texts.filter(isMessage);
  });
}

/** Where the last argument of a call begins and ends; `from` is behind the opening bracket. */
function lastArgument(masked: string, from: number): readonly [number, number] {
  let depth = 0;
  let start = from;
  for (let at = from; at < masked.length; at += 1) {
    const char = masked.charAt(at);
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
    if (depth < 0) return [start, at];
    if (char === ',' && depth === 0 && !/^\s*\)/.test(masked.slice(at + 1, at + 200))) start = at + 1;
  }
  return [start, masked.length];
}

describe('the words that people read', () => {
  const findings = READERS.flatMap(([files, read]) => files.flatMap((file) => findingsIn(file, read(file))));
  const logFindings = [...filesUnder('src', '.ts'), ...worldFiles()].flatMap((file) =>
    logMessages(file)
      .filter(({ text }) => !/^[A-Z$/]/.test(text) || text.endsWith('.'))
      .map(({ line, text }) => ({ file, line, words: text, instead: 'a sentence in sentence case without a full stop' })),
  );

  it('are plain everywhere', () => {
    const lines = [...findings, ...logFindings].map(({ file, line, words, instead }) => `${file}:${line}: "${words}" -> ${instead}`);
    expect(lines).toEqual([]);
  });
});

describe('the titles of tests', () => {
  it('begin with what happens, not with the number of a list', () => {
    const files = filesUnder('test', '.ts').filter((file) => file !== join('test', 'words.test.ts'));
    const coded = files.flatMap((file) =>
      textsOf(textOf(file)).flatMap(({ kind, text, line }) => (kind === 'string' && CODE.test(text) ? `${file}:${line}: ${text}` : [])),
    );
    expect(coded).toEqual([]);
  });

  it.each([
    'PS05: a',
    'E4, PL16: a',
    'azure provider 129, 130: a',
    'fault 31 (soak seed 50): a',
    'discovery 3 and 4: a',
    'azure-wire 2.1, 3, invariant 5: a',
  ])('do not begin like %j', (title) => expect(title).toMatch(CODE));

  it.each(['a fault 3: a', 'HTTP 412: a', 'zone1: a', '12 empty nodes: a'])('may begin like %j', (title) =>
    expect(title).not.toMatch(CODE),
  );
});

describe('the reader of sources', () => {
  const source = [
    "/** One. */ const a = 'two \\' three'; // four",
    'const b = /[/*]"/.test(a) ? `five ${c(`six ${d}`)} seven` : "eight";',
    "const half = 1 / 2; const url = 'http://nine';",
  ].join('\n');

  it('finds comments, strings and templates with their lines, and skips regular expressions', () => {
    expect(textsOf(source).map(({ kind, text, line }) => [kind, text, line])).toEqual([
      ['comment', '/** One. */', 1],
      ['string', "two \\' three", 1],
      ['comment', '// four', 1],
      ['string', 'five ${} seven', 2],
      ['string', 'six ${}', 2],
      ['string', 'eight', 2],
      ['string', 'http://nine', 3],
    ]);
  });

  it('leaves the code without comments, strings, templates and regular expressions', () => {
    expect(codeOf("if (/[)'(]/.test(a)) b(`{${c}`, '}'); // )\nd();")).toBe('if (xxxxxxx.test(a)) b(xxxxxxx, xxx);     \nd();');
  });

  it.each([
    ['Whoever waits is told.', ['Whoever', 'told']],
    ['cannot tell the two apart', []],
    ['Did another writer change it, then nothing is written', ['Did another writer change it, then']],
    ['Absent: no label. Labels that hold are none.', ['are none', 'Absent:']],
  ])('%j has the words %j', (text, words) => {
    expect(findingsIn('a.ts', [{ line: 1, text }]).map((finding) => finding.words)).toEqual(words);
  });
});

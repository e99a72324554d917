/** The documents for the next person name files, functions, rooms, commands and entries that exist. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ringOf, sources, targetOf } from './architecture/sources.ts';
import { DOCUMENTS } from './support/documents.ts';

const ROOT = resolve(import.meta.dirname, '..');
const MAP = 'docs/how-it-is-built.md';

/** Top folders whose paths are checked. */
const PATH = /^(?:src|world|test|bench|docs|deploy|helm|config|\.ci)\/[\w./-]*$/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)?$/;

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '');
}

/** The texts between backticks. */
function codeSpans(markdown: string): readonly string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

/** Paragraphs, list items and table cells: an identifier belongs to the files of its own block. */
function blocksOf(markdown: string): readonly string[] {
  return withoutFences(markdown).split(/\n\s*\n|\n(?=\s*(?:- |\d+\. |\|))|(?<=\S) \| /);
}

/** Whether the source declares a function, value, type, class or method of that name; `Class.method` needs both. */
function declares(source: string, name: string): boolean {
  const [owner = '', member] = name.split('.');
  if (member !== undefined) return declares(source, owner) && isMember(source, member);
  return new RegExp(`\\b(?:function|const|class|interface|type)\\*?\\s+${owner}\\b`).test(source);
}

function isMember(source: string, name: string): boolean {
  return new RegExp(`^\\s+(?:readonly |async |static |get )*#?${name}\\b\\s*[(:<=?]`, 'm').test(source);
}

/** `a.ts`: `one`, `two` and `three` -> each with the file that must declare it. */
function namedDeclarations(block: string): readonly { readonly file: string; readonly name: string }[] {
  return [...block.matchAll(/`([\w./-]+\.ts)`:\s+((?:`[\w$.]+`(?:,\s+|\s+and\s+|\s+or\s+)?)+)/g)].flatMap(([, file = '', names = '']) =>
    codeSpans(names)
      .filter((name) => IDENTIFIER.test(name) && !name.endsWith('.ts'))
      .map((name) => ({ file, name })),
  );
}

describe('paths and commands in documents', () => {
  it.each(DOCUMENTS)('%s names paths that exist', (document) => {
    const paths = codeSpans(withoutFences(textOf(document))).filter((span) => PATH.test(span));
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each(DOCUMENTS)('%s links to files that exist', (document) => {
    const links = [...withoutFences(textOf(document)).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(document), link)))).toEqual([]);
  });

  it.each(DOCUMENTS)('%s names npm scripts that exist', (document) => {
    const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
    const named = [...textOf(document).matchAll(/npm run (?:--silent )?([a-z][\w:]*)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

describe(MAP, () => {
  const text = textOf(MAP);
  const blocks = blocksOf(text);

  it('names functions and types that their files declare', () => {
    const named = blocks.flatMap(namedDeclarations);
    expect(named.length).toBeGreaterThan(40);
    const lost = named.filter(({ file, name }) => !existsSync(join(ROOT, file)) || !declares(textOf(file), name));
    expect(lost.map(({ file, name }) => `${name} is not in ${file}`)).toEqual([]);
  });

  it('names no other identifier beside a file that lacks it', () => {
    const lost = blocks.flatMap((block) => {
      const spans = codeSpans(block);
      const sources = spans.filter((span) => PATH.test(span) && span.endsWith('.ts') && existsSync(join(ROOT, span))).map(textOf);
      if (sources.length === 0) return [];
      const names = spans.filter((span) => IDENTIFIER.test(span) && !span.endsWith('.ts'));
      return names.filter((name) => !sources.some((source) => declares(source, name) || isMember(source, name)));
    });
    expect(lost).toEqual([]);
  });

  /** Folders with sources below a folder of the repository. */
  const foldersIn = (root: string): readonly string[] =>
    readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(ROOT, root, path)).isDirectory() && !/^(?:test|docs)(?:\/|$)/.test(path))
      .map((path) => `${root}/${path}/`);
  const rowsOf = (page: string): readonly string[] =>
    [...page.matchAll(/^\| `((?:src|world)\/[^`]+\/)` \|/gm)].map(([, room = '']) => room);
  const depthOf = (folder: string): number => folder.split('/').length - 2;

  it('has every ring, all rooms of a ring or none, and no folder that does not exist', () => {
    const rows = rowsOf(text);
    const folders = [...foldersIn('src'), ...foldersIn('world')];
    expect(rows.filter((row) => !folders.includes(row))).toEqual([]);
    const rings = new Set(rows.filter((row) => depthOf(row) === 2).map((row) => row.split('/').slice(0, 2).join('/')));
    const expected = folders.filter((folder) =>
      depthOf(folder) === 1 ? true : depthOf(folder) === 2 && rings.has(folder.split('/').slice(0, 2).join('/')),
    );
    expect(rows.toSorted()).toEqual(expected.toSorted());
  });

  it('has a map that one can overlook', () => expect(rowsOf(text).length).toBeLessThanOrEqual(60));

  it('leaves the rooms of the world to a map of its own', () => {
    const rooms = foldersIn('world').filter((folder) => depthOf(folder) > 1);
    expect(rowsOf(textOf('world/docs/how-it-is-built.md')).toSorted()).toEqual(rooms.toSorted());
  });

  it('draws every arrow between rings that the code has', () => {
    const drawn = new Map(
      [...text.matchAll(/^\| `(?:src\/(\w+)|(world\/\w+))\/` \|.*\| ([^|]*) \|$/gm)].map(([, ring, part = '', arrows = '']) => [
        ring ?? part,
        arrows.trim(),
      ]),
    );
    const lost = [...drawn].flatMap(([ring, arrows]) => {
      const allowed = new Set([ring, 'lib', ...arrows.split(', ')]);
      return arrows === 'every ring' ? [] : importedRings(ring).filter((target) => !allowed.has(target));
    });
    expect(drawn.size).toBeGreaterThan(10);
    expect(lost).toEqual([]);
  });
});

/** `domain/loop-report.ts` names the plans of planning; `test/architecture.test.ts` allows that one arrow. */
function importedRings(ring: string): readonly string[] {
  const targets = sources()
    .filter((source) => source.ring === ring && source.path !== 'domain/loop-report.ts')
    .flatMap((source) => source.imports.filter((name) => name.startsWith('.')).map((name) => ringOf(targetOf(source, name))));
  return [...new Set(targets)];
}

describe('docs/troubleshooting.md', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => textOf(join('src', file)))
    .join('\n');
  /** Messages are quoted with their spaces; what varies stands as dots. */
  const quoted = codeSpans(withoutFences(textOf('docs/troubleshooting.md')))
    .filter((span) => /^[A-Za-z][\w();,'/-]*(?: [\w();,'/.-]+)+$/.test(span) && !/^(?:kubectl|az|aks-autoscaler|plan) /.test(span))
    .flatMap((span) => span.split('...').map((part) => part.trim()))
    .filter((part) => part !== '');

  it('quotes messages that the program has', () => {
    expect(quoted.length).toBeGreaterThan(10);
    const isQuote = (part: string): boolean =>
      [part, part.replaceAll("'", "\\'"), part.replace(/\w+$/, '${')].some((text) => sources.includes(text));
    expect(quoted.filter((part) => !isQuote(part))).toEqual([]);
  });
});

describe('docs/decisions.md', () => {
  const text = textOf('docs/decisions.md');
  const titles = [...text.matchAll(/^## (\d+\. .+)$/gm)].map(([, title = '']) => title);

  it('numbers its entries from 1 without a gap', () => {
    expect(titles.map((title) => Number.parseInt(title, 10))).toEqual(titles.map((_, index) => index + 1));
  });

  it('has every entry once in the index, with a link that leads to it', () => {
    const listed = [...text.matchAll(/^- \[(\d+\. .+)\]\(#([^)]+)\)$/gm)].map(([, title = '', anchor = '']) => ({ title, anchor }));
    expect(listed.map(({ title }) => title).toSorted()).toEqual(titles.toSorted());
    expect(listed.filter(({ title, anchor }) => anchor !== anchorOf(title))).toEqual([]);
  });

  it('has context, choice and price in every entry', () => {
    const entries = text.split(/^## (?=\d+\. )/m).slice(1);
    const poor = entries.filter((entry) => !['\nContext: ', '\nChoice: ', '\nGave up: '].every((word) => entry.includes(word)));
    expect(poor.map((entry) => entry.split('\n')[0])).toEqual([]);
  });
});

/** The anchor that GitHub gives a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

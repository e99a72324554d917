/** The source files as the rules about them see them: folders, imports, code. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..', '..');
const SRC = join(ROOT, 'src');
/** Beside `src`: its tests and its documents are no sources. */
const WORLD = join(ROOT, 'world');

export interface Source {
  /** From `src`, or from the root of the repository for a file of the world. */
  readonly path: string;
  /** The top folder of `src`, or `world/` and a folder. */
  readonly ring: string;
  /** The folder. */
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

export function sources(): readonly Source[] {
  const world = filesIn(WORLD).filter((file) => !/^(?:test|docs)\//.test(file));
  return [...filesIn(SRC).map((file) => join(SRC, file)), ...world.map((file) => join(WORLD, file))].map((file) => {
    const text = readFileSync(file, 'utf8');
    const path = pathOf(file);
    return { path, ring: ringOf(path), room: dirname(path), text, imports: importsOf(text) };
  });
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
}

function pathOf(file: string): string {
  const path = relative(SRC, file);
  return path.startsWith('..') ? relative(ROOT, file) : path;
}

export function ringOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return first === 'world' ? `world/${second}` : first;
}

function importsOf(text: string): readonly string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Code without comments and strings' contents is what the global rules look at. */
export function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:])\/\/.*$/gm, '$1');
}

export function targetOf(source: Source, specifier: string): string {
  const folder = source.path.startsWith('world/') ? ROOT : SRC;
  return pathOf(resolve(folder, dirname(source.path), specifier));
}

/** Files or folders that import each other in a circle, the first one again at the end. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

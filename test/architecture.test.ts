/** Guards who may import whom. Reads import lines, type imports included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/** An arrow is "may import"; nothing else may. A room may always import itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  domain: ['lib'],
  scheduling: ['domain', 'lib'],
  planning: ['scheduling', 'domain', 'lib'],
  cache: ['domain', 'lib'],
  telemetry: ['domain', 'lib'],
  config: ['domain', 'lib'],
  azure: ['cache', 'telemetry', 'domain', 'lib'],
  kubernetes: ['telemetry', 'domain', 'lib'],
  loop: ['observers', 'planning', 'scheduling', 'telemetry', 'domain', 'lib'],
  observers: ['planning', 'telemetry', 'domain', 'lib'],
  simulator: ['domain', 'lib'],
  cli: ['lib', 'domain', 'scheduling', 'planning', 'cache', 'telemetry', 'config', 'azure', 'kubernetes', 'loop', 'observers', 'simulator'],
};

/** Only these may reach the simulator from the composition root. */
const SIMULATOR_COMMANDS = ['cli/emulate-command', 'cli/demo/'];

/** Packages with one home each. */
const PACKAGE_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  { pattern: /^@azure/, homes: ['azure/'] },
  { pattern: /^@kubernetes\/client-node$/, homes: ['kubernetes/'] },
  { pattern: /^undici$/, homes: ['kubernetes/', 'cli/demo/'] },
  { pattern: /^(pino|prom-client)$/, homes: ['telemetry/'] },
  { pattern: /^(zod|yaml)$/, homes: ['config/', 'cli/plan/files/', 'cli/demo/', 'simulator/world-file.ts'] },
  { pattern: /^(@peculiar\/x509|reflect-metadata)$/, homes: ['simulator/base/tls.ts'] },
];

/** Globals with one home each. */
const GLOBAL_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  { pattern: /\bDate\.now\b|\bnew Date\(\)/, homes: ['cli/process/process.ts', 'simulator/base/sim-clock.ts'] },
  { pattern: /\bperformance\.now\b/, homes: ['cli/process/process.ts'] },
  { pattern: /\bset(Timeout|Interval)\b/, homes: ['cli/process/process.ts', 'simulator/base/sim-clock.ts'] },
  { pattern: /\bMath\.random\b/, homes: ['cli/'] },
  { pattern: /\bprocess\.env\b/, homes: ['cli/'] },
  { pattern: /\bconsole\./, homes: [] },
];

interface Source {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sources(): readonly Source[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(SRC, path), 'utf8');
      return { path, room: roomOf(path), text, imports: importsOf(text) };
    });
}

function roomOf(path: string): string {
  return path.split('/')[0] ?? '';
}

function importsOf(text: string): readonly string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Code without comments and strings' contents is what the global rules look at. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:])\/\/.*$/gm, '$1');
}

function targetOf(source: Source, specifier: string): string {
  return relative(SRC, resolve(SRC, dirname(source.path), specifier));
}

describe('architecture', () => {
  const all = sources();

  it('sees the tree', () => {
    expect(all.length).toBeGreaterThan(30);
    expect(new Set(all.map((source) => source.room))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  });

  it('has only allowed arrows', () => {
    const breaches = all.flatMap((source) =>
      source.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source, specifier))
        .filter(
          (target) =>
            roomOf(target) !== source.room &&
            (roomOf(target) !== 'planning' || source.path !== 'domain/loop-report.ts') &&
            !(MAY_IMPORT[source.room] ?? []).includes(roomOf(target)),
        )
        .map((target) => `${source.path} -> ${target}`),
    );
    expect(breaches).toEqual([]);
  });

  it('reaches the simulator from its commands only', () => {
    const breaches = all
      .filter((source) => source.room === 'cli' && !SIMULATOR_COMMANDS.some((home) => source.path.startsWith(home)))
      .filter((source) =>
        source.imports.some((specifier) => specifier.startsWith('.') && roomOf(targetOf(source, specifier)) === 'simulator'),
      )
      .map((source) => source.path);
    expect(breaches).toEqual([]);
  });

  it('has no import cycle', () => {
    const graph = new Map(
      all.map((source) => [source.path, source.imports.filter((name) => name.startsWith('.')).map((name) => targetOf(source, name))]),
    );
    expect(findCycle(graph)).toBeUndefined();
  });

  it('imports each package in its home only, and node builtins by their prefix', () => {
    const builtins = new Set(['fs', 'path', 'http', 'https', 'crypto', 'url', 'os', 'events', 'stream', 'util', 'timers', 'child_process']);
    const breaches = all.flatMap((source) =>
      source.imports
        .filter((specifier) => !specifier.startsWith('.'))
        .filter(
          (specifier) =>
            builtins.has(specifier) ||
            PACKAGE_HOMES.some(({ pattern, homes }) => pattern.test(specifier) && !homes.some((home) => source.path.startsWith(home))),
        )
        .map((specifier) => `${source.path} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('reads the clock, the environment and chance in one place each', () => {
    const breaches = all.flatMap((source) =>
      GLOBAL_HOMES.filter(
        ({ pattern, homes }) => pattern.test(codeOf(source.text)) && !homes.some((home) => source.path.startsWith(home)),
      ).map(({ pattern }) => `${source.path} uses ${pattern.source}`),
    );
    expect(breaches).toEqual([]);
  });

  it('has no type escapes, default exports or barrels', () => {
    const breaches = all.flatMap((source) => {
      const code = codeOf(source.text);
      return [
        [/\bas unknown as\b/, 'as unknown as'],
        [/:\s*any\b|\bas any\b|<any>/, 'any'],
        [/@ts-(ignore|expect-error|nocheck)/, 'a suppressed type error'],
        [/^export default\b/m, 'a default export'],
        [/^export \* from/m, 'a barrel'],
      ]
        .filter(([pattern]) => (pattern as RegExp).test(pattern instanceof RegExp && String(pattern).includes('@ts') ? source.text : code))
        .map(([, what]) => `${source.path} has ${String(what)}`);
    });
    expect(breaches).toEqual([]);
  });

  it('writes relative imports with the .ts ending and file names in kebab case', () => {
    const breaches = all.flatMap((source) => [
      ...source.imports.filter((name) => name.startsWith('.') && !name.endsWith('.ts')).map((name) => `${source.path} imports ${name}`),
      ...(/^[a-z0-9/-]+\.ts$/.test(source.path) ? [] : [`${source.path} is not kebab case`]),
    ]);
    expect(breaches).toEqual([]);
  });
});

function findCycle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
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

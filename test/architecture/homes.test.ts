/** Guards what has one home each (packages, the clock, the environment, chance) and what no file may contain. */
import { describe, expect, it } from 'vitest';
import { codeOf, sources } from './sources.ts';

/** Packages with one home each. */
const PACKAGE_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  { pattern: /^@azure/, homes: ['azure/', 'tools/doctor/azure/'] },
  { pattern: /^@kubernetes\/client-node$/, homes: ['kubernetes/'] },
  { pattern: /^undici$/, homes: ['kubernetes/', 'world/commands/demo/'] },
  { pattern: /^@redis\/client$/, homes: ['store/redis/'] },
  { pattern: /^(pino|prom-client)$/, homes: ['telemetry/'] },
  {
    pattern: /^(zod|yaml)$/,
    homes: [
      'config/',
      'tools/plan/files/',
      'world/commands/demo/',
      'cli/journal/',
      'loop/memory/',
      'world/lab/loads/',
      'world/simulator/world-file.ts',
      'world/simulator/cluster/http/requests.ts',
    ],
  },
  { pattern: /^esbuild$/, homes: ['page/build-page.ts', 'world/lab/report/build-charts.ts'] },
  { pattern: /^uplot$/, homes: ['world/lab/report/page/'] },
  { pattern: /^preact(\/|$)/, homes: ['page/'] },
  { pattern: /^@marcbachmann\/cel-js$/, homes: ['world/simulator/cluster/schemas/cel-environment.ts'] },
  { pattern: /^(@peculiar\/x509|reflect-metadata)$/, homes: ['world/simulator/base/tls.ts'] },
];

/** Globals with one home each. */
const GLOBAL_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  {
    pattern: /\bDate\.now\b|\bnew Date\(\)/,
    homes: ['cli/process/process.ts', 'world/simulator/base/sim-clock.ts', 'page/parts/browser.ts'],
  },
  { pattern: /\bperformance\.now\b/, homes: ['cli/process/process.ts', 'world/lab/patience.ts'] },
  {
    pattern: /\bset(Timeout|Interval)\b/,
    // The last one is text that a browser runs.
    homes: [
      'cli/process/process.ts',
      'world/simulator/base/sim-clock.ts',
      'page/parts/browser.ts',
      'world/simulator/arm/control/world-page.ts',
    ],
  },
  { pattern: /\bMath\.random\b/, homes: ['cli/', 'tools/', 'world/commands/'] },
  { pattern: /\bprocess\.env\b/, homes: ['cli/', 'world/commands/'] },
  { pattern: /\bconsole\./, homes: [] },
];

/** A template that begins a command and has a value in it, up to that value, with its tag. */
const COMMAND = /(\w*)`(?:[^`$]|\$(?!\{))*\b(?:kubectl|az|helm|curl|docker|openssl|nc|redis-cli) (?:[^`$]|\$(?!\{))*\$\{(?!shell`)/g;

describe('homes and forms', () => {
  const all = sources();

  it('quotes every value in a command that is printed', () => {
    // The simulator repeats messages of Azure, in which commands are not for copying.
    const printing = all.filter(({ ring }) => ring !== 'world/simulator');
    const commands = printing.flatMap(({ path, text }) =>
      [...codeOf(text).matchAll(COMMAND)].map(([found, tag]) => ({ path, found, tag })),
    );
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.filter(({ tag }) => tag !== 'shell')).toEqual([]);
  });

  it('names no home that does not exist', () => {
    const homes = [...PACKAGE_HOMES, ...GLOBAL_HOMES].flatMap(({ homes }) => homes);
    expect(homes.filter((home) => !all.some(({ path }) => path.startsWith(home)))).toEqual([]);
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

  it('keeps the simulator to what the oldest supported Node.js has, since the package runs it there', () => {
    const later = /\bPromise\.(?:withResolvers|try)\b|\bArray\.fromAsync\b|\.(?:isSubsetOf|symmetricDifference)\(/;
    const runners = ['world/simulator/', 'world/commands/emulate', 'cli/process/', 'lib/'];
    const breaches = all.filter(({ path, text }) => runners.some((home) => path.startsWith(home)) && later.test(codeOf(text)));
    expect(breaches.map(({ path }) => path)).toEqual([]);
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
      ...source.imports.filter((name) => name.startsWith('.') && !/\.tsx?$/.test(name)).map((name) => `${source.path} imports ${name}`),
      ...(/^[a-z0-9/-]+\.tsx?$/.test(source.path) ? [] : [`${source.path} is not kebab case`]),
    ]);
    expect(breaches).toEqual([]);
  });
});

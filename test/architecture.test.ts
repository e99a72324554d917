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
  store: ['telemetry', 'domain', 'lib'],
  azure: ['cache', 'telemetry', 'domain', 'lib'],
  kubernetes: ['telemetry', 'domain', 'lib'],
  loop: ['planning', 'scheduling', 'telemetry', 'domain', 'lib'],
  observers: ['planning', 'telemetry', 'domain', 'lib'],
  api: ['planning', 'telemetry', 'domain', 'lib'],
  simulator: ['domain', 'lib'],
  lab: ['simulator', 'domain', 'lib'],
  cli: [
    'lib',
    'domain',
    'scheduling',
    'planning',
    'cache',
    'telemetry',
    'config',
    'store',
    'azure',
    'kubernetes',
    'loop',
    'observers',
    'api',
    'simulator',
    'lab',
  ],
};

/**
 * The rooms of a ring, top down: a room may import rooms of the layers below its own, and nothing beside or above. A ring that
 * is a single folder is not listed. The rooms `grpc/`, `store/redis/` are planned and enter with their first file.
 */
const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  domain: [['domain/ports'], ['domain']],
  scheduling: [['scheduling/snapshot'], ['scheduling/devices', 'scheduling/volumes', 'scheduling/drainability'], ['scheduling/predicates']],
  planning: [
    ['planning/explain/answers', 'planning/shadow'],
    ['planning/explain/removal-advice'],
    ['planning/explain/advice'],
    ['planning/explain'],
    ['planning/scale-up'],
    ['planning/scale-up/packing', 'planning/scale-down', 'planning/promises'],
    ['planning/scale-up/groups', 'planning/expanders'],
    ['planning/scale-up/pods'],
    ['planning/state'],
    ['planning/state/increases'],
    ['planning/capacity-objects'],
    ['planning/facts'],
  ],
  loop: [
    ['loop', 'loop/dry-run', 'loop/replay', 'loop/memory'],
    ['loop/scale-down', 'loop/scale-up'],
    ['loop/capacity-objects', 'loop/deps'],
  ],
  observers: [
    ['observers'],
    ['observers/metrics', 'observers/cluster-autoscaler-metrics', 'observers/events', 'observers/status', 'observers/history'],
  ],
  api: [['api/served', 'api/page'], ['api/page/panels'], ['api/page/parts', 'api/documents/open-api'], ['api/documents']],
  cache: [['cache/agents'], ['cache/table'], ['cache']],
  azure: [
    ['azure', 'azure/doctor'],
    ['azure/view', 'azure/writes'],
    ['azure/inventory', 'azure/templates'],
    ['azure/agents'],
    ['azure/groups', 'azure/prices'],
    ['azure/rows'],
    ['azure/sizes'],
    ['azure/arm'],
  ],
  store: [['store/redis']],
  kubernetes: [
    ['kubernetes'],
    ['kubernetes/views', 'kubernetes/leadership'],
    ['kubernetes/writes'],
    ['kubernetes/projection'],
    ['kubernetes/watch'],
    ['kubernetes/api'],
  ],
  config: [['config'], ['config/schema'], ['config/sources'], ['config/types']],
  lab: [['lab/report/page'], ['lab/runs', 'lab/report'], ['lab', 'lab/judge', 'lab/recordings'], ['lab/loads']],
  cli: [
    ['cli'],
    ['cli/report', 'cli/init'],
    ['cli/explain'],
    ['cli/plan', 'cli/doctor', 'cli/demo', 'cli/emulate', 'cli/record', 'cli/lab'],
    ['cli/plan/report'],
    ['cli/connect', 'cli/plan/files', 'cli/record/faults', 'cli/process', 'cli/journal', 'cli/serving', 'cli/text'],
  ],
  simulator: [
    ['simulator/entry'],
    ['simulator'],
    ['simulator/managed-autoscaler', 'simulator/real-control-plane'],
    ['simulator/arm', 'simulator/cluster'],
    ['simulator/arm/control', 'simulator/arm/identity', 'simulator/arm/other', 'simulator/cluster/controllers', 'simulator/cluster/http'],
    ['simulator/arm/faults', 'simulator/cluster/scheduler'],
    ['simulator/arm/aks', 'simulator/cluster/base'],
    ['simulator/cluster/apply'],
    ['simulator/cluster/schemas', 'simulator/cluster/protobuf'],
    ['simulator/arm/compute', 'simulator/cluster/store'],
    ['simulator/arm/disks'],
    ['simulator/arm/state'],
    ['simulator/arm/http'],
    ['simulator/base'],
  ],
};

/** The file that a room opens with, where it is not named like its folder. */
const MAIN_FILES: Readonly<Record<string, string>> = {
  'api/documents': 'document-input.ts',
  'api/page': 'main.tsx',
  'api/page/panels': 'pending.tsx',
  'api/page/parts': 'parts.tsx',
  'api/served': 'api.ts',
  'azure/arm': 'arm-client.ts',
  'azure/doctor': 'diagnosis.ts',
  'azure/groups': 'registry.ts',
  'azure/prices': 'price-cache.ts',
  'azure/rows': 'scale-set.ts',
  'azure/sizes': 'sku-catalog.ts',
  'azure/templates': 'group-template.ts',
  'azure/view': 'cloud-view.ts',
  'azure/writes': 'increase.ts',
  cache: 'concurrency.ts',
  'cache/agents': 'agent-scheduler.ts',
  cli: 'main.ts',
  'cli/demo': 'demo-command.ts',
  'cli/doctor': 'doctor-command.ts',
  'cli/emulate': 'introduction.ts',
  'cli/explain': 'explain-command.ts',
  'cli/journal': 'history-files.ts',
  'cli/lab': 'lab-command.ts',
  'cli/init': 'init-command.ts',
  'cli/plan': 'plan-command.ts',
  'cli/report': 'report-command.ts',
  'cli/plan/files': 'objects-file.ts',
  'cli/serving': 'page-file.ts',
  'cli/plan/report': 'plan-report.ts',
  'cli/record': 'record-command.ts',
  'cli/record/faults': 'autoscaler-events.ts',
  'cli/text': 'text-layout.ts',
  config: 'load.ts',
  'config/sources': 'layers.ts',
  'config/types': 'config.ts',
  domain: 'observation.ts',
  'domain/ports': 'cloud.ts',
  'kubernetes/api': 'rest.ts',
  'kubernetes/leadership': 'leader-lease.ts',
  'kubernetes/projection': 'pod.ts',
  'kubernetes/views': 'cluster-reader.ts',
  'kubernetes/watch': 'reflector.ts',
  'kubernetes/writes': 'events.ts',
  lab: 'virtual-run.ts',
  'lab/judge': 'run-meters.ts',
  'lab/loads': 'load.ts',
  'lab/recordings': 'load-recorder.ts',
  'lab/report': 'lab-report.ts',
  'lab/report/page': 'main.ts',
  'lab/runs': 'policy-run.ts',
  lib: 'errors.ts',
  loop: 'autoscaler.ts',
  'loop/capacity-objects': 'capacity-statuses.ts',
  'loop/deps': 'loop-deps.ts',
  'loop/dry-run': 'dry-run-ports.ts',
  'loop/memory': 'memory-store.ts',
  'loop/replay': 'dump.ts',
  'loop/scale-down': 'drain-runner.ts',
  'loop/scale-up': 'rounds.ts',
  'observers/cluster-autoscaler-metrics': 'gauges.ts',
  'observers/events': 'node-group-events.ts',
  'observers/metrics': 'loop-metrics.ts',
  'observers/status': 'status-publisher.ts',
  'planning/capacity-objects': 'buffer-pods.ts',
  'planning/expanders': 'expander.ts',
  'planning/explain': 'refusals.ts',
  'planning/explain/answers': 'pod-answer.ts',
  'planning/facts': 'node-list-facts.ts',
  'planning/promises': 'check-promises.ts',
  'planning/scale-down': 'plan.ts',
  'planning/scale-up': 'plan.ts',
  'planning/scale-up/groups': 'group-eligibility.ts',
  'planning/scale-up/packing': 'expand.ts',
  'planning/scale-up/pods': 'unschedulable-pods.ts',
  'planning/state': 'loop-state.ts',
  'planning/state/increases': 'pods-of-increases.ts',
  'scheduling/devices': 'device-list.ts',
  'scheduling/predicates': 'resources-fit.ts',
  'scheduling/snapshot': 'cluster-snapshot.ts',
  'scheduling/volumes': 'attachments.ts',
  simulator: 'world.ts',
  'simulator/entry': 'world-entry.ts',
  'simulator/arm': 'emulator.ts',
  'simulator/arm/aks': 'agent-pools.ts',
  'simulator/arm/compute': 'scale-sets.ts',
  'simulator/arm/disks': 'data-disks.ts',
  'simulator/arm/faults': 'incident-catalogue.ts',
  'simulator/arm/http': 'router.ts',
  'simulator/arm/identity': 'tokens.ts',
  'simulator/arm/other': 'retail-prices.ts',
  'simulator/arm/state': 'arm-state.ts',
  'simulator/base': 'world-spec.ts',
  'simulator/cluster/base': 'controller-context.ts',
  'simulator/real-control-plane': 'control-plane.ts',
  'simulator/cluster/controllers': 'kubelets.ts',
  'simulator/cluster/http': 'server.ts',
  'simulator/cluster/apply': 'field-sets.ts',
  'simulator/cluster/protobuf': 'protobuf.ts',
  'simulator/cluster/schemas': 'schema.ts',
  'store/redis': 'redis-connection.ts',
  telemetry: 'metrics.ts',
};

/** The same step of scale-up and scale-down. */
const SAME_STEPS: ReadonlySet<string> = new Set(['plan.ts', 'plan-context.ts', 'execute.ts']);

/** More files than this in one folder, and it wants rooms. */
const MOST_FILES = 16;
/** `domain/` is the vocabulary: people look a noun up in it. */
const MOST_NOUNS = 28;

/** Only these may reach the simulator and the laboratory from the composition root: the image carries neither. */
const SIMULATOR_COMMANDS = ['cli/emulate-command', 'cli/demo/', 'cli/lab/', 'cli/lab-program'];
/** The form of a load and a recorder need no simulator: the recorder runs beside a live cluster. */
const WITHOUT_SIMULATOR: readonly string[] = ['lab/loads', 'lab/recordings'];

/** Packages with one home each. */
const PACKAGE_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  { pattern: /^@azure/, homes: ['azure/'] },
  { pattern: /^@kubernetes\/client-node$/, homes: ['kubernetes/'] },
  { pattern: /^undici$/, homes: ['kubernetes/', 'cli/demo/'] },
  { pattern: /^@redis\/client$/, homes: ['store/redis/'] },
  { pattern: /^(pino|prom-client)$/, homes: ['telemetry/'] },
  {
    pattern: /^(zod|yaml)$/,
    homes: [
      'config/',
      'cli/plan/files/',
      'cli/demo/',
      'cli/journal/',
      'loop/memory/',
      'lab/loads/',
      'simulator/world-file.ts',
      'simulator/cluster/http/requests.ts',
    ],
  },
  { pattern: /^esbuild$/, homes: ['api/page/build-page.ts', 'lab/report/build-charts.ts'] },
  { pattern: /^uplot$/, homes: ['lab/report/page/'] },
  { pattern: /^preact(\/|$)/, homes: ['api/page/'] },
  { pattern: /^@marcbachmann\/cel-js$/, homes: ['simulator/cluster/schemas/cel-environment.ts'] },
  { pattern: /^(@peculiar\/x509|reflect-metadata)$/, homes: ['simulator/base/tls.ts'] },
];

/** Globals with one home each. */
const GLOBAL_HOMES: readonly { readonly pattern: RegExp; readonly homes: readonly string[] }[] = [
  {
    pattern: /\bDate\.now\b|\bnew Date\(\)/,
    homes: ['cli/process/process.ts', 'simulator/base/sim-clock.ts', 'api/page/parts/browser.ts'],
  },
  { pattern: /\bperformance\.now\b/, homes: ['cli/process/process.ts', 'lab/patience.ts'] },
  {
    pattern: /\bset(Timeout|Interval)\b/,
    // The last one is text that a browser runs.
    homes: ['cli/process/process.ts', 'simulator/base/sim-clock.ts', 'api/page/parts/browser.ts', 'simulator/arm/control/world-page.ts'],
  },
  { pattern: /\bMath\.random\b/, homes: ['cli/'] },
  { pattern: /\bprocess\.env\b/, homes: ['cli/'] },
  { pattern: /\bconsole\./, homes: [] },
];

interface Source {
  readonly path: string;
  readonly ring: string;
  /** The folder. */
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sources(): readonly Source[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((path) => {
      const text = readFileSync(join(SRC, path), 'utf8');
      return { path, ring: ringOf(path), room: dirname(path), text, imports: importsOf(text) };
    });
}

function ringOf(path: string): string {
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
    expect(new Set(all.map((source) => source.ring))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  });

  it('has only allowed arrows', () => {
    const breaches = all.flatMap((source) =>
      source.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source, specifier))
        .filter(
          (target) =>
            ringOf(target) !== source.ring &&
            (ringOf(target) !== 'planning' || source.path !== 'domain/loop-report.ts') &&
            !(MAY_IMPORT[source.ring] ?? []).includes(ringOf(target)),
        )
        .map((target) => `${source.path} -> ${target}`),
    );
    expect(breaches).toEqual([]);
  });

  it('lists every room of a ring with rooms, and none that does not exist', () => {
    for (const [ring, layers] of Object.entries(LAYERS)) {
      const present = new Set(all.filter((source) => source.ring === ring).map((source) => source.room));
      expect(new Set(layers.flat()), ring).toEqual(present);
    }
    const without = new Set(
      all.filter((source) => LAYERS[source.ring] === undefined && source.room !== source.ring).map(({ room }) => room),
    );
    expect([...without]).toEqual([]);
  });

  it('imports downward between the rooms of a ring', () => {
    const breaches = all.flatMap((source) => {
      const layers = LAYERS[source.ring] ?? [];
      const layerOf = (room: string): number => layers.findIndex((layer) => layer.includes(room));
      return source.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source, specifier))
        .filter((target) => ringOf(target) === source.ring && dirname(target) !== source.room)
        .filter((target) => layerOf(dirname(target)) <= layerOf(source.room))
        .map((target) => `${source.path} -> ${target}`);
    });
    expect(breaches).toEqual([]);
  });

  it('has no cycle of folders', () => {
    const graph = new Map<string, Set<string>>();
    for (const source of all) {
      const targets = graph.get(source.room) ?? new Set();
      for (const name of source.imports.filter((specifier) => specifier.startsWith('.'))) targets.add(dirname(targetOf(source, name)));
      targets.delete(source.room);
      graph.set(source.room, targets);
    }
    expect(findCycle(new Map([...graph].map(([room, targets]) => [room, [...targets]])))).toBeUndefined();
  });

  it('has rooms that one can overlook', () => {
    const counts = new Map<string, number>();
    for (const { room } of all) counts.set(room, (counts.get(room) ?? 0) + 1);
    const crowded = [...counts].filter(([room, count]) => count > (room === 'domain' ? MOST_NOUNS : MOST_FILES));
    expect(crowded).toEqual([]);
  });

  it('opens each room with what it is for and what it must not know', () => {
    const rooms = [...new Set(all.map(({ room }) => room))];
    const silent = rooms.filter((room) => {
      const path = `${room}/${MAIN_FILES[room] ?? `${room.split('/').at(-1) ?? ''}.ts`}`;
      const text = all.find((source) => source.path === path)?.text ?? '';
      const header = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1]?.replace(/\s*\n \* ?/g, ' ') ?? '';
      return !/\bMust not know\b/.test(header);
    });
    expect(silent).toEqual([]);
  });

  it('gives no two files of a ring the same name, except for the same step of both directions', () => {
    const seen = new Map<string, string>();
    const twice = all.flatMap(({ path, ring }) => {
      // The two sides of the simulator are two rings in this respect.
      const side = ring === 'simulator' ? path.split('/').slice(0, 2).join('/') : ring;
      const name = path.split('/').at(-1) ?? '';
      const key = `${side} ${name}`;
      const other = seen.get(key);
      seen.set(key, path);
      return other === undefined || SAME_STEPS.has(name) ? [] : [`${other} and ${path}`];
    });
    expect(twice).toEqual([]);
  });

  it('calls a bag of values Deps, Input or Options', () => {
    const others = all.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /^(?:export )?(?:interface|type) (\w+(?:Parts|Facts|Tools|Frame|Dependencies|Settings|Env|Knobs|Params|Args))\b/gm,
        ),
      ].map(([, name]) => `${path} ${name ?? ''}`),
    );
    expect(others).toEqual([]);
  });

  it('gives a scale-up plan two context objects: what holds for the whole plan, and what one try changes', () => {
    const texts = all.filter(({ path }) => path.startsWith('planning/scale-up/')).map(({ text }) => text);
    const interfaces = texts.flatMap((text) => [...text.matchAll(/^(?:export )?interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)]);
    const named = interfaces.map(([, name]) => name ?? '').filter((name) => name.endsWith('Context'));
    const holding = (type: string): readonly string[] =>
      interfaces
        .filter(([, , body]) => new RegExp(`^  readonly \\w+\\??: (?:${type});`, 'm').test(body ?? ''))
        .map(([, name]) => name ?? '');
    expect(named).toEqual(['ScaleUpContext']);
    expect(holding('ScaleUpInput|ScaleUpContext').filter((name) => !name.endsWith('Input'))).toEqual(['ScaleUpContext']);
    expect(holding('ClusterSnapshot').toSorted()).toEqual(['ExistingCapacity', 'ScaleUpInput']);
  });

  it('names no home that does not exist', () => {
    const homes = [...PACKAGE_HOMES, ...GLOBAL_HOMES].flatMap(({ homes }) => homes).concat(SIMULATOR_COMMANDS);
    expect(homes.filter((home) => !all.some(({ path }) => path.startsWith(home)))).toEqual([]);
  });

  it('reaches the simulator from its commands only', () => {
    const breaches = all
      .filter((source) => source.ring === 'cli' && !SIMULATOR_COMMANDS.some((home) => source.path.startsWith(home)))
      .filter((source) =>
        source.imports
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => targetOf(source, specifier))
          .some((target) => ['simulator', 'lab'].includes(ringOf(target)) && !WITHOUT_SIMULATOR.includes(dirname(target))),
      )
      .map((source) => source.path);
    expect(breaches).toEqual([]);
  });

  it('keeps the form of a load and its recorder free of the simulator', () => {
    const breaches = all
      .filter(({ room }) => WITHOUT_SIMULATOR.includes(room))
      .flatMap((source) => source.imports.filter((name) => name.startsWith('.')).map((name) => targetOf(source, name)))
      .filter((target) => !WITHOUT_SIMULATOR.includes(dirname(target)) && !['lib', 'domain'].includes(ringOf(target)));
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

  it('keeps the simulator to what the oldest supported Node.js has, since the package runs it there', () => {
    const later = /\bPromise\.(?:withResolvers|try)\b|\bArray\.fromAsync\b|\.(?:isSubsetOf|symmetricDifference)\(/;
    const runners = ['simulator/', 'cli/emulate', 'cli/process/', 'lib/'];
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

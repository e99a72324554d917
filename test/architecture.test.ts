/** Guards who may import whom. Reads import lines, type imports included. Rules about single rooms and files are in `architecture/`. */
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycle, ringOf, sources, targetOf } from './architecture/sources.ts';

/** What runs in a cluster, without its composition root. */
const DAEMON = [
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
] as const;

/**
 * An arrow is "may import"; nothing else may. A room may always import itself. Nothing of `src` imports the world: only the table of
 * commands loads it, when a command of the world is run.
 */
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
  page: ['api', 'planning', 'domain', 'lib'],
  cli: [...DAEMON, 'page', 'tools'],
  tools: [...DAEMON, 'cli'],
  'world/simulator': ['domain', 'lib'],
  'world/lab': ['world/simulator', 'domain', 'lib'],
  'world/commands': [...DAEMON, 'cli', 'tools', 'page', 'world/simulator', 'world/lab'],
};

/**
 * The rooms of a ring, top down: a room may import rooms of the layers below its own, and nothing beside or above. A ring that
 * is a single folder is not listed. The rooms `grpc/`, `store/redis/` are planned and enter with their first file.
 */
const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  domain: [['domain/ports', 'domain/schedules'], ['domain']],
  scheduling: [['scheduling/snapshot'], ['scheduling/devices', 'scheduling/volumes', 'scheduling/drainability'], ['scheduling/predicates']],
  planning: [
    ['planning/explain/answers', 'planning/shadow'],
    ['planning/explain/removal-advice'],
    ['planning/explain/advice'],
    ['planning/explain/changes'],
    ['planning/explain'],
    ['planning/scale-up', 'planning/scale-down/room'],
    ['planning/scale-down/repack'],
    ['planning/scale-up/packing', 'planning/scale-down', 'planning/promises'],
    ['planning/scale-up/groups'],
    ['planning/expanders'],
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
  api: [['api/served'], ['api/documents/open-api'], ['api/documents']],
  page: [['page'], ['page/panels'], ['page/parts']],
  cache: [['cache/agents'], ['cache/table'], ['cache']],
  azure: [
    ['azure'],
    ['azure/stops'],
    ['azure/deletes'],
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
  config: [['config'], ['config/types'], ['config/schema'], ['config/sources']],
  'world/lab': [
    ['world/lab/report/page'],
    ['world/lab/runs', 'world/lab/report', 'world/lab/studies'],
    ['world/lab', 'world/lab/judge', 'world/lab/recordings'],
    ['world/lab/loads'],
  ],
  cli: [['cli'], ['cli/connect', 'cli/process', 'cli/journal', 'cli/serving', 'cli/text']],
  tools: [
    ['tools/report', 'tools/init', 'tools/pause'],
    ['tools/explain'],
    ['tools/plan', 'tools/doctor'],
    ['tools/plan/report'],
    ['tools/plan/files', 'tools/doctor/azure'],
  ],
  'world/commands': [
    ['world/commands/demo', 'world/commands/emulate', 'world/commands/record', 'world/commands/lab'],
    ['world/commands/record/faults'],
  ],
  'world/simulator': [
    ['world/simulator/entry'],
    ['world/simulator'],
    ['world/simulator/managed-autoscaler', 'world/simulator/real-control-plane'],
    ['world/simulator/arm', 'world/simulator/cluster'],
    [
      'world/simulator/arm/control',
      'world/simulator/arm/identity',
      'world/simulator/arm/other',
      'world/simulator/arm/subscription',
      'world/simulator/cluster/controllers',
      'world/simulator/cluster/http',
    ],
    ['world/simulator/arm/faults', 'world/simulator/cluster/scheduler'],
    ['world/simulator/arm/aks', 'world/simulator/cluster/base'],
    ['world/simulator/cluster/apply'],
    ['world/simulator/cluster/schemas', 'world/simulator/cluster/protobuf'],
    ['world/simulator/arm/compute', 'world/simulator/cluster/store'],
    ['world/simulator/arm/disks'],
    ['world/simulator/arm/state'],
    ['world/simulator/arm/http'],
    ['world/simulator/base'],
  ],
};

/** The table of commands loads those of the world when they are run. */
const TABLE_OF_COMMANDS = 'cli/dispatch.ts';
/** The form of a load and a recorder need no simulator: the recorder runs beside a live cluster, and the image carries it. */
const WITHOUT_SIMULATOR: readonly string[] = ['world/lab/loads', 'world/lab/recordings'];
/** The laboratory measures the world alone, and counts its money by the code by which the daemon counts. */
const BILL_OF_A_RUN = 'world/lab/judge/price-list.ts';
const COUNTS_MONEY: readonly string[] = ['planning/expanders/node-price.ts', 'planning/facts/paid-nodes.ts'];
/** The commands that the image carries. */
const RECORDER = ['world/commands/record', 'world/commands/record/faults'];

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
            (source.path !== TABLE_OF_COMMANDS || !target.startsWith('world/')) &&
            (ringOf(target) !== 'planning' || source.path !== 'domain/loop-report.ts') &&
            (source.path !== BILL_OF_A_RUN || !COUNTS_MONEY.includes(target)) &&
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
      const named = source.imports.filter((specifier) => specifier.startsWith('.')).map((name) => targetOf(source, name));
      // The table of commands loads the world, which runs the daemon.
      for (const target of named) if (source.path !== TABLE_OF_COMMANDS || !target.startsWith('world/')) targets.add(dirname(target));
      targets.delete(source.room);
      graph.set(source.room, targets);
    }
    expect(findCycle(new Map([...graph].map(([room, targets]) => [room, [...targets]])))).toBeUndefined();
  });

  it('loads the world from the table of commands only, when a command is run', () => {
    const reaching = all
      .filter((source) => !source.path.startsWith('world/'))
      .filter((source) => source.imports.some((name) => targetOf(source, name).startsWith('world/')))
      .map(({ path }) => path);
    expect(reaching).toEqual([TABLE_OF_COMMANDS]);
    const table = all.find(({ path }) => path === TABLE_OF_COMMANDS)?.text ?? '';
    expect(table).not.toMatch(/from '[^']*world\//);
  });

  it('keeps the recorder free of the simulator: it runs beside a live cluster', () => {
    expect(all.filter(({ room }) => RECORDER.includes(room)).length).toBeGreaterThan(10);
    const breaches = all
      .filter(({ room }) => RECORDER.includes(room))
      .flatMap((source) => source.imports.filter((name) => name.startsWith('.')).map((name) => targetOf(source, name)))
      .filter((target) => /^world\/(?:simulator|lab)\//.test(target) && !WITHOUT_SIMULATOR.includes(dirname(target)));
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
});

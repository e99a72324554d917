/** Guards who may import whom. Reads import lines, type imports included. Rules about single rooms and files are in `architecture/`. */
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycle, ringOf, sources, targetOf } from './architecture/sources.ts';

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

/** Only these may reach the simulator and the laboratory from the composition root: the image carries neither. */
const SIMULATOR_COMMANDS = ['cli/emulate-command', 'cli/demo/', 'cli/lab/', 'cli/lab-program'];
/** The form of a load and a recorder need no simulator: the recorder runs beside a live cluster. */
const WITHOUT_SIMULATOR: readonly string[] = ['lab/loads', 'lab/recordings'];

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

  it('names no part of the simulator that does not exist', () => {
    const named = [...SIMULATOR_COMMANDS, ...WITHOUT_SIMULATOR.map((room) => `${room}/`)];
    expect(named.filter((home) => !all.some(({ path }) => path.startsWith(home)))).toEqual([]);
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
});

/** Guards what a room is: how many files, how it opens, and how things in it are named. */
import { describe, expect, it } from 'vitest';
import { sources } from './sources.ts';

/** The file that a room opens with, where it is not named like its folder. */
const MAIN_FILES: Readonly<Record<string, string>> = {
  'api/documents': 'document-input.ts',
  page: 'main.tsx',
  'page/panels': 'pending.tsx',
  'page/parts': 'parts.tsx',
  'api/served': 'api.ts',
  'azure/arm': 'arm-client.ts',
  'tools/doctor/azure': 'diagnosis.ts',
  'azure/groups': 'registry.ts',
  'azure/prices': 'price-cache.ts',
  'azure/rows': 'scale-set.ts',
  'azure/sizes': 'sku-catalog.ts',
  'azure/stops': 'stop-instances.ts',
  'azure/templates': 'group-template.ts',
  'azure/view': 'cloud-view.ts',
  'azure/deletes': 'delete.ts',
  'azure/writes': 'increase.ts',
  cache: 'concurrency.ts',
  'cache/agents': 'agent-scheduler.ts',
  cli: 'main.ts',
  'world/commands/demo': 'demo-command.ts',
  'tools/doctor': 'doctor-command.ts',
  'world/commands/emulate': 'emulate-command.ts',
  'tools/explain': 'explain-command.ts',
  'cli/journal': 'history-files.ts',
  'world/commands/lab': 'lab-command.ts',
  'tools/init': 'init-command.ts',
  'tools/pause': 'pause-command.ts',
  'tools/plan': 'plan-command.ts',
  'tools/report': 'report-command.ts',
  'tools/plan/files': 'objects-file.ts',
  'cli/serving': 'page-file.ts',
  'tools/plan/report': 'plan-report.ts',
  'world/commands/record': 'record-command.ts',
  'world/commands/record/faults': 'autoscaler-events.ts',
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
  'world/lab': 'virtual-run.ts',
  'world/lab/judge': 'run-meters.ts',
  'world/lab/loads': 'load.ts',
  'world/lab/recordings': 'load-recorder.ts',
  'world/lab/report': 'lab-report.ts',
  'world/lab/report/page': 'main.ts',
  'world/lab/runs': 'policy-run.ts',
  'world/lab/studies': 'saving-studies.ts',
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
  'planning/explain/advice': 'search.ts',
  'planning/explain/answers': 'pod-answer.ts',
  'planning/explain/changes': 'change.ts',
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
  'world/simulator': 'world.ts',
  'world/simulator/entry': 'world-entry.ts',
  'world/simulator/arm': 'emulator.ts',
  'world/simulator/arm/aks': 'agent-pools.ts',
  'world/simulator/arm/compute': 'scale-sets.ts',
  'world/simulator/arm/disks': 'data-disks.ts',
  'world/simulator/arm/faults': 'incident-catalogue.ts',
  'world/simulator/arm/http': 'router.ts',
  'world/simulator/arm/identity': 'tokens.ts',
  'world/simulator/arm/other': 'retail-prices.ts',
  'world/simulator/arm/state': 'arm-state.ts',
  'world/simulator/arm/subscription': 'subscriptions.ts',
  'world/simulator/base': 'world-spec.ts',
  'world/simulator/cluster/base': 'controller-context.ts',
  'world/simulator/real-control-plane': 'control-plane.ts',
  'world/simulator/cluster/controllers': 'kubelets.ts',
  'world/simulator/cluster/http': 'server.ts',
  'world/simulator/cluster/apply': 'field-sets.ts',
  'world/simulator/cluster/protobuf': 'protobuf.ts',
  'world/simulator/cluster/schemas': 'schema.ts',
  'store/redis': 'redis-connection.ts',
  telemetry: 'metrics.ts',
};

/** The same step of scale-up and scale-down. */
const SAME_STEPS: ReadonlySet<string> = new Set(['plan.ts', 'plan-context.ts', 'execute.ts']);

/** More files than this in one folder, and it wants rooms. */
const MOST_FILES = 16;
/** `domain/` is the vocabulary: people look a noun up in it. */
const MOST_NOUNS = 32;

describe('the rooms', () => {
  const all = sources();

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
      const side = ring === 'world/simulator' ? path.split('/').slice(0, 3).join('/') : ring;
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
        .filter(([, , body]) => new RegExp(`^  readonly \\w+\\??: (?:${type})(?: \\| undefined)?;`, 'm').test(body ?? ''))
        .map(([, name]) => name ?? '');
    expect(named).toEqual(['ScaleUpContext']);
    expect(holding('ScaleUpInput|ScaleUpContext').filter((name) => !name.endsWith('Input'))).toEqual(['ScaleUpContext']);
    expect(holding('ClusterSnapshot').toSorted()).toEqual(['ExistingCapacity', 'ScaleUpInput']);
  });
});

/**
 * A load that is known runs in a simulated cluster with the autoscaler, and `record` follows it over its watches, which are cut now and
 * then. The recording must be that load, however many pods were evicted, waited, or came again.
 */
import { describe, expect, it } from 'vitest';
import type { LoadEvent, LoadPod, Scenario, Workload } from '../../../lab/loads/load.ts';
import { worldOfScenario } from '../../../lab/runs/scenario-world.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { START_MS } from '../../../../test/support/builders.ts';
import type { VirtualRun } from '../../../../test/support/virtual-world.ts';
import { aPool, MINUTE, worldOf } from '../../../../test/scenarios/support.ts';
import { recordRun } from './recorded-run.ts';

/** Whole seconds of the API server, and the moment that the watch takes. */
const TOLERANCE_MS = 2_000;

function aPod(cpu: string): LoadPod {
  return { containers: [{ requests: { cpu, memory: '256Mi' } }] };
}

function workload(name: string, kind: Workload['kind'], cpu: string): Workload {
  return { id: name, name, namespace: 'default', kind, pod: aPod(cpu) };
}

/** `ROUND_TRIPS=20` tries more. In this one, twelve pods are evicted, and one of them is a job that begins again. */
const SEEDS = [107, ...Array.from({ length: Number(process.env['ROUND_TRIPS'] ?? 0) }, (_, index) => 100 + index)];

/** Three services and two kinds of jobs that change for 13 minutes, then nothing for four. */
function aLoad(seed: number): Scenario {
  const random = seededRandom(seed);
  const minutes = (from: number, to: number): number => Math.round(from * 60 + random() * (to - from) * 60) * 1_000;
  const events: LoadEvent[] = [];
  for (const [name, most] of [
    ['web', 9],
    ['api', 6],
    ['db', 3],
  ] as const) {
    events.push({ kind: 'replicas', atMs: 0, workload: name, count: 1 + Math.floor(random() * most) });
    for (let at = 3; at < 11; at += 3 + Math.floor(random() * 4))
      events.push({ kind: 'replicas', atMs: minutes(at, at + 2), workload: name, count: Math.floor(random() * (most + 1)) });
  }
  for (let at = 0; at < 9; at++) {
    if (random() < 0.5) continue;
    const name = random() < 0.5 ? 'sums' : 'build';
    events.push({ kind: 'run', atMs: minutes(at + 1, at + 2), workload: name, runMs: minutes(1, 6), count: 1 + Math.floor(random() * 3) });
  }
  // A template is seen with the next pod.
  events.push({ kind: 'replicas', atMs: 13.5 * MINUTE, workload: 'web', count: 4 });
  events.push({ kind: 'template', atMs: minutes(4, 8), workload: 'web', pod: aPod('900m') });
  return {
    name: 'known',
    startMs: START_MS,
    durationMs: 18 * MINUTE,
    currency: 'USD',
    pools: [],
    workloads: [
      workload('web', 'Deployment', '700m'),
      workload('api', 'Deployment', '300m'),
      workload('db', 'StatefulSet', '500m'),
      workload('sums', 'Job', '1'),
      workload('build', 'Job', '1500m'),
    ],
    events: events.toSorted((left, right) => left.atMs - right.atMs),
  };
}

interface Recorded {
  readonly scenario: Scenario;
  readonly evictions: number;
  readonly interrupted: number;
}

async function recordedOf(load: Scenario, seed: number): Promise<Recorded> {
  const spec = worldOf([aPool({ name: 'general', count: 2, min: 1, max: 8 })], { seed });
  const flags = [
    '--scan-interval=30s',
    '--scale-down-unneeded-time=1m',
    '--scale-down-delay-after-add=1m',
    '--scale-down-utilization-threshold=0.7',
  ];
  const play = async (run: VirtualRun): Promise<void> => {
    const { control } = run.world.cluster;
    for (let minute = 0; minute < 18; minute += 6) {
      await run.advance(6 * MINUTE);
      if (minute % 12 === 0) control.compact();
      control.dropWatches();
    }
  };
  const { scenario, code, problems, run, driver } = await recordRun({ spec, flags, load, play });
  expect({ code, problems }).toEqual({ code: 0, problems: [] });
  const evictions = run.world.cluster.journal().filter(({ resource, verb }) => resource === 'pods/eviction' && verb === 'create').length;
  return { scenario, evictions, interrupted: driver.jobs.counts.interrupted };
}

type Line = readonly [what: string, atMs: number, amount: number | string];

/** Sorted by workload and time. Numbers that repeat and first zeros are no change. */
function linesOf({ workloads, events }: Scenario): readonly Line[] {
  const names = new Map(workloads.map(({ id, name }) => [id, name.replace(/-\d+$/, '')]));
  const last = new Map<string, number>();
  const lines = events.flatMap((event): readonly Line[] => {
    const name = 'workload' in event ? (names.get(event.workload) ?? '') : '';
    if (event.kind === 'run') return Array.from({ length: event.count ?? 1 }, (): Line => [`run ${name}`, event.atMs, event.runMs]);
    if (event.kind === 'template') return [[`template ${name}`, 0, String(event.pod.containers[0]?.requests?.['cpu'])]];
    if (event.kind !== 'replicas' || (last.get(name) ?? 0) === event.count) return [];
    last.set(name, event.count);
    return [[`replicas ${name}`, event.atMs, event.count]];
  });
  return lines
    .filter(([what]) => !/coredns/.test(what))
    .toSorted(([left, leftMs, leftAmount], [right, rightMs, rightAmount]) =>
      left === right ? leftMs - rightMs || Number(leftAmount) - Number(rightAmount) : left < right ? -1 : 1,
    );
}

describe('a recording of a known load', () => {
  it.each(SEEDS)('is that load, to two seconds (seed %i)', async (seed) => {
    const load = aLoad(seed);
    const { scenario, evictions, interrupted } = await recordedOf(load, seed);
    const [given, recorded] = [linesOf(load), linesOf(scenario)];
    expect(recorded.map(([what]) => what)).toEqual(given.map(([what]) => what));
    const wrong = recorded.filter(([what, atMs, amount], index) => {
      const [, givenMs, givenAmount] = given[index] ?? [what, Number.NaN, Number.NaN];
      const isNear = Math.abs(atMs - givenMs) <= TOLERANCE_MS;
      if (typeof amount === 'string') return amount !== givenAmount;
      return !isNear || Math.abs(amount - Number(givenAmount)) > (what.startsWith('run') ? TOLERANCE_MS : 0);
    });
    expect(wrong).toEqual([]);
    // The laboratory can build this cluster.
    expect(worldOfScenario(scenario, seed).pools.map(({ name, vmSize, min, max }) => [name, vmSize, min, max])).toEqual([
      ['general', 'Standard_D4s_v5', 1, 8],
      ['system', 'Standard_D4s_v5', 1, 3],
    ]);
    if (seed === SEEDS[0]) expect(Math.min(evictions, interrupted)).toBeGreaterThan(0);
  });
});

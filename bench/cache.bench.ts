/** Reads and commits of the cache at 5,000 instances in 50 scale sets. */
import { LogicalClock } from '../src/cache/logical-clock.ts';
import type { ListedRow } from '../src/cache/table/row.ts';
import { Table } from '../src/cache/table/table.ts';
import { NO_HOOKS } from '../test/cache/support.ts';
import type { BenchRow } from './row.ts';

const SCOPES = 50;
const PER_SCOPE = 100;
/** A daemon runs for weeks: what is measured is compiled. */
const WARM_UP = 500;
const RUNS = 100;
const LOOKUPS = 10_000;

interface Instance {
  readonly state: string;
  readonly zone: string;
  readonly revision: number;
}

const clock = { now: () => Date.now() };

/** Measures commits, snapshots and look-ups; samples are single runs. */
export async function cacheBench(): Promise<BenchRow[]> {
  const world = fill();
  let revision = 0;
  return [
    { name: 'cache: commit of 5,000 unchanged rows, 50 lists', unit: 'ms', samples: measure(() => world.commitAll(() => 0)) },
    { name: 'cache: commit of 5,000 changed rows, 50 lists', unit: 'ms', samples: measure(() => world.commitAll(() => (revision += 1))) },
    { name: 'cache: list of 100 rows, one changed', unit: 'us', samples: inMicros(measure(() => world.commitOne((revision += 1)))) },
    {
      name: 'cache: snapshot of one scope after a change in it',
      unit: 'us',
      samples: inMicros(
        measure(
          () => world.table.scope('set-0'),
          () => world.commitOne((revision += 1)),
        ),
      ),
    },
    {
      name: 'cache: snapshot of all after one change',
      unit: 'ms',
      samples: measure(
        () => world.table.snapshot(),
        () => world.commitOne((revision += 1)),
      ),
    },
    {
      name: `cache: ${LOOKUPS.toLocaleString('en')} unchanged snapshots`,
      unit: 'us',
      samples: inMicros(measure(() => repeat(() => world.table.snapshot()))),
    },
    {
      name: `cache: ${LOOKUPS.toLocaleString('en')} look-ups by key`,
      unit: 'ms',
      samples: measure(() => repeat((index) => world.table.get(world.keyAt(index)))),
    },
    {
      name: `cache: ${LOOKUPS.toLocaleString('en')} views, overlay included`,
      unit: 'ms',
      samples: measure(() => repeat((index) => world.table.view(world.keyAt(index)))),
    },
  ];
}

function fill() {
  const order = new LogicalClock(clock);
  const table = new Table<Instance>({
    clock,
    order,
    requestRefresh: () => undefined,
    hooks: NO_HOOKS,
    definition: {
      name: 'instances',
      scopeOf: (key) => key.slice(0, key.indexOf('/')),
      fenced: undefined,
      equal: (left, right) => left.state === right.state && left.zone === right.zone && left.revision === right.revision,
    },
  });
  const keys = Array.from({ length: SCOPES }, (_, scope) => Array.from({ length: PER_SCOPE }, (_, index) => `set-${scope}/${index}`));
  const flat = keys.flat();
  const commit = (scope: number, revisionOf: (index: number) => number): void => {
    const rows = (keys[scope] ?? []).map((key, index): ListedRow<Instance> => {
      return { key, value: { state: 'running', zone: String(index % 3), revision: revisionOf(index) }, etag: undefined };
    });
    table.commitList({
      agentId: `instances/set-${scope}`,
      scope: undefined,
      complete: true,
      pages: [{ stamp: order.stamp(), rows }],
    });
  };
  const commitAll = (revisionOf: () => number): void => {
    for (let scope = 0; scope < SCOPES; scope++) {
      const revision = revisionOf();
      commit(scope, () => revision);
    }
  };
  commitAll(() => 0);
  return {
    table,
    keyAt: (index: number): string => flat[(index * 7919) % flat.length] ?? '',
    commitAll,
    commitOne: (revision: number): void => commit(0, (index) => (index === 0 ? revision : 0)),
  };
}

function repeat(read: (index: number) => unknown): void {
  let found = 0;
  for (let index = 0; index < LOOKUPS; index++) if (read(index) !== undefined) found += 1;
  if (found !== LOOKUPS) throw new Error('The benchmark reads rows that are not there.');
}

function measure(run: () => unknown, prepare: () => void = () => undefined): readonly number[] {
  const samples: number[] = [];
  for (let count = 0; count < WARM_UP + RUNS; count++) {
    prepare();
    const start = performance.now();
    run();
    if (count >= WARM_UP) samples.push(performance.now() - start);
  }
  return samples;
}

function inMicros(samples: readonly number[]): readonly number[] {
  return samples.map((ms) => ms * 1000);
}

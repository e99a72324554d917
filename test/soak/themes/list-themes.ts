/** Lists that break off, are empty, or are old: attacks on what the daemon remembers. */
import type { Random } from '../../../src/lib/random.ts';
import type { TimedStep } from '../step.ts';
import type { WorldEvent } from '../../../world/simulator/arm/faults/world-event.ts';
import { aPool } from '../../scenarios/support.ts';
import { oneOf } from '../chance.ts';
import { always, BUSY, event, fault, LISTS, NAMES, NOT_FOUND, often, SECOND, THREE_KINDS, type Theme } from './theme.ts';

/** What others do without any write or read of the daemon. */
const QUIET_EVENTS: readonly WorldEvent[] = [
  ...NAMES.flatMap((pool): readonly WorldEvent[] => [-1, 1].map((delta) => ({ foreignScale: { pool, delta } }))),
  { evict: { pool: 'spot', count: 1 } },
  { repair: { pool: 'uni' } },
  { failSet: { pool: 'uni' } },
  { preempt: { pool: 'flex' } },
  { retag: { pool: 'flex', tags: { team: 'others' } } },
  { hang: { pool: 'uni', forMs: 90 * SECOND } },
];

/** Each list is now and then as it was some time ago. */
function oldLists(random: Random, chaosMs: number): readonly TimedStep[] {
  return LISTS.flatMap((match, index) =>
    often(random, chaosMs, 60, (at) => fault({ id: `old ${index} ${at}`, match, effect: { kind: 'stale-list' } }, 50 * SECOND)),
  );
}

export const LIST_THEMES = {
  /** Lists break off, at their first page or at a later one. Nothing that is said is untrue. */
  'broken lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 6, min: 1 })),
    knobs: { pageSize: 2 },
    pods: 'changing',
    rules: { remembers: 'all' },
    assault: (_random, chaosMs) =>
      LISTS.flatMap((match, index) => [
        always(`busy ${index}`, { ...match, prob: 0.2 }, { kind: 'answer', status: 503, body: BUSY })(chaosMs),
        always(`cut ${index}`, { ...match, prob: 0.1 }, { kind: 'truncated-body' })(chaosMs),
        always(`reset ${index}`, { ...match, prob: 0.1 }, { kind: 'reset', afterEffect: false })(chaosMs),
      ]),
  },
  /** A list answers that its subject is not there, which single reads deny. */
  'lists of nothing found': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 3, min: 1 })),
    pods: 'changing',
    rules: { remembers: 'all' },
    assault: (_random, chaosMs) =>
      LISTS.map((match, index) =>
        always(`gone ${index}`, { ...match, prob: 0.3 }, { kind: 'answer', status: 404, body: NOT_FOUND })(chaosMs),
      ),
  },
  /** Now and then a list of many has nothing in it, once. */
  'empty lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 8, min: 1 })),
    pods: 'growing',
    rules: { remembers: 'many' },
    flags: ['--scale-down-enabled=false'],
    assault: (random, chaosMs) =>
      LISTS.flatMap((match, index) =>
        often(random, chaosMs, 240, (at) =>
          fault({ id: `empty ${index} ${at}`, match: { ...match, times: 1 }, effect: { kind: 'empty-list' } }, 200 * SECOND),
        ),
      ),
  },
  /** Lists are old, and capacities lag behind removals. */
  'old lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 6, min: 3 })),
    knobs: { listStalenessMs: 40 * SECOND, capacityLagAfterDeleteMs: 40 * SECOND },
    pods: 'changing',
    rules: {},
    flags: ['--max-scale-down-parallelism=2', '--max-drain-parallelism=2'],
    assault: (random, chaosMs) => [
      always('no node', { prob: 0.3 }, { kind: 'birth', how: 'no-node' })(chaosMs),
      ...oldLists(random, chaosMs),
    ],
  },
  /** The same, and only growth: nothing may be ordered twice. */
  'old lists of growth': {
    pools: THREE_KINDS,
    knobs: { listStalenessMs: 40 * SECOND },
    pods: 'growing',
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    assault: oldLists,
  },
  /** Lists are skipped while nothing moves, and others move something every now and then: only signs say that a list is due. */
  'skipped lists': {
    pools: [...THREE_KINDS.map((pool) => ({ ...pool, count: 4, min: 1 })), aPool({ name: 'spot', count: 2, max: 30, priority: 'Spot' })],
    pods: 'changing',
    podsEveryS: 150,
    rules: {},
    env: { AZURE_CACHE_READ_ON_CHANGE: 'true' },
    assault: (random, chaosMs) => [
      always('old', { ...LISTS[0], prob: 0.2 }, { kind: 'stale-list' })(chaosMs),
      ...often(random, chaosMs, 75, () => event(oneOf(random, QUIET_EVENTS))),
    ],
  },
  /** The same as old lists of growth where conditional writes are turned off: only what is remembered of our own writes stands against old lists. */
  'old lists without tags': {
    pools: THREE_KINDS,
    knobs: { listStalenessMs: 40 * SECOND },
    pods: 'growing',
    podsEveryS: 15,
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    env: { AZURE_ENABLE_VMSS_ETAG: 'false' },
    assault: oldLists,
  },
} as const satisfies Readonly<Record<string, Theme>>;

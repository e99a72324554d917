/** Other writers, lost answers and growth that fails: attacks on writes. */
import { aPool } from '../../scenarios/support.ts';
import { oneOf, whole } from '../chance.ts';
import { always, BUSY, DELETE, event, NAMES, often, SECOND, SET, THREE_KINDS, type Theme } from './theme.ts';

/** Far quicker than those of Azure. */
const QUICK_MACHINES = {
  instanceVisible: { p50: SECOND, p95: SECOND },
  allocated: { p50: SECOND, p95: SECOND },
  osUp: { p50: 2 * SECOND, p95: 2 * SECOND },
  provisioned: { p50: 3 * SECOND, p95: 3 * SECOND },
  deleteGraceful: { p50: 3 * SECOND, p95: 3 * SECOND },
  // AKS ends its operation with its last machine.
  aksModelUpdate: { p50: SECOND, p95: SECOND },
  aksGrowthEnd: { p50: SECOND, p95: SECOND },
};

export const WRITE_THEMES = {
  /** Others write a capacity between our read and our write. */
  racers: {
    pools: THREE_KINDS,
    pods: 'changing',
    rules: {},
    assault: (random, chaosMs) => [
      ...[-1, 1, 2, 3].map((delta) =>
        always(`race ${delta}`, { method: 'PUT', pathGlob: SET, prob: 0.25 }, { kind: 'racing-writer', delta })(chaosMs),
      ),
      ...often(random, chaosMs, 60, () =>
        event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [1, 2, 3]), when: 'before-next-write' } }),
      ),
    ],
  },
  /** Others take machines while ours are being drained, near the minimum. */
  takers: {
    pools: [
      aPool({ name: 'uni', count: 6, min: 2, max: 12 }),
      aPool({ name: 'flex', count: 6, min: 2, max: 12, kind: 'vmss-flexible' }),
      aPool({ name: 'vms', count: 6, min: 2, max: 12, kind: 'vms-pool' }),
    ],
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 40,
    flags: ['--max-drain-parallelism=3', '--max-scale-down-parallelism=6'],
    assault: (random, chaosMs) => [
      always('race', { method: 'POST', pathGlob: DELETE, prob: 0.4 }, { kind: 'racing-writer', delta: -1 })(chaosMs),
      ...often(random, chaosMs, 25, () => event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [-1, -1, -2, 2]) } })),
    ],
  },
  /** Writes are carried out, and nobody hears of it. */
  'lost answers': {
    pools: THREE_KINDS,
    pods: 'growing',
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    assault: (_random, chaosMs) =>
      [
        { method: 'PUT', pathGlob: SET },
        { method: 'PUT', pathGlob: '**/agentPools/*' },
      ].flatMap((match, index) => [
        always(`error ${index}`, { ...match, prob: 0.3 }, { kind: 'effect-then-answer', status: 500, body: BUSY })(chaosMs),
        always(`reset ${index}`, { ...match, prob: 0.3 }, { kind: 'reset', afterEffect: true })(chaosMs),
        always(`late ${index}`, { ...match, prob: 0.3 }, { kind: 'delay', ms: 80 * SECOND })(chaosMs),
      ]),
  },
  /** Half of what is ordered cannot be had, others raise too, and lists hide machines. */
  'failed growth': {
    pools: THREE_KINDS,
    knobs: { listFailedInstances: false },
    pods: 'changing',
    rules: { unfilled: true },
    assault: (random, chaosMs) => [
      always('refused', { prob: 0.5 }, { kind: 'birth', how: 'refused' })(chaosMs),
      always('unlisted', { prob: 0.3 }, { kind: 'birth', how: 'unlisted' })(chaosMs),
      ...often(random, chaosMs, 60, () => event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [1, 2]) } })),
    ],
  },
  /** Numbers of instances are given again, to machines that others make in the place of ours. */
  reborn: {
    pools: [aPool({ name: 'uni', count: 6, max: 12 }), aPool({ name: 'two', count: 6, max: 12 })],
    knobs: { reuseInstanceIds: true },
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 180,
    flags: ['--max-drain-parallelism=6', '--max-scale-down-parallelism=12'],
    assault: (random, chaosMs) => [
      ...often(random, chaosMs, 20, () =>
        event({ repair: { pool: oneOf(random, ['uni', 'two']), instanceId: String(whole(random, 0, 6)) } }),
      ),
      ...often(random, chaosMs, 45, () => event({ foreignScale: { pool: oneOf(random, ['uni', 'two']), delta: 1 } })),
    ],
  },
  /** Others write agent pools between our read and our write, and AKS resets scale sets to the counts that it knows. */
  'pool racers': {
    pools: [
      aPool({ name: 'uni', count: 3, min: 1, max: 20 }),
      aPool({ name: 'vms', count: 3, min: 1, max: 20, kind: 'vms-pool' }),
      aPool({ name: 'two', count: 2, min: 1, max: 20, kind: 'vms-pool', sizes: [{ vmSize: 'Standard_E4s_v5', count: 1 }] }),
    ],
    pods: 'changing',
    rules: {},
    assault: (random, chaosMs) => [
      ...[-1, 1, 2].map((delta) =>
        always(`race ${delta}`, { method: 'PUT', pathGlob: '**/agentPools/*', prob: 0.3 }, { kind: 'racing-writer', delta })(chaosMs),
      ),
      always('race a delete', { method: 'POST', pathGlob: '**/deleteMachines', prob: 0.3 }, { kind: 'racing-writer', delta: 1 })(chaosMs),
      ...often(random, chaosMs, 90, () =>
        event({ foreignScale: { pool: oneOf(random, ['vms', 'two']), delta: oneOf(random, [-1, 1, 2]), when: 'before-next-write' } }),
      ),
      ...often(random, chaosMs, 150, () => event({ rpReconcile: { pool: oneOf(random, ['uni', 'vms']) } })),
    ],
  },
  /**
   * AKS refuses every write while an operation runs, so the whole operation of another writer must fit between our read and its answer:
   * machines are quick and answers are slow.
   */
  'slow answers of pools': {
    pools: [
      aPool({ name: 'vms', count: 2, min: 1, max: 40, kind: 'vms-pool' }),
      aPool({ name: 'two', count: 2, min: 1, max: 40, kind: 'vms-pool', sizes: [{ vmSize: 'Standard_E4s_v5', count: 1 }] }),
    ],
    knobs: QUICK_MACHINES,
    pods: 'growing',
    rules: {},
    flags: ['--scale-down-enabled=false'],
    assault: (random, chaosMs) => [
      always('slow pools', { method: 'GET', pathGlob: '**/agentPools/*', prob: 0.7 }, { kind: 'delay', ms: 25 * SECOND })(chaosMs),
      ...often(random, chaosMs, 14, () => event({ foreignScale: { pool: oneOf(random, ['vms', 'two']), delta: oneOf(random, [-1, 1]) } })),
    ],
  },
  /** The same for pools with scale sets that are written through AKS. */
  'pool racers through AKS': {
    pools: [aPool({ name: 'uni', count: 3, min: 1, max: 20 }), aPool({ name: 'flex', count: 3, min: 1, max: 20, kind: 'vmss-flexible' })],
    pods: 'changing',
    rules: {},
    env: { AZURE_WRITE_PATH: 'agentPool' },
    assault: (random, chaosMs) => [
      always('race', { method: 'PUT', pathGlob: '**/agentPools/*', prob: 0.3 }, { kind: 'racing-writer', delta: 1 })(chaosMs),
      always('race a delete', { method: 'POST', pathGlob: '**/deleteMachines', prob: 0.3 }, { kind: 'racing-writer', delta: 1 })(chaosMs),
      ...often(random, chaosMs, 120, () => event({ rpReconcile: { pool: oneOf(random, ['uni', 'flex']) } })),
    ],
  },
} as const satisfies Readonly<Record<string, Theme>>;

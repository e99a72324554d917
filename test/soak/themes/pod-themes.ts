/** Pods that come at the wrong moment: attacks on drains. */
import { aPool } from '../../scenarios/support.ts';
import { oneOf, whole } from '../chance.ts';
import { always, often, SECOND, WORKLOADS, type Theme } from './theme.ts';

export const POD_THEMES = {
  /** Pods come and go faster than nodes are drained, and the API server is away in between. */
  'late pods': {
    pools: [aPool({ name: 'uni', count: 4, max: 12 }), aPool({ name: 'flex', count: 4, max: 12, kind: 'vmss-flexible' })],
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 40,
    flags: ['--max-drain-parallelism=3', '--max-scale-down-parallelism=6'],
    assault: (random, chaosMs) => [
      ...often(random, chaosMs, 12, () => ({ kind: 'scale', workload: oneOf(random, WORKLOADS), replicas: whole(random, 0, 5) })),
      ...often(random, chaosMs, 40, () => ({ kind: 'kube-away', forMs: whole(random, 1, 8) * SECOND })),
    ],
  },
  /** A pod lands on a node after its drain and before its delete, with slow reads of Azure in between. */
  'pods after the drain': {
    pools: [
      aPool({ name: 'uni', count: 5, max: 12 }),
      aPool({ name: 'flex', count: 5, max: 12, kind: 'vmss-flexible' }),
      aPool({ name: 'vms', count: 5, max: 12, kind: 'vms-pool' }),
    ],
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 20,
    flags: ['--max-drain-parallelism=3', '--max-scale-down-parallelism=6', '--node-delete-delay-after-taint=5s'],
    assault: (_random, chaosMs) => [
      { atMs: 0, step: { kind: 'late-binds', forMs: chaosMs } },
      always('slow reads', { method: 'GET', prob: 0.8 }, { kind: 'delay', ms: 12 * SECOND })(chaosMs),
    ],
  },
} as const satisfies Readonly<Record<string, Theme>>;

/** Makes a run of a theme and a seed. */
import { seededRandom, type Random } from '../../src/lib/random.ts';
import { worldOf } from '../scenarios/support.ts';
import { oneOf, whole } from './chance.ts';
import type { Scenario, WorkloadSpec } from './scenario.ts';
import type { TimedStep } from './step.ts';
import { THEMES, type ThemeName } from './themes.ts';
import { always, often, WORKLOADS, type Theme } from './themes/theme.ts';

const SECOND = 1_000;

/** Takes most of a machine: there is room for one on each. */
const LARGE = '2500m';

export function themed(name: ThemeName, seed: number, loops: number): Scenario {
  const theme: Theme = THEMES[name];
  const random = seededRandom(seed * 15_485_863 + 11);
  const chaosMs = loops * 10 * SECOND;
  const workloads = WORKLOADS.map((workload): WorkloadSpec => ({
    name: workload,
    cpu: LARGE,
    memory: '1Gi',
    maxUnavailable: undefined,
    gracePeriodSeconds: theme.gracePeriodSeconds ?? 1,
    spotOnly: false,
    toleratesSpot: false,
  }));
  // Between a read and the write that follows from it there is time for others.
  const slow = always('slow', { pathGlob: '**/providers/Microsoft.Compute/**', prob: 0.4 }, { kind: 'delay', ms: 3 * SECOND });
  const steps = [...podSteps(random, theme, chaosMs), ...theme.assault(random, chaosMs), slow(chaosMs)];
  return {
    seed,
    world: worldOf(theme.pools, { seed }),
    workloads,
    steps: steps.sort((left, right) => left.atMs - right.atMs),
    chaosMs,
    flags: [
      '--scale-down-unneeded-time=30s',
      '--scale-down-delay-after-add=20s',
      '--scale-down-delay-after-failure=20s',
      '--scale-down-unready-time=3m',
      '--unremovable-node-recheck-timeout=20s',
      '--max-node-provision-time=6m',
      '--initial-node-group-backoff-duration=20s',
      '--max-node-group-backoff-duration=1m',
      '--balance-similar-node-groups=true',
      ...(theme.flags ?? []),
    ],
    env: { AZURE_VMSS_CACHE_TTL: '20', AZURE_VMSS_VMS_CACHE_TTL: '40', ...theme.env },
    stockReturns: true,
    mortal: false,
    patience: { provisionMs: 360 * SECOND, unneededMs: 30 * SECOND },
    ambient: {},
    knobs: theme.knobs ?? {},
    rules: theme.rules,
  };
}

function podSteps(random: Random, { pods, podsEveryS = pods === 'growing' ? 60 : 35 }: Theme, chaosMs: number): readonly TimedStep[] {
  const replicas = new Map(WORKLOADS.map((workload) => [workload, 0]));
  return often(random, chaosMs, podsEveryS, () => {
    const workload = oneOf(random, WORKLOADS);
    const before = replicas.get(workload) ?? 0;
    const next = pods === 'growing' ? before + whole(random, 1, 3) : whole(random, 0, 6);
    replicas.set(workload, next);
    return { kind: 'scale', workload, replicas: next };
  });
}

/** `npm run soak -- --days N`: a run of days, with what it cost. Judged as every run, and by the limits of a day. */
import type { PodObject } from '../../../world/simulator/cluster/store/objects.ts';
import type { VirtualRun } from '../../support/virtual-world.ts';
import { undying } from '../deaths.ts';
import { undergo, type RunWatch, type SoakResult } from '../soak.ts';
import { exceededLimits, LongWaits } from './day-judge.ts';
import { dayScenario, HIDDEN_DAEMON_MILLIS } from './day-scenario.ts';
import { coverNodes } from '../actors/hidden-daemons.ts';
import { DayMeters, type DayFigures } from './meters.ts';
import { cpuMillisOf } from './pod-cpu.ts';

export interface DayResult extends SoakResult {
  readonly days: number;
  readonly figures: DayFigures | undefined;
}

/** `days` may be a fraction. */
export async function liveDays(seed: number, days: number, watch: RunWatch = {}): Promise<DayResult> {
  const scenario = dayScenario(seed, days);
  const waits = new LongWaits();
  let meters: DayMeters | undefined;
  const result = await undergo(scenario, undying(), {
    ...watch,
    onStart: (run) => {
      meters = new DayMeters(run);
      coverNodes(run, HIDDEN_DAEMON_MILLIS);
      waits.watch(run, (pod) => ablePool(run, scenario.world.pools, pod));
    },
    onProcess: () => meters?.retryAfter.forget(),
    onCalm: () => meters?.end(),
  });
  const figures = meters?.figures();
  const violations = [
    ...result.violations,
    ...(meters?.retryAfter.violations ?? []),
    ...waits.violations,
    ...(figures === undefined ? [] : exceededLimits(figures)),
  ];
  return { ...result, days, figures, violations };
}

/** CPU that a node of these sizes offers to pods of workloads, in millicores: what is left beside all that runs on each node. */
const OFFERED_MILLIS: Readonly<Record<string, number>> = {
  Standard_D4s_v5: 3_000,
  Standard_D4ads_v5: 3_000,
  Standard_E4s_v5: 3_000,
  Standard_D8s_v5: 6_500,
  Standard_F8s_v2: 6_500,
};

/** A pool that could grow for this pod, by the world alone. */
function ablePool(run: VirtualRun, pools: ReturnType<typeof dayScenario>['world']['pools'], pod: PodObject): string | undefined {
  const { stock, sets, agentPools, faults } = run.world.arm.control.state();
  const labels = pod.metadata.labels ?? {};
  return pools.find(({ name, vmSize, max, zones = ['0'], priority }) => {
    const size = sets.find(({ pool }) => pool === name)?.capacity ?? agentPools.find((pool) => pool.name === name)?.size ?? max;
    const isAllowed = priority === 'Spot' ? labels['tolerates-spot'] === 'true' : labels['spot-only'] !== 'true';
    const isSoldOut = zones.some((zone) => (stock[`${vmSize}/${zone}`.toLowerCase()] ?? 1) < 1);
    // A pool that Azure troubles now is not counted on.
    const isTroubled = faults.some(({ match }) => match.pool === undefined || match.pool === name);
    const fits = cpuMillisOf(pod) <= (OFFERED_MILLIS[vmSize] ?? 0);
    return name !== 'system' && isAllowed && fits && size < max && !isSoldOut && !isTroubled;
  })?.name;
}

/** A window of a scenario, as a scenario: what was there when it begins is there from its start. Pure. */
import type { LoadEvent, LoadPool, Scenario, Workload } from './load.ts';

export interface ScenarioWindow {
  /** Milliseconds after the start of the scenario. */
  readonly fromMs: number;
  readonly durationMs: number;
}

/**
 * Jobs that ran when the window begins run for the rest of their time. Pools begin with the number of nodes that they had at the start
 * of the scenario: how many a cluster would have depends on its autoscaler.
 */
export function sliceScenario(scenario: Scenario, { fromMs, durationMs }: ScenarioWindow): Scenario {
  const { events } = scenario;
  const before = events.filter(({ atMs }) => atMs <= fromMs);
  const within = events.filter(({ atMs }) => atMs > fromMs && atMs < fromMs + durationMs);
  return {
    ...scenario,
    startMs: scenario.startMs + fromMs,
    durationMs: Math.max(0, Math.min(durationMs, scenario.durationMs - fromMs)),
    pools: poolsAfter(scenario.pools, before),
    workloads: scenario.workloads.map((workload) => withTemplateOf(workload, before)),
    events: [...stateAfter(before, fromMs), ...within.map((event) => ({ ...event, atMs: event.atMs - fromMs }))],
  };
}

function poolsAfter(pools: readonly LoadPool[], before: readonly LoadEvent[]): readonly LoadPool[] {
  const present = new Map(pools.map((pool) => [pool.name, pool]));
  for (const event of before) {
    if (event.kind === 'pool-removed') present.delete(event.pool);
    if (event.kind === 'pool') {
      const count = present.get(event.pool.name)?.count ?? event.pool.count;
      present.set(event.pool.name, { ...event.pool, count });
    }
  }
  return [...present.values()];
}

function withTemplateOf(workload: Workload, before: readonly LoadEvent[]): Workload {
  const last = before.findLast((event) => event.kind === 'template' && event.workload === workload.id);
  return last?.kind === 'template' ? { ...workload, pod: last.pod } : workload;
}

/** Events at 0 that bring the state about. Evictions and failures of VMs are over. */
function stateAfter(before: readonly LoadEvent[], fromMs: number): readonly LoadEvent[] {
  const latest = new Map<string, LoadEvent>();
  for (const event of before) {
    if (event.kind === 'replicas') latest.set(`replicas ${event.workload}`, event);
    if (event.kind === 'stock') latest.set(`stock ${event.vmSize} ${event.zone ?? ''} ${event.priority ?? ''}`, event);
  }
  const running = before.flatMap((event): readonly LoadEvent[] => {
    const leftMs = event.kind === 'run' ? event.atMs + event.runMs - fromMs : 0;
    return event.kind === 'run' && leftMs > 0 ? [{ ...event, runMs: leftMs }] : [];
  });
  const lasting = before.flatMap((event): readonly LoadEvent[] => {
    if (event.kind !== 'refusal' && event.kind !== 'node-failure' && event.kind !== 'zone-outage') return [];
    const leftMs = event.atMs + (event.forMs ?? 0) - fromMs;
    return leftMs > 0 ? [{ ...event, forMs: leftMs }] : [];
  });
  return [...latest.values(), ...running, ...lasting].map((event) => ({ ...event, atMs: 0 }));
}

/** A whole loop over ports that remember, on a clock that moves only when told to. */
import { Turns, type SlicePacing } from '../../src/lib/slices.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { Policy } from '../../src/domain/policy.ts';
import { Autoscaler } from '../../src/loop/autoscaler.ts';
import type { LoopDeps } from '../../src/loop/deps/loop-deps.ts';
import type { LoopRecord } from '../../src/domain/ports/records.ts';
import type { PriorityRulesReader } from '../../src/domain/ports/stored-text.ts';
import { loopGauges } from '../../src/observers/metrics/loop-metrics.ts';
import { createObservers } from '../../src/observers/observers.ts';
import { createCompatibleMetrics } from '../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { resourceNames, START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeCloud } from '../support/fake-cloud.ts';
import { FakeCluster, NO_OWNERS, type FakeClusterOptions } from '../support/fake-cluster.ts';
import { aHistory } from '../support/history.ts';
import { aPolicy } from '../support/policy.ts';

const SETTINGS = {
  scanIntervalMs: 10_000,
  batchIdleMs: 250,
  batchMaxMs: 2000,
  startEarly: true,
  maxPlansPerLoop: 3,
  namespace: 'kube-system',
};

export interface StageOptions extends FakeClusterOptions {
  readonly groups: readonly NodeGroup[];
  readonly policy?: Policy;
  readonly priorities?: PriorityRulesReader;
  /** When the loop pauses. If absent, never. */
  readonly pacing?: Pick<SlicePacing, 'sliceMs' | 'pause'>;
  /** Name of an observer that is left out. Default: none is. */
  readonly without?: string;
}

export function aStage(options: StageOptions) {
  const clock = new FakeClock(START_MS);
  const cluster = new FakeCluster(options);
  const cloud = new FakeCloud(options.groups);
  const metrics = createMetrics();
  const lines: { readonly level: string; readonly msg: string; readonly [fact: string]: unknown }[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const records: LoopRecord[] = [];
  const journal = { record: (entry: LoopRecord) => void records.push(entry) };
  const policy = options.policy ?? aPolicy({ scaleUp: { enforceMinSize: false } });
  const ports = { cloud, cluster, tainter: cluster, deletionOwner: () => 'a/1', evictor: cluster, events: cluster, journal };
  const deps: LoopDeps = {
    clock,
    log,
    metrics,
    gauges: loopGauges(metrics),
    names: resourceNames,
    policy,
    ...ports,
    owners: NO_OWNERS,
    nominator: { nominate: () => Promise.resolve('kept') },
    capacityObjects: { writeStatus: () => Promise.resolve(), remove: () => Promise.resolve() },
    priorities: options.priorities,
    prices: undefined,
    advice: {
      *adviseAll() {
        yield* [];
        return new Map();
      },
    },
    turns: new Turns(options.pacing && { clock, ...options.pacing }),
  };
  const history = aHistory();
  const loop = observedLoop(deps, options.without, history);
  const stop = new AbortController();
  return { clock, cluster, cloud, metrics, lines, records, deps, loop, history, stop, runOnce: () => loop.runOnce('manual', stop.signal) };
}

/** No test of the loop reads them, and to make them takes longer than a loop. */
const COMPATIBLE = createCompatibleMetrics(createMetrics());

/** A loop with every observer of the daemon, as the composition root joins them. */
export function observedLoop(deps: LoopDeps, without?: string, history = aHistory()): Autoscaler {
  const loop = new Autoscaler(deps, SETTINGS);
  const { log, metrics, events, policy, priorities, clock } = deps;
  const { namespace } = SETTINGS;
  const observers = createObservers({
    log,
    metrics,
    events,
    namespace,
    names: deps.names,
    priorities,
    compatible: COMPATIBLE,
    policy: () => policy,
    startedAtMs: clock.now(),
    history,
  });
  for (const { name, observe } of observers) if (name !== without) loop.onLoop(observe);
  return loop;
}

/** The value of one series; 0 when it was never set. */
export async function valueOf(
  metric: { get(): Promise<{ values: { value: number; labels: object }[] }> },
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { values } = await metric.get();
  const wanted = Object.entries(labels);
  return values.find((entry) => wanted.every(([key, value]) => (entry.labels as Record<string, unknown>)[key] === value))?.value ?? 0;
}

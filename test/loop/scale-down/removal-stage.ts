/** One group, its nodes and pods, and a runner that drains them in virtual time. */
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Removal } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { DrainPolicy } from '../../../src/domain/policy.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { DrainRunner } from '../../../src/loop/scale-down/drain-runner.ts';
import type { OwnerReader } from '../../../src/domain/ports/cluster.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aGroup, aNode, aPod, keyOf, START_MS, type NodeOptions, type PodOptions } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { FakeCluster, NO_OWNERS } from '../../support/fake-cluster.ts';
import { aPolicy } from '../../support/policy.ts';
import { silentLog } from '../../support/silent-log.ts';
import { ORDINARY } from '../../support/loop-report.ts';

export const MINUTE = 60_000;
export const G = nodeGroupId('g');

/** The name on the runner's deletion taints. */
export const SELF = 'a/1';

export interface Setting {
  readonly nodes?: number;
  readonly node?: NodeOptions;
  readonly pods?: readonly PodOptions[];
  readonly drain?: Partial<DrainPolicy>;
  readonly minSize?: number;
  readonly perWindow?: number;
  readonly emptyPerWindow?: number;
  readonly owners?: OwnerReader;
}

export function setUp(setting: Setting = {}) {
  const count = setting.nodes ?? 2;
  const nodes = Array.from({ length: count }, (_, index) => aNode({ name: `g-${index}`, ...(index === 0 ? setting.node : {}) }));
  const pods = (setting.pods ?? []).map((options) => aPod({ nodeName: 'g-0', ...options }));
  const cluster = new FakeCluster({ nodes, pods });
  const cloud = new FakeCloud([aGroup({ id: 'g', target: count, minSize: setting.minSize ?? 0 })]);
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics();
  const base = aPolicy({
    scaleDown: {
      ...(setting.perWindow === undefined ? {} : { maxRemovalsPerWindow: setting.perWindow }),
      ...(setting.emptyPerWindow === undefined ? {} : { maxEmptyRemovalsPerWindow: setting.emptyPerWindow }),
      ...(setting.owners === undefined ? {} : { skipNodesWithCustomControllerPods: true }),
    },
  });
  const policy = { ...base, drain: { ...aPolicy().drain, ...setting.drain } };
  const ends: number[] = [];
  const runner = new DrainRunner({
    reader: cluster,
    tainter: cluster,
    deletionOwner: () => SELF,
    evictor: cluster,
    events: cluster,
    cloud,
    clock,
    log: silentLog(),
    metrics,
    policy,
    owners: setting.owners ?? NO_OWNERS,
    onEnd: () => ends.push(clock.now()),
  });
  return { cluster, cloud, clock, metrics, runner, pods, ends };
}

export function removalOf(node: string, pods: readonly Pod[] = [], rest: Partial<Removal> = {}): Removal {
  return {
    group: G,
    node,
    instance: keyOf(node),
    pods,
    unneededSinceMs: START_MS,
    cause: pods.length === 0 ? 'empty' : 'underutilized',
    utilization: 0.1,
    ...ORDINARY,
    ...rest,
  };
}

/** Starts the removal of g-0, with the pods of the setting, and lets time pass. */
export async function drainFirst({ runner, clock, pods }: ReturnType<typeof setUp>, durationMs = MINUTE): Promise<void> {
  runner.start(removalOf('g-0', pods));
  await clock.advance(durationMs);
}

export const reasons = (world: ReturnType<typeof setUp>) => world.cluster.events.map((event) => event.reason);
export const isMarked = (world: ReturnType<typeof setUp>, node = 'g-0') =>
  hasTaint(world.cluster.nodes.get(node)?.taints ?? [], TO_BE_DELETED_TAINT);
export const lastOutcome = (world: ReturnType<typeof setUp>) => world.runner.collect().at(-1);

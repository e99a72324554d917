/**
 * The measured side of the sizes: reads a cluster as the daemon does, with all of its modules loaded, and runs loops over it. Prints one
 * JSON line. Only CPU time is measured, so that a busy machine does not count.
 */
import { connectKubernetes } from '../src/kubernetes/kubernetes.ts';
import { nodeGroupId } from '../src/domain/ids.ts';
import type { Observation } from '../src/domain/observation.ts';
import { seededRandom } from '../src/lib/random.ts';
import { planScaleDown } from '../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { emptyLoopState, reduceObservation } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { aGroup, anObservation, aPod, aShape, keyOf, resourceNames } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../src/planning/scale-down/plan-context.ts';
import { SystemClock } from './real-clock.ts';

export interface SizingReport {
  readonly nodes: number;
  readonly pods: number;
  readonly startCpuMs: number;
  readonly quietLoopCpuMs: number;
  readonly busyLoopCpuMs: number;
  readonly peakMb: number;
}

const PENDING = 500;
const RUNS = 5;
const [apiServer = '', serviceAccountDir = ''] = process.argv.slice(2);
// The daemon's other modules take memory, too.
await import('../src/azure/azure.ts');
await import('../src/cli/compose.ts');
const kubernetes = await connectKubernetes({
  options: { apiServer, serviceAccountDir, namespace: 'kube-system', leaseName: 'bench', identity: 'bench', leaderElect: false },
  clock: new SystemClock(),
  random: seededRandom(1),
  log: createLog('warn', { write: (line) => void process.stderr.write(line) }),
  metrics: createMetrics(),
  names: resourceNames,
});
const before = process.cpuUsage();
await kubernetes.reader.start(new AbortController().signal);
const cpu = process.cpuUsage(before);

const cluster = kubernetes.reader.observe(Date.now());
const poolOf = (name: string): string => /^aks-(pool\d+)/.exec(name)?.[1] ?? '';
const pools = Map.groupBy(cluster.nodes.keys(), poolOf);
const groups = [...pools].map(([id, names]) => aGroup({ id, target: names.length, maxSize: names.length + 100 }));
const plain = anObservation(groups, cluster);
const cloud = {
  ...plain.cloud,
  groupOfNode: new Map([...cluster.nodes.keys()].map((name) => [name, nodeGroupId(poolOf(name))] as const)),
  instanceOfNode: new Map([...cluster.nodes.keys()].map((name) => [name, keyOf(name)] as const)),
};
const nowMs = Date.now();
const quiet: Observation = { ...plain, cloud, nowMs, cluster: { ...cluster, pendingPods: [] } };
const large = aShape({ cpu: '3', memory: '4Gi' });
const pendingPods = Array.from({ length: PENDING }, (_, index) => aPod({ name: `new-${index}`, shape: large }));
const busy: Observation = { ...quiet, cluster: { ...cluster, pendingPods } };

/** The median CPU time of one loop without its I/O, milliseconds. */
function loopCpuMs(observation: Observation): number {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const samples = Array.from({ length: RUNS + 1 }, () => {
    const start = process.threadCpuUsage();
    const policy = aPolicy();
    const state = reduceObservation(emptyLoopState(nowMs), observation, policy);
    snapshot.sync(observation.cluster);
    const scaleUp = planScaleUp({ ...FIRST_PLAN, observation, state, policy, names: resourceNames, snapshot });
    const scaleUpPlanned = scaleUp.increases.length > 0;
    planScaleDown({ ...REMOVALS_ALONE, observation, state, policy, names: resourceNames, snapshot, scaleUpPlanned });
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1000;
  });
  // The first run warms up.
  return samples.slice(1).toSorted((left, right) => left - right)[Math.floor(RUNS / 2)] ?? Number.NaN;
}

const report: SizingReport = {
  nodes: cluster.nodes.size,
  pods: [...cluster.podsByNode.values()].reduce((sum, pods) => sum + pods.length, 0),
  startCpuMs: Math.round((cpu.user + cpu.system) / 1000),
  quietLoopCpuMs: Math.round(loopCpuMs(quiet)),
  busyLoopCpuMs: Math.round(loopCpuMs(busy)),
  peakMb: Math.round(process.resourceUsage().maxRSS / 1024),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await kubernetes.close();

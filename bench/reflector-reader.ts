/** The measured side: connects as in a cluster, fills the reflectors once, prints what it cost as one JSON line. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connectKubernetes } from '../src/kubernetes/kubernetes.ts';
import { SystemClock } from './real-clock.ts';
import { ResourceNames } from '../src/domain/resources.ts';
import { seededRandom } from '../src/lib/random.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { createLog } from '../src/telemetry/log.ts';
import type { ReaderReport } from './reflectors.bench.ts';

const [apiServer = '', serviceAccountDir = ''] = process.argv.slice(2);
const delay = monitorEventLoopDelay({ resolution: 1 });
const kubernetes = await connectKubernetes({
  options: { apiServer, serviceAccountDir, namespace: 'kube-system', leaseName: 'bench', identity: 'bench', leaderElect: false },
  clock: new SystemClock(),
  random: seededRandom(1),
  log: createLog('warn', { write: (line) => void process.stderr.write(line) }),
  metrics: createMetrics(),
  names: new ResourceNames(),
});
delay.enable();
let longestTurnMs = 0;
let turnBefore = process.threadCpuUsage();
// What this thread worked between two turns of its event loop: a stall that a busy machine cannot fake.
const turns = setInterval(() => {
  const { user, system } = process.threadCpuUsage(turnBefore);
  turnBefore = process.threadCpuUsage();
  longestTurnMs = Math.max(longestTurnMs, (user + system) / 1000);
}, 1);
const startedAt = performance.now();
const cpuBefore = process.cpuUsage();
await kubernetes.reader.start(new AbortController().signal);
const fillMs = performance.now() - startedAt;
const cpu = process.cpuUsage(cpuBefore);
const firstAt = performance.now();
const view = kubernetes.reader.observe(Date.now());
const observeMs = performance.now() - firstAt;
// One more turn of the loop, so that a stall in the observation is seen too.
await new Promise((resolve) => setTimeout(resolve, 20));
delay.disable();
clearInterval(turns);
const againAt = performance.now();
kubernetes.reader.observe(Date.now());
const idleObserveMs = performance.now() - againAt;
const peakMb = process.resourceUsage().maxRSS / 1024;
globalThis.gc?.();
const bound = [...view.podsByNode.values()].reduce((sum, pods) => sum + pods.length, 0);
const report: ReaderReport = {
  nodes: view.nodes.size,
  pods: bound + view.pendingPods.length,
  shapes: new Set([...view.podsByNode.values()].flatMap((pods) => pods.map((pod) => pod.shape))).size,
  fillMs,
  cpuMs: (cpu.user + cpu.system) / 1000,
  observeMs,
  idleObserveMs,
  peakMb,
  heapMb: process.memoryUsage().heapUsed / 2 ** 20,
  longestTurnMs,
  stallMs: delay.max / 1e6,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await kubernetes.close();

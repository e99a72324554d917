/** A load that ended: all of its nodes are idle at once. */
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, capacity, MINUTE, worldOf } from '../scenarios/support.ts';

/** The promise for a thousand nodes, from the moment at which they are idle. */
const LIMIT_MS = 30 * MINUTE;
const POOLS = ['a', 'b', 'c', 'd', 'e'];

/** Runs the daemon with its default settings beside idle nodes in five pools. Returns the exit code: 1 if it takes longer than 30 minutes, or if Azure throttles it. */
export async function removeIdleNodes(nodes: number, print: (line: string) => void): Promise<number> {
  const count = Math.ceil(nodes / POOLS.length);
  const run = await VirtualRun.start({ spec: worldOf(POOLS.map((name) => aPool({ name, count, min: 0, max: count }))) });
  const beganMs = run.clock.now();
  const left = (): number => POOLS.reduce((sum, pool) => sum + capacity(run, pool), 0);
  try {
    for (let minute = 0; left() > 0 && run.clock.now() - beganMs < LIMIT_MS; minute++) {
      print(`minute ${minute}: ${left()} nodes`);
      await run.advance(MINUTE);
    }
    const tookMs = run.clock.now() - beganMs;
    const violations = run.world.violations();
    // The emulated Azure refuses calls above the limits that Azure publishes.
    const throttled = await throttledCalls(run);
    print(
      JSON.stringify({ nodes: count * POOLS.length, left: left(), minutes: tookMs / MINUTE, violations: violations.length, throttled }),
    );
    return left() > 0 || violations.length > 0 || throttled > 0 ? 1 : 0;
  } finally {
    await run.stop();
  }
}

async function throttledCalls({ metrics }: VirtualRun): Promise<number> {
  const { values = [] } = (await metrics.registry.getSingleMetric('aks_autoscaler_arm_calls_total')?.get()) ?? {};
  return values.filter(({ labels }) => labels['status'] === '429').reduce((sum, { value }) => sum + value, 0);
}

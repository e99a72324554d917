/** Growth that is wanted as a whole, of which one machine fails: what did come up goes again, and the failure has a name. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

const TAGS = { 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_zeroormaxnodescaling': 'true' };
const SIZE = 'Standard_E4s_v5';
const REFUSED_MS = 12_000;

describe.each(['vmss-uniform', 'vmss-flexible'] as const)('a group of use only as a whole (%s)', (kind) => {
  it('of three machines one is refused: the other two go, the capacity is what it was, and the size is out of stock', async () => {
    const run = await startedWorld({
      spec: worldOf([aPool({ name: 'gang', kind, vmSize: SIZE, count: 0, min: 0, max: 3, tags: TAGS })], { stock: { [`${SIZE}/0`]: 2 } }),
      // Before the others run pods: a node in use is not deleted.
      knobs: { allocationRefused: { p50: REFUSED_MS, p95: REFUSED_MS } },
    });
    const here = run;
    here.world.cluster.apply(deployment({ name: 'job', replicas: 3, cpu: '3' }));
    await here.until('an order of all', () => capacity(here, 'gang') === 3, MINUTE);
    await here.until('the capacity as it was', () => capacity(here, 'gang') === 0, 2 * MINUTE);
    expect(here.writes().map(({ capacityBefore, capacityAfter }) => `${capacityBefore}>${capacityAfter}`)).toEqual(['0>3', '3>0']);
    await here.advance(10_000);
    const { rounds } = here.reports.at(-1) ?? { rounds: [] };
    expect(rounds[0]?.plan.skipped).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ kind: 'backoff', cause: 'AllocationFailed' }) as unknown }),
    );
    // A machine that is going may have become a node for a moment, and taken a pod.
    await here.until('the pods to wait again', () => pending(here) === 3, 5 * MINUTE);
    here.world.arm.control.setStock(SIZE, '0', 100);
    await here.until('all of them', () => bound(here, 'job') === 3, 20 * MINUTE);
    expect(capacity(here, 'gang')).toBe(3);
    expect(here.world.violations()).toEqual([]);
  });
});

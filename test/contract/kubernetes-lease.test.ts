/** Two replicas and one lease in the simulated cluster. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { LeaderLease } from '../../src/domain/ports/leadership.ts';
import { setConnectedStage, type ConnectedStage } from '../kubernetes/connected-stage.ts';

let stage: ConnectedStage;
beforeEach(async () => {
  stage = await setConnectedStage([]);
});

async function replica(identity: string): Promise<LeaderLease> {
  return (await stage.connect({ identity, leaderElect: true })).kubernetes.lease;
}

/** Whether a replica leads, as it goes. */
function leading(lease: LeaderLease): { yes: boolean } {
  const state = { yes: false };
  lease.acquire(stage.signal).then(
    () => (state.yes = true),
    () => undefined,
  );
  lease.lost.addEventListener('abort', () => (state.yes = false));
  return state;
}

const spec = (): Record<string, unknown> =>
  (stage.cluster.store.get('leases', 'kube-system', 'aks-autoscaler')?.['spec'] ?? {}) as Record<string, unknown>;

describe('two replicas', () => {
  it('lead one at a time; a release hands over at once', async () => {
    const [first, second] = [await replica('a'), await replica('b')];
    const a = leading(first);
    await stage.until(() => a.yes);
    const b = leading(second);
    const sinceMs = stage.clock.now();
    await stage.until(() => stage.clock.now() - sinceMs > 60_000);
    expect([a.yes, b.yes]).toEqual([true, false]);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
    await first.release(stage.signal);
    expect(spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    const releasedMs = stage.clock.now();
    await stage.until(() => b.yes);
    // The other watches it.
    expect(stage.clock.now() - releasedMs).toBeLessThanOrEqual(100);
    expect(a.yes).toBe(false);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 1 });
    await second.release(stage.signal);
  });

  it('change places when one cannot reach the lease, and never lead both', async () => {
    const [first, second] = [await replica('a'), await replica('b')];
    const a = leading(first);
    await stage.until(() => a.yes);
    stage.cluster.control.pause();
    const cutMs = stage.clock.now();
    await stage.until(() => !a.yes);
    expect(stage.clock.now() - cutMs).toBeLessThanOrEqual(12_500);
    stage.cluster.control.resume();
    const b = leading(second);
    await stage.until(() => b.yes);
    // What the first wrote last must have run out by the second's own clock.
    expect(stage.clock.now() - cutMs).toBeGreaterThan(15_000);
    expect(first.lost.aborted).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await second.release(stage.signal);
  });

  it('only one wins a race for a free lease', async () => {
    const leases = await Promise.all(['a', 'b', 'c'].map(replica));
    const states = leases.map(leading);
    await stage.until(() => states.some(({ yes }) => yes));
    const startMs = stage.clock.now();
    await stage.until(() => stage.clock.now() - startMs > 10_000);
    expect(states.filter(({ yes }) => yes)).toHaveLength(1);
    await Promise.all(leases.map((lease) => lease.release(stage.signal)));
  });

  it('go on after failed renewals within the deadline, and after an edit by a person', async () => {
    const first = await replica('a');
    const a = leading(first);
    await stage.until(() => a.yes);
    stage.cluster.control.failNext(3, 500, { resource: 'leases' });
    stage.clock.advance(2_000);
    const present = stage.cluster.store.get('leases', 'kube-system', 'aks-autoscaler');
    stage.cluster.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'kube-system', name: 'aks-autoscaler', labels: { note: 'edited' } },
      spec: present?.['spec'],
    });
    const editedMs = stage.clock.now();
    await stage.until(() => stage.clock.now() - editedMs > 30_000);
    expect(a.yes).toBe(true);
    expect(stage.cluster.store.get('leases', 'kube-system', 'aks-autoscaler')?.metadata.labels).toEqual({ note: 'edited' });
    expect(Date.parse(String(spec()['renewTime']))).toBeGreaterThan(editedMs + 20_000);
    await first.release(stage.signal);
  });

  it('stop waiting on an abort', async () => {
    const first = await replica('a');
    await first.acquire(stage.signal);
    const stop = new AbortController();
    const waiting = (await replica('b')).acquire(stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
    await first.release(stage.signal);
  });
});

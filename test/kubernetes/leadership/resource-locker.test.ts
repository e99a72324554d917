import { describe, expect, it } from 'vitest';
import { ResourceLocker, type LockerLeaseJson } from '../../../src/kubernetes/leadership/resource-locker.ts';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

function aLocker(first: LockerLeaseJson['spec'] | ErrorKind) {
  const clock = new FakeClock(START_MS);
  const lines: string[] = [];
  const stop = new AbortController();
  let answer = first;
  let reads = 0;
  const locker = new ResourceLocker({
    clock,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    rest: {
      json: async () => {
        reads += 1;
        if (answer !== undefined && 'kind' in answer) throw new AutoscalerError(answer, 'no');
        return { spec: answer };
      },
    },
  });
  return {
    locker,
    clock,
    lines,
    stop,
    reads: () => reads,
    answer: (next: LockerLeaseJson['spec'] | ErrorKind) => (answer = next),
    start: () => locker.start(stop.signal),
  };
}

const HELD = { holderIdentity: 'cloud-controller-manager', leaseDurationSeconds: 900, renewTime: at(START_MS - MINUTE) };

describe('the lock of AKS', () => {
  const rows: readonly (readonly [string, LockerLeaseJson['spec'] | ErrorKind, boolean])[] = [
    ['held by another', HELD, true],
    ['released', { ...HELD, holderIdentity: '' }, false],
    ['without a holder', { leaseDurationSeconds: 900 }, false],
    ['renewed longer ago than it lasts', { ...HELD, renewTime: at(START_MS - 16 * MINUTE) }, false],
    ['held, without a time', { holderIdentity: 'aks-rp' }, true],
    ['without a spec', undefined, false],
    ['missing', { kind: 'not-found' }, false],
    ['not ours to see', { kind: 'auth' }, false],
    ['behind an API server that does not answer', { kind: 'unavailable', effect: 'none' }, false],
  ];
  it.each(rows)('%s', async (_name, lease, held) => {
    const stage = aLocker(lease);
    await stage.start();
    expect(stage.locker.heldBecause() !== undefined).toBe(held);
    stage.stop.abort();
    await stage.locker.ended();
  });

  it('says who holds it', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    expect(stage.locker.heldBecause()).toContain('"cloud-controller-manager" holds the Lease kube-system/aks-managed-resource-locker');
    stage.stop.abort();
  });

  it('runs out by the time of its last renewal', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    await stage.clock.advance(14 * MINUTE - 1);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.clock.advance(1);
    expect(stage.locker.heldBecause()).toBeUndefined();
    stage.stop.abort();
  });

  it('a holder whose clock is ahead does not lock for longer than it asked for', async () => {
    const stage = aLocker({ ...HELD, renewTime: at(START_MS + 600 * MINUTE) });
    await stage.start();
    await stage.clock.advance(15 * MINUTE - 1);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.clock.advance(1);
    expect(stage.locker.heldBecause()).toBeUndefined();
    stage.stop.abort();
  });

  it('is read again every ten seconds: taken, then released', async () => {
    const stage = aLocker({ kind: 'not-found' });
    await stage.start();
    stage.answer(HELD);
    await stage.clock.advance(10_000);
    expect(stage.locker.heldBecause()).toBeDefined();
    stage.answer({ ...HELD, holderIdentity: '' });
    await stage.clock.advance(10_000);
    expect([stage.locker.heldBecause(), stage.reads()]).toEqual([undefined, 3]);
    stage.stop.abort();
    await stage.locker.ended();
  });

  it('that cannot be read for a while stays as it was; reported once', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    stage.answer({ kind: 'unavailable', effect: 'none' });
    await stage.clock.advance(60_000);
    expect(stage.locker.heldBecause()).toBeDefined();
    expect(stage.lines).toHaveLength(1);
    stage.answer({ kind: 'auth' });
    await stage.clock.advance(10_000);
    expect(stage.locker.heldBecause()).toBeUndefined();
    stage.stop.abort();
  });
});

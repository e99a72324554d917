import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ResourceLocker, type LockerLeaseJson } from '../../../src/kubernetes/leadership/resource-locker.ts';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE = 60_000;
const NAME = 'aks-managed-resource-locker';
const at = (ms: number): string => new Date(ms).toISOString();

type Lease = LockerLeaseJson['spec'] | 'missing';

/** A locker on a watch that begins with this Lease, or that is refused. */
function aLocker(first: Lease | ErrorKind) {
  const clock = new FakeClock(START_MS);
  const lines: string[] = [];
  const stop = new AbortController();
  const failing = first !== undefined && typeof first === 'object' && 'kind' in first ? first : undefined;
  let answer: Lease | ErrorKind = first;
  let watches = 0;
  let version = 1;
  let wake = Promise.withResolvers<string>();
  const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
  const lease = (spec: LockerLeaseJson['spec']): unknown => ({ metadata: { name: NAME, resourceVersion: String(version++) }, spec });
  async function* body(initial: Lease, signal: AbortSignal): AsyncGenerator<Buffer> {
    const end = { metadata: { resourceVersion: String(version++), annotations: { 'k8s.io/initial-events-end': 'true' } } };
    yield Buffer.from(`${initial === 'missing' ? '' : line('ADDED', lease(initial))}${line('BOOKMARK', end)}`);
    for (;;) {
      const next = await Promise.race([
        wake.promise,
        new Promise<never>((_, no) => signal.addEventListener('abort', () => no(new Error('ended')))),
      ]);
      wake = Promise.withResolvers<string>();
      if (next === '') throw new Error('cut');
      yield Buffer.from(next);
    }
  }
  const locker = new ResourceLocker({
    clock,
    random: seededRandom(1),
    metrics: createMetrics(),
    log: createLog('info', { write: (text) => void lines.push(text) }),
    rest: {
      json: async () => ({}),
      stream: async (path, query, signal) => {
        watches += 1;
        expect([path, query['fieldSelector']]).toEqual([
          '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
          `metadata.name=${NAME}`,
        ]);
        if (answer !== undefined && typeof answer === 'object' && 'kind' in answer) throw new AutoscalerError(answer, 'no');
        return body(answer, signal);
      },
    },
  });
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns++) await turn();
  };
  return {
    locker,
    clock,
    lines,
    watches: () => watches,
    start: () => locker.start(stop.signal),
    hear: async (type: 'MODIFIED' | 'DELETED', spec: LockerLeaseJson['spec']) => {
      wake.resolve(line(type, lease(spec)));
      await settle();
    },
    /** The watch breaks, and the API server answers this from now on. */
    cut: async (next: Lease | ErrorKind) => {
      answer = next;
      wake.resolve('');
      await settle();
    },
    comeBack: async (next: Lease) => {
      answer = next;
      await clock.advance(MINUTE);
      await settle();
    },
    /** The API server does not know any more what changed since the version of the watch. */
    forgetVersion: async () => {
      wake.resolve(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired' }));
      await settle();
    },
    end: async () => {
      stop.abort();
      if (failing === undefined) await locker.ended();
    },
  };
}

const HELD = { holderIdentity: 'cloud-controller-manager', leaseDurationSeconds: 900, renewTime: at(START_MS - MINUTE) };

describe('the lock of AKS', () => {
  const rows: readonly (readonly [string, Lease | ErrorKind, boolean])[] = [
    ['held by another', HELD, true],
    ['released', { ...HELD, holderIdentity: '' }, false],
    ['without a holder', { leaseDurationSeconds: 900 }, false],
    ['renewed longer ago than it lasts', { ...HELD, renewTime: at(START_MS - 16 * MINUTE) }, false],
    ['held, without a time', { holderIdentity: 'aks-rp' }, true],
    ['held, with a time that is none', { holderIdentity: 'aks-rp', renewTime: 'soon' }, true],
    ['without a spec', undefined, false],
    ['missing', 'missing', false],
    ['not ours to see', { kind: 'auth' }, false],
    ['behind an API server that does not answer', { kind: 'unavailable', effect: 'none' }, false],
  ];
  it.each(rows)('%s', async (_name, lease, held) => {
    const stage = aLocker(lease);
    await stage.start();
    expect(stage.locker.heldBecause() !== undefined).toBe(held);
    await stage.end();
  });

  it('says who holds it', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    expect(stage.locker.heldBecause()).toContain('"cloud-controller-manager" holds the Lease kube-system/aks-managed-resource-locker');
    await stage.end();
  });

  it('runs out by the time of its last renewal', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    await stage.clock.advance(14 * MINUTE - 1);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.clock.advance(1);
    expect(stage.locker.heldBecause()).toBeUndefined();
    await stage.end();
  });

  it('a holder whose clock is ahead does not lock for longer than it asked for', async () => {
    const stage = aLocker({ ...HELD, renewTime: at(START_MS + 600 * MINUTE) });
    await stage.start();
    await stage.clock.advance(15 * MINUTE - 1);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.clock.advance(1);
    expect(stage.locker.heldBecause()).toBeUndefined();
    await stage.end();
  });

  it('is heard at once: taken, renewed, released, deleted; and it is not asked for again and again', async () => {
    const stage = aLocker('missing');
    await stage.start();
    await stage.hear('MODIFIED', HELD);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.clock.advance(14 * MINUTE);
    expect(stage.locker.heldBecause()).toBeUndefined();
    await stage.hear('MODIFIED', { ...HELD, renewTime: at(START_MS + 14 * MINUTE) });
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.hear('MODIFIED', { ...HELD, holderIdentity: '' });
    expect(stage.locker.heldBecause()).toBeUndefined();
    await stage.hear('MODIFIED', { ...HELD, renewTime: at(START_MS + 14 * MINUTE) });
    await stage.hear('DELETED', HELD);
    expect([stage.locker.heldBecause(), stage.watches()]).toEqual([undefined, 1]);
    await stage.end();
  });

  it('that cannot be watched for a while stays as it was; one that went meanwhile is gone', async () => {
    const stage = aLocker(HELD);
    await stage.start();
    await stage.cut({ kind: 'unavailable', effect: 'none' });
    await stage.clock.advance(MINUTE);
    expect(stage.locker.heldBecause()).toBeDefined();
    await stage.comeBack('missing');
    await stage.forgetVersion();
    await stage.clock.advance(MINUTE);
    expect(stage.locker.heldBecause()).toBeUndefined();
    await stage.end();
  });

  it('that may not be watched for a minute is not asked for again; reported once', async () => {
    const stage = aLocker({ kind: 'auth' });
    await stage.start();
    for (let minutes = 0; minutes < 5; minutes++) await stage.clock.advance(MINUTE);
    const asked = stage.watches();
    for (let minutes = 0; minutes < 60; minutes++) await stage.clock.advance(MINUTE);
    expect(stage.watches()).toBe(asked);
    expect(stage.lines.filter((text) => text.includes('may not be watched and is ignored'))).toHaveLength(1);
    await stage.end();
  });
});

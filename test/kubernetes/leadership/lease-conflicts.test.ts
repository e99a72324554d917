/** The lease when answers are lost, records are edited, and others write at the same time. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseLeadership, soleLeadership } from '../../../src/kubernetes/leadership/leader-lease.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, refusal, startScriptedApi, until, type Received, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;

interface Stored {
  readonly version: number;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A lease in an API server that checks versions; `before` may answer in its place. */
interface Store {
  stored: Stored | undefined;
  before: (request: Received, response: ServerResponse) => boolean;
}

let api: ScriptedApi;
let clock: FakeClock;
let store: Store;

beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
  store = { stored: undefined, before: () => false };
  api.answer((request, response) => {
    if (!store.before(request, response)) take(request, response);
  });
});
afterEach(() => api.stop());

/** Who waits may not watch here; whether it may changes nothing in these rows. */
function take({ method, body, query }: Received, response: ServerResponse): void {
  if (query.has('watch')) return refusal(response, 403, 'Forbidden');
  if (method === 'GET') return store.stored === undefined ? refusal(response, 404, 'NotFound') : show(response);
  const asked = (body['metadata'] as { readonly resourceVersion?: string }).resourceVersion;
  const mayWrite = method === 'POST' ? store.stored === undefined : asked === String(store.stored?.version);
  if (!mayWrite) return refusal(response, store.stored === undefined ? 404 : 409, 'Conflict');
  write(body['spec'] as Stored['spec']);
  show(response);
}

function show(response: ServerResponse): void {
  json(response, 200, { metadata: { name: 'l', resourceVersion: String(store.stored?.version) }, spec: store.stored?.spec });
}

function write(spec: Stored['spec']): void {
  store.stored = { version: (store.stored?.version ?? 0) + 1, spec };
}

function leaseOf(identity: string): LeaseLeadership {
  const { rest, metrics } = api;
  return new LeaseLeadership({
    rest,
    clock,
    random: seededRandom(1),
    log: silentLog(),
    metrics,
    namespace: 'kube-system',
    name: 'l',
    identity,
  });
}

const second = (): Promise<void> => clock.advance(1_000);
const writes = (): readonly Received[] => api.received.filter(({ method }) => method !== 'GET');

/** A lease that leads. */
async function leading(): Promise<LeaseLeadership> {
  const lease = leaseOf('a');
  await lease.acquire(signal);
  return lease;
}

describe('renewal', () => {
  it('is made again from what is there when a person edited the record', async () => {
    const lease = await leading();
    const edited = store.stored?.version ?? 0;
    write({ ...store.stored?.spec, note: 'edited' });
    await until(() => (store.stored?.version ?? 0) > edited + 1, second);
    expect(store.stored?.spec).toMatchObject({ holderIdentity: 'a', note: 'edited', leaseTransitions: 0 });
    expect(lease.lost.aborted).toBe(false);
    await lease.release(signal);
  });

  it.each<[string, () => void]>([
    ['another holds it', () => write({ holderIdentity: 'b' })],
    ['it has no holder any more', () => write({ holderIdentity: '' })],
    ['it was deleted', () => (store.stored = undefined)],
  ])('ends at once, without a write, when %s', async (_what, change) => {
    const lease = await leading();
    change();
    const after = store.stored;
    const lostBy = clock.now() + 4_000;
    await until(() => lease.lost.aborted || clock.now() > lostBy, second);
    expect(lease.lost.aborted).toBe(true);
    expect(store.stored).toEqual(after);
    await lease.release(signal);
    expect(store.stored).toEqual(after);
  });

  it('goes on when the answer to one was lost: the record is still ours', async () => {
    const lease = await leading();
    let lost = 0;
    store.before = (request, response) => {
      if (request.method !== 'PUT' || lost > 0) return false;
      lost += 1;
      write(request.body['spec'] as Stored['spec']);
      response.destroy();
      return true;
    };
    await until(() => (store.stored?.version ?? 0) >= 5, second);
    expect(lost).toBe(1);
    expect(lease.lost.aborted).toBe(false);
    expect(store.stored?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
    await lease.release(signal);
  });

  it('that a frozen process missed ends the lead before the next write', async () => {
    const lease = await leading();
    const silentMs = clock.now();
    const frozen = { forMs: 0 };
    clock.monotonic = () => silentMs + frozen.forMs;
    frozen.forMs = 9_900;
    lease.verify();
    expect(lease.lost.aborted).toBe(false);
    frozen.forMs = 10_000;
    expect(() => lease.verify()).toThrow('does not lead any more');
    expect(lease.lost.aborted).toBe(true);
    await lease.release(signal);
  });

  it.each<[string, (lease: LeaseLeadership) => Promise<unknown>]>([
    [
      'was taken by another process',
      (lease) => {
        write({ holderIdentity: 'b' });
        return until(() => lease.lost.aborted, second);
      },
    ],
    ['was released', (lease) => lease.release(signal)],
  ])('of a lease that %s lets no later write begin', async (_how, lose) => {
    leaseOf('a').verify();
    const lease = await leading();
    lease.verify();
    await lose(lease);
    for (let again = 0; again < 2; again++) expect(() => lease.verify()).toThrow('does not lead any more');
  });

  it('that never gets an answer ends with the deadline all the same', async () => {
    const lease = await leading();
    store.before = () => true;
    const silentMs = clock.now();
    await until(
      () => lease.lost.aborted,
      () => clock.advance(500),
    );
    expect(clock.now() - silentMs).toBeGreaterThanOrEqual(9_500);
    expect(clock.now() - silentMs).toBeLessThanOrEqual(10_500);
    await api.goAway();
    await lease.release(signal);
  });
});

describe('taking', () => {
  it('waits when another was first to make it, or first to take it over', async () => {
    for (const method of ['POST', 'PUT']) {
      store.stored = method === 'POST' ? undefined : { version: 1, spec: { holderIdentity: '' } };
      let raced = false;
      store.before = (request) => {
        if (request.method === method && !raced) {
          raced = true;
          write({ holderIdentity: 'b', leaseDurationSeconds: 15 });
        }
        return false;
      };
      const stop = new AbortController();
      const waiting = leaseOf('a').acquire(stop.signal);
      await until(() => raced && clock.sleeping > 0);
      stop.abort();
      await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
      expect(store.stored?.spec).toEqual({ holderIdentity: 'b', leaseDurationSeconds: 15 });
    }
  });

  it('a lease that is renewed is never taken, one that stops is after its duration', async () => {
    write({ holderIdentity: 'b', leaseDurationSeconds: 15 });
    let renewals = 0;
    const lease = leaseOf('a');
    let led = false;
    const acquiring = lease.acquire(signal).then(() => (led = true));
    await until(
      () => renewals === 30,
      async () => {
        write({ holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: String(renewals++) });
        await second();
      },
    );
    expect(led).toBe(false);
    const stoppedMs = clock.now();
    await until(() => led, second);
    await acquiring;
    expect(clock.now() - stoppedMs).toBeGreaterThanOrEqual(15_000);
    expect(store.stored?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
    await lease.release(signal);
  });

  it('takes up its own lease again after a restart, without counting a change of hands', async () => {
    write({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 4, acquireTime: 'then' });
    const lease = await leading();
    expect(store.stored?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4, acquireTime: 'then' });
    await lease.release(signal);
  });

  it('says so at once when the credential is bad, and after a minute when leases may not be used', async () => {
    let status = 401;
    store.before = (_request, response) => {
      refusal(response, status, 'Forbidden');
      return true;
    };
    await expect(leaseOf('a').acquire(signal)).rejects.toMatchObject({ kind: 'auth' });
    status = 403;
    const began = clock.now();
    let over = false;
    const refused = expect(
      leaseOf('a')
        .acquire(signal)
        .finally(() => (over = true)),
    ).rejects.toMatchObject({ kind: 'auth' });
    await until(() => over, second);
    await refused;
    expect(clock.now() - began).toBeGreaterThanOrEqual(60_000);
    expect(clock.now() - began).toBeLessThan(70_000);
  });

  it.each([403, 500])('goes on when answers of %d end', async (status) => {
    let failures = 3;
    store.before = (_request, response) => {
      if (failures-- <= 0) return false;
      refusal(response, status, 'Trouble');
      return true;
    };
    const lease = leaseOf('a');
    let led = false;
    const acquiring = lease.acquire(signal).then(() => (led = true));
    await until(() => led, second);
    await acquiring;
    await lease.release(signal);
  });
});

describe('release', () => {
  it('gives up what a cut-off renewal wrote', async () => {
    const lease = await leading();
    write({ ...store.stored?.spec, renewTime: 'unheard of' });
    await lease.release(signal);
    expect(store.stored?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });

  it('leaves alone what another has taken', async () => {
    const lease = await leading();
    write({ holderIdentity: 'b' });
    await lease.release(signal);
    expect(store.stored?.spec).toEqual({ holderIdentity: 'b' });
    expect(lease.lost.aborted).toBe(true);
  });

  it('of a lease that was deleted is done; of one that cannot be written is an error, and the lead is lost all the same', async () => {
    const lease = await leading();
    store.stored = undefined;
    await expect(lease.release(signal)).resolves.toBeUndefined();
    const other = await leading();
    store.before = (_request, response) => {
      refusal(response, 500, 'InternalError');
      return true;
    };
    await expect(other.release(signal)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(other.lost.aborted).toBe(true);
  });

  it('each time another holder leads, the name of the leader is a new one', async () => {
    const names: string[] = [];
    for (const identity of ['a', 'b', 'a']) {
      const lease = leaseOf(identity);
      await lease.acquire(signal);
      names.push(lease.owner());
      await lease.release(signal);
      expect(lease.owner()).toBe(names.at(-1));
    }
    expect(names).toEqual(['a/0', 'b/1', 'a/2']);
  });

  it('before leading writes nothing', async () => {
    const lease = leaseOf('a');
    await lease.release(signal);
    expect(lease.lost.aborted).toBe(true);
    expect(writes()).toEqual([]);
  });

  it('without election: leads at once, until released', async () => {
    const lease = soleLeadership({ identity: 'a', clock });
    await lease.acquire(signal);
    expect(lease.owner()).toBe(`a/since-${START_MS}`);
    expect(lease.lost.aborted).toBe(false);
    await lease.release(signal);
    expect(lease.lost.aborted).toBe(true);
    await expect(soleLeadership({ identity: 'a', clock }).acquire(AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
  });
});

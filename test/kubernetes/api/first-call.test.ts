/** The first call to the API server: a cut connection is tried again, anything else is reported at once. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { connectKubernetes, PROBE_TIMEOUT_MS, type Kubernetes } from '../../../src/kubernetes/kubernetes.ts';
import { asAutoscalerError, type AutoscalerError } from '../../../src/lib/errors.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, refusal, startScriptedApi, until, type Answer, type ScriptedApi } from '../scripted-api.ts';

/** The limit of a call never passes: time moves between the tries, and must not while a busy machine carries a call. */
class PatientClock extends FakeClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms === PROBE_TIMEOUT_MS ? new Promise(() => undefined) : super.sleep(ms, signal);
  }
}

let api: ScriptedApi;
let clock: PatientClock;
let dir: string;
let kubernetes: Kubernetes | undefined;

beforeEach(async () => {
  api = await startScriptedApi();
  clock = new PatientClock(START_MS);
  dir = await mkdtemp(join(tmpdir(), 'service-account-'));
  await writeFile(join(dir, 'ca.crt'), '');
  await writeFile(join(dir, 'token'), 'one\n');
});
afterEach(async () => {
  await kubernetes?.close();
  kubernetes = undefined;
  await api.stop();
  await rm(dir, { recursive: true });
});

const cut: Answer = (_request, response) => void response.socket?.destroy();

/** Cuts so many connections before it answers. */
function cutting(times: number, then: Answer = (_request, response) => json(response, 200, {})): Answer {
  let left = times;
  return (request, response) => (left-- > 0 ? cut(request, response) : then(request, response));
}

/** Lets time pass until the connection stands or is given up. Returns the error, and the milliseconds that passed. */
async function connect(signal?: AbortSignal): Promise<{ readonly error: AutoscalerError | undefined; readonly afterMs: number }> {
  let outcome: { error: AutoscalerError | undefined } | undefined;
  void connectKubernetes({
    options: { namespace: 'kube-system', leaseName: 'l', identity: 'me', leaderElect: false, apiServer: api.url, serviceAccountDir: dir },
    clock,
    random: seededRandom(1),
    log: silentLog(),
    metrics: createMetrics(),
    names: new ResourceNames(),
    ...(signal === undefined ? {} : { signal }),
  }).then(
    (made) => {
      kubernetes = made;
      outcome = { error: undefined };
    },
    (thrown: unknown) => (outcome = { error: asAutoscalerError(thrown) }),
  );
  await until(
    () => outcome !== undefined,
    async () => (clock.sleeping > 0 ? clock.advance(100) : undefined),
  );
  return { error: outcome?.error, afterMs: clock.now() - START_MS };
}

describe('the first call to the API server', () => {
  it.each([[1], [5]])('is repeated when its connection is cut %d times', async (times) => {
    api.answer(cutting(times));
    const { error } = await connect();
    expect(error).toBeUndefined();
    expect(api.received).toHaveLength(times + 1);
  });

  it('is given up after a minute of cut connections, with the address', async () => {
    api.answer(cut);
    const { error, afterMs } = await connect();
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(api.url) });
    expect(afterMs).toBeGreaterThanOrEqual(60_000);
    expect(afterMs).toBeLessThan(80_000);
  });

  it('ends with its signal while it waits to be repeated', async () => {
    const stop = new AbortController();
    api.answer(cutting(3, cut));
    setImmediate(() => stop.abort());
    expect((await connect(stop.signal)).error).toBeDefined();
  });

  it('reports a bad credential at once', async () => {
    api.answer((_request, response) => refusal(response, 401, 'Unauthorized'));
    expect(await connect()).toMatchObject({ error: { kind: 'auth' } });
    expect(api.received.length).toBeLessThanOrEqual(2);
  });

  it('reports an address where nothing listens at once', async () => {
    await api.goAway();
    const { error, afterMs } = await connect();
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(afterMs).toBeLessThan(10_000);
  });
});

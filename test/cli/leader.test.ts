import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { composeDaemon } from '../../src/cli/compose.ts';
import type { Daemon } from '../../src/cli/daemon.ts';
import { isConfigErrors } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { asAutoscalerError } from '../../src/lib/errors.ts';
import { DELETION_CANDIDATE_TAINT } from '../../src/domain/taints.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import { VirtualSimClock } from '../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../world/simulator/world.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { valueOf } from '../loop/support.ts';
import { aPool, deployment, MINUTE, SECOND, worldOf } from '../scenarios/support.ts';
import { START_MS } from '../support/builders.ts';
import { silentLog } from '../support/silent-log.ts';
import { forgetClientRequests, openClientRequests } from '../../world/lab/client-traffic.ts';
import { clockOf, type ProcessState } from '../../world/lab/process-clock.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../world/lab/client-files.ts';
import { VirtualTime } from '../../world/lab/virtual-time.ts';

interface Replica {
  readonly daemon: Daemon;
  readonly metrics: Metrics;
  readonly fate: ProcessState;
  readonly reports: LoopReport[];
  /** The result of its start: undefined once it leads, else the kind of what ended it. */
  readonly started: Promise<string | undefined>;
}

/** Several replicas of the daemon on one virtual clock, as a Deployment makes them. */
class Replicas {
  readonly clock = new VirtualSimClock(START_MS);
  readonly all: Replica[] = [];
  readonly #dir: string;
  readonly #time = new VirtualTime(this.clock, () => this.#isBusy());
  /** The limit of a first call is a wait, so its request must be seen before the server has it. */
  readonly #composing = new VirtualTime(this.clock, () => (openClientRequests() > 0 ? 'a first call is in flight' : this.#isBusy()));
  #world: World | undefined;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async start(names: readonly string[], flags: readonly string[] = []): Promise<Replicas> {
    const replicas = new Replicas(await mkdtemp(join(tmpdir(), 'aks-autoscaler-')));
    const spec = worldOf([aPool({ name: 'general' })]);
    replicas.#world = await startWorld({ spec, clock: replicas.clock, client: CLIENT, token: 'a-token' });
    await replicas.pass(MINUTE);
    for (const name of names) await replicas.add(name, flags);
    return replicas;
  }

  /** One more, half a minute old. */
  async add(name: string, flags: readonly string[] = []): Promise<void> {
    await this.#add(name, flags);
    await this.pass(30 * SECOND);
  }

  /** Until the lease is renewed once more, to the millisecond. */
  async untilRenewed(): Promise<void> {
    const renewals = (): string => JSON.stringify(this.world.cluster.store.get('leases', 'kube-system', 'aks-autoscaler'));
    const before = renewals();
    while (renewals() === before) await this.pass(Math.max(1, (this.clock.nextDueAt() ?? 0) - this.clock.now()));
  }

  get world(): World {
    if (this.#world === undefined) throw new Error('there is no world yet');
    return this.#world;
  }

  async #add(name: string, flags: readonly string[]): Promise<void> {
    await writeClientFiles(this.#dir, this.world);
    const config = loadConfig({
      argv: [
        `--kubeconfig=${join(this.#dir, 'kubeconfig')}`,
        '--address=127.0.0.1:0',
        '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
        ...flags,
      ],
      env: {
        POD_NAME: name,
        ...clientEnvironment(this.#dir, this.world),
      },
      readFile: (path) => readFileSync(path, 'utf8'),
    });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    const metrics = createMetrics();
    const fate = { skewMs: 0, dead: false };
    const random = seededRandom(this.world.spec.seed);
    await this.rest();
    forgetClientRequests();
    const composed = composeDaemon({ config, clock: clockOf(this.clock, fate), random, log: silentLog(), metrics });
    const daemon = await this.#composing.drive('the composition of a replica', composed, fate);
    if (daemon === undefined) return;
    const reports: LoopReport[] = [];
    daemon.onLoop((report) => reports.push(report));
    const started = daemon.start().then(
      () => undefined,
      (thrown: unknown) => asAutoscalerError(thrown).kind,
    );
    this.all.push({ daemon, metrics, fate, reports, started });
  }

  replica(index: number): Replica {
    const replica = this.all[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  }

  pass(ms: number): Promise<void> {
    return this.#time.advance(ms);
  }

  /** How long it takes until the condition holds. */
  async until(condition: () => Promise<boolean> | boolean, limitMs: number): Promise<number> {
    const from = this.clock.now();
    while (!(await condition())) {
      if (this.clock.now() - from > limitMs) throw new Error(`not within ${limitMs / SECOND} s`);
      await this.pass(100);
    }
    return this.clock.now() - from;
  }

  rest(): Promise<void> {
    return this.#time.rest();
  }

  /** Lets time pass until the work is done. */
  async drive(work: Promise<unknown>, { fate }: Replica): Promise<void> {
    await this.#time.drive('the work of a replica', work, fate);
  }

  #isBusy(): string | undefined {
    const { arm, cluster } = this.world;
    if (arm.pendingRequests() > 0) return 'ARM has not answered yet';
    if (cluster.pendingRequests() > 0) return 'the API server has not answered yet';
    const calls = this.all.filter(({ fate }) => !fate.dead).reduce((sum, { daemon }) => sum + daemon.cloud.inFlightCalls(), 0);
    return calls > arm.delayedRequests() ? 'a daemon waits for ARM' : undefined;
  }

  writes() {
    return this.world.arm.control
      .journal()
      .filter((entry) => entry.principal === CLIENT.clientId && /^(PUT|POST|PATCH|DELETE)/.test(entry.route));
  }

  async stop(): Promise<void> {
    for (const replica of this.all) if (!replica.fate.dead) await this.drive(replica.daemon.stop(), replica);
    await this.world.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

async function armCalls({ metrics }: Replica): Promise<number> {
  return (await metrics.arm.calls.get()).values.reduce((sum, { value }) => sum + value, 0);
}

async function acceptedWrites({ metrics }: Replica): Promise<number> {
  return (await metrics.scaleUp.writes.get()).values.reduce((sum, { value }) => sum + value, 0);
}

async function leads({ metrics }: Replica): Promise<boolean> {
  return (await valueOf(metrics.process.leader)) === 1;
}

/** The removal of its status ends only when it is cancelled. */
function waitsForItsSignal(kubernetes: Daemon['kubernetes']): void {
  const deleteConfigMap = (_name: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  Object.assign(kubernetes, { deleteConfigMap });
}

let replicas: Replicas | undefined;
afterEach(async () => {
  await replicas?.stop();
  replicas = undefined;
});

describe('two replicas', () => {
  it('one decides; the other keeps its watches warm, is ready, and asks Azure nothing', async () => {
    replicas = await Replicas.start(['one', 'two'], ['--probe-address=127.0.0.1:0']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    replicas.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.pass(2 * MINUTE);
    expect([await leads(first), await leads(second)]).toEqual([true, false]);
    expect(first.reports.length).toBeGreaterThan(10);
    expect(second.reports).toEqual([]);
    expect(await armCalls(second)).toBe(0);
    expect(replicas.writes()).toHaveLength(await acceptedWrites(first));
    expect(replicas.writes()).toHaveLength(1);
    const seen = [first, second].map(({ daemon }) => daemon.kubernetes.reader.observe(replicas?.clock.now() ?? 0));
    expect(seen[1]?.nodes).toEqual(seen[0]?.nodes);
    expect(seen[1]?.podsByNode).toEqual(seen[0]?.podsByNode);
    expect(seen[1]?.nodes.size).toBe(3);
    const [leading, standingBy] = await Promise.all([first, second].map(({ daemon }) => fetch(`${daemon.url ?? ''}/readyz`)));
    expect([leading?.status, await leading?.text()]).toEqual([200, 'ok: leads; may act\n']);
    expect([standingBy?.status, await standingBy?.text()]).toEqual([
      200,
      expect.stringMatching(/^ok: stands by; one leads: kubectl -n kube-system port-forward pod\/one \d+\n$/),
    ]);
    const debug = await fetch(`${second.daemon.url ?? ''}/debug/snapshot`);
    expect([debug.status, await debug.text()]).toEqual([409, expect.stringContaining('this replica stands by; one leads')]);
    expect((await fetch(`${second.daemon.url ?? ''}/healthz`)).status).toBe(200);
    const probed = await Promise.all([first, second].map(({ daemon }) => fetch(`${daemon.probeUrl ?? ''}/readyz`)));
    expect(await Promise.all(probed.map((answer) => answer.text()))).toEqual([
      'ok: leads; may act\n',
      expect.stringMatching(/^ok: stands by; one leads/),
    ]);
    expect((await fetch(`${second.daemon.probeUrl ?? ''}/metrics`)).status).toBe(404);
  });

  it('a leader that stops hands over at once, and the next one goes on', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    await replicas.drive(first.daemon.stop(), first);
    expect(await replicas.until(() => leads(second), MINUTE)).toBeLessThanOrEqual(100);
    expect(await leads(first)).toBe(false);
    // Its status goes with it; the next leader writes its own.
    const gone = replicas.world.cluster.journal().filter(({ verb, resource }) => verb === 'delete' && resource === 'configmaps');
    expect(gone.map(({ name, status }) => [name, status])).toEqual([['cluster-autoscaler-status', 200]]);
    await replicas.pass(20 * SECOND);
    expect(replicas.world.cluster.store.get('configmaps', 'kube-system', 'cluster-autoscaler-status')).toBeDefined();
    replicas.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.until(() => replicas?.writes().length === 1, MINUTE);
    expect([await acceptedWrites(first), await acceptedWrites(second)]).toEqual([0, 1]);
    expect(replicas.world.violations()).toEqual([]);
  });

  it.each<[string, (daemon: Daemon) => void]>([
    ['the status, which obeys its cancellation at 90 % of the time', ({ kubernetes }) => waitsForItsSignal(kubernetes)],
    ['an increase, which never ends', ({ cloud }) => void Object.assign(cloud, { increase: () => new Promise(() => undefined) })],
  ])('a leader that stops late releases its lease all the same: frozen is %s', async (_what, freeze) => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    freeze(first.daemon);
    replicas.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.pass(15 * SECOND);
    const sinceMs = replicas.clock.now();
    await replicas.drive(first.daemon.stop(), first);
    const stoppedAfterMs = replicas.clock.now() - sinceMs;
    expect(stoppedAfterMs).toBeGreaterThanOrEqual(18 * SECOND);
    expect(stoppedAfterMs).toBeLessThanOrEqual(20 * SECOND);
    expect(await replicas.until(() => leads(second), MINUTE)).toBeLessThanOrEqual(100);
  });

  it.each<[string, number, 'watch' | undefined]>([
    ['right after it renewed', 1, undefined],
    ['a second later', 1_000, undefined],
    ['right before it would have renewed', 1_999, undefined],
    ['right after it renewed, and the other may not watch the lease', 1, 'watch'],
    ['a second later, and the other may not watch the lease', 1_000, 'watch'],
  ])(
    'a leader that dies is followed in less than fifteen seconds, not before it must have stopped: %s',
    async (_when, laterMs, refused) => {
      replicas = await Replicas.start(['one']);
      if (refused !== undefined) replicas.world.cluster.control.failNext(1, 403, { verb: refused, resource: 'leases' });
      await replicas.add('two');
      const [first, second] = [replicas.replica(0), replicas.replica(1)];
      await replicas.untilRenewed();
      await replicas.pass(laterMs);
      first.fate.dead = true;
      const waitedMs = await replicas.until(() => leads(second), MINUTE);
      expect(waitedMs).toBeLessThan(14 * SECOND);
      expect(waitedMs + laterMs).toBeGreaterThanOrEqual(13 * SECOND);
      const asked = replicas.world.cluster
        .journal()
        .filter((entry) => entry.verb === 'watch' && entry.resource === 'leases' && !entry.url.includes('aks-managed-resource-locker'));
      expect(asked).toHaveLength(1);
      await replicas.pass(10 * SECOND);
      expect(second.reports.length).toBeGreaterThan(1);
    },
  );

  it('the second leader keeps the timer of a node that was unneeded under the first', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    const { world, clock } = replicas;
    const mark = (): number => {
      const taints = world.cluster.store.nodes().flatMap(({ spec }) => spec.taints ?? []);
      return Number(taints.find(({ key }) => key === DELETION_CANDIDATE_TAINT)?.value ?? Number.NaN) * SECOND;
    };
    await replicas.until(() => !Number.isNaN(mark()), 2 * MINUTE);
    const sinceMs = mark();
    await replicas.pass(7 * MINUTE);
    first.fate.dead = true;
    const deadMs = await replicas.until(() => leads(second), MINUTE);
    await replicas.until(() => replicas?.writes().some(({ route }) => route.includes('delete')) ?? false, 5 * MINUTE);
    const unneededMs = clock.now() - sinceMs;
    // The time without a leader does not count, nor the last half minute before it, which may not have been saved.
    expect(unneededMs).toBeGreaterThanOrEqual(10 * MINUTE + deadMs);
    expect(unneededMs).toBeLessThan(11 * MINUTE + deadMs);
    expect(world.violations()).toEqual([]);
  });

  it('the second leader does not ask a pool again that was refused to the first', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    const body = { error: { code: 'AuthorizationFailed', message: 'The client may not write.' } };
    const match = { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/aks-general*' };
    replicas.world.arm.control.addFault({ id: 'no', match, effect: { kind: 'answer', status: 403, body } });
    replicas.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.until(() => replicas?.writes().length === 1, MINUTE);
    // The memory is written at most once in ten seconds.
    await replicas.pass(12 * SECOND);
    first.fate.dead = true;
    await replicas.until(() => leads(second), MINUTE);
    await replicas.pass(20 * SECOND);
    expect(second.reports.at(-1)?.state.backoffs.size).toBe(1);
    expect(replicas.writes()).toHaveLength(1);
  });

  it('a leader that cannot renew its lease has stopped writing before another may take it', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    const { world } = replicas;
    // Renewals every two seconds for a little longer than the ten after which a leader gives up.
    world.cluster.control.failNext(6, 500, { verb: 'update', resource: 'leases' });
    const waited = await replicas.until(async () => !(await leads(first)), MINUTE);
    expect(waited).toBeLessThanOrEqual(12 * SECOND);
    expect(await leads(second)).toBe(false);
    expect((await first.daemon.ended)?.message).toBe('Leadership was lost; all writes in progress were cancelled.');
    const [loops, calls] = [first.reports.length, await armCalls(first)];
    world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.until(() => leads(second), 30 * SECOND);
    await replicas.until(() => replicas?.writes().length === 1, MINUTE);
    expect([await acceptedWrites(first), await acceptedWrites(second)]).toEqual([0, 1]);
    expect([first.reports.length, await armCalls(first)]).toEqual([loops, calls]);
    expect(world.violations()).toEqual([]);
  });

  it('a leader that loses its lease while it stops ends its work, and writes neither memory nor status', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    const { world } = replicas;
    // An increase that ends only when it is cancelled.
    const asked: AbortSignal[] = [];
    const increase = (_plan: unknown, signal: AbortSignal): Promise<never> => {
      asked.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(asAutoscalerError(signal.reason))));
    };
    Object.assign(first.daemon.cloud, { increase });
    world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.until(() => asked.length > 0, 30 * SECOND);
    world.cluster.control.failNext(6, 500, { verb: 'update', resource: 'leases' });
    let stopped = false;
    const stopping = first.daemon.stop().then(() => (stopped = true));
    await replicas.until(async () => !(await leads(first)), 15 * SECOND);
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
    const changes = world.cluster.journal().length;
    await replicas.until(() => stopped, SECOND);
    await stopping;
    const written = world.cluster.journal().slice(changes);
    expect(written.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).map(({ verb, name }) => [verb, name])).toEqual([]);
    await replicas.until(() => leads(second), 30 * SECOND);
    expect(world.violations()).toEqual([]);
  });

  it('a leader that was frozen writes nothing when it goes on, not even before it can notice', async () => {
    replicas = await Replicas.start(['one', 'two'], ['--scan-interval=1h']);
    const [first, second] = [replicas.replica(0), replicas.replica(1)];
    const { world } = replicas;
    first.fate.frozen = true;
    await replicas.until(() => leads(second), MINUTE);
    expect(await leads(first)).toBe(true);
    second.fate.dead = true;
    world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await replicas.pass(SECOND);
    const [writes, changes] = [replicas.writes().length, world.cluster.journal().length];
    await replicas.drive(
      first.daemon.runOnce().catch(() => undefined),
      first,
    );
    expect(await leads(first)).toBe(false);
    expect(replicas.writes()).toHaveLength(writes);
    const later = world.cluster.journal().slice(changes);
    // It may say what it could not do.
    const written = later.filter(({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'events');
    expect(written).toEqual([]);
    expect(world.violations()).toEqual([]);
  });

  it('a standby that is stopped while it waits ends without having led', async () => {
    replicas = await Replicas.start(['one', 'two']);
    const second = replicas.replica(1);
    await replicas.drive(second.daemon.stop(), second);
    expect(await second.started).toBe('cancelled');
    expect(await leads(replicas.replica(0))).toBe(true);
    expect(await armCalls(second)).toBe(0);
  });
});

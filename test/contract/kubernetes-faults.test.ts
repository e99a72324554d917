/** What goes wrong between the adapter and the API server, and that nothing of it is final. */
import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClusterView } from '../../src/domain/observation.ts';
import { asAutoscalerError, type AutoscalerError } from '../../src/lib/errors.ts';
import { podNames, setConnectedStage, type ConnectedStage, type Replica } from '../kubernetes/connected-stage.ts';
import { aMachine, aPodDraft } from '../../world/test/simulator/cluster/stage.ts';

const WATCHES = 15;

let stage: ConnectedStage;
beforeEach(async () => {
  stage = await setConnectedStage();
});

describe('watches', () => {
  let replica: Replica;
  beforeEach(async () => {
    replica = await stage.connect();
    await replica.kubernetes.reader.start(stage.signal);
  });

  const view = (): ClusterView => replica.kubernetes.reader.observe(stage.clock.now());
  const truth = (): readonly string[] =>
    stage.cluster.store
      .pods()
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      .sort();
  const isTrue = (): boolean =>
    podNames(view()).join() === truth().join() && [...view().nodes.keys()].join() === ['sys-1', 'usr-1', 'usr-2'].join();
  const restarts = async (cause: string): Promise<number> => {
    const { values } = await replica.metrics.cluster.watchRestarts.get();
    return values.reduce((sum, { labels, value }) => sum + (labels.cause === cause ? value : 0), 0);
  };
  const changeThings = (): void => {
    stage.cluster.apply(aPodDraft('new'));
    stage.cluster.remove({ ...aPodDraft('old') });
  };
  beforeEach(async () => {
    stage.cluster.apply(aPodDraft('old'));
    await stage.until(() => podNames(view()).includes('default/old'));
  });

  it('that are cut go on from where they were, without reading everything again', async () => {
    stage.cluster.control.dropWatches();
    changeThings();
    await stage.until(() => isTrue() && stage.cluster.openWatches() === WATCHES && podNames(view()).includes('default/new'));
    expect(await restarts('unavailable')).toBe(WATCHES);
    const again = stage.asked('watch', 'pods').slice(1);
    expect(again.length).toBeGreaterThan(0);
    for (const { url } of again) expect(url).not.toContain('sendInitialEvents');
  });

  it('that are cut again and again still end at the truth', async () => {
    for (let round = 0; round < 8; round++) {
      stage.cluster.apply(aPodDraft(`pod-${round}`));
      stage.cluster.control.dropWatches();
      stage.clock.advance(700);
      if (round % 2 === 0) stage.cluster.remove(aPodDraft(`pod-${round}`));
    }
    await stage.until(() => isTrue() && stage.cluster.openWatches() === WATCHES && !truth().includes('default/pod-6'));
    const rounds = podNames(view()).filter((name) => name.startsWith('default/pod-'));
    expect(rounds).toEqual(['default/pod-1', 'default/pod-3', 'default/pod-5', 'default/pod-7']);
  });

  it('whose history was compacted read everything again, and drop what vanished meanwhile', async () => {
    stage.cluster.control.pause();
    changeThings();
    stage.clock.advance(60_000);
    expect(stage.cluster.store.get('pods', 'default', 'old')).toBeUndefined();
    stage.cluster.control.compact();
    stage.cluster.control.resume();
    await stage.until(() => isTrue() && stage.cluster.openWatches() === WATCHES);
    expect(podNames(view())).toContain('default/new');
    expect(podNames(view())).not.toContain('default/old');
    expect(await restarts('expired')).toBeGreaterThan(0);
    expect(stage.asked('watch', 'pods').at(-1)?.url).toContain('sendInitialEvents');
  });

  it.each([429, 500, 503])('answered with HTTP %d come back, and keep what they know meanwhile', async (status) => {
    stage.cluster.control.failNext(15, status, { verb: 'watch' });
    stage.cluster.control.dropWatches();
    changeThings();
    const known = podNames(view());
    stage.clock.advance(0);
    expect(podNames(view())).toEqual(known);
    await stage.until(() => isTrue() && stage.cluster.openWatches() === WATCHES);
    expect(podNames(view())).toContain('default/new');
    expect(await restarts(status === 429 ? 'throttled' : 'unavailable')).toBeGreaterThanOrEqual(15);
  });

  it('say how old their picture is while the API server is away, and are true again after it came back', async () => {
    const before = view();
    stage.cluster.control.pause();
    const pausedMs = stage.clock.now();
    stage.park.boot(aMachine('usr-3'));
    await stage.until(() => stage.clock.now() - pausedMs >= 120_000);
    expect(view().stalenessMs).toBeGreaterThanOrEqual(120_000);
    expect([...view().nodes.keys()]).toEqual([...before.nodes.keys()]);
    expect(view().nodes.get('usr-1')).toBe(before.nodes.get('usr-1'));
    stage.cluster.control.resume();
    const resumedMs = stage.clock.now();
    await stage.until(() => view().nodes.has('usr-3'));
    // The longest pause between attempts is 30 s; a watch without news is believed again at its next bookmark.
    expect(stage.clock.now() - resumedMs).toBeLessThanOrEqual(30_000);
    await stage.until(() => view().stalenessMs <= 60_000);
    expect(stage.clock.now() - resumedMs).toBeLessThanOrEqual(90_000);
  });

  it('report a pod that turned unschedulable while no watch was open', async () => {
    const told: string[] = [];
    replica.kubernetes.reader.onUnschedulable(({ name }) => told.push(name));
    stage.cluster.control.pause();
    stage.cluster.apply(aPodDraft('big', { cpu: '64' }));
    stage.clock.advance(5_000);
    expect(told).toEqual([]);
    stage.cluster.control.resume();
    await stage.until(() => told.length > 0);
    stage.cluster.control.dropWatches();
    const droppedMs = stage.clock.now();
    await stage.until(() => stage.clock.now() - droppedMs > 60_000);
    expect(told).toEqual(['big']);
  });
});

describe('connecting', () => {
  const refusal = async (options: { readonly kubeconfigPath?: string } = {}): Promise<AutoscalerError> =>
    stage.connect(options).then(
      () => expect.unreachable(),
      (thrown: unknown) => asAutoscalerError(thrown),
    );
  /** The stage's kubeconfig with something wrong in it. */
  const broken = async (change: (text: string) => string): Promise<string> => {
    await writeFile(stage.kubeconfigPath, change(await readFile(stage.kubeconfigPath, 'utf8')));
    return stage.kubeconfigPath;
  };
  const sentences = (error: AutoscalerError): number => error.message.split(/\.(?:\s|$)/).filter((part) => part !== '').length;

  it('with a wrong token is refused in one sentence without the token', async () => {
    const error = await refusal({ kubeconfigPath: await broken((text) => text.replace('test-token', 'a-wrong-token')) });
    expect(error.kind).toBe('auth');
    expect(error.message).toMatch(/Unauthorized.*HTTP 401/);
    expect(error.message).not.toContain('a-wrong-token');
    expect(sentences(error)).toBe(1);
  });

  it('to an API server that is away is unavailable, in one sentence with its cause', async () => {
    stage.cluster.control.pause();
    // A cut connection is tried again for a minute of the daemon's clock.
    const refused = refusal();
    await stage.settled(refused);
    const cut = await refused;
    expect(cut.detail).toEqual({ kind: 'unavailable', effect: 'none' });
    expect(sentences(cut)).toBe(1);
    stage.cluster.control.resume();
    // A port that nobody listens on.
    const elsewhere = refusal({ kubeconfigPath: await broken((text) => text.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1')) });
    await stage.settled(elsewhere);
    const error = await elsewhere;
    expect(error.detail).toEqual({ kind: 'unavailable', effect: 'none' });
    expect(error.message).toMatch(/did not answer GET \/version.*ECONNREFUSED/);
  });

  it('to a server of another certificate authority is refused', async () => {
    const error = await refusal({
      kubeconfigPath: await broken((text) => text.replace(/"certificate-authority-data": "[^"]*"/, '"certificate-authority-data": ""')),
    });
    expect(error.kind).toBe('unavailable');
    expect(error.message).toMatch(/certificate/);
  });

  it('goes on when the version may not be read or the server errs: the watches will say', async () => {
    stage.cluster.control.failNext(1, 403);
    await expect(stage.connect()).resolves.toBeDefined();
    stage.cluster.control.failNext(1, 500);
    await expect(stage.connect()).resolves.toBeDefined();
  });

  it('starts when the API server answers at last; a start can be cancelled', async () => {
    const { kubernetes } = await stage.connect();
    stage.cluster.control.failNext(50, 500, { verb: 'watch' });
    const stop = new AbortController();
    const cancelled = kubernetes.reader.start(stop.signal);
    stop.abort();
    await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
    await stage.settled(kubernetes.reader.start(stage.signal));
    expect(kubernetes.reader.observe(stage.clock.now()).nodes.size).toBe(3);
  });

  it('may not read pods: the start waits for the roles, and says so after a minute', async () => {
    const { kubernetes } = await stage.connect();
    stage.cluster.control.failNext(3, 403, { verb: 'watch', resource: 'pods' });
    await stage.settled(kubernetes.reader.start(stage.signal));
    const other = await stage.connect();
    stage.cluster.control.failNext(1_000, 403, { verb: 'watch', resource: 'pods' });
    await expect(stage.settled(other.kubernetes.reader.start(stage.signal))).rejects.toMatchObject({ kind: 'auth' });
  });
});

describe('storage that may not be read', () => {
  const webPod = aPodDraft('web');
  const claimingPod = {
    ...aPodDraft('db'),
    spec: { ...(aPodDraft('db').spec as object), volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
  };
  const blockersOf = (replica: Replica, name: string): readonly string[] =>
    (replica.kubernetes.reader.observe(stage.clock.now()).pendingPods.find((pod) => pod.name === name)?.shape.volumes.blockers ?? []).map(
      ({ message, detail }) => `${message}: ${detail}`,
    );
  const apply = (): void => {
    // A taint that nobody tolerates keeps them pending.
    for (const { metadata } of stage.cluster.store.nodes()) {
      const found = stage.cluster.store.get('nodes', undefined, metadata.name);
      if (found !== undefined)
        stage.cluster.apply({ ...found, spec: { ...(found.spec as object), taints: [{ key: 'full', effect: 'NoSchedule' }] } });
    }
    stage.cluster.apply(webPod);
    stage.cluster.apply(claimingPod);
  };

  it.each([403, 404, 500])('answered with HTTP %d from the start: only pods with claims wait, with the reason', async (status) => {
    stage.cluster.control.failNext(100_000, status, { resource: 'persistentvolumeclaims' });
    apply();
    const replica = await stage.connect();
    await replica.kubernetes.reader.start(stage.signal);
    await stage.until(() => podNames(replica.kubernetes.reader.observe(stage.clock.now())).includes('default/db'));
    expect(blockersOf(replica, 'db')).toEqual([
      expect.stringMatching(/^volumes cannot be judged: claims data: persistentvolumeclaims cannot be read: /),
    ]);
    expect(blockersOf(replica, 'web')).toEqual([]);
    stage.clock.advance(600_000);
    await stage.until(() => replica.kubernetes.reader.observe(stage.clock.now()).stalenessMs < 120_000);
    expect(blockersOf(replica, 'db')).toHaveLength(1);
  });

  it('answered with 403 for the room of drivers alone: pods with claims are judged', async () => {
    stage.cluster.control.failNext(100_000, 403, { resource: 'csidrivers' });
    stage.cluster.control.failNext(100_000, 403, { resource: 'csistoragecapacities' });
    apply();
    const replica = await stage.connect();
    await replica.kubernetes.reader.start(stage.signal);
    await stage.until(() => blockersOf(replica, 'db').some((text) => text.includes('persistentvolumeclaim "data" not found')));
  });

  it('is judged as soon as it may be read again', async () => {
    stage.cluster.control.failNext(3, 403, { resource: 'persistentvolumeclaims' });
    apply();
    const replica = await stage.connect();
    await replica.kubernetes.reader.start(stage.signal);
    await stage.until(() => blockersOf(replica, 'db').some((text) => text.includes('persistentvolumeclaim "data" not found')));
  });
});

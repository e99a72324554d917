/** What the adapter changes in the simulated cluster: taints, cordons, evictions, events, ConfigMaps. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { EvictOutcome } from '../../src/domain/outcome.ts';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT, type Taint } from '../../src/domain/taints.ts';
import type { AutoscalerEvent } from '../../src/domain/ports/records.ts';
import type { NodeObject } from '../../world/simulator/cluster/store/objects.ts';
import { setConnectedStage, type ConnectedStage, type Replica } from '../kubernetes/connected-stage.ts';
import { aBudgetDraft, aDeployment, aPodDraft } from '../../world/test/simulator/cluster/stage.ts';

let stage: ConnectedStage;
let replica: Replica;

beforeEach(async () => {
  stage = await setConnectedStage();
  replica = await stage.connect();
});

const nodeOf = (name: string): NodeObject => stage.cluster.store.get('nodes', undefined, name) as NodeObject;
/** Without those that the node controller adds for a cordon. */
const taintsOf = (name: string): readonly object[] =>
  (nodeOf(name).spec.taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/'));
const mark: Taint = { key: TO_BE_DELETED_TAINT, value: '1795392000', effect: 'NoSchedule' };

describe('taints and cordons', () => {
  it('puts the mark and the cordon on in one write, takes both off again, and keeps the rest of the node', async () => {
    const before = nodeOf('usr-1');
    const soft: Taint = { key: DELETION_CANDIDATE_TAINT, value: '1', effect: 'PreferNoSchedule' };
    await replica.kubernetes.tainter.taint('usr-1', soft, { cordon: false }, stage.signal);
    const { uncordonLater } = await replica.kubernetes.tainter.taint('usr-1', mark, { cordon: true }, stage.signal);
    expect(uncordonLater).toBe(true);
    expect(nodeOf('usr-1').spec.unschedulable).toBe(true);
    expect(taintsOf('usr-1')).toMatchObject([soft, mark]);
    expect(stage.asked('update', 'nodes')).toHaveLength(2);
    await replica.kubernetes.tainter.untaint('usr-1', mark.key, { uncordon: uncordonLater }, stage.signal);
    await replica.kubernetes.tainter.untaint('usr-1', soft.key, { uncordon: false }, stage.signal);
    const after = nodeOf('usr-1');
    expect(taintsOf('usr-1')).toEqual([]);
    expect(after.spec.unschedulable ?? false).toBe(false);
    expect(after.metadata.labels).toEqual(before.metadata.labels);
    expect(after.status).toEqual(before.status);
  });

  it('annotates a node with why it is not removed, keeps the rest, and writes nothing when it is so already', async () => {
    const { annotator } = replica.kubernetes;
    const before = nodeOf('usr-1');
    for (const value of ['NotEnoughPdb since then', 'NotEnoughPdb since then', undefined, undefined])
      await annotator.annotate('usr-1', value, stage.signal);
    expect(stage.asked('update', 'nodes')).toHaveLength(2);
    expect(nodeOf('usr-1').metadata.annotations ?? {}).toEqual(before.metadata.annotations ?? {});
    await annotator.annotate('usr-1', 'x', stage.signal);
    expect(nodeOf('usr-1').metadata.annotations).toMatchObject({ 'aks-autoscaler.io/unremovable': 'x' });
    expect(nodeOf('usr-1').spec).toEqual(before.spec);
    await expect(annotator.annotate('gone', 'x', stage.signal)).resolves.toBeUndefined();
  });

  it('replaces a mark of an earlier run, and writes nothing when all is so already', async () => {
    await replica.kubernetes.tainter.taint('usr-1', { ...mark, value: '1' }, { cordon: false }, stage.signal);
    await replica.kubernetes.tainter.taint('usr-1', mark, { cordon: false }, stage.signal);
    await replica.kubernetes.tainter.taint('usr-1', mark, { cordon: false }, stage.signal);
    expect(taintsOf('usr-1')).toMatchObject([mark]);
    expect(stage.asked('update', 'nodes')).toHaveLength(2);
  });

  it('does not claim the cordon of a person', async () => {
    const node = nodeOf('usr-1');
    stage.cluster.apply({ ...node, spec: { ...node.spec, unschedulable: true } });
    const { uncordonLater } = await replica.kubernetes.tainter.taint('usr-1', mark, { cordon: true }, stage.signal);
    expect(uncordonLater).toBe(false);
    await replica.kubernetes.tainter.untaint('usr-1', mark.key, { uncordon: uncordonLater }, stage.signal);
    expect(nodeOf('usr-1').spec.unschedulable).toBe(true);
  });

  it.each([409, 429, 500])('tries again after HTTP %d, twice', async (status) => {
    stage.cluster.control.failNext(2, status, { verb: 'update', resource: 'nodes' });
    await expect(stage.settled(replica.kubernetes.tainter.taint('usr-1', mark, { cordon: true }, stage.signal))).resolves.toMatchObject({
      uncordonLater: true,
    });
    expect(taintsOf('usr-1')).toMatchObject([mark]);
    expect(stage.asked('update', 'nodes').map((entry) => entry.status)).toEqual([status, status, 200]);
  });

  it('does not overwrite what two writers change at once', async () => {
    const other: Taint = { key: 'other', value: '', effect: 'NoSchedule' };
    const { tainter } = replica.kubernetes;
    await stage.settled(
      Promise.all([
        tainter.taint('usr-1', mark, { cordon: true }, stage.signal),
        tainter.taint('usr-1', other, { cordon: false }, stage.signal),
      ]),
    );
    expect(taintsOf('usr-1')).toHaveLength(2);
    expect(taintsOf('usr-1')).toEqual(expect.arrayContaining([expect.objectContaining(mark), expect.objectContaining({ key: 'other' })]));
    expect(nodeOf('usr-1').spec.unschedulable).toBe(true);
  });

  it('refuses to taint a node that is gone, and takes it for untainted', async () => {
    await expect(replica.kubernetes.tainter.taint('gone', mark, { cordon: true }, stage.signal)).rejects.toMatchObject({
      kind: 'not-found',
    });
    await expect(replica.kubernetes.tainter.untaint('gone', mark.key, { uncordon: true }, stage.signal)).resolves.toBe(false);
  });
});

describe('evictions', () => {
  const evict = (name: string, uid?: string): Promise<EvictOutcome> => {
    const present = stage.cluster.store.get('pods', 'default', name)?.metadata.uid ?? 'none';
    return replica.kubernetes.evictor.evict({ namespace: 'default', name, uid: uid ?? present }, 30_000, stage.signal);
  };

  it('takes pods until the budget is spent, and again when it has recovered', async () => {
    stage.cluster.apply(aDeployment('web', 2));
    stage.cluster.apply(aBudgetDraft('web', { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }));
    stage.clock.advance(10_000);
    const [first = '', second = ''] = stage.cluster.store
      .boundPods()
      .flatMap(({ metadata: { name } }) => (name.startsWith('web-') ? [name] : []));
    await expect(evict(first)).resolves.toEqual({ kind: 'evicted' });
    const refused = await evict(second);
    expect(refused).toMatchObject({ kind: 'blocked' });
    expect(refused.kind === 'blocked' && refused.message).toMatch(/disruption budget.*needs 1 healthy pods/);
    // The ReplicaSet has made another pod by then.
    stage.clock.advance(20_000);
    await expect(evict(second)).resolves.toEqual({ kind: 'evicted' });
    stage.clock.advance(60_000);
    expect(stage.cluster.store.get('pods', 'default', first)).toBeUndefined();
    await expect(evict(first)).resolves.toEqual({ kind: 'gone' });
  });

  it('leaves a pod alone that only has the name of the one that was meant', async () => {
    stage.cluster.apply(aPodDraft('one'));
    stage.clock.advance(5_000);
    await expect(evict('one', 'another-uid')).resolves.toEqual({ kind: 'gone' });
    expect(stage.cluster.store.get('pods', 'default', 'one')?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('takes a busy API server for no budget', async () => {
    stage.cluster.apply(aPodDraft('one'));
    stage.cluster.control.failNext(1, 429, { resource: 'pods/eviction' });
    await expect(evict('one')).resolves.toMatchObject({ kind: 'failed', error: { kind: 'throttled' } });
  });

  it('says when two budgets make a pod impossible to evict, and when the caller has had enough', async () => {
    stage.cluster.apply(aPodDraft('one'));
    for (const name of ['a', 'b']) stage.cluster.apply(aBudgetDraft(name, { minAvailable: 0, selector: {} }));
    stage.clock.advance(5_000);
    await expect(evict('one')).resolves.toMatchObject({ kind: 'failed', error: { kind: 'unavailable' } });
    const pod = { namespace: 'default', name: 'one', uid: 'any' };
    await expect(replica.kubernetes.evictor.evict(pod, 0, AbortSignal.abort())).resolves.toMatchObject({ error: { kind: 'cancelled' } });
  });
});

describe('events', () => {
  const event = (message: string): AutoscalerEvent => ({
    subject: { kind: 'Node', name: 'usr-1', uid: nodeOf('usr-1').metadata.uid },
    type: 'Normal',
    reason: 'ScaleDown',
    message,
  });
  const written = () => stage.cluster.store.events().filter((object) => object['reportingComponent'] === 'aks-autoscaler');

  it('appear on their subject, repeats as a count', async () => {
    const { events } = replica.kubernetes;
    events.record(event('removed by the autoscaler'));
    await stage.settled(events.flush(stage.signal));
    stage.clock.advance(90_000);
    events.record(event('removed by the autoscaler'));
    events.record(event('something else'));
    await stage.settled(events.flush(stage.signal));
    expect(written()).toMatchObject([
      { reason: 'ScaleDown', message: 'removed by the autoscaler', count: 2, involvedObject: { kind: 'Node', name: 'usr-1' } },
      { message: 'something else', count: 1 },
    ]);
    const [first] = written();
    expect(Date.parse(String(first?.['lastTimestamp'])) - Date.parse(String(first?.['firstTimestamp']))).toBe(90_000);
  });

  it('survive an API server that fails for a while', async () => {
    stage.cluster.control.failNext(2, 503, { resource: 'events' });
    replica.kubernetes.events.record(event('late but there'));
    await stage.settled(replica.kubernetes.events.flush(stage.signal));
    expect(written()).toMatchObject([{ message: 'late but there', count: 1 }]);
    expect((await replica.metrics.cluster.eventsDropped.get()).values[0]?.value ?? 0).toBe(0);
  });

  it('are counted when they are refused, and nothing is thrown', async () => {
    stage.cluster.control.failNext(1, 403, { resource: 'events' });
    replica.kubernetes.events.record(event('refused'));
    await stage.settled(replica.kubernetes.events.flush(stage.signal));
    expect(written()).toEqual([]);
    expect((await replica.metrics.cluster.eventsDropped.get()).values[0]?.value).toBe(1);
  });
});

describe('the status ConfigMap', () => {
  const place = { namespace: 'kube-system', name: 'cluster-autoscaler-status' };
  const write = (status: string): Promise<void> =>
    stage.settled(
      replica.kubernetes.writeConfigMap({ ...place, content: { status }, annotations: { 'example.com/updated': status } }, stage.signal),
    );
  const stored = () => stage.cluster.store.get('configmaps', place.namespace, place.name);

  it('is made, then replaced; labels and annotations of others stay', async () => {
    await write('first');
    expect(stored()).toMatchObject({ data: { status: 'first' }, metadata: { annotations: { 'example.com/updated': 'first' } } });
    const present = stored();
    stage.cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...place, labels: { team: 'a' }, annotations: { 'example.com/note': 'mine' } },
      data: { status: 'edited', foreign: 'x' },
    });
    await write('second');
    expect(stored()).toMatchObject({
      data: { status: 'second' },
      metadata: { labels: { team: 'a' }, annotations: { 'example.com/note': 'mine', 'example.com/updated': 'second' } },
    });
    expect(stored()?.['data']).toEqual({ status: 'second' });
    expect(stored()?.metadata.uid).toBe(present?.metadata.uid);
  });

  it('is read before its first write only, as long as no other writer changes it', async () => {
    for (const status of ['first', 'second', 'third']) await write(status);
    expect(stored()).toMatchObject({ data: { status: 'third' } });
    const calls = stage.cluster.journal().filter(({ resource }) => resource === 'configmaps');
    expect(calls.map(({ verb }) => verb)).toEqual(['get', 'create', 'update', 'update']);
  });

  it('is made again after another writer deleted it', async () => {
    await write('first');
    stage.cluster.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: place });
    await write('second');
    expect(stored()).toMatchObject({ data: { status: 'second' } });
  });

  it.each([409, 503])('is written again after HTTP %d', async (status) => {
    await write('first');
    stage.cluster.control.failNext(1, status, { verb: 'update', resource: 'configmaps' });
    await write('second');
    expect(stored()).toMatchObject({ data: { status: 'second' } });
  });
});

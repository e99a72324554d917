import { describe, expect, it } from 'vitest';
import type { AnsweredRecord } from '../../../src/domain/loop-report.ts';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { Recent } from '../../../src/observers/history/recent.ts';
import { aStage } from '../../loop/support.ts';
import { aGroup, anAgentPool, anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { aHistory } from '../../support/history.ts';
import { aRecord, aReport, GROUP, type Look } from './support.ts';
import { aBackoff } from '../../support/state.ts';
import { ORDINARY } from '../../support/loop-report.ts';

const MINUTE = 60_000;
const WEB = [aPod({ name: 'web-1' }), aPod({ name: 'web-2' })];
const DEPLOYED = { controller: { kind: 'ReplicaSet', name: 'shop-5d9c', uid: 'rs' }, shape: { labels: { 'pod-template-hash': '5d9c' } } };

function seen(...looks: readonly Look[]) {
  const history = aHistory();
  for (const look of looks) history.observe(aReport(look));
  return history;
}

const soldOut = new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'No capacity.', { code: 'AllocationFailed' });
const external = (from: number, to: number, afterMs = 0) =>
  ({ kind: 'external-change', group: GROUP, from, to, atMs: START_MS + afterMs }) as const;
const BACKOFF = aBackoff({ untilMs: 0, durationMs: 5 * MINUTE, lastFailureMs: 0, cause: 'AllocationFailed' });
const BACKING_OFF = { backoffs: new Map([[GROUP, BACKOFF]]) };
const announced = { noticedAtMs: START_MS, deadlineMs: START_MS + 30_000, notice: 'Preempt' };
const evicted = { instances: [anInstance({ node: 'a-0' })], nodes: [aNode({ name: 'a-0', preemption: announced })] };
const failedLate = {
  kind: 'increase-failed',
  group: GROUP,
  requested: 1,
  error: { detail: soldOut.detail, code: 'AllocationFailed', message: 'No capacity.' },
  atMs: START_MS + MINUTE,
} as const;
const gone = { group: GROUP, node: 'a-0', instance: anInstance({ node: 'a-0' }).key, atMs: START_MS };

describe('changes of capacity, with who made them and why', () => {
  it.each<[string, readonly Look[], object]>([
    [
      'our increase',
      [{ records: [aRecord(WEB)] }],
      { from: 1, to: 2, actor: 'autoscaler', outcome: 'accepted', why: '2 pods of default/web' },
    ],
    [
      'pods of a Deployment have its name',
      [{ records: [aRecord([aPod(DEPLOYED), aPod(DEPLOYED), aPod({ name: 'x' })])] }],
      { why: '2 pods of default/shop and 1 other' },
    ],
    [
      'an increase to the minimum',
      [{ records: [{ ...aRecord([]), increase: { ...aRecord([]).increase, cause: 'min-size' } }] }],
      { why: 'its minimum size' },
    ],
    [
      'an increase in place of sick nodes',
      [{ records: [{ ...aRecord([]), increase: { ...aRecord([]).increase, cause: 'sick-nodes' } }] }],
      { why: 'the replacement of sick nodes' },
    ],
    [
      'a write that Azure refused',
      [{ records: [aRecord(WEB, 0, { kind: 'failed', group: GROUP, error: soldOut })], state: BACKING_OFF }],
      { outcome: 'refused', actor: 'autoscaler', why: 'failed: AllocationFailed; backs off 5 min' },
    ],
    [
      'a write that a guard refused',
      [{ records: [aRecord(WEB, 0, { kind: 'refused', group: GROUP, reason: 'size unknown' })] }],
      { outcome: 'refused', why: '2 pods of default/web; size unknown' },
    ],
    [
      'an accepted write that failed later',
      [{ records: [aRecord(WEB)] }, { afterMs: MINUTE, events: [failedLate], state: BACKING_OFF }],
      { from: 1, to: 2, outcome: 'failed', actor: 'autoscaler', why: 'failed: AllocationFailed; backs off 5 min' },
    ],
    [
      'removed nodes',
      [{ target: 4, removed: [{ ...gone, kind: 'deleted', drained: true, reimaged: false }] }],
      { from: 5, to: 4, why: '1 node removed' },
    ],
    ['a change by others', [{ events: [external(3, 5)] }], { from: 3, to: 5, actor: 'another-writer', outcome: 'observed' }],
    [
      'a change while AKS works on the pool',
      [{ group: { agentPool: anAgentPool({ name: 'a', operation: 'Upgrading' }) }, events: [external(3, 4)] }],
      { actor: 'aks', why: 'the agent pool was in state Upgrading' },
    ],
    [
      'a change before the operation of AKS is seen',
      [{ events: [external(3, 4)] }, { afterMs: MINUTE, group: { agentPool: anAgentPool({ name: 'a', operation: 'Scaling' }) } }],
      { actor: 'aks', why: 'the agent pool was in state Scaling' },
    ],
    [
      'a change long before an operation of AKS',
      [{ events: [external(3, 4)] }, { afterMs: 10 * MINUTE, group: { agentPool: anAgentPool({ name: 'a', operation: 'Scaling' }) } }],
      { actor: 'another-writer' },
    ],
    ['an eviction', [evicted, { afterMs: MINUTE, events: [external(3, 2, MINUTE)] }], { actor: 'eviction', from: 3, to: 2 }],
    [
      'an increase by others after an eviction notice',
      [evicted, { afterMs: MINUTE, events: [external(3, 4, MINUTE)] }],
      { actor: 'another-writer' },
    ],
  ])('%s', (_, looks, change) => {
    expect(seen(...looks).changes({})[0]).toMatchObject({ group: GROUP, ...change });
  });

  it('a conflict and a withheld write change nothing', () => {
    const records = [aRecord(WEB, 0, { kind: 'conflict', group: GROUP, observed: 3 }), aRecord(WEB, 0, { kind: 'withheld', group: GROUP })];
    expect(seen({ records }).changes({})).toEqual([]);
  });

  it('are found by group and time, the newest first', () => {
    const history = seen({ events: [external(1, 2), external(2, 3, 1)] });
    expect(history.changes({}).map(({ to }) => to)).toEqual([3, 2]);
    expect(history.changes({ fromMs: START_MS + 1 }).map(({ to }) => to)).toEqual([3]);
    expect(history.changes({ group: aGroup({ id: 'b' }).id })).toEqual([]);
  });

  it('are forgotten after a day', () => {
    const history = seen({ events: [external(1, 2)] }, { afterMs: 24 * 60 * MINUTE + 1 });
    expect(history.changes({})).toEqual([]);
  });
});

describe('an increase that Azure answers after its loop has ended', () => {
  const SENT = aRecord(WEB, 0, { kind: 'sent', group: GROUP, target: 2 });
  const answer = (outcome: AnsweredRecord['outcome']): AnsweredRecord => ({
    ...SENT,
    outcome,
    atMs: START_MS + 8_000,
    sentAtMs: SENT.atMs,
    loopId: 7,
    startedAtMs: START_MS,
  });
  const accepted = { kind: 'accepted', group: GROUP, target: 2 } as const;
  const conflict = { kind: 'conflict', group: GROUP, observed: 3 } as const;
  const failed = { kind: 'failed', group: GROUP, error: soldOut } as const;
  const sentences = (...looks: readonly Look[]) => seen(...looks).decisions({ limit: 10 });

  it('is a decision at once, and a change when it is answered', () => {
    expect(seen({ records: [SENT] }).changes({})).toEqual([]);
    expect(sentences({ records: [SENT] }).map(({ sentence }) => sentence)).toEqual(['a 1 -> 2 for 2 pods of default/web not answered yet']);
    const history = seen({ records: [SENT] }, { afterMs: MINUTE, answered: [answer(accepted)] });
    const [decision] = history.decisions({ limit: 10 });
    expect(history.changes({})).toMatchObject([{ atMs: START_MS + 8_000, outcome: 'accepted', decision: decision?.id }]);
    expect(history.scaleUps()).toMatchObject([{ from: 1, to: 2, decision: decision?.id }]);
  });

  it.each([
    [accepted, 'a 1 -> 2 for 2 pods of default/web', 'accepted'],
    [
      conflict,
      'a 1 -> 2 for 2 pods of default/web not written: another writer had changed the pool',
      'not written: another writer had changed the pool',
    ],
    [failed, 'a 1 -> 2 for 2 pods of default/web failed: AllocationFailed', 'failed: AllocationFailed'],
  ])('completes its decision: %o', (outcome, sentence, said) => {
    const increase = { group: GROUP, from: 1, to: 2, version: '"1"', pods: WEB, cause: 'pods' } as const;
    const decisions = sentences({ records: [SENT], plan: { increases: [increase] } }, { afterMs: MINUTE, answered: [answer(outcome)] });
    expect(decisions).toMatchObject([{ sentence, document: { sentence: `${sentence}.`, increases: [{ outcome: said }] } }]);
  });
});

describe('decisions', () => {
  const helpless: PodVerdict = { kind: 'helpless', byGroup: [] };
  const verdicts = new Map(WEB.map((pod) => [pod, helpless]));
  const removal = {
    group: GROUP,
    node: 'a-0',
    instance: gone.instance,
    pods: [],
    unneededSinceMs: 0,
    cause: 'empty',
    utilization: 0,
    ...ORDINARY,
  } as const;

  it.each<[string, readonly Look[], string, string]>([
    ['an increase', [{ records: [aRecord(WEB)] }], 'increase', 'a 1 -> 2 for 2 pods of default/web'],
    [
      'an increase that failed',
      [{ records: [aRecord(WEB, 0, { kind: 'failed', group: GROUP, error: soldOut })] }],
      'increase',
      'a 1 -> 2 for 2 pods of default/web failed: AllocationFailed',
    ],
    [
      'a dry run',
      [{ records: [aRecord(WEB, 0, { kind: 'withheld', group: GROUP })] }],
      'withheld',
      'a 1 -> 2 for 2 pods of default/web withheld by the dry run',
    ],
    [
      'an increase to the minimum',
      [{ records: [{ ...aRecord([]), increase: { ...aRecord([]).increase, cause: 'min-size' } }] }],
      'increase',
      'a 1 -> 2 for its minimum size',
    ],
    ['removals', [{ scaleDown: { removals: [removal, { ...removal, node: 'a-1' }] } }], 'removal', 'Removal of 2 nodes of a (empty)'],
    [
      'instances that are no nodes',
      [{ scaleDown: { instanceRemovals: [{ group: GROUP, instance: gone.instance, cause: 'failed' }] } }],
      'removal',
      'Removal of 1 instance of a that failed',
    ],
    [
      'a reimage',
      [{ scaleDown: { removals: [{ ...removal, cause: 'sick', reimages: true }] } }],
      'removal',
      'Reimage of 1 node of a (sick)',
    ],
    [
      'a reimage beside removals',
      [{ scaleDown: { removals: [removal, { ...removal, node: 'a-1', cause: 'sick', reimages: true }] } }],
      'removal',
      'Removal of 1 node of a (empty); reimage of 1 node of a (sick)',
    ],
    ['pods without a pool', [{ plan: { verdicts } }], 'pending', 'No pool can take 2 pods of default/web'],
  ])('%s', (_, looks, kind, sentence) => {
    const history = seen(...looks);
    const [decision] = history.decisions({ limit: 10 });
    expect(decision).toMatchObject({ kind, sentence, id: '20261121-000000-1' });
    expect(history.decision('20261121-000000-1')?.document).toMatchObject({ kind: 'decision', id: decision?.id, sentence: `${sentence}.` });
  });

  it('the same pods are no decision again', () => {
    expect(seen({ plan: { verdicts } }, { afterMs: MINUTE, plan: { verdicts } }).decisions({ limit: 10 })).toHaveLength(1);
  });

  it('two of one second have ids of their own', () => {
    const history = seen({ records: [aRecord(WEB)], scaleDown: { removals: [removal] } });
    expect(history.decisions({ limit: 10 }).map(({ id }) => id)).toEqual(['20261121-000000-2', '20261121-000000-1']);
  });

  it('are found by id, group, pod and words', () => {
    const history = seen({ records: [aRecord(WEB)] }, { afterMs: MINUTE, scaleDown: { removals: [removal] } });
    const found = (text: string) => history.decisions({ text, limit: 10 }).map(({ kind }) => kind);
    expect(found('default/WEB-2')).toEqual(['increase']);
    expect(found('-000100-')).toEqual(['removal']);
    expect(found('empty')).toEqual(['removal']);
    expect(found('none')).toEqual([]);
    expect(history.decisions({ limit: 1 }).map(({ kind }) => kind)).toEqual(['removal']);
  });

  it('a removed node names the decision that removed it', () => {
    const deleted = { ...gone, kind: 'deleted', drained: false, reimaged: false } as const;
    const history = seen({ scaleDown: { removals: [removal] } }, { afterMs: MINUTE, removed: [deleted] });
    expect(history.changes({})[0]?.decision).toBe('20261121-000000-1');
  });
});

describe('sizes', () => {
  it('keeps only changes, and begins with the size that holds at the given time', () => {
    const node = { instances: [anInstance({ node: 'a-0' })], nodes: [aNode({ name: 'a-0' })] };
    const history = seen({ target: 1 }, { afterMs: 1, target: 1 }, { afterMs: 2, target: 2 }, { afterMs: 3, target: 2, ...node });
    expect(history.sizes(GROUP, START_MS)).toEqual([
      { atMs: START_MS, target: 1, ready: 0 },
      { atMs: START_MS + 2, target: 2, ready: 0 },
      { atMs: START_MS + 3, target: 2, ready: 1 },
    ]);
    expect(history.sizes(GROUP, START_MS + 2).map(({ target }) => target)).toEqual([2, 2]);
  });

  it('the last size stays known for days', () => {
    const history = seen({ target: 4 }, { afterMs: 48 * 60 * MINUTE, target: 4 });
    expect(history.sizes(GROUP, START_MS + 47 * 60 * MINUTE)).toEqual([{ atMs: START_MS, target: 4, ready: 0 }]);
  });
});

describe('recent entries', () => {
  it('have a largest number and a largest age', () => {
    const recent = new Recent<{ readonly atMs: number }>({ maxAgeMs: 10, maxCount: 3 });
    for (const atMs of [1, 2, 3, 4]) recent.push({ atMs });
    expect(recent.all.map(({ atMs }) => atMs)).toEqual([2, 3, 4]);
    recent.dropOld(13);
    expect(recent.all.map(({ atMs }) => atMs)).toEqual([3, 4]);
  });
});

describe('the history of a whole loop', () => {
  it('has the increase, its decision and its progress', async () => {
    const pods = Array.from({ length: 3 }, (_, at) => aPod({ name: `web-${at}`, cpu: '3' }));
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], nodes: [aNode({ name: 'other', cpu: '1' })], pods });
    await stage.runOnce();
    const [change] = stage.history.changes({});
    expect(change).toMatchObject({ from: 0, to: 3, actor: 'autoscaler', why: '3 pods of default/web' });
    expect(stage.history.decision(change?.decision ?? '')?.document).toMatchObject({
      increases: [{ group: 'a', from: 0, to: 3, podCount: 3, outcome: 'accepted' }],
    });
    expect(stage.history.scaleUps()[0]).toMatchObject({ group: 'a', from: 0, to: 3, decision: change?.decision, pods: 3 });
  });
});

describe('an increase', () => {
  it('does not keep its pods in memory after they are gone', async () => {
    const history = aHistory();
    const observeBurst = (): WeakRef<object> => {
      const pods = [aPod({ name: 'burst-1' })];
      history.observe(aReport({ pods, records: [aRecord(pods)] }));
      return new WeakRef<object>(pods[0] ?? {});
    };
    const pod = observeBurst();
    history.observe(aReport({ afterMs: MINUTE }));
    await collectGarbage();
    expect(pod.deref()).toBeUndefined();
  });
});

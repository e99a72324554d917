import { describe, expect, it } from 'vitest';
import type { ConditionJson, NodeJson, TaintJson } from '../../../src/kubernetes/api/core-json.ts';
import { NoticesSeen, preemptionOf } from '../../../src/kubernetes/projection/node.ts';

const NOTICED = '2026-01-05T10:00:02Z';
const noticedAtMs = Date.parse(NOTICED);
const STATED = Date.parse('2026-01-05T10:00:40Z');
const message = 'Preempt Scheduled: Mon, 05 Jan 2026 10:00:40 GMT. EventId: 40B7BD88-C56E-44E4-93F6-75CEDACE2869';

const DRAINING = { key: 'cloudprovider.azure.microsoft.com/draining', value: 'spot-eviction', effect: 'NoSchedule' };

const condition = (type: string, more: Partial<ConditionJson> = {}): ConditionJson => ({
  type,
  status: 'True',
  reason: type,
  lastTransitionTime: NOTICED,
  ...more,
});

describe('the announcement that a machine is taken back', () => {
  it.each<[string, ConditionJson, number | undefined]>([
    ['PreemptScheduled', condition('PreemptScheduled', { message }), STATED],
    ['PreemptionScheduled', condition('PreemptionScheduled', { message }), STATED],
    ['VMEventScheduled that says Preempt', condition('VMEventScheduled', { message }), STATED],
    ['a day of one digit', condition('PreemptScheduled', { message: message.replace('05 Jan', '5 Jan') }), STATED],
    ['no message: the least notice', condition('PreemptScheduled'), noticedAtMs + 30_000],
    ['a message in another form: the least notice', condition('PreemptScheduled', { message: 'soon' }), noticedAtMs + 30_000],
    [
      'a time that no notice of Azure is ahead of: the least notice',
      condition('PreemptScheduled', { message: message.replace('2026', '2027') }),
      noticedAtMs + 30_000,
    ],
    ['VMEventScheduled for a reboot', condition('VMEventScheduled', { message: message.replace('Preempt', 'Reboot') }), undefined],
    ['a condition that is over', condition('PreemptScheduled', { status: 'False', message }), undefined],
    ['a condition that is not known', condition('PreemptScheduled', { status: 'Unknown', message }), undefined],
    ['another condition', condition('RebootScheduled', { message }), undefined],
  ])('%s', (_name, given, deadlineMs) => {
    const preemption = preemptionOf({ status: { conditions: [condition('Ready'), given] } }, new NoticesSeen(() => noticedAtMs));
    expect(preemption).toEqual(deadlineMs === undefined ? undefined : { noticedAtMs, deadlineMs, notice: given.type });
  });

  it.each<[string, TaintJson, boolean]>([
    [
      "the cloud controller's taint",
      { key: 'cloudprovider.azure.microsoft.com/draining', value: 'spot-eviction', timeAdded: NOTICED },
      true,
    ],
    ['the same for another reason', { key: 'cloudprovider.azure.microsoft.com/draining', value: 'maintenance' }, false],
    ['that of a repair', { key: 'remediator.kubernetes.azure.com/unschedulable', value: 'true' }, false],
  ])('%s', (_name, taint, expected) => {
    expect(preemptionOf({ spec: { taints: [taint] } }, new NoticesSeen(() => noticedAtMs))?.deadlineMs).toBe(
      expected ? noticedAtMs + 30_000 : undefined,
    );
  });

  it('counts from when it was first seen if its own time lies in the future', () => {
    const future = '2036-01-05T10:00:02Z';
    const seen = new NoticesSeen(() => noticedAtMs);
    const given = { status: { conditions: [condition('PreemptScheduled', { lastTransitionTime: future })] } };
    expect(preemptionOf(given, seen)).toMatchObject({ noticedAtMs, deadlineMs: noticedAtMs + 30_000 });
    expect(preemptionOf({ spec: { taints: [{ ...DRAINING, timeAdded: future }] } }, seen)).toMatchObject({ noticedAtMs });
  });

  it.each<[string, NodeJson]>([
    ['a taint, which kubectl and most controllers write without one', { spec: { taints: [DRAINING] } }],
    ['a condition', { status: { conditions: [{ type: 'PreemptScheduled', status: 'True' }] } }],
  ])('without a time of its own counts from when it was first seen: %s', (_what, given) => {
    let nowMs = noticedAtMs;
    const seen = new NoticesSeen(() => nowMs);
    const look = (uid: string, json: NodeJson) => preemptionOf({ ...json, metadata: { uid } }, seen);
    expect(look('a', given)).toMatchObject({ noticedAtMs, deadlineMs: noticedAtMs + 30_000 });
    nowMs += 20_000;
    expect(look('a', given)).toMatchObject({ noticedAtMs });
    expect(look('b', given)).toMatchObject({ noticedAtMs: nowMs });
    expect(look('a', {})).toBeUndefined();
    expect(look('a', given)).toMatchObject({ noticedAtMs: nowMs });
  });
});

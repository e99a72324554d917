/** Events and the status of autoscalers, as the Cluster Autoscaler, AKS's own and this one write them (ca-core 743-776). */
import { describe, expect, it } from 'vitest';
import { AutoscalerEvents, poolOfGroup, type EventJson } from '../../../../commands/record/faults/autoscaler-events.ts';
import { limitsIn } from '../../../../commands/record/faults/autoscaler-status.ts';

const NOON = '2026-01-05T12:00:00Z';
const NOON_MS = Date.parse(NOON);
const SET = 'aks-general-12345678-vmss';

function event(reason: string, message: string, more: Partial<EventJson> = {}): EventJson {
  return { involvedObject: { kind: 'ConfigMap', name: 'cluster-autoscaler-status' }, reason, message, lastTimestamp: NOON, ...more };
}

describe('an event of an autoscaler', () => {
  it.each([
    {
      what: 'the Cluster Autoscaler, instances without stock',
      reason: 'ScaleUpFailed',
      message: `Failed adding 2 nodes (2 unseen previously) to group ${SET} due to OutOfResource.ZonalAllocationFailed; source errors: Allocation failed.`,
      expected: { why: 'stock', code: 'ZonalAllocationFailed', count: 2 },
    },
    {
      what: 'an unknown lack of resources',
      reason: 'ScaleUpFailed',
      message: `Failed adding 1 nodes (1 unseen previously) to group ${SET} due to OutOfResource.provisioning-failed; source errors: x`,
      expected: { why: 'stock', count: 1 },
    },
    {
      what: 'this autoscaler, a VM without a bootstrap',
      reason: 'ScaleUpFailed',
      message: `Failed adding 3 nodes to group ${SET} due to Other.VMExtensionProvisioningError; source errors: VM has reported a failure`,
      expected: { why: 'no-node', code: 'VMExtensionProvisioningError', count: 3 },
    },
    {
      what: 'the Cluster Autoscaler, a quota',
      reason: 'FailedToScaleUpGroup',
      message: `Scale-up failed for group ${SET}: PUT https://management.azure.com/x RESPONSE 409: 409 Conflict ERROR CODE: OperationNotAllowed {"error":{"message":"Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota."}}`,
      expected: { why: 'quota' },
    },
    {
      what: 'this autoscaler, a quota',
      reason: 'FailedToScaleUpGroup',
      message: `Scale-up failed for group ${SET} (correlation id 1-2): Azure refused putScaleSet ${SET}: Operation could not be completed as it results in exceeding approved Total Regional Cores quota (${SET} 2->3 (max: 5))`,
      expected: { why: 'quota' },
    },
    {
      what: 'the Cluster Autoscaler, too many requests',
      reason: 'FailedToScaleUpGroup',
      message: `Scale-up failed for group ${SET}: PUT https://management.azure.com/x RESPONSE 429: 429 Too Many Requests ERROR CODE: TooManyRequests`,
      expected: { why: 'throttled', code: 'TooManyRequests' },
    },
    {
      what: 'this autoscaler, too many requests',
      reason: 'FailedToScaleUpGroup',
      message: `Scale-up failed for group ${SET}: Azure refused putScaleSet ${SET}: The server rejected the request because too many requests have been received (x 2->3)`,
      expected: { why: 'throttled' },
    },
    {
      what: 'the Cluster Autoscaler, nodes that never came',
      reason: 'ScaleUpTimedOut',
      message: `Nodes added to group ${SET} failed to register within 15m0s`,
      expected: { why: 'no-node' },
    },
    {
      what: 'this autoscaler, nodes that never came',
      reason: 'ScaleUpTimedOut',
      message: `Nodes of ${SET} did not join the cluster in time`,
      expected: { why: 'no-node' },
    },
  ])('$what', ({ reason, message, expected }) => {
    expect(new AutoscalerEvents().read(event(reason, message))).toEqual([{ atMs: NOON_MS, pool: 'general', ...expected }]);
  });

  it.each([
    { what: 'another failure', json: event('FailedToScaleUpGroup', `Scale-up failed for group ${SET}: context deadline exceeded`) },
    { what: 'another reason', json: event('ScaleDown', `Scale-down: removing node x due to OutOfResource.AllocationFailed`) },
    {
      what: 'another object',
      json: { ...event('ScaleUpTimedOut', `Nodes of ${SET} did not join`), involvedObject: { kind: 'Pod', name: 'x' } },
    },
  ])('$what says nothing of what Azure has', ({ json }) => {
    expect(new AutoscalerEvents().read(json)).toEqual([]);
  });

  it('that stands for several has its first and its last time', () => {
    const events = new AutoscalerEvents();
    const text = `Failed adding 1 nodes to group ${SET} due to OutOfResource.AllocationFailed; source errors: x`;
    const times = { firstTimestamp: '2026-01-05T11:30:00Z', lastTimestamp: NOON };
    expect(events.read(event('ScaleUpFailed', text, times)).map(({ atMs }) => atMs)).toEqual([NOON_MS - 1_800_000, NOON_MS]);
    const { lastTimestamp: _, ...undated } = event('ScaleUpFailed', text);
    expect(events.read({ ...undated, eventTime: NOON }).map(({ atMs }) => atMs)).toEqual([NOON_MS]);
    expect(events.read({ ...undated, metadata: { creationTimestamp: NOON } }).map(({ atMs }) => atMs)).toEqual([NOON_MS]);
  });

  it('of nodes that never came leads back to when they were asked for', () => {
    const events = new AutoscalerEvents();
    const asked = event('ScaledUpGroup', `Scale-up: setting group ${SET} size to 3 instead of 2 (max: 5)`, {
      lastTimestamp: '2026-01-05T11:44:00Z',
    });
    expect(events.read(asked)).toEqual([]);
    const late = event('ScaleUpTimedOut', `Nodes added to group ${SET} failed to register within 15m0s`);
    expect(events.read(late).map(({ atMs }) => atMs)).toEqual([NOON_MS - 16 * 60_000]);
  });
});

it.each([
  ['aks-general-12345678-vmss', 'general'],
  ['aks-gpu-a-12345678-vmss', 'gpu-a'],
  ['akswin1', 'win1'],
  ['vmpool/Standard_D4s_v5', 'vmpool'],
  ['general', 'general'],
])('the node group %s is of the pool %s', (group, pool) => {
  expect(poolOfGroup(group)).toBe(pool);
});

describe('the published status', () => {
  const status = (text: string) => limitsIn({ metadata: { name: 'cluster-autoscaler-status' }, data: { status: text } });

  it('has the limits of each group in YAML', () => {
    const text = `time: 2026-01-02 03:04:05 +0000 UTC
autoscalerStatus: Running
clusterWide:
  health: {status: Healthy}
nodeGroups:
- name: aks-general-12345678-vmss
  health:
    status: Healthy
    cloudProviderTarget: 5
    minSize: 1
    maxSize: 10
- name: 'vmpool/Standard_D4s_v5'
  health: { status: Healthy, minSize: 0, maxSize: 4 }
- name: vmpool/Standard_D8s_v5
  health: { status: Healthy, minSize: 1, maxSize: 2 }
- name: aks-broken-12345678-vmss
- health: {status: Healthy, minSize: 2, maxSize: 3}
  name: aks-sorted-12345678-vmss
`;
    expect(status(text)).toEqual([
      { pool: 'general', min: 1, max: 10 },
      { pool: 'vmpool', min: 1, max: 6 },
      { pool: 'sorted', min: 2, max: 3 },
    ]);
  });

  it('has them in the older text', () => {
    const text = `Cluster-autoscaler status at 2023-01-02 03:04:05 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=3 unready=0)

NodeGroups:
  Name:        aks-general-12345678-vmss
  Health:      Healthy (ready=2 unready=0 cloudProviderTarget=2 (minSize=1, maxSize=5))
  Name:        aks-spot-12345678-vmss
  Health:      Healthy (ready=0 cloudProviderTarget=0 (minSize=0, maxSize=20))
`;
    expect(status(text)).toEqual([
      { pool: 'general', min: 1, max: 5 },
      { pool: 'spot', min: 0, max: 20 },
    ]);
  });

  it('is not another ConfigMap', () => {
    expect(limitsIn({ metadata: { name: 'other' }, data: { status: '- name: a\n  minSize: 1\n  maxSize: 2' } })).toEqual([]);
    for (const text of ['', '{', 'nodeGroups: 7', 'nodeGroups: [7, {name: 1}]', 'a: &x [*x]']) expect(status(text)).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, planAnswer, podJson } from './support.ts';

type Json = Readonly<Record<string, unknown>>;
const POOLS = '[{name: a, vmSize: Standard_D4s_v5, min: 0, max: 5}, {name: full, vmSize: Standard_D4s_v5, min: 0, max: 0}]';

async function asked(items: readonly Json[], config = '', pools = POOLS) {
  const files = { c: listOf(...items), p: pools, conf: config };
  return planAnswer(['--cluster=c', '--pools=p', ...(config === '' ? [] : ['--config=conf'])], files);
}

const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
const pending = (name: string, spec: Json = {}, more: Json = {}): Json => ({ ...podJson(name, '1', { spec }), ...more });
const about = (metadata: Json): Json => ({ metadata: { name: 'p', namespace: 'default', ...metadata } });

describe('plan reports for every pending pod why no pool helps', () => {
  const gated = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' };
  const rows: readonly (readonly [string, Json, string])[] = [
    ['a gated pod', pending('p', { schedulingGates: [{ name: 'g' }] }), 'not-unschedulable: .*scheduling gate'],
    ['a gated pod that says so', pending('p', {}, { status: { phase: 'Pending', conditions: [gated] } }), 'not-unschedulable: .*gate'],
    [
      'a pod on its way out',
      pending('p', {}, about({ deletionTimestamp: '2026-11-21T08:00:00Z' })),
      'not-unschedulable: it is being deleted',
    ],
    [
      'a nominated pod',
      pending('p', {}, { status: { phase: 'Pending', nominatedNodeName: 'n-0', conditions: [refused] } }),
      'nominated: .*node n-0',
    ],
    ['an expendable pod', pending('p', { priority: -20 }), 'expendable: its priority -20 is below -10'],
    [
      'a pod of another scheduler',
      pending('p', { schedulerName: 'volcano' }),
      'other-scheduler: its scheduler volcano is not in scaleUp.allowedSchedulers',
    ],
    [
      'a pod that is said to be of a DaemonSet',
      pending('p', {}, about({ annotations: { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' } })),
      'daemon-set: DaemonSet pods',
    ],
    [
      'a pod that takes the room of a request',
      pending('p', {}, about({ annotations: { 'autoscaling.x-k8s.io/consume-provisioning-request': 'r' } })),
      'consumes-request: .*ProvisioningRequest r',
    ],
  ];

  it.each(rows)('%s', async (_name, pod, detail) => {
    const config = 'scaleUp: {allowedSchedulers: [default-scheduler]}\ncapacity: {provisioningRequests: true}\n';
    const full = [nodeJson('n-0', 'a'), podJson('full', '4', { on: 'n-0' })];
    const { scaleUp } = await asked([...full, pod], config);
    expect(scaleUp.helpless).toEqual([
      { pod: 'default/p', verdict: 'ignored', detail: expect.stringMatching(new RegExp(`^${detail}`)), groups: [] },
    ]);
  });
});

describe('plan says of every pool what keeps a pod out, with the numbers and what would help', () => {
  const of = (reason: string, detail: string, advice: string) => ({ reason, detail, advice });
  const container = (requests: Json, more: Json = {}) => ({ containers: [{ name: 'c', resources: { requests }, ...more }] });
  const near = (topologyKey: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app: 'db' } } }],
  });
  const pinned = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['template-a'] }] }],
    },
  };
  const spread = [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'web' } } }];
  const rows: readonly (readonly [string, Json, ReturnType<typeof of>])[] = [
    [
      'memory',
      container({ memory: '40Gi' }),
      of(
        'insufficient-resource',
        '^needs 40 GiB memory, the node offers 13.1',
        'add a pool like a whose nodes have at least 40 GiB memory allocatable',
      ),
    ],
    [
      'memory of which a little less would do, in an amount that can be entered',
      container({ memory: '14Gi' }),
      of('insufficient-resource', '^needs 14 GiB memory, the node offers 13.1', 'lower the memory request from 14 GiB to 13 GiB'),
    ],
    [
      'a label',
      { nodeSelector: { team: 'x' } },
      of('node-selector-mismatch', '^needs the label team=x, the node does not have it', 'add the label team=x to pool a'),
    ],
    [
      'the name of a node that is none',
      { affinity: { nodeAffinity: pinned } },
      of('node-selector-mismatch', '^needs a node that is template-a', 'no longer require a node by its name'),
    ],
    [
      'a host name that is none',
      { nodeSelector: { 'kubernetes.io/hostname': 'template-a' } },
      of('node-selector-mismatch', '^needs a node that is template-a', 'no longer require a node by its name'),
    ],
    [
      'friends, also of the pool that is full',
      { affinity: { podAffinity: near('topology.kubernetes.io/zone') } },
      of(
        'pod-affinity',
        'no matching pod is there',
        'make the pod affinity rule for topology.kubernetes.io/zone preferred instead of required',
      ),
    ],
    [
      'a topology label, also of the pool that is full',
      { topologySpreadConstraints: spread },
      of('topology-spread', 'missing required label', 'add the label rack=a to pool a'),
    ],
  ];

  it.each(rows)('%s', async (_name, spec, { reason, detail, advice }) => {
    const { scaleUp } = await asked([pending('p', spec)]);
    expect(scaleUp.helpless).toMatchObject([
      {
        pod: 'default/p',
        verdict: 'impossible',
        groups: [
          { group: 'a', reason, detail: expect.stringMatching(detail) },
          { group: 'full', reason, detail: expect.stringMatching(`${detail}.*; at its maximum \\(0 of 0 nodes\\)$`) },
        ],
        advice: { text: advice },
      },
    ]);
  });

  it('places for pods that its DaemonSets have taken', async () => {
    const spec = { containers: [{ name: 'c' }] };
    const daemons = ['x', 'y'].map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name, namespace: 'default', uid: name },
      spec: { template: { spec } },
    }));
    const { scaleUp } = await asked([pending('p'), ...daemons], '', '[{name: a, vmSize: Standard_D4s_v5, min: 0, max: 5, maxPods: 2}]');
    expect(scaleUp.helpless[0]).toMatchObject({
      verdict: 'impossible',
      groups: [
        {
          reason: 'insufficient-resource',
          detail: 'the node has room for 0 pods besides its DaemonSet and static pods',
          fix: 'add a pool like a with a maxPods of at least 3',
        },
      ],
    });
  });

  it('limits of the cluster', async () => {
    const full = [nodeJson('n-0', 'a'), podJson('full', '4', { on: 'n-0' })];
    const { scaleUp } = await asked(
      [...full, pending('p')],
      'scaleUp: {maxCoresTotal: 7, maxNodesTotal: 1}\n',
      '[{name: a, vmSize: Standard_D4s_v5, min: 0, max: 5}]',
    );
    expect(scaleUp.helpless[0]?.verdict).toBe('blocked-by-quota');
    expect(scaleUp.helpless[0]?.groups[0]).toMatchObject({
      reason: 'cluster-limit',
      detail: expect.stringMatching(/1 of 1 nodes in use, a new node takes 1, and 4 of 7 cores in use, a new node takes 4$/),
      fix: 'raise scaleUp.maxNodesTotal from 1 to 2, and raise scaleUp.maxCoresTotal from 7 to 8',
    });
  });
});

describe('plan says of every node that stays the number that decides', () => {
  const held = {
    metadata: {
      name: 'n-1',
      labels: { 'kubernetes.azure.com/agentpool': 'a' },
      annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' },
    },
  };
  const rows: readonly (readonly [string, readonly Json[], string, string, string])[] = [
    ['its use', [podJson('b', '3', { on: 'n-1' })], '', 'NotUnderutilized', 'utilization 75 %, above the threshold of 50 %'],
    [
      'the minimum of the cluster',
      [],
      'scaleDown: {minCoresTotal: 7, minMemoryTotalGib: 20}',
      'MinimalResourceLimitExceeded',
      'the cluster has 1 CPU above its minimum, the removal takes 4 CPU; 12 GiB memory above its minimum, the removal takes 16 GiB',
    ],
    [
      'the pod that is waited for',
      [podJson('b', '1', { on: 'n-1', metadata: { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'on-completion' } } })],
      '',
      'BlockedByOnCompletionPod',
      'waiting for default/b to complete',
    ],
    [
      'the annotation',
      [{ ...nodeJson('n-1', 'a'), ...held }],
      '',
      'ScaleDownDisabledAnnotation',
      'cluster-autoscaler.kubernetes.io/scale-down-disabled: "true"',
    ],
    ['the pool that nobody scales', [nodeJson('n-1', 'other')], '', 'NotAutoscaled', 'it belongs to no managed node group'],
  ];

  it.each(rows)('%s', async (_name, items, config, reason, detail) => {
    const nodes = items.some(({ kind }) => kind === 'Node') ? [] : [nodeJson('n-1', 'a')];
    const busy = [nodeJson('n-0', 'a'), podJson('busy', '3', { on: 'n-0' })];
    const { scaleDown } = await asked([...busy, ...nodes, ...items], config);
    expect(scaleDown.unremovable.find(({ node }) => node === 'n-1')).toEqual({ node: 'n-1', reason, detail });
  });
});

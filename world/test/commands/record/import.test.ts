/** Dumps of kubectl and results of Prometheus as recordings. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { METRICS } from '../../../commands/record/prometheus-load.ts';
import { run } from '../../../commands/record/record-command.ts';
import { readRecording } from '../../../lab/loads/recording-file.ts';
import { dumpRecord } from '../../../../src/loop/replay/dump.ts';
import { emptyLoopState } from '../../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anObservation, resourceNames, START_MS } from '../../../../test/support/builders.ts';
import { aPolicy } from '../../../../test/support/policy.ts';
import { NOTHING_DECIDED } from '../../../../src/domain/ports/records.ts';
import { aTerminal } from './recorded-world.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const inFolder = folderOfFile();

let serial = 0;

/** Writes the files, imports them, and returns what the recording says, with times in minutes. */
async function imported(contents: readonly unknown[], flags: readonly string[] = []) {
  const number = ++serial;
  const files = contents.map((_, index) => inFolder(`${number}-${index}.json`));
  for (const [index, content] of contents.entries()) await writeFile(files[index] ?? '', JSON.stringify(content));
  const out = inFolder(`${number}.jsonl`);
  await run(['--out', out, ...files.flatMap((file) => ['--import', file]), ...flags], aTerminal());
  const { scenario, isComplete, notes } = await readRecording(out);
  const names = new Map(scenario.workloads.map(({ id, name }) => [id, name]));
  const events = scenario.events.flatMap((event) => {
    const name = 'workload' in event ? names.get(event.workload) : '';
    const minute = Math.round(event.atMs / 6_000) / 10;
    if (event.kind === 'replicas') return [`${minute} ${name}=${event.count}`];
    return event.kind === 'run' ? [`${minute} ${name} for ${Math.round(event.runMs / 60_000)}`] : [event.kind];
  });
  return { scenario, isComplete, notes, events, text: await readFile(out, 'utf8') };
}

function time(minutes: number): string {
  return new Date(START_MS + minutes * 60_000).toISOString();
}

function controlledBy(kind: string, name: string) {
  return { ownerReferences: [{ kind, name, uid: `${kind}-${name}`, controller: true }] };
}

function container(cpu: string) {
  return { name: 'app', image: 'secret/app:1', env: [{ name: 'TOKEN', value: 'hidden' }], resources: { requests: { cpu } } };
}

function podObject(name: string, minutes: number, more: { readonly metadata?: object; readonly spec?: object; readonly status?: object }) {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'shop', uid: name, creationTimestamp: time(minutes), ...more.metadata },
    spec: { containers: [container('500m')], ...more.spec },
    status: { phase: 'Running', ...more.status },
  };
}

/** Of the Deployment `web`. */
function webPod(name: string, minutes: number) {
  return podObject(name, minutes, { metadata: { ...controlledBy('ReplicaSet', 'web-5d4'), labels: { 'pod-template-hash': '5d4' } } });
}

function jobPod(name: string, minutes: number, status: object) {
  return podObject(name, minutes, { metadata: controlledBy('Job', 'sums-28391234'), spec: { restartPolicy: 'Never' }, status });
}

function node(name: string, heartbeat: number) {
  const labels = {
    'kubernetes.azure.com/agentpool': 'general',
    'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
    'acme.io/tier': 'web',
  };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name, uid: name, labels, creationTimestamp: time(-900) },
    spec: {
      providerID: `azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/aks-general/virtualMachines/0`,
    },
    status: {
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time(heartbeat) }],
      capacity: { cpu: '4' },
      allocatable: { cpu: '3' },
    },
  };
}

function list(...items: readonly object[]) {
  return { kind: 'List', apiVersion: 'v1', items };
}

const STARTED = { containerStatuses: [{ state: { running: { startedAt: time(-60) } } }] };

describe('record --import of dumps', () => {
  it('takes one moment as a load that goes on, with pools, and without images, environments and hashes', async () => {
    const pods = list(webPod('web-1', -90), webPod('web-2', -80), jobPod('sums-1', -70, STARTED));
    const { events, scenario, text, isComplete } = await imported([pods, list(node('n1', -50), node('n2', -49))], ['--for', '1h']);
    expect(events).toEqual(['0 sums for 60', '0 web=2']);
    expect(scenario).toMatchObject({
      durationMs: 3_600_000,
      pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 2, labels: { 'acme.io/tier': 'web' } }],
    });
    expect(isComplete).toBe(true);
    expect(text).not.toMatch(/secret|TOKEN|hidden|pod-template-hash|5d4/);
  });

  it('takes nodes in one file and pods of several moments', async () => {
    const { events, scenario } = await imported(
      [list(webPod('web-1', 0)), list(webPod('web-1', 0), webPod('web-2', 30)), list(node('n1', 25))],
      ['--for', '10m'],
    );
    expect(events).toEqual(['0 web=1', '30 web=2']);
    expect(scenario.pools).toMatchObject([{ name: 'general', count: 1 }]);
  });

  it('takes several moments as a load that changes', async () => {
    const done = { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { startedAt: time(7), finishedAt: time(9) } } }] };
    const first = list(node('n1', 0), webPod('web-1', -5), webPod('web-2', -5));
    const second = list(node('n1', 10), webPod('web-1', -5), webPod('web-3', 4), webPod('web-4', 4), jobPod('sums-1', 5, done));
    const third = list(node('n1', 20), webPod('web-1', -5));
    // In any order.
    const { events } = await imported([third, first, second], ['--for', '10m']);
    expect(events).toEqual(['0 web=2', '5 sums for 2', '10 web=3', '20 web=1']);
  });

  it('prefers what controllers state', async () => {
    const deployment = (replicas: number) => ({
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: { name: 'web', namespace: 'shop', uid: 'd', creationTimestamp: time(-90) },
      spec: { replicas },
    });
    const { events } = await imported([
      list(webPod('web-1', 0), deployment(3)),
      list(webPod('web-1', 0), webPod('web-2', 5), deployment(7)),
    ]);
    expect(events).toEqual(['0 web=3', '5 web=7']);
  });

  it('takes failures and limits from what an autoscaler published', async () => {
    const about = { kind: 'ConfigMap', name: 'cluster-autoscaler-status', namespace: 'kube-system' };
    const failed = {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'e', namespace: 'kube-system', creationTimestamp: time(3) },
      involvedObject: about,
      reason: 'ScaleUpFailed',
      message: 'Failed adding 1 nodes to group aks-general-12345678-vmss due to OutOfResource.AllocationFailed; source errors: x',
      lastTimestamp: time(3),
    };
    const status = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: about.name, namespace: about.namespace, creationTimestamp: time(-90) },
      data: { status: 'nodeGroups:\n- name: aks-general-12345678-vmss\n  health:\n    minSize: 1\n    maxSize: 7\n' },
    };
    const [first, second] = [list(webPod('web-1', 0), node('n1', 0), status), list(webPod('web-1', 0), node('n1', 20), failed, status)];
    const { scenario, notes } = await imported([first, second], ['--for', '10m']);
    expect(scenario.pools).toMatchObject([{ name: 'general', min: 1, max: 7 }]);
    expect(scenario.pools[0]).not.toHaveProperty('limitsUnknown');
    const place = { kind: 'stock', vmSize: 'Standard_D4s_v5', priority: 'Regular' };
    expect(scenario.events.filter(({ kind }) => kind === 'stock')).toEqual([
      { ...place, atMs: 180_000, count: 0, code: 'AllocationFailed' },
      { ...place, atMs: 480_000, count: null },
    ]);
    expect(notes).toEqual([expect.stringMatching(/^Lack of stock, used-up quotas/), expect.stringMatching(/^Azure was not read/)]);
  });

  it('takes refusals with zones, and limits, from decisions of this autoscaler', async () => {
    const nowMs = START_MS + 9 * 60_000;
    const lack = {
      scope: { vmSize: 'standard_d4s_v5', zone: 'westeurope-2' },
      code: 'ZonalAllocationFailed',
      sinceMs: START_MS + 300_000,
      untilMs: nowMs,
    };
    const group = { ...aGroup({ id: 'aks-general-12345678-vmss' }), vmSize: 'Standard_D4s_v5', minSize: 2, maxSize: 6 };
    const error = {
      detail: { kind: 'throttled', retryAfterMs: undefined },
      code: 'TooManyRequests',
      message: 'Too many requests.',
    } as const;
    const empty = anObservation([group], aCluster(), { nowMs });
    const failed = { kind: 'increase-failed', group: group.id, requested: 2, error, atMs: nowMs } as const;
    const observation = { ...empty, cloud: { ...empty.cloud, events: [failed] } };
    const record = {
      ...NOTHING_DECIDED,
      observation,
      stateBefore: { ...emptyLoopState(nowMs), stockouts: [lack] },
      policy: aPolicy(),
      scaleUp: [],
      scaleDown: undefined,
    };
    const dump: unknown = JSON.parse(dumpRecord(record, resourceNames));
    const { scenario, notes } = await imported([list(webPod('web-1', 0), node('n1', 0)), list(webPod('web-1', 0), node('n1', 30)), dump]);
    expect(scenario.pools).toMatchObject([{ name: 'general', min: 2, max: 6 }]);
    expect(scenario.pools[0]).not.toHaveProperty('limitsUnknown');
    expect(scenario.events.filter(({ kind }) => kind !== 'replicas')).toMatchObject([
      { kind: 'stock', atMs: 300_000, zone: '2', count: 0, code: 'ZonalAllocationFailed' },
      { kind: 'refusal', atMs: 540_000, pool: 'general', why: 'throttled', forMs: 300_000 },
      { kind: 'stock', atMs: 600_000, zone: '2', count: null },
    ]);
    expect(notes[0]).toMatch(/^What Azure refused .* is that of the decisions that were imported/);
  });

  it('says that it has no events', async () => {
    const { notes } = await imported([list(webPod('web-1', 0), node('n1', 0))], ['--for', '10m']);
    expect(notes[0]).toBe('What Azure refused (stock, quotas, throttling) is not in the recording: events could not be read.');
  });

  it.each([
    { what: 'a file without pods', contents: [list(node('n1', 0))], says: 'no file has pods' },
    { what: 'another file', contents: [{ pools: [] }], says: 'kind is missing' },
    { what: 'a failed query', contents: [{ status: 'error', error: 'timeout' }], says: 'is a failed query of Prometheus (timeout)' },
    {
      what: 'a single value',
      contents: [{ status: 'success', data: { resultType: 'vector', result: [] } }],
      says: 'it must be the matrix that query_range returns',
    },
    { what: 'other metrics', contents: [matrix([series('up', {}, [[0, 1]])])], says: 'no series of kube-state-metrics' },
    {
      what: 'both forms',
      contents: [list(webPod('a', 0)), matrix([series('kube_pod_info', { pod: 'a', namespace: 'b' }, [[0, 1]])])],
      says: 'record them in two files',
    },
  ])('refuses $what', async ({ contents, says }) => {
    await expect(imported(contents)).rejects.toThrow(says);
  });
});

function matrix(result: readonly object[]) {
  return { status: 'success', data: { resultType: 'matrix', result } };
}

function series(name: string, labels: Readonly<Record<string, string>>, values: readonly (readonly [minutes: number, value: number])[]) {
  return {
    metric: { __name__: name, ...labels },
    values: values.map(([minutes, value]) => [START_MS / 1_000 + minutes * 60, String(value)]),
  };
}

/** One sample a minute. */
function present(name: string, labels: Readonly<Record<string, string>>, from: number, to: number, value = 1) {
  return series(
    name,
    labels,
    Array.from({ length: to - from + 1 }, (_, at) => [from + at, value] as const),
  );
}

describe('record --import of Prometheus', () => {
  it('reads the metrics that its page names', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'record.md'), 'utf8');
    expect(METRICS.filter((metric) => !page.includes(`| \`${metric}\` |`))).toEqual([]);
  });

  const of = (pod: string) => ({ namespace: 'shop', pod, uid: pod });
  const info = (pod: string, kind: string, owner: string, from: number, to: number) =>
    present('kube_pod_info', { ...of(pod), created_by_kind: kind, created_by_name: owner, node: 'n1' }, from, to);
  const cpu = (pod: string, value: number) =>
    series('kube_pod_container_resource_requests', { ...of(pod), container: 'app', resource: 'cpu', unit: 'core' }, [[0, value]]);

  it('takes pods from their samples, with requests, owners and times', async () => {
    const result = [
      info('web-1', 'ReplicaSet', 'web-5d4f6b7c8', 0, 60),
      info('web-2', 'ReplicaSet', 'web-5d4f6b7c8', 0, 30),
      info('sums-1', 'Job', 'sums-28391234', 10, 25),
      info('agent-1', 'DaemonSet', 'agent', 0, 60),
      info('static-n1', 'Node', 'n1', 0, 60),
      info('alone', '<none>', '<none>', 0, 5),
      cpu('web-1', 0.25),
      cpu('web-2', 0.25),
      cpu('sums-1', 2),
      series('kube_pod_created', of('sums-1'), [[10, START_MS / 1_000 + 570]]),
      series('kube_pod_start_time', of('sums-1'), [[10, START_MS / 1_000 + 600]]),
      series('kube_pod_completion_time', of('sums-1'), [[25, START_MS / 1_000 + 1_320]]),
      present(
        'kube_node_labels',
        {
          node: 'n1',
          label_agentpool: 'general',
          label_node_kubernetes_io_instance_type: 'Standard_D4s_v5',
          label_topology_kubernetes_io_zone: 'westeurope-2',
        },
        0,
        60,
      ),
    ];
    const { events, scenario } = await imported([matrix(result.slice(0, 6)), matrix(result.slice(6))]);
    expect(events).toEqual(['0 web=2', '0 alone for 6', '9.5 sums for 12', '31 web=1']);
    expect(Object.fromEntries(scenario.workloads.map(({ kind, name, pod }) => [name, [kind, pod.containers]]))).toEqual({
      agent: ['DaemonSet', [{}]],
      alone: ['Pod', [{}]],
      web: ['Deployment', [{ requests: { cpu: '250m' } }]],
      sums: ['Job', [{ requests: { cpu: '2000m' } }]],
    });
    expect(scenario.pools).toEqual([
      {
        name: 'general',
        vmSize: 'Standard_D4s_v5',
        count: 1,
        min: 0,
        max: 1000,
        limitsUnknown: true,
        zones: ['2'],
        priority: 'Regular',
      },
    ]);
    expect(scenario.durationMs).toBe(61 * 60_000);
  });

  it('takes failures from the series of nodes and autoscalers, and says what these lack', async () => {
    const labels = { node: 'n1', label_agentpool: 'general', label_node_kubernetes_io_instance_type: 'Standard_D4s_v5' };
    const ready = { node: 'n1', condition: 'Ready', status: 'true' };
    const own = { node_group: 'aks-general-12345678-vmss', reason: 'quota' };
    const minutes = (values: readonly number[]) => values.map((value, minute) => [minute, value] as const);
    const { scenario, notes } = await imported([
      matrix([
        info('web-1', 'ReplicaSet', 'web-5d4f6b7c8', 0, 10),
        present('kube_node_labels', labels, 0, 10),
        series('kube_node_status_condition', ready, minutes([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0])),
        series('kube_node_status_condition', { ...ready, status: 'false' }, minutes([0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1])),
        series('aks_autoscaler_scale_up_failures_total', own, minutes([4, 4, 4, 4, 4, 5, 5, 1, 1, 1, 1])),
        series('aks_autoscaler_scale_up_failures_total', { ...own, reason: 'identity' }, minutes([0, 1])),
        series('cluster_autoscaler_failed_scale_ups_total', { reason: 'apiCallError' }, minutes([0, 2, 2, 3])),
      ]),
    ]);
    // The counter began again at minute 7, and the range ends at 11; the node that is not ready at the end may be one that was removed.
    expect(scenario.events.filter(({ kind }) => kind !== 'replicas')).toEqual([
      { kind: 'node-failure', atMs: 120_000, pool: 'general', forMs: 120_000 },
      { kind: 'refusal', atMs: 300_000, pool: 'general', why: 'quota', forMs: 360_000 },
    ]);
    expect(notes).toEqual([
      expect.stringMatching(/^Spot evictions/),
      'The Cluster Autoscaler counted failed scale-ups (apiCallError: 3) without the names of pools: they are not in the recording.',
    ]);
  });

  it('takes the wanted numbers if they are there', async () => {
    const wanted = series('kube_deployment_spec_replicas', { namespace: 'shop', deployment: 'web' }, [
      [0, 2],
      [1, 2],
      [2, 5],
      [3, 5],
      [4, 4],
    ]);
    const { events } = await imported([matrix([info('web-1', 'ReplicaSet', 'web-5d4f6b7c8', 0, 10), wanted])]);
    expect(events).toEqual(['0 web=2', '2 web=5', '4 web=4', '5 web=0']);
  });
});

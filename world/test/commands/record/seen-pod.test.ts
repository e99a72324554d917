import { describe, expect, it } from 'vitest';
import { PodReader } from '../../../commands/record/seen-pod.ts';

const CONTAINERS = [{ name: 'app', resources: { requests: { cpu: '1' } } }];

function read(metadata: object, spec: object = {}, status: object = { phase: 'Running' }) {
  const pod = new PodReader().read({
    metadata: { name: 'a-0', namespace: 'shop', uid: 'u', ...metadata },
    spec: { containers: CONTAINERS, ...spec },
    status,
  });
  if (pod === undefined) throw new Error('a static pod');
  return pod;
}

function of(kind: string, name: string) {
  return { ownerReferences: [{ kind, name, uid: 'o', controller: true }] };
}

describe('a pod as a recorder sees it', () => {
  it.each([
    { what: 'a mirror of a static pod', metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } },
    { what: 'a pod of a node', metadata: of('Node', 'n1') },
  ])('$what is not part of a load', ({ metadata }) => {
    expect(new PodReader().read({ metadata, spec: { containers: CONTAINERS } })).toBeUndefined();
  });

  it.each([
    {
      metadata: { ...of('ReplicaSet', 'web-5d4'), labels: { 'pod-template-hash': '5d4' } },
      kind: 'Deployment',
      name: 'web',
      role: 'replica',
    },
    { metadata: of('ReplicaSet', 'web-5d4'), kind: 'ReplicaSet', name: 'web-5d4', role: 'replica' },
    { metadata: of('Job', 'sums-28391234'), spec: { restartPolicy: 'OnFailure' }, kind: 'Job', name: 'sums', role: 'run' },
    { metadata: of('Job', 'sums-v2'), kind: 'Job', name: 'sums-v2', role: 'run' },
    { metadata: of('TaskRun', 'build'), spec: { restartPolicy: 'Never' }, kind: 'TaskRun', name: 'build', role: 'run' },
    { metadata: of('DaemonSet', 'agent'), kind: 'DaemonSet', name: 'agent', role: 'daemon' },
    { metadata: {}, kind: undefined, name: undefined, role: 'run' },
  ])('has the owner $kind $name and is a $role', ({ metadata, spec, kind, name, role }) => {
    const pod = read(metadata, spec);
    expect([pod.owner?.kind, pod.owner?.name, pod.role]).toEqual([kind, name, role]);
  });

  it('has the template without what controllers and the API server add', () => {
    const term = { matchExpressions: [{ key: 'tier', operator: 'In', values: ['x'] }] };
    const fields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }];
    const affinity = (terms: readonly object[]) => ({
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
    });
    const added = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' };
    const tolerations = [
      { ...added, tolerationSeconds: 300 },
      { key: 'team', operator: 'Exists' },
    ];
    const daemon = read(of('DaemonSet', 'agent'), {
      affinity: affinity([{ ...term, matchFields: fields }]),
      tolerations: [added, ...tolerations],
    });
    expect(daemon.pod).toEqual({ containers: [{ requests: { cpu: '1' } }], affinity: affinity([term]), tolerations: [tolerations[1]] });
    expect(read(of('DaemonSet', 'agent'), { affinity: affinity([{ matchFields: fields }]) }).pod).toEqual({
      containers: [{ requests: { cpu: '1' } }],
    });
    const spread = {
      topologyKey: 'zone',
      matchLabelKeys: ['pod-template-hash'],
      labelSelector: { matchLabels: { app: 'a' }, matchExpressions: [{ key: 'pod-template-hash', operator: 'In', values: ['5d4'] }] },
    };
    const web = read({ labels: { app: 'a', 'pod-template-hash': '5d4' } }, { tolerations, topologySpreadConstraints: [spread] });
    expect(web.pod).toEqual({
      labels: { app: 'a' },
      containers: [{ requests: { cpu: '1' } }],
      topologySpreadConstraints: [{ ...spread, labelSelector: { matchLabels: { app: 'a' }, matchExpressions: [] } }],
      tolerations: [tolerations[1]],
    });
  });

  it.each(['true', 'false', '4h', '1h30m'])('has how long it is protected from disruption: %s', (value) => {
    const annotations = { 'karpenter.sh/do-not-disrupt': value, 'cluster-autoscaler.kubernetes.io/safe-to-evict': '4h' };
    expect(read({ annotations }, {}).pod).toMatchObject({ annotations: { 'karpenter.sh/do-not-disrupt': value } });
    expect(JSON.stringify(read({ annotations }, {}).pod)).not.toContain('safe-to-evict');
  });

  it('has what decides about its place and its removal, and nothing else', () => {
    const annotations = {
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      'karpenter.sh/do-not-disrupt': 'a secret',
      note: 'a secret',
    };
    const { pod } = read(
      { annotations },
      {
        containers: [
          {
            name: 'x',
            image: 'secret',
            env: [{ name: 'a', value: 'secret' }],
            resources: { limits: { memory: '1Gi' } },
            ports: [{ hostPort: 80 }, { containerPort: 81 }],
          },
        ],
        initContainers: [{ restartPolicy: 'Always', resources: { requests: { cpu: '10m' } } }, {}],
        priority: 7,
        terminationGracePeriodSeconds: 90,
        volumes: [
          { emptyDir: {} },
          { emptyDir: { medium: 'Memory' } },
          { hostPath: {} },
          { persistentVolumeClaim: { claimName: 'data-a-0' } },
          { persistentVolumeClaim: { claimName: 'shared' } },
          { secret: {} },
        ],
      },
    );
    expect(pod).toEqual({
      annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' },
      containers: [{ requests: { memory: '1Gi' }, hostPorts: [{ port: 80 }] }],
      initContainers: [{ requests: { cpu: '10m' }, isSidecar: true }, {}],
      priority: 7,
      terminationGracePeriodSeconds: 90,
      volumes: [{ kind: 'emptyDir' }, { kind: 'hostPath' }, { kind: 'disk' }],
    });
  });

  it('has the times of its containers, and knows who ended it', () => {
    const time = (second: number) => `2026-11-21T10:00:0${second}Z`;
    const ended = (from: number, to: number) => ({ terminated: { startedAt: time(from), finishedAt: time(to) } });
    const containerStatuses = [{ state: { running: { startedAt: time(5) } }, lastState: ended(1, 4) }];
    expect(read({}, {}, { phase: 'Running', containerStatuses })).toMatchObject({ phase: 'running', startedAtMs: Date.parse(time(1)) });
    const failed = read(
      {},
      {},
      { phase: 'Failed', reason: 'Evicted', containerStatuses: [{ state: ended(1, 4) }, { state: ended(2, 6) }] },
    );
    expect(failed).toMatchObject({ phase: 'failed', isDisrupted: true, startedAtMs: Date.parse(time(1)), endedAtMs: Date.parse(time(6)) });
    expect(read({}, {}, { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True' }] }).isDisrupted).toBe(true);
    expect(read({}, {}, { phase: 'Failed' }).isDisrupted).toBe(false);
  });
});

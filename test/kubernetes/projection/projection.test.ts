import { NO_TAINT_RULES } from '../../../src/domain/taints.ts';
import { NO_ANNOTATIONS, PROTECTED } from '../../../src/domain/annotations.ts';
import { NO_MOUNTS } from '../../../src/domain/pod.ts';
import { describe, expect, it } from 'vitest';
import type { NodeJson, PodJson, PodSpecJson } from '../../../src/kubernetes/api/core-json.ts';
import { createNodeProjection, projectNode, readinessOf } from '../../../src/kubernetes/projection/node.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { labelSelector } from '../../../src/kubernetes/projection/selectors.ts';
import { projectShape, Shapes } from '../../../src/kubernetes/projection/pod-shape.ts';
import { projectBudget, projectDaemonSet } from '../../../src/kubernetes/projection/workloads.ts';
import { matchesSelector } from '../../../src/domain/labels.ts';
import { RESOURCE_NOT_READY } from '../../../src/domain/node.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { untoleratedTaint } from '../../../src/domain/taints.ts';

const names = new ResourceNames();
const requests = (cpu: string, memory = '0') => ({ resources: { requests: { cpu, memory } } });

/** As an API server shows a pending pod of a Deployment. */
function podJson(spec: PodSpecJson = {}, rest: Partial<PodJson> = {}): PodJson {
  return {
    metadata: {
      name: 'web-7d4b9c6f5-x2x8k',
      namespace: 'shop',
      uid: '0b3f6a3e-6a43-4c55-9a53-1d8f4f9f1c11',
      resourceVersion: '812',
      creationTimestamp: '2026-11-21T00:00:00Z',
      labels: { app: 'web', 'pod-template-hash': '7d4b9c6f5' },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'web-7d4b9c6f5', uid: 'rs-1', controller: true }],
    },
    spec: {
      containers: [{ name: 'app', resources: { requests: { cpu: '500m', memory: '256Mi' } } }],
      volumes: [{ name: 'kube-api-access-4k2vd', projected: {} }],
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
    status: {
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/3 nodes are available',
          lastTransitionTime: '2026-11-21T00:00:05Z',
        },
      ],
    },
    ...rest,
  };
}

describe('pods', () => {
  const project = (json: PodJson) => projectPod(json, createPodProjection(names));

  it('keeps what decisions read', () => {
    expect(project(podJson())).toMatchObject({
      namespace: 'shop',
      name: 'web-7d4b9c6f5-x2x8k',
      nodeName: undefined,
      phase: 'Pending',
      createdAtMs: Date.UTC(2026, 10, 21),
      terminationGraceMs: 30_000,
      controller: { kind: 'ReplicaSet', name: 'web-7d4b9c6f5', uid: 'rs-1' },
      unschedulable: { sinceMs: Date.UTC(2026, 10, 21, 0, 0, 5), message: '0/3 nodes are available' },
      mirror: false,
      daemonSet: false,
      ready: false,
    });
  });

  it('keeps the API group of its controller: a DaemonSet of any group makes daemon pods', () => {
    const shared = createPodProjection(names);
    const owned = (apiVersion: string) => {
      const owner = { apiVersion, kind: 'DaemonSet', name: 'agent', uid: '', controller: true };
      const { controller, daemonSet } = projectPod({ metadata: { name: 'p', ownerReferences: [owner] } }, shared);
      return { apiVersion: controller?.apiVersion, daemonSet };
    };
    expect(['apps/v1', 'apps.kruise.io/v1alpha1'].map(owned)).toEqual([
      { apiVersion: 'apps/v1', daemonSet: true },
      { apiVersion: 'apps.kruise.io/v1alpha1', daemonSet: true },
    ]);
  });

  it.each([
    ['SchedulingGated', 'False'],
    ['', 'True'],
  ])('PodScheduled with reason "%s", status %s is not unschedulable', (reason, status) => {
    expect(
      project(podJson({}, { status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status, reason }] } })).unschedulable,
    ).toBeUndefined();
  });

  it.each([
    ['no condition', [], true],
    ['a condition without reason', [{ type: 'PodScheduled', status: 'False' }], true],
    ['refused', [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }], false],
    ['gated', [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }], false],
    ['placed', [{ type: 'PodScheduled', status: 'True' }], false],
  ])('whether a scheduler has looked at the pod: %s', (_, conditions, unseen) => {
    expect(project(podJson({}, { status: { phase: 'Pending', conditions } })).status.unseen).toBe(unseen);
  });

  it('a nominated node is kept', () => {
    expect(project(podJson({}, { status: { phase: 'Pending', nominatedNodeName: 'node-1' } })).nominatedNodeName).toBe('node-1');
  });

  it.each<[string, Record<string, string>, object]>([
    ['a DaemonSet by annotation', { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' }, { daemonSet: true }],
    ['a mirror pod', { 'kubernetes.io/config.mirror': 'abc' }, { mirror: true }],
    [
      'safe to evict',
      { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'on-completion' },
      { annotations: { safeToEvict: 'on-completion' } },
    ],
    [
      'an unknown word for safe to evict',
      { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'yes' },
      { annotations: { safeToEvict: undefined } },
    ],
    [
      'volumes safe to evict, spaces kept',
      { 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': 'a, b' },
      { annotations: { safeToEvictVolumes: ['a', ' b'] } },
    ],
    ['do not disrupt', { 'karpenter.sh/do-not-disrupt': 'true' }, { annotations: { protection: PROTECTED } }],
    ['a scale-up delay', { 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay': '2m' }, { annotations: { scaleUpDelayMs: 120_000 } }],
    ['an invalid delay', { 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay': 'abc' }, { annotations: { scaleUpDelayMs: 0 } }],
  ])('%s', (_what, annotations, expected) => {
    const json = podJson();
    expect(project({ ...json, metadata: { ...json.metadata, annotations } })).toMatchObject(expected);
  });

  it('distinguishes local volumes; an emptyDir in memory is not one', () => {
    const volumes = [
      { name: 'cache', emptyDir: {} },
      { name: 'shm', emptyDir: { medium: 'Memory' } },
      { name: 'logs', hostPath: { path: '/var/log' } },
      { name: 'config', configMap: {} },
    ];
    const pod = project(podJson({ volumes }));
    expect(pod.mounts.localVolumes).toEqual([
      { name: 'cache', kind: 'emptyDir' },
      { name: 'logs', kind: 'hostPath' },
    ]);
    expect(pod.shape.unsupported).toEqual([]);
  });

  it('name the claims that they mount, and share their shape whatever those are called', () => {
    const mounting = (claimName: string) => project(podJson({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] }));
    expect(mounting('data-0').mounts.claims).toEqual([{ name: 'data-0' }]);
    expect(mounting('data-0').shape.key).toBe(mounting('data-1').shape.key);
    const scratch = { volumeClaimTemplate: { spec: { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } } } };
    expect(project(podJson({ volumes: [{ name: 'scratch', ephemeral: scratch }] })).mounts.claims).toEqual([
      {
        name: 'web-7d4b9c6f5-x2x8k-scratch',
        ephemeral: { className: 'fast', accessModes: [], bytes: 2 ** 30, mode: 'Filesystem', selector: undefined },
      },
    ]);
    expect(project(podJson())).toMatchObject({ annotations: NO_ANNOTATIONS, mounts: NO_MOUNTS });
  });

  it.each<[string, PodSpecJson, string]>([
    ['a resource claim', { resourceClaims: [{ name: 'gpu' }] }, 'dynamic-resource-allocation'],
    [
      'devices of a class that go by a resource',
      { containers: [{ resources: { limits: { 'deviceclass.resource.kubernetes.io/gpu': '1' } } }] },
      'devices-as-extended-resource',
    ],
    ['an invalid quantity', { containers: [{ resources: { requests: { cpu: 'lots' } } }] }, 'quantity'],
  ])('says that it cannot judge %s', (_what, spec, feature) => {
    expect(project(podJson(spec)).shape.unsupported).toEqual([expect.objectContaining({ feature })]);
  });
});

describe('pods that kube-scheduler places as a whole', () => {
  it.each<[string, PodSpecJson, string | undefined]>([
    ['by a workload, as 1.35 writes it', { workloadRef: { name: 'train' } }, 'workload train'],
    ['by a pod group, as 1.36 writes it', { schedulingGroup: { podGroupName: 'train-0' } }, 'pod group train-0'],
    ['by none', { schedulingGroup: null, workloadRef: null }, undefined],
  ])('%s: nothing of them is unsupported, and the name is kept', (_what, spec, gang) => {
    const { unsupported, gang: found } = new Shapes(names).of(podJson(spec));
    expect([unsupported, found]).toEqual([[], gang]);
  });
});

describe('shapes', () => {
  it('are shared by pods of one workload, whatever their names, tokens and reports', () => {
    const shapes = new Shapes(names);
    const first = podJson();
    const second = podJson(
      { volumes: [{ name: 'kube-api-access-zzzzz', projected: {} }], nodeName: 'node-1' },
      {
        metadata: { ...first.metadata, name: 'web-other', labels: { 'pod-template-hash': '7d4b9c6f5', app: 'web' } },
        status: { phase: 'Running', containerStatuses: [{ name: 'app', allocatedResources: { cpu: '500m', memory: '256Mi' } }] },
      },
    );
    expect(shapes.of(second)).toBe(shapes.of(first));
    expect(shapes.count).toBe(1);
  });

  it.each<[string, PodSpecJson]>([
    ['requests', { containers: [requests('501m', '256Mi')] }],
    ['node selector', { nodeSelector: { agentpool: 'gpu' } }],
    ['tolerations', { tolerations: [{ key: 'spot', operator: 'Exists' }] }],
    ['priority', { priority: 100 }],
    ['host ports', { containers: [{ ...requests('500m', '256Mi'), ports: [{ containerPort: 80, hostPort: 80 }] }] }],
    ['an in-tree disk', { volumes: [{ name: 'd', azureDisk: { diskName: 'd' } }] }],
    ['affinity', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } }],
  ])('differ by %s', (_what, spec) => {
    const shapes = new Shapes(names);
    expect(shapes.of(podJson(spec)).key).not.toBe(shapes.of(podJson()).key);
  });

  it('EQ: keys do not depend on the order in which resources were met', () => {
    const pod = podJson({ containers: [{ resources: { requests: { 'example.com/a': '1', 'example.com/b': '2' } } }] });
    const other = new ResourceNames();
    other.indexOf('example.com/b');
    expect(projectShape(pod, other).key).toBe(projectShape(pod, new ResourceNames()).key);
  });

  it('an empty list of node selector terms stays empty, and differs from none', () => {
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
    expect(projectShape(podJson({ affinity }), names).nodeAffinity).toEqual([]);
    expect(projectShape(podJson(), names).nodeAffinity).toBeUndefined();
  });

  it('host ports of containers and sidecars, with the defaults filled in', () => {
    const spec: PodSpecJson = {
      containers: [{ ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }] }],
      initContainers: [
        { restartPolicy: 'Always', ports: [{ hostPort: 53, protocol: 'UDP', hostIP: '127.0.0.1' }] },
        { ports: [{ hostPort: 99 }] },
      ],
    };
    expect(projectShape(podJson(spec), names).hostPorts).toEqual([
      { port: 8080, protocol: 'TCP', hostIp: '0.0.0.0' },
      { port: 53, protocol: 'UDP', hostIp: '127.0.0.1' },
    ]);
  });

  it('folds matchLabelKeys into the selector once, and leaves soft constraints out', () => {
    const constraint = {
      topologyKey: 'zone',
      maxSkew: 2,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
      matchLabelKeys: ['pod-template-hash', 'absent'],
    };
    const merged = {
      ...constraint,
      labelSelector: { matchExpressions: [{ key: 'pod-template-hash', operator: 'In', values: ['7d4b9c6f5'] }] },
    };
    const spread = projectShape(
      podJson({ topologySpreadConstraints: [constraint, merged, { ...constraint, whenUnsatisfiable: 'ScheduleAnyway' }] }),
      names,
    ).topologySpread;
    expect(spread).toHaveLength(2);
    expect(spread[0]).toMatchObject({
      maxSkew: 2,
      minDomains: 1,
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
      selector: {
        requirements: [
          { key: 'app', operator: 'In', values: ['web'] },
          { key: 'pod-template-hash', operator: 'In', values: ['7d4b9c6f5'] },
        ],
      },
    });
    expect(spread[1]?.selector.requirements).toHaveLength(1);
  });

  it('affinity terms say their namespaces; mismatchLabelKeys exclude the own value', () => {
    const terms = [
      { topologyKey: 'zone', labelSelector: {} },
      { topologyKey: 'zone', labelSelector: {}, namespaceSelector: {} },
      { topologyKey: 'zone', labelSelector: {}, mismatchLabelKeys: ['app'], namespaces: ['other'] },
      { topologyKey: 'zone' },
    ];
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const [own, all, tenants, nothing] = projectShape(podJson({ affinity }), names).podAntiAffinity;
    expect(own).toMatchObject({ namespaces: ['shop'], namespaceSelector: undefined });
    expect(all).toMatchObject({ namespaces: [], namespaceSelector: { requirements: [] } });
    expect(tenants).toMatchObject({
      namespaces: ['other'],
      selector: { requirements: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
    });
    expect(matchesSelector(own?.selector ?? { requirements: [] }, {})).toBe(true);
    expect(matchesSelector(nothing?.selector ?? { requirements: [] }, { app: 'web' })).toBe(false);
  });
});

describe('nodes', () => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T00:01:00Z' };
  const json: NodeJson = {
    metadata: {
      name: 'aks-web-1',
      uid: 'n1',
      creationTimestamp: '2026-11-21T00:00:00Z',
      labels: { agentpool: 'web' },
      annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' },
    },
    spec: { providerID: 'azure:///subscriptions/x', taints: [{ key: 'spot', value: 'yes', effect: 'NoSchedule' }] },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110' },
      allocatable: { cpu: '3860m', memory: '12Gi', pods: '110', 'nvidia.com/gpu': '1' },
      conditions: [ready],
    },
  };

  it.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, string]>([
    ['has no devices', { 'kubernetes.azure.com/accelerator': 'nvidia' }, {}, RESOURCE_NOT_READY],
    ['has no devices, by its former label', { accelerator: 'nvidia' }, { 'nvidia.com/gpu': '0' }, RESOURCE_NOT_READY],
    ['has its devices', { 'kubernetes.azure.com/accelerator': 'nvidia' }, { 'nvidia.com/gpu': '2' }, ''],
    ['has parts of devices', { 'kubernetes.azure.com/accelerator': 'nvidia' }, { 'nvidia.com/mig-1g.5gb': '7' }, ''],
    ['has devices of another maker', { accelerator: 'amd' }, { 'amd.com/gpu': '1' }, ''],
    ['promises none', { agentpool: 'web' }, {}, ''],
  ])('a ready node that %s', (_what, labels, devices, reason) => {
    const allocatable = { cpu: '4', ...devices };
    const readiness = readinessOf({ metadata: { labels }, status: { conditions: [ready], allocatable } }, 0);
    expect(readiness).toMatchObject({ ready: reason === '', reason });
  });

  it.each([
    ['startup-taint.cluster-autoscaler.kubernetes.io/cni', {}, false],
    ['readiness.k8s.io/acme.com/network-unavailable', {}, false],
    ['node.cilium.io/agent-not-ready', {}, false],
    ['status-taint.cluster-autoscaler.kubernetes.io/degraded', {}, true],
    ['acme.io/warming-up', {}, true],
    ['acme.io/warming-up', { startup: ['acme.io/warming-up'] }, false],
    ['acme.io/warming-up', { startupPrefixes: ['acme.io/'] }, false],
    ['acme.io/degraded', { status: ['acme.io/degraded'] }, true],
  ])('a ready node with the taint %s and the rules %j is ready: %s', (key, rules, expected) => {
    const taints = [{ key, effect: 'NoSchedule' }];
    expect(readinessOf({ spec: { taints }, status: { conditions: [ready] } }, 0, { ...NO_TAINT_RULES, ...rules }).ready).toBe(expected);
  });

  it('keep what decisions read', () => {
    const node = projectNode(json, createNodeProjection(names));
    expect(node).toMatchObject({
      name: 'aks-web-1',
      providerId: 'azure:///subscriptions/x',
      labels: { agentpool: 'web' },
      taints: [{ key: 'spot', value: 'yes', effect: 'NoSchedule' }],
      unschedulable: false,
      readiness: { ready: true, sinceMs: Date.UTC(2026, 10, 21, 0, 1), reason: '' },
      scaleDownDisabled: true,
    });
    expect(names.toRecord(node.allocatable)).toEqual({ cpu: 3860, memory: 12 * 2 ** 30, pods: 110, 'nvidia.com/gpu': 1 });
  });

  it.each<[string, object[], object[], boolean]>([
    ['ready', [ready], [], true],
    ['no Ready condition', [], [], false],
    ['Ready False', [{ ...ready, status: 'False' }], [], false],
    ['Ready Unknown', [{ ...ready, status: 'Unknown' }], [], false],
    ['disk pressure', [ready, { type: 'DiskPressure', status: 'True' }], [], false],
    ['no network', [ready, { type: 'NetworkUnavailable', status: 'True' }], [], false],
    [
      'memory and PID pressure pass',
      [ready, { type: 'MemoryPressure', status: 'True' }, { type: 'PIDPressure', status: 'True' }],
      [],
      true,
    ],
    ['not-ready taint', [ready], [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }], false],
    ['disk-pressure taint', [ready], [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }], false],
    ['network taint', [ready], [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }], false],
    ['a startup taint', [ready], [{ key: 'startup-taint.cluster-autoscaler.kubernetes.io/gpu', effect: 'NoSchedule' }], false],
    ['an unrelated taint', [ready], [{ key: 'spot', effect: 'NoSchedule' }], true],
  ])('readiness: %s', (_what, conditions, taints, expected) => {
    expect(readinessOf({ status: { conditions }, spec: { taints } }, 0).ready).toBe(expected);
  });

  it('readiness changed when the newest condition or taint did; else at creation', () => {
    const taints = [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute', timeAdded: '2026-11-21T00:05:00Z' }];
    expect(readinessOf({ spec: { taints }, status: { conditions: [ready] } }, 7).sinceMs).toBe(Date.UTC(2026, 10, 21, 0, 5));
    expect(readinessOf({}, 7).sinceMs).toBe(7);
  });
});

describe('workloads', () => {
  it('a DaemonSet tolerates what its controller lets its pods tolerate', () => {
    const spec = { template: { metadata: { labels: { app: 'log' } }, spec: { hostNetwork: true, containers: [requests('10m')] } } };
    const daemonSet = projectDaemonSet({ metadata: { name: 'log', namespace: 'kube-system', uid: 'd' }, spec }, new Shapes(names));
    const taints = ['not-ready', 'disk-pressure', 'unschedulable', 'network-unavailable'].map((name) => ({
      key: `node.kubernetes.io/${name}`,
      value: '',
      effect: name === 'not-ready' ? ('NoExecute' as const) : ('NoSchedule' as const),
    }));
    expect(untoleratedTaint(taints, daemonSet.shape.tolerations)).toBeUndefined();
    expect(daemonSet.shape).toMatchObject({ namespace: 'kube-system', labels: { app: 'log' } });
  });

  it.each<[string, object | null | undefined, boolean | undefined]>([
    ['no selector matches nothing', undefined, undefined],
    ['null matches nothing', null, undefined],
    ['{} matches everything', {}, true],
    ['labels', { matchLabels: { app: 'web' } }, true],
    ['expressions', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, false],
    ['an unknown operator never holds', { matchExpressions: [{ key: 'app', operator: 'Near', values: ['web'] }] }, false],
  ])('selectors: %s', (_what, selector, matches) => {
    const projected = labelSelector(selector);
    expect(projected === undefined ? undefined : matchesSelector(projected, { app: 'web' })).toBe(matches);
  });

  it('a budget whose status lags behind its spec allows nothing', () => {
    const budget = {
      metadata: { name: 'b', namespace: 'shop', generation: 2 },
      spec: {},
      status: { disruptionsAllowed: 3, observedGeneration: 1 },
    };
    expect(projectBudget(budget).disruptionsAllowed).toBe(0);
    expect(projectBudget({ ...budget, status: { ...budget.status, observedGeneration: 2 } }).disruptionsAllowed).toBe(3);
  });
});

/** How many values the pods of a large cluster retain: what is equal must be one value. Counts, since bytes depend on the machine. */
import { describe, expect, it } from 'vitest';
import type { PodJson, PodSpecJson } from '../../../src/kubernetes/api/core-json.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

const NODES = 200;

interface DaemonInput {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly kind?: string;
  readonly bound: boolean;
  readonly spec?: PodSpecJson;
}

/** As the DaemonSet controller creates it: pinned to its node by name. */
function daemonPod(node: string, { annotations = {}, kind = 'DaemonSet', bound, spec = {} }: DaemonInput): PodJson {
  const pinned = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] };
  return {
    metadata: {
      name: `kube-proxy-${node}`,
      namespace: 'kube-system',
      uid: `uid-${node}`,
      annotations,
      labels: { app: 'kube-proxy' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'kube-proxy', uid: 'ds-1', controller: true }],
    },
    spec: {
      containers: [{ name: 'kube-proxy', resources: { requests: { cpu: '100m', memory: '64Mi' } } }],
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [pinned] } } },
      ...(bound ? { nodeName: node } : {}),
      ...spec,
    },
    status: { phase: bound ? 'Running' : 'Pending' },
  };
}

function shapesOf(input: DaemonInput): number {
  const shared = createPodProjection(new ResourceNames());
  const pods = Array.from({ length: NODES }, (_, index) => projectPod(daemonPod(`node-${index}`, input), shared));
  return new Set(pods.map(({ shape }) => shape)).size;
}

describe('the shapes of pods that are pinned to their nodes by name', () => {
  it.each<[string, DaemonInput, number]>([
    ['the bound pods of a DaemonSet are one', { bound: true }, 1],
    [
      'the bound pods that an annotation calls daemon pods are one',
      { bound: true, kind: 'AdvancedDaemonSet', annotations: { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' } },
      1,
    ],
    ['pods of a DaemonSet that wait for their nodes keep the names: they are found by them', { bound: false }, NODES],
    ['bound pods of other controllers keep the names: they could move', { bound: true, kind: 'Job' }, NODES],
  ])('%s', (_title, input, shapes) => {
    expect(shapesOf(input)).toBe(shapes);
  });

  it('the bound pods keep the other rules of their affinity', () => {
    const away = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: {} }] },
    };
    const affinity = { ...daemonPod('node-1', { bound: true }).spec?.affinity, ...away };
    const { shape } = projectPod(daemonPod('node-1', { bound: true, spec: { affinity } }), createPodProjection(new ResourceNames()));
    expect(shape.nodeAffinity).toBeUndefined();
    expect(shape.podAntiAffinity).toHaveLength(1);
  });

  it('an affinity to labels stays', () => {
    const terms = [{ matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }];
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
    const { shape } = projectPod(daemonPod('node-1', { bound: true, spec: { affinity } }), createPodProjection(new ResourceNames()));
    expect(shape.nodeAffinity).toHaveLength(1);
  });
});

describe('what the pods of a reader share', () => {
  const job = (index: number): PodJson => ({
    metadata: {
      name: `job-${index}-x2x8k`,
      namespace: 'batch',
      labels: { 'batch.kubernetes.io/job-name': `job-${index}` },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: `job-${index}`, uid: `uid-${index}`, controller: true }],
    },
    spec: { containers: [{ name: 'work' }] },
    status: { phase: 'Pending' },
  });

  it('ends with the pods: ten thousand jobs later, no more is known than before', async () => {
    const shared = createPodProjection(new ResourceNames());
    const present = Array.from({ length: 100 }, (_, index) => projectPod(job(index), shared));
    for (let index = 100; index < 10_000; index++) {
      projectPod(job(index), shared);
      if (index % 1_000 === 0) await collectGarbage();
    }
    expect(shared.shapes.count).toBeLessThan(3_000);
    expect(shared.controllers.size).toBeLessThan(3_000);
    expect(projectPod(job(7), shared).shape).toBe(present[7]?.shape);
  });
});

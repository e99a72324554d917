/** VerticalPodAutoscalers are watched only where that is on, and the view changes only with them. */
import { expect, it } from 'vitest';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { ReflectedCluster } from '../../../src/kubernetes/views/cluster-tables.ts';

const PATH = '/apis/autoscaling.k8s.io/v1/verticalpodautoscalers';

const clusterWith = (readsAutoscalers: boolean) => new ReflectedCluster(new ResourceNames(), { readsAutoscalers });
const sourceOf = (cluster: ReflectedCluster) => cluster.sources().find(({ path }) => path === PATH);

it('are not watched by default, and no container of a pod is kept', () => {
  const cluster = clusterWith(false);
  expect([sourceOf(cluster), cluster.views().verticalPodAutoscalers]).toEqual([undefined, undefined]);
  expect(cluster.podProjection.soft.containers).toBe(false);
});

it('are watched where that is on, also if the cluster does not have the kind yet', () => {
  const cluster = clusterWith(true);
  const source = sourceOf(cluster);
  expect([source?.mayBeAbsent, cluster.views().verticalPodAutoscalers]).toEqual([true, new Map()]);
  const json = {
    metadata: { namespace: 'shop', name: 'vpa', uid: 'u' },
    spec: { targetRef: { kind: 'Deployment', name: 'web' } },
    status: { recommendation: { containerRecommendations: [{ containerName: 'app', target: { cpu: '2' } }] } },
  };
  source?.table.put(json);
  const { verticalPodAutoscalers: first } = cluster.views();
  expect(first?.get('shop/Deployment/web')?.containers).toEqual({ app: { cpu: 2000 } });
  source?.table.put(json);
  expect(cluster.views().verticalPodAutoscalers).toBe(first);
  // What cannot be read leaves the last known target.
  const unreadable = {
    ...json,
    status: { recommendation: { containerRecommendations: [{ containerName: 'app', target: { cpu: 'x' } }] } },
  };
  source?.table.put(unreadable);
  expect(cluster.views().verticalPodAutoscalers?.get('shop/Deployment/web')?.containers).toEqual({ app: { cpu: 2000 } });
  source?.table.remove(json);
  expect(cluster.views().verticalPodAutoscalers).toEqual(new Map());
});

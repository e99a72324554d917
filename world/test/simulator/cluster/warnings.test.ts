/** A kind that nothing in the world acts on says so in the Warning header, which kubectl prints. */
import { beforeEach, describe, expect, it } from 'vitest';
import { aDeployment, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage();
});

const TEMPLATE = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const SELECTOR = { matchLabels: { app: 'a' } };

/** Plural path, the spec, and what the warning says. */
const ROWS: readonly (readonly [string, string, string, unknown, string])[] = [
  ['apis/apps/v1', 'StatefulSet', 'statefulsets', { selector: SELECTOR, template: TEMPLATE }, 'no pods are created for it'],
  ['apis/batch/v1', 'Job', 'jobs', { template: TEMPLATE }, 'no pods are created for it'],
  ['apis/batch/v1', 'CronJob', 'cronjobs', { schedule: '* * * * *' }, 'no Jobs are created for it'],
  ['api/v1', 'ReplicationController', 'replicationcontrollers', { template: TEMPLATE }, 'no pods are created for it'],
  ['apis/autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', { maxReplicas: 3 }, 'it scales nothing'],
  ['api/v1', 'ResourceQuota', 'resourcequotas', { hard: { pods: '1' } }, 'it neither counts nor limits anything'],
  ['apis/networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { podSelector: {} }, 'there is no pod network'],
];

describe('a kind without a controller', () => {
  it.each(ROWS)('%s %s: each write has a warning, a read and a refusal have none', async (root, kind, plural, spec, says) => {
    const path = `/${root}/namespaces/default/${plural}`;
    const object = { apiVersion: root.replace(/^apis?\//, ''), kind, metadata: { name: 'a' }, spec };
    const warning = `299 - "the simulated cluster has no controller for ${kind}: it is stored, and ${says}"`;
    const created = await stage.client.call('POST', path, object);
    expect([created.status, created.headers['warning']]).toEqual([201, warning]);
    const patched = await stage.client.call('PATCH', `${path}/a`, { metadata: { labels: { x: 'y' } } }, MERGE);
    expect([patched.status, patched.headers['warning']]).toEqual([200, warning]);
    expect((await stage.client.call('POST', path, object)).headers['warning']).toBeUndefined();
    expect((await stage.client.call('GET', `${path}/a`)).headers['warning']).toBeUndefined();
    expect((await stage.client.call('DELETE', `${path}/a`)).headers['warning']).toBeUndefined();
  });

  it('a change of its scale has the warning, too', async () => {
    const path = '/apis/apps/v1/namespaces/default/statefulsets';
    const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'a' }, spec: { selector: SELECTOR, template: TEMPLATE } };
    await stage.client.call('POST', path, set);
    const scaled = await stage.client.call('PATCH', `${path}/a/scale`, { spec: { replicas: 4 } }, MERGE);
    expect(scaled.headers['warning']).toContain('no controller for StatefulSet');
  });

  it.each([
    ['LoadBalancer', '299 - "the simulated cluster has no load balancers: the Service gets no external address"'],
    ['ClusterIP', undefined],
  ])('a Service of type %s: %s', async (type, warning) => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { type, ports: [{ port: 80 }] } };
    const created = await stage.client.call('POST', '/api/v1/namespaces/default/services', service);
    expect([created.status, created.headers['warning']]).toEqual([201, warning]);
  });

  it('a kind with a controller has none', async () => {
    const created = await stage.client.call('POST', '/apis/apps/v1/namespaces/default/deployments', aDeployment('web', 1));
    expect([created.status, created.headers['warning']]).toEqual([201, undefined]);
  });
});

const MERGE = { contentType: 'application/merge-patch+json' };

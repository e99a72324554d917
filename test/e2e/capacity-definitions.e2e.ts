/** The definitions of custom resources that come with the chart, as a real API server takes them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { capacityPath } from '../../src/kubernetes/writes/capacity-status.ts';
import { MERGE, type ApiClient, type Json } from '../../world/simulator/real-control-plane/api-client.ts';
import { startControlPlane, type ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { givenBinaries, planeOf } from './given.ts';
import { until } from './until.ts';

const FILE = resolve(import.meta.dirname, '..', '..', 'deploy', 'capacity-definitions.yaml');
const GROUP = 'autoscaling.x-k8s.io';
const BUFFERS = `/apis/${GROUP}/v1beta1/namespaces/default/capacitybuffers`;
const REQUESTS = `/apis/${GROUP}/v1/namespaces/default/provisioningrequests`;

let plane: ControlPlane;
let api: ApiClient;

beforeAll(async () => {
  plane = await startControlPlane({ ...planeOf(givenBinaries()), parts: [] });
  api = plane.admin;
  for (const document of parseAllDocuments(readFileSync(FILE, 'utf8'))) await api.apply(document.toJS() as Json);
  for (const kind of ['CapacityBuffer', 'CapacityQuota', 'ProvisioningRequest'] as const)
    await until(`${kind} is served`, async () => (await api.call('GET', capacityPath(kind))).status === 200);
});

afterAll(() => plane?.stop());

const buffer = (version: string, spec: Json): Json => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'CapacityBuffer',
  metadata: { name: 'room' },
  spec,
});

describe('the definitions of the chart on a real API server', () => {
  it('are established, and structural: the server finds nothing to complain about', async () => {
    const definitions = await api.list('/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    expect(definitions).toHaveLength(3);
    for (const { status } of definitions) {
      const { conditions } = status as { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
      const held = conditions.filter((condition) => condition.status === 'True').map(({ type }) => type);
      expect(held.sort()).toEqual(['Established', 'NamesAccepted']);
    }
  });

  it('an object written in an older version of the Cluster Autoscaler is read in the one that the daemon watches', async () => {
    const spec = { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, percentage: 20, limits: { cpu: '4' } };
    await api.must('POST', BUFFERS.replace('v1beta1', 'v1alpha1'), buffer('v1alpha1', spec));
    expect(await api.get(`${BUFFERS}/room`)).toMatchObject({
      apiVersion: `${GROUP}/v1beta1`,
      spec: { ...spec, provisioningStrategy: 'buffer.x-k8s.io/active-capacity' },
    });
  });

  it('takes a status as the daemon writes it', async () => {
    const condition = { type: 'Provisioning', status: 'True', reason: 'FakePodsInjected', message: '', observedGeneration: 1 };
    const status = {
      replicas: 2,
      podTemplateRef: { name: 'web' },
      podTemplateGeneration: 1,
      conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    };
    await api.must('PATCH', `${BUFFERS}/room/status`, { status }, MERGE);
    expect(await api.get(`${BUFFERS}/room`)).toMatchObject({ status });
  });

  it.each([
    ['a buffer without a form', BUFFERS, buffer('v1beta1', { replicas: 1 }), /exactly one of podTemplateRef and scalableRef/],
    ['a template without a number', BUFFERS, buffer('v1beta1', { podTemplateRef: { name: 'a' } }), /replicas or limits are needed/],
    [
      'a quota without a limit',
      `/apis/${GROUP}/v1beta1/capacityquotas`,
      { apiVersion: `${GROUP}/v1beta1`, kind: 'CapacityQuota', metadata: { name: 'q' }, spec: { limits: { resources: {} } } },
      /at least 1/,
    ],
  ])('refuses %s', async (_what, path, object, reason) => {
    const answer = await api.call('POST', path, { ...object, metadata: { name: 'refused' } });
    expect(answer.status).toBe(422);
    expect(String(answer.body['message'])).toMatch(reason);
  });

  it('a request cannot be changed once it is made', async () => {
    const podSets = [{ podTemplateRef: { name: 'job' }, count: 3 }];
    const spec = { provisioningClassName: 'check-capacity.autoscaling.x-k8s.io', podSets, parameters: { noRetry: 'true' } };
    const request = { apiVersion: `${GROUP}/v1`, kind: 'ProvisioningRequest', metadata: { name: 'job' }, spec };
    await api.must('POST', REQUESTS, request);
    const answer = await api.call('PATCH', `${REQUESTS}/job`, { spec: { podSets: [{ ...podSets[0], count: 4 }] } }, MERGE);
    expect(answer).toMatchObject({ status: 422 });
    expect(String(answer.body['message'])).toContain('cannot be changed');
  });
});

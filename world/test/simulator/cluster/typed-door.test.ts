/** Bodies with wrong types: refused in the API server's words, and never stored. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import type { ObjectDraft } from '../../../simulator/cluster/store/objects.ts';
import { aMachine, aPodDraft, MAPS, startStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage([aMachine('n1')]);
});
afterAll(() => stage.stop());

const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const container = { name: 'c', image: 'i' };
const aPod = (spec: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec: { containers: [container], ...spec },
});

// The words of encoding/json and of ValidatePodSpec, as kubectl shows them: `... cannot be handled as a Deployment: json: cannot unmarshal
// string into Go struct field DeploymentSpec.spec.replicas of type int32` (kubernetes/kubernetes, many issues).
describe('a body with a field of a wrong type', () => {
  const POLICIES = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n' };
  const named = (rest: object) => ({ metadata: { name: 'x' }, ...rest });

  it.each<[what: string, path: string, body: unknown, message: string]>([
    [
      'a map that is a number',
      PODS,
      aPod({ nodeSelector: 5 }),
      'number into Go struct field PodSpec.spec.nodeSelector of type map[string]string',
    ],
    [
      'a label that is a number',
      PODS,
      aPod({}, { labels: { a: 1 } }),
      'number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'a list that is an object',
      PODS,
      aPod({ tolerations: {} }),
      'object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration',
    ],
    ['a spec that is text', PODS, { ...aPod({}), spec: 'x' }, 'string into Go struct field Pod.spec of type v1.PodSpec'],
    ['a fraction', PODS, aPod({ priority: 1.5 }), 'number 1.5 into Go struct field PodSpec.spec.priority of type int32'],
    [
      'a name deep inside',
      PODS,
      aPod({ containers: [{ ...container, name: true }] }),
      'bool into Go struct field Container.spec.containers.name of type string',
    ],
    [
      'owners that are text',
      PODS,
      aPod({}, { ownerReferences: 'me' }),
      'string into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference',
    ],
    [
      'replicas as text',
      DEPLOYMENTS,
      named({ spec: { replicas: '3' } }),
      'string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a taint that is text',
      '/api/v1/nodes',
      named({ spec: { taints: ['a=b:NoSchedule'] } }),
      'string into Go struct field NodeSpec.spec.taints of type v1.Taint',
    ],
    [
      'a lease held by a number',
      LEASES,
      named({ spec: { holderIdentity: 7 } }),
      'number into Go struct field LeaseSpec.spec.holderIdentity of type string',
    ],
    ['a ConfigMap with a number', MAPS, named({ data: { a: 1 } }), 'number into Go struct field ConfigMap.data of type string'],
  ])('%s', async (_what, path, body, message) => {
    const answer = await stage.client.call('POST', path, body);
    expect(answer).toMatchObject({ status: 400, body: { kind: 'Status', status: 'Failure', reason: 'BadRequest' } });
    expect(answer.body['message']).toContain(`json: cannot unmarshal ${message}`);
    if (path === DEPLOYMENTS)
      expect(answer.body['message']).toMatch(/^Deployment in version "v1" cannot be handled as a Deployment: json:/);
  });

  it.each<[what: string, path: string, body: unknown, message: string]>([
    ['null as a container', PODS, aPod({ containers: [null] }), 'Pod "p" is invalid: spec.containers[0].name: Required value'],
    [
      'an owner without uid',
      PODS,
      aPod({}, { ownerReferences: [owner] }),
      'metadata.ownerReferences[0].uid: Invalid value: "": must not be empty',
    ],
    [
      'an unknown operator',
      POLICIES,
      named({ spec: { selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } } }),
      'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    ],
  ])('%s is invalid', async (_what, path, body, message) => {
    const answer = await stage.client.call('POST', path, body);
    expect(answer).toMatchObject({ status: 422, body: { kind: 'Status', status: 'Failure', reason: 'Invalid' } });
    expect(answer.body['message']).toContain(message);
  });

  it('is refused in a patch and in a status, too', async () => {
    await stage.client.call('POST', PODS, aPodDraft('whole'));
    const merge = { contentType: 'application/merge-patch+json' };
    const patched = await stage.client.call('PATCH', `${PODS}/whole`, { metadata: { labels: { a: [] } } }, merge);
    expect(patched).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    const status = await stage.client.call('PATCH', '/api/v1/nodes/n1/status', { status: { conditions: 'fine' } }, merge);
    expect(status).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });
});

const KINDS = [
  ['v1', 'Pod'],
  ['v1', 'Node'],
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'DaemonSet'],
  ['apps/v1', 'ReplicaSet'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['v1', 'PersistentVolumeClaim'],
] as const;
const WORDS = 'spec template metadata labels containers selector matchLabels matchExpressions operator values'.split(' ');
const FIELDS =
  'nodeSelector tolerations taints status conditions resources requests affinity nodeAffinity volumes replicas minAvailable ownerReferences topologySpreadConstraints initContainers overhead ports name key'.split(
    ' ',
  );
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 5, -1.5, '', 'a', '100m', 'In', 'Always'),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom(...WORDS, ...FIELDS), tie('value'), { maxKeys: 4 }),
  ),
})).value;

/** The code of a refusal; 201: stored. Any other error is a defect of the server. */
function statusOf(draft: ObjectDraft): number {
  try {
    stage.cluster.apply(draft);
    return 201;
  } catch (error) {
    if (error instanceof AutoscalerError && error.detail.kind === 'kube-api') return error.detail.status ?? 0;
    throw error;
  }
}

describe('random bodies', () => {
  it.each([
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'bare' } },
    { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'bare', namespace: 'default' } },
  ])('a $kind without spec and status is stored, and the world goes on', (draft) => {
    expect(statusOf(draft)).toBe(201);
    expect(() => stage.clock.advance(2_000)).not.toThrow();
    stage.cluster.remove(draft);
  });

  it('are refused or stored, and the scheduler and the controllers go on', () => {
    let count = 0;
    const body = fc.record({ kind: fc.constantFrom(...KINDS), at: fc.constantFrom(...FIELDS), value: anyValue, whole: anyValue });
    const seen = new Set<number>();
    fc.assert(
      fc.property(body, ({ kind: [apiVersion, kind], at, value, whole }) => {
        count += 1;
        const labels = { app: `r${count}` };
        const pod = { containers: [{ name: 'c' }], [at]: value };
        const shaped = { ...pod, replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
        for (const spec of [shaped, whole])
          seen.add(statusOf({ apiVersion, kind, metadata: { name: `r${count}`, namespace: 'default', labels }, spec }));
        stage.clock.advance(2_000);
      }),
      { numRuns: 80, seed: 17 },
    );
    expect([...seen].sort((left, right) => left - right)).toEqual([201, 400, 422]);
    stage.cluster.apply(aPodDraft('last', { cpu: '1m', memory: '1Mi', spec: { priority: 1_000_000 } }));
    stage.clock.advance(20_000);
    expect(stage.cluster.store.boundPods().map(({ metadata }) => metadata.name)).toContain('last');
  });
});

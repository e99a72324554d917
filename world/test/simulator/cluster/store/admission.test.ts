import { describe, expect, it } from 'vitest';
import { admit } from '../../../../simulator/cluster/store/admission.ts';
import type { KubeObject, PodSpec } from '../../../../simulator/cluster/store/objects.ts';
import { storedType } from '../../../../simulator/cluster/store/resource-types.ts';
import { ObjectStore } from '../../../../simulator/cluster/store/store.ts';

const META = { name: 'kata', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };
const kata: KubeObject = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: META,
  handler: 'kata',
  overhead: { podFixed: { cpu: '250m' } },
  scheduling: { nodeSelector: { sandbox: 'kata' }, tolerations: [{ key: 'sandbox', operator: 'Exists' }] },
};

function admitted(spec: Partial<PodSpec>) {
  const store = new ObjectStore(100);
  store.put('runtimeclasses', kata);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }], ...spec } };
  const result = admit(storedType('pods'), pod, store);
  return result.ok ? result.value.spec : result.refusal.message;
}

describe('RuntimeClass admission', () => {
  it('writes overhead, node selector and tolerations of the class into the pod', () => {
    const own = { key: 'mine', operator: 'Exists' } as const;
    expect(admitted({ runtimeClassName: 'kata', nodeSelector: { a: 'b' }, tolerations: [own] })).toMatchObject({
      overhead: { cpu: '250m' },
      nodeSelector: { a: 'b', sandbox: 'kata' },
      tolerations: [own, { key: 'sandbox', operator: 'Exists' }],
    });
  });

  it.each<[string, Partial<PodSpec>, string]>([
    ['a class that is not there', { runtimeClassName: 'other' }, 'RuntimeClass "other" not found'],
    ['another overhead', { runtimeClassName: 'kata', overhead: { cpu: '1' } }, "Pod's Overhead doesn't match"],
    ['an overhead without a class', { overhead: { cpu: '1' } }, 'Overhead set without corresponding RuntimeClass'],
    ['a selector that contradicts', { runtimeClassName: 'kata', nodeSelector: { sandbox: 'gvisor' } }, 'conflict'],
  ])('turns away %s', (_what, spec, message) => {
    expect(admitted(spec)).toContain(message);
  });
});

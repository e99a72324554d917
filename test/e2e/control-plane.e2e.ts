/** The control plane itself is what it says it is: real, with RBAC, on loopback, and it survives what later tests do to it. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Json } from '../../world/simulator/real-control-plane/api-client.ts';
import { startControlPlane, type ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { givenBinaries, planeOf } from './given.ts';
import { until } from './until.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const MANIFESTS = ['rbac', 'configmap', 'deployment', 'disruption-budget', 'service'];
const VARIANTS = ['everything', 'existing-secret', 'managed-identity', 'migrated'];

function objectsIn(text: string): readonly Json[] {
  return parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((object): object is Json => object !== null);
}

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane(planeOf(givenBinaries()));
});

afterAll(async () => {
  await plane?.stop();
});

describe('a real control plane', () => {
  it('refuses who has no right', async () => {
    const nobody = plane.clientWith('nobody-has-this-token');
    expect((await nobody.call('GET', '/api/v1/nodes')).status).toBe(401);
    const scheduler = await plane.admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'system:kube-scheduler', resourceAttributes: { verb: 'delete', resource: 'nodes' } },
    });
    expect(scheduler.body).toMatchObject({ status: { allowed: false } });
  });

  it.each(MANIFESTS)('takes deploy/%s.yaml without a complaint', async (name) => {
    const objects = objectsIn(readFileSync(join(ROOT, 'deploy', `${name}.yaml`), 'utf8'));
    expect(objects.length).toBeGreaterThan(0);
    for (const object of objects) await plane.admin.apply(object, { dryRun: true });
  });

  it.each(VARIANTS)('takes what the chart makes of the values of %s', async (name) => {
    const text = readFileSync(join(ROOT, 'test', 'deploy', 'golden', `${name}.yaml`), 'utf8');
    // The operator's own kinds need its definitions, and the namespace of others need not be there.
    const ours = objectsIn(text).filter((object) => (object['metadata'] as { readonly namespace?: string }).namespace !== 'monitoring');
    const known = ours.filter((object) => !/^(?:az)?monitoring\.coreos\.com\//.test(String(object['apiVersion'])));
    expect(known.length).toBeGreaterThan(2);
    for (const object of known) await plane.admin.apply(object, { dryRun: true });
  });

  it('takes what Helm makes of the chart, and it is what deploy/ says', async ({ skip }) => {
    const { template } = givenBinaries();
    if (template === undefined) return skip('there is no Helm among the given programs');
    const [program, ...first] = template;
    const chart = join(ROOT, 'helm', 'aks-autoscaler');
    const given = [chart, join(chart, 'ci', 'example-values.yaml')];
    const text = execFileSync(program, [...first, 'aks-autoscaler', 'kube-system', ...given], { encoding: 'utf8' });
    const objects = objectsIn(text);
    for (const object of objects) await plane.admin.apply(object, { dryRun: true });
    const plain = MANIFESTS.flatMap((name) => objectsIn(readFileSync(join(ROOT, 'deploy', `${name}.yaml`), 'utf8')));
    const named = (object: Json): string => `${String(object['kind'])}/${(object['metadata'] as { readonly name: string }).name}`;
    expect(objects.map(named).sort()).toEqual(plain.map(named).sort());
    const rules = (all: readonly Json[]): unknown => all.find((object) => object['kind'] === 'ClusterRole')?.['rules'];
    expect(rules(objects)).toEqual(rules(plain));
  });

  it('comes back after its API server was killed', async () => {
    await plane.admin.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' }, data: { a: 'b' } });
    await plane.restartApiServer('kill');
    expect(await plane.admin.get('/api/v1/namespaces/default/configmaps/kept')).toMatchObject({ data: { a: 'b' } });
  });

  it('answers 410 to a watch of what was compacted away', async () => {
    const old = (await plane.admin.must('GET', '/api/v1/namespaces/default/configmaps'))['metadata'] as { resourceVersion: string };
    await plane.admin.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' }, data: { a: 'c' } });
    await plane.compact();
    // The watch cache remembers more than the store: only a server without it has to ask the store.
    await plane.restartApiServer('kill');
    await until('the watch is refused', async () => {
      const answer = await plane.admin.call(
        'GET',
        `/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=2&resourceVersion=${old.resourceVersion}`,
      );
      return JSON.stringify(answer.body).includes('410') || answer.status === 410;
    });
  });
});

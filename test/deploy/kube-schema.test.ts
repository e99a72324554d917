/** What the chart renders is what Kubernetes takes: every field is one that its OpenAPI document knows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../deploy/files.ts';
import { objectsIn, ROOT, type KubeObject } from './kube-objects.ts';
import { kubeDefinitions, mistakesIn, type Definitions } from './kube-schema.ts';

const definitions = kubeDefinitions();
if (definitions === undefined) {
  process.stderr.write("Kubernetes' OpenAPI document is not in Go's module cache (`npm run test:e2e` puts it there): not validated\n");
}

const rendered = [...generatedFiles(ROOT).keys()]
  .filter((file) => /^(deploy|test\/deploy\/golden)\/[^/]+\.yaml$/.test(file) && !file.endsWith('kustomization.yaml'))
  .flatMap((file) => objectsIn(readFileSync(join(ROOT, file), 'utf8')).map((object) => ({ file, object })));

describe.skipIf(definitions === undefined)('the OpenAPI document of Kubernetes', () => {
  const known: Definitions = definitions ?? {};

  it.each(rendered)('knows every field of $object.kind in $file', ({ object }) => {
    const foreign = /^(?:az)?monitoring\.coreos\.com\//.test(object.apiVersion);
    expect(mistakesIn(object, known)).toEqual(foreign ? undefined : []);
  });

  it('finds an unknown field', () => {
    const spec = {
      replicas: '2',
      template: {
        metadata: { labels: { a: 1 } },
        spec: { containers: [{ name: 'a', imagePullPolcy: 'x', resources: { limits: { memory: true } } }] },
      },
    };
    const broken: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a', labels: {} }, spec };
    expect(mistakesIn(broken, known)).toEqual([
      'Deployment.spec lacks selector',
      'Deployment.spec.replicas is no whole number',
      'Deployment.spec.template.metadata.labels.a is no text',
      'Deployment.spec.template.spec.containers[0] knows no imagePullPolcy',
      'Deployment.spec.template.spec.containers[0].resources.limits.memory is no text',
    ]);
  });
});

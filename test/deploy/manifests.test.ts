/** The chart and the plain manifests come from one source, and fit the program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { generatedFiles } from '../../deploy/files.ts';
import { configuredBy, deploymentIn, objectsIn, ROOT, specOf, type KubeObject } from './kube-objects.ts';

function plainObjects(): readonly KubeObject[] {
  return readdirSync(join(ROOT, 'deploy'))
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .flatMap((file) => objectsIn(readFileSync(join(ROOT, 'deploy', file), 'utf8')));
}

describe('generated files', () => {
  const files = generatedFiles(ROOT);

  it.each([...files])('%s is up to date: run npm run manifests', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('are the only files there', () => {
    const folders = [join('helm', 'aks-autoscaler', 'templates'), 'deploy', join('deploy', 'prometheus'), join('test', 'deploy', 'golden')];
    const present = folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder))
        .filter((file) => /\.(yaml|tpl)$/.test(file))
        .map((file) => join(folder, file)),
    );
    const generated = [...files.keys()].filter((file) => /\.(yaml|tpl)$/.test(file));
    expect(present.toSorted()).toEqual(generated.toSorted());
  });
});

describe('the manifests', () => {
  const objects = plainObjects();
  const { selector, template } = deploymentIn(objects);
  const container = template.spec.containers[0];

  it('configure the daemon: the file parses, and a pod finds its API server and its name', () => {
    const config = configuredBy(objects);
    expect(config.kubernetes).toMatchObject({
      apiServer: 'https://10.0.0.1:443',
      namespace: 'kube-system',
      identity: 'aks-autoscaler-x',
      leaderElect: true,
    });
    expect(config.kubernetes.kubeconfigPath).toBeUndefined();
    expect(config.http).toMatchObject({ host: undefined, port: container?.ports[0]?.containerPort });
    expect(config.warnings).toEqual([]);
    expect(config.azure.discovery).toHaveLength(1);
  });

  it('probe paths that are served, on the port that serves nothing else and that no Service has', () => {
    const probes = [container?.livenessProbe.httpGet, container?.readinessProbe.httpGet];
    expect(probes.map((probe) => probe?.path)).toEqual(['/healthz', '/readyz']);
    const portOf = (name: string | undefined): number | undefined => container?.ports.find((port) => port.name === name)?.containerPort;
    const { http } = configuredBy(objects);
    expect(probes.map((probe) => portOf(probe?.port))).toEqual([http.probes?.port, http.probes?.port]);
    expect(http.probes).toMatchObject({ host: undefined, port: 8086 });
    expect(specOf(objects, 'Service')).toMatchObject({ ports: [{ targetPort: 'http' }] });
    expect(portOf('http')).toBe(http.port);
  });

  it('select the pods they make', () => {
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    for (const object of objects.filter(({ kind }) => kind === 'Service')) {
      expect(template.metadata.labels).toMatchObject((object.spec as { readonly selector: object }).selector);
    }
    for (const object of objects.filter(({ kind }) => kind === 'PodDisruptionBudget')) {
      const { matchLabels } = (object.spec as { readonly selector: { readonly matchLabels: object } }).selector;
      expect(template.metadata.labels).toMatchObject(matchLabels);
    }
  });

  it('give the pod longer to end than the daemon needs', () => {
    expect(template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(configuredBy(objects).loop.shutdownTimeoutMs);
  });

  it('list existing files for kustomize, without those that need an operator', () => {
    const { resources } = parse(readFileSync(join(ROOT, 'deploy', 'kustomization.yaml'), 'utf8')) as {
      readonly resources: readonly string[];
    };
    expect(resources.length).toBeGreaterThan(3);
    for (const file of resources) expect(readdirSync(join(ROOT, 'deploy'))).toContain(file);
    expect(objects.map(({ apiVersion }) => apiVersion).filter((version) => version.startsWith('monitoring.'))).toEqual([]);
  });
});

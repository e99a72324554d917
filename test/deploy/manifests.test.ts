/** The chart and the plain manifests come from one source, and fit the program. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { generatedFiles } from '../../deploy/files.ts';
import { isConfigErrors, type Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const CHART = join(ROOT, 'helm', 'aks-autoscaler');

interface KubeObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly env: readonly { readonly name: string }[];
      readonly ports: readonly { readonly containerPort: number }[];
      readonly livenessProbe: { readonly httpGet: { readonly path: string } };
      readonly readinessProbe: { readonly httpGet: { readonly path: string } };
    }[];
  };
}

function objectsIn(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((object): object is KubeObject => object !== null);
}

function plainObjects(): readonly KubeObject[] {
  return readdirSync(join(ROOT, 'deploy'))
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .flatMap((file) => objectsIn(readFileSync(join(ROOT, 'deploy', file), 'utf8')));
}

function theDeployment(): { readonly selector: { readonly matchLabels: object }; readonly template: PodTemplate } {
  const spec = plainObjects().find(({ kind }) => kind === 'Deployment')?.spec;
  return spec as ReturnType<typeof theDeployment>;
}

/** What the daemon makes of the mounted file and of the container's arguments, in a pod. */
function configuredBy(objects: readonly KubeObject[], args: readonly string[]): Config {
  const file = objects.find(({ kind }) => kind === 'ConfigMap')?.data?.['config.yaml'] ?? '';
  const config = loadConfig({
    argv: args.slice(1),
    env: { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', POD_NAME: 'aks-autoscaler-x' },
    readFile: (path) => (path === '/etc/aks-autoscaler/config.yaml' ? file : ''),
  });
  if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
  return config;
}

describe('generated files', () => {
  const files = generatedFiles(ROOT);

  it.each([...files])('%s is up to date: run npm run manifests', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('there are no others', () => {
    const present = [
      ...readdirSync(join(CHART, 'templates')).map((file) => join('helm', 'aks-autoscaler', 'templates', file)),
      ...readdirSync(join(ROOT, 'deploy'))
        .filter((file) => file.endsWith('.yaml'))
        .map((file) => join('deploy', file)),
    ];
    expect(present.toSorted()).toEqual([...files.keys()].toSorted());
  });
});

describe('the manifests', () => {
  const { selector, template } = theDeployment();
  const container = template.spec.containers[0];

  it('configure the daemon: the file parses, and a pod finds its API server and its name', () => {
    const config = configuredBy(plainObjects(), container?.args ?? []);
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

  it('ask what is served', () => {
    expect([container?.livenessProbe.httpGet.path, container?.readinessProbe.httpGet.path]).toEqual(['/healthz', '/readyz']);
  });

  it('select the pods they make', () => {
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    for (const object of plainObjects().filter(({ kind }) => kind === 'Service')) {
      expect(template.metadata.labels).toMatchObject((object.spec as { readonly selector: object }).selector);
    }
    for (const object of plainObjects().filter(({ kind }) => kind === 'PodDisruptionBudget' || kind === 'ServiceMonitor')) {
      const { matchLabels } = (object.spec as { readonly selector: { readonly matchLabels: object } }).selector;
      expect(template.metadata.labels).toMatchObject(matchLabels);
    }
  });

  it('give the pod longer to end than the daemon takes', () => {
    const graceMs = (template.spec as { readonly terminationGracePeriodSeconds?: number }).terminationGracePeriodSeconds ?? 0;
    expect(graceMs * 1000).toBeGreaterThan(configuredBy(plainObjects(), container?.args ?? []).loop.shutdownTimeoutMs);
  });

  it('kustomize names files that are there, and leaves out what needs an operator', () => {
    const { resources } = parse(readFileSync(join(ROOT, 'deploy', 'kustomization.yaml'), 'utf8')) as {
      readonly resources: readonly string[];
    };
    expect(resources.length).toBeGreaterThan(3);
    for (const file of resources) expect(readdirSync(join(ROOT, 'deploy'))).toContain(file);
    expect(resources).not.toContain('service-monitor.yaml');
  });
});

function render(args: readonly string[], values = '{}'): string {
  const rendered = spawnSync('helm', ['template', 'aks-autoscaler', CHART, '--namespace', 'kube-system', '--values', '-', ...args], {
    encoding: 'utf8',
    input: values,
  });
  if (rendered.status !== 0) throw new Error(rendered.stderr);
  return rendered.stdout;
}

/** Helm and we spell the configuration differently, so its digests differ. */
function comparable(objects: readonly KubeObject[]): unknown {
  const text = JSON.stringify(objects, (key, value: unknown) => {
    if (key === 'checksum/config') return 'a digest';
    if (key === 'config.yaml') return parse(String(value)) as unknown;
    return key === 'annotations' && JSON.stringify(value) === '{}' ? undefined : value;
  });
  const plain = JSON.parse(text) as readonly KubeObject[];
  return Object.fromEntries(plain.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

const hasHelm = spawnSync('helm', ['version']).status === 0;

describe.skipIf(!hasHelm)('the chart, rendered by Helm', () => {
  it('with its own values is the plain manifests', () => {
    expect(comparable(objectsIn(render(['--set', 'serviceMonitor.enabled=true'])))).toEqual(comparable(plainObjects()));
  });

  it('without the operator has no ServiceMonitor', () => {
    expect(objectsIn(render([])).map(({ kind }) => kind)).not.toContain('ServiceMonitor');
  });

  it('takes everything that can be given', () => {
    const values = {
      image: { repository: 'registry.example/aks-autoscaler', tag: '1.2.3' },
      replicas: 3,
      extraArgs: ['--scan-interval=20s', '--log-level=debug'],
      extraEnv: [{ name: 'AZURE_VMSS_CACHE_TTL', value: '90' }],
      serviceAccount: { annotations: { 'azure.workload.identity/client-id': 'abc' } },
      nodeSelector: {},
      config: { scaleDown: { unneededTime: '3m' } },
    };
    const objects = objectsIn(render([], JSON.stringify(values)));
    const spec = objects.find(({ kind }) => kind === 'Deployment')?.spec as ReturnType<typeof theDeployment> & {
      readonly replicas: number;
    };
    const container = spec.template.spec.containers[0];
    expect(spec.replicas).toBe(3);
    expect(container).toMatchObject({ image: 'registry.example/aks-autoscaler:1.2.3' });
    expect(container?.env).toContainEqual({ name: 'AZURE_VMSS_CACHE_TTL', value: '90' });
    const config = configuredBy(objects, container?.args ?? []);
    expect(config.loop.scanIntervalMs).toBe(20_000);
    expect(config.policy.scaleDown.unneededForMs).toBe(180_000);
    expect(config.logLevel).toBe('debug');
    expect(objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata).toMatchObject({
      annotations: { 'azure.workload.identity/client-id': 'abc' },
    });
  });
});

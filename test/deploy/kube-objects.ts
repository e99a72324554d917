/** Reads manifests as the tests need them. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { isConfigErrors, type Config } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';

export const ROOT = resolve(import.meta.dirname, '..', '..');
export const CHART = join(ROOT, 'helm', 'aks-autoscaler');

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
}

interface HttpGet {
  readonly path: string;
  readonly port: string;
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds: number;
    readonly containers: readonly {
      readonly image: string;
      readonly args: readonly string[];
      readonly env: readonly Variable[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly livenessProbe: { readonly httpGet: HttpGet; readonly timeoutSeconds?: number };
      readonly readinessProbe: { readonly httpGet: HttpGet };
    }[];
  };
}

interface DeploymentSpec {
  readonly replicas: number;
  readonly selector: { readonly matchLabels: object };
  readonly template: PodTemplate;
}

export function objectsIn(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((object): object is KubeObject => object !== null);
}

export function kindIn(objects: readonly KubeObject[], kind: string): KubeObject | undefined {
  return objects.find((object) => object.kind === kind);
}

export function deploymentIn(objects: readonly KubeObject[]): DeploymentSpec {
  return kindIn(objects, 'Deployment')?.spec as DeploymentSpec;
}

/**
 * What the daemon makes of the mounted file, the container's arguments and its variables, in a pod. `injected` is what
 * stands in Secrets, and what webhooks add.
 */
export function configuredBy(objects: readonly KubeObject[], injected: Readonly<Record<string, string>> = {}): Config {
  const file = kindIn(objects, 'ConfigMap')?.data?.['config.yaml'] ?? '';
  const [container] = deploymentIn(objects).template.spec.containers;
  const given = (container?.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  const config = loadConfig({
    argv: container?.args.slice(1) ?? [],
    env: {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      POD_NAME: 'aks-autoscaler-x',
      ...injected,
      ...Object.fromEntries(given),
    },
    readFile: (path) => (path === '/etc/aks-autoscaler/config.yaml' ? file : ''),
  });
  if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
  return config;
}

/** The chart with the values of one variant, as it is stored. */
export function golden(variant: string): readonly KubeObject[] {
  return objectsIn(readFileSync(join(ROOT, 'test', 'deploy', 'golden', `${variant}.yaml`), 'utf8'));
}

/** @throws Error if there is no such object. */
export function specOf(objects: readonly KubeObject[], kind: string): unknown {
  const object = kindIn(objects, kind);
  if (object === undefined) throw new Error(`there is no ${kind}`);
  return object.spec;
}

export interface RoleRule {
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** What a Role allows on ConfigMaps that the daemon writes. */
export function statusRules(objects: readonly KubeObject[]): readonly object[] {
  const { rules = [] } = (kindIn(objects, 'Role') ?? {}) as { readonly rules?: readonly RoleRule[] };
  const written = rules.filter(({ resourceNames, verbs }) => resourceNames !== undefined && !verbs.includes('watch'));
  return written.map(({ resourceNames: names, verbs }) => ({ names, verbs }));
}

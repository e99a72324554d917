/** Each value that the chart accepts changes what it renders, or is named where its user reads that it does not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartText } from '../../deploy/files.ts';
import { mergedValues, type Json, type JsonMap } from '../../deploy/notation.ts';
import { CHART, ROOT } from './kube-objects.ts';

const RELEASE = { name: 'aks-autoscaler', namespace: 'kube-system', version: '1' };
const DEFAULTS = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as JsonMap;
const { properties: SCHEMA } = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as { readonly properties: JsonMap };

/** Values without effect, each with the reason. `NOTES.txt` names those that a user gives; the page on migration names all. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  kubeTargetVersionOverride: 'these objects suit every supported version',
  vpa: 'only switched off is accepted, and then its other values mean nothing there either',
  'autoDiscovery.tags': 'that chart uses it for other clouds',
  'autoDiscovery.labels': 'that chart uses it for other clouds',
  'autoDiscovery.roles': 'that chart uses it for other clouds',
  'autoDiscovery.namespace': 'that chart uses it for other clouds',
  awsRegion: 'another cloud',
  civoApiUrl: 'another cloud',
  clusterAPIMode: 'another cloud',
  clusterAPIWorkloadKubeconfigPath: 'another cloud',
  clusterAPICloudConfigPath: 'another cloud',
  kwokConfigMapName: 'another cloud',
  magnumCABundlePath: 'another cloud',
};
/** Not ours: Helm gives it to every chart. */
const OF_HELM = ['global'];

/** A changed value, where the schema alone does not tell one. */
const CHANGED: Readonly<Record<string, Json>> = {
  'image.digest': `sha256:${'0'.repeat(64)}`,
  autoscalingGroups: [{ name: 'a', minSize: 0, maxSize: 1 }],
  extraArgs: ['--v=4'],
  extraEnv: { A: 'b' },
  extraEnvSecrets: { A: { name: 'a', key: 'b' } },
  extraEnvConfigMaps: { A: { name: 'a', key: 'b' } },
  extraVolumeSecrets: { a: { name: 'a', mountPath: '/a' } },
  'podDisruptionBudget.maxUnavailable': 2,
  'podDisruptionBudget.minAvailable': 1,
  'prometheusRule.interval': '10s',
  'prometheusRule.runbookBaseUrl': 'https://wiki.example',
  'rbac.additionalRules': [{ verbs: ['get'] }],
};
const MONITOR = { enabled: true };
/** What a value needs beside it. */
const BESIDE: readonly (readonly [prefix: string, values: JsonMap])[] = [
  ['sharedStore.passwordSecret.key', { sharedStore: { host: 'h', passwordSecret: { name: 's' } } }],
  ['sharedStore.', { sharedStore: { host: 'h' } }],
  ['envFromConfigMapOptional', { envFromConfigMap: 'a' }],
  ['priorityConfigMapAnnotations', { expanderPriorities: { 10: ['.*'] } }],
  ['networkPolicy.', { networkPolicy: { enabled: true } }],
  ['serviceMonitor.', { serviceMonitor: MONITOR }],
  ['podMonitor.', { podMonitor: MONITOR }],
  ['prometheusRule.', { prometheusRule: MONITOR }],
  ['grafanaDashboard.', { grafanaDashboard: { enabled: true } }],
];

interface Value {
  readonly path: string;
  readonly schema: JsonMap;
}

function valuesIn(properties: JsonMap, prefix = ''): readonly Value[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const { properties: inner, additionalProperties } = schema as JsonMap;
    const path = `${prefix}${name}`;
    if (inner === undefined || additionalProperties !== false || name === 'config') return [{ path, schema: schema as JsonMap }];
    return valuesIn(inner as JsonMap, `${path}.`);
  });
}

function at(values: Json, path: string): Json {
  return path.split('.').reduce<Json>((value, key) => (value as JsonMap | null)?.[key] ?? null, values);
}

function nested(path: string, value: Json): JsonMap {
  return path.split('.').reduceRight<Json>((inner, key) => ({ [key]: inner }), value) as JsonMap;
}

/** Accepted values other than the default. Empty: the default alone is accepted. */
function changesOf({ path, schema }: Value): readonly Json[] {
  const known = CHANGED[path];
  if (known !== undefined) return [known];
  const byDefault = at(DEFAULTS, path);
  const { enum: names, maxLength, maxItems, maxProperties, const: fixed, type, pattern, anyOf } = schema;
  if (fixed !== undefined || maxLength === 0 || maxItems === 0 || maxProperties === 0) return [];
  if (names !== undefined) return (names as readonly Json[]).filter((name) => name !== byDefault && !(byDefault === null && name === ''));
  if (pattern !== undefined) return ['7s'];
  if (anyOf !== undefined) return [[{ a: 'b' }]];
  switch (Array.isArray(type) ? (type as readonly Json[])[0] : type) {
    case 'boolean':
      return byDefault === null ? [true, false] : [byDefault !== true];
    case 'integer':
      return [(typeof byDefault === 'number' ? byDefault : 0) + 1];
    case 'string':
      return ['changed'];
    case 'array':
      return [(schema['items'] as JsonMap)['type'] === 'string' ? ['a'] : [{ a: 'b' }]];
    case 'object':
      return [{ changed: 'b' }];
    default:
      throw new Error(`no changed value of ${path} is known`);
  }
}

const NOTHING_BESIDE: JsonMap = {};
const rendered = new Map<JsonMap, { readonly base: JsonMap; readonly text: string }>();

function renderedWith(beside: JsonMap): { readonly base: JsonMap; readonly text: string } {
  const known = rendered.get(beside);
  if (known !== undefined) return known;
  const base = mergedValues(DEFAULTS, beside);
  const made = { base, text: chartText(base, RELEASE) };
  rendered.set(beside, made);
  return made;
}

function hasEffect({ path }: Value, changed: Json): boolean {
  const beside = BESIDE.find(([prefix]) => path.startsWith(prefix) && path !== `${prefix}enabled`)?.[1] ?? NOTHING_BESIDE;
  const { base, text } = renderedWith(beside);
  return chartText(mergedValues(base, nested(path, changed)), RELEASE) !== text;
}

describe('the values of the chart', () => {
  const values = valuesIn(SCHEMA).filter(({ path }) => !OF_HELM.includes(path));
  const changeable = values.filter((value) => changesOf(value).length > 0);

  it('all change what is rendered, but for those that are known to have no effect', () => {
    const without = changeable.filter((value) => changesOf(value).some((changed) => !hasEffect(value, changed)));
    expect(without.map(({ path }) => path).toSorted()).toEqual(Object.keys(WITHOUT_EFFECT).toSorted());
    expect(changeable.length).toBeGreaterThan(120);
  });

  it.each(Object.keys(WITHOUT_EFFECT))('without effect are named after the installation and on the page on migration: %s', (path) => {
    expect(readFileSync(join(CHART, 'templates', 'NOTES.txt'), 'utf8')).toContain(`"${path}"`);
    expect(readFileSync(join(ROOT, 'docs', 'migrate-from-cluster-autoscaler.md'), 'utf8')).toContain(`\`${path}\``);
  });
});

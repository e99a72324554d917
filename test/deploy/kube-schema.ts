/**
 * Kubernetes' own OpenAPI document, as its Go module carries it (the control plane of test/e2e is built from that module),
 * and a strict reading of it: unknown fields are mistakes. Objects of other APIs are not known to it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, type KubeObject } from './kube-objects.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

export type Definitions = Readonly<Record<string, Schema>>;

/** undefined where the module is not in Go's cache. */
export function kubeDefinitions(): Definitions | undefined {
  const cache = spawnSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' });
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(ROOT, 'test', 'e2e', 'control-plane', 'go.mod'), 'utf8'))?.[1] ?? '';
  const file = join((cache.stdout ?? '').trim(), 'k8s.io', `kubernetes@${version}`, 'api', 'openapi-spec', 'swagger.json');
  if (cache.status !== 0 || !existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly definitions: Definitions }).definitions;
}

/** @returns what is wrong with an object, one sentence each; undefined when its kind is not one of Kubernetes' own. */
export function mistakesIn(object: KubeObject, definitions: Definitions): readonly string[] | undefined {
  const [version = '', group = ''] = object.apiVersion.split('/').toReversed();
  const schema = Object.values(definitions).find((definition) =>
    definition['x-kubernetes-group-version-kind']?.some((is) => is.kind === object.kind && is.version === version && is.group === group),
  );
  return schema === undefined ? undefined : mistakes(object, schema, { definitions, path: object.kind });
}

interface Place {
  readonly definitions: Definitions;
  readonly path: string;
}

function mistakes(value: unknown, given: Schema, { definitions, path }: Place): readonly string[] {
  const schema = given.$ref === undefined ? given : (definitions[given.$ref.replace('#/definitions/', '')] ?? {});
  if (schema.format === 'int-or-string') return isOf(value, ['string', 'number']) ? [] : [`${path} is neither a number nor a text`];
  switch (schema.type) {
    case 'array':
      if (!Array.isArray(value)) return [`${path} is no list`];
      return value.flatMap((item, index) => mistakes(item, schema.items ?? {}, { definitions, path: `${path}[${index}]` }));
    case 'integer':
      return Number.isInteger(value) ? [] : [`${path} is no whole number`];
    case 'string':
      // A quantity is a text that may be written as a number.
      return isOf(value, given.$ref?.endsWith('.Quantity') ? ['string', 'number'] : ['string']) ? [] : [`${path} is no text`];
    case 'boolean':
    case 'number':
      return isOf(value, [schema.type]) ? [] : [`${path} is no ${schema.type}`];
    default:
      return schema.properties === undefined && schema.type !== 'object' ? [] : mapMistakes(value, schema, { definitions, path });
  }
}

function mapMistakes(value: unknown, schema: Schema, { definitions, path }: Place): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} is no map`];
  const missing = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${path} lacks ${name}`);
  const inner = Object.entries(value).flatMap(([name, part]) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known !== undefined) return mistakes(part, known, { definitions, path: `${path}.${name}` });
    return schema.properties === undefined ? [] : [`${path} knows no ${name}`];
  });
  return [...missing, ...inner];
}

function isOf(value: unknown, types: readonly string[]): boolean {
  return types.includes(typeof value);
}

/** Discovery: groups, resources, the version, and OpenAPI. */
import { stableHash } from '../../../../src/lib/random.ts';
import type { KindTable } from '../schemas/kind-table.ts';
import { openApiV2, openApiV3 } from '../schemas/openapi.ts';
import { apiVersionOf, type ResourceType } from '../store/resource-types.ts';
import type { ApiReply, ApiRequest } from './requests.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The server responds to it without storing it. */
const REVIEW = { group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview' };
const VERSION = {
  major: '1',
  minor: '33',
  gitVersion: 'v1.33.2',
  gitCommit: 'simulated',
  gitTreeState: 'clean',
  buildDate: '2025-06-17T18:32:12Z',
  goVersion: 'go1.24.4',
  compiler: 'gc',
  platform: 'linux/amd64',
};

/** The older form of OpenAPI in protobuf; an empty document has no bytes. kubectl reads the newer form first. */
const NO_SCHEMAS: ApiReply = {
  status: 200,
  body: '',
  headers: { 'content-type': 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf' },
};

/** The response to a discovery path; undefined for other paths. */
export function handleDiscovery(request: ApiRequest, kinds: KindTable): ApiReply | undefined {
  const path = request.path.replace(/\/$/, '');
  if (['/healthz', '/readyz', '/livez'].includes(path)) return { status: 200, body: 'ok' };
  if (path === '/version') return { status: 200, body: VERSION };
  const groups = groupsOf(kinds);
  if (path === '/api')
    return (
      aggregated(request, groups.slice(0, 1)) ?? {
        status: 200,
        body: { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
      }
    );
  if (path === '/apis') return aggregated(request, groups.slice(1)) ?? { status: 200, body: groupList(groups.slice(1)) };
  if (path.startsWith('/openapi/')) return openApi(request, path, kinds);
  const versioned = /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))$/.exec(path);
  if (versioned !== null) return resourceList(groups, versioned[2] ?? '', versioned[3] ?? versioned[1] ?? '');
  const group = groups.find(({ name }) => name !== '' && path === `/apis/${name}`);
  return group === undefined ? undefined : { status: 200, body: { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(group) } };
}

interface ApiGroup {
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly { readonly name: string; readonly types: readonly ResourceType[] }[];
}

/** The core group first. */
function groupsOf(kinds: KindTable): readonly ApiGroup[] {
  const groups = Map.groupBy(kinds.types(), ({ group }) => group);
  return [
    ...[...groups].map(([name, types]) => ({
      name,
      versions: [...Map.groupBy(types, ({ version }) => version)]
        .map(([version, ofVersion]) => ({ name: version, types: ofVersion }))
        .sort((left, right) => compareVersions(left.name, right.name)),
    })),
    { name: REVIEW.group, versions: [{ name: REVIEW.version, types: [] }] },
  ];
}

/** Stable versions before beta before alpha, then the newest first (kubernetes.io, "Version priority"). */
function compareVersions(left: string, right: string): number {
  const rank = (version: string): readonly number[] => {
    const [, major = '0', stage = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return [['', 'beta', 'alpha'].indexOf(stage), -Number(major), -Number(minor)];
  };
  const [one, other] = [rank(left), rank(right)];
  return one.map((value, index) => value - (other[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function groupDocument({ name, versions }: ApiGroup): Readonly<Record<string, unknown>> {
  const all = versions.map((version) => ({ groupVersion: `${name}/${version.name}`, version: version.name }));
  return { name, versions: all, preferredVersion: all[0] };
}

function groupList(groups: readonly ApiGroup[]): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupDocument) };
}

function resourceList(groups: readonly ApiGroup[], group: string, version: string): ApiReply | undefined {
  const groupVersion = group === '' ? version : `${group}/${version}`;
  if (group === REVIEW.group && version === REVIEW.version) {
    const resources = [{ name: REVIEW.plural, singularName: '', namespaced: false, kind: REVIEW.kind, verbs: ['create'] }];
    return { status: 200, body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources } };
  }
  const types = groups.find(({ name }) => name === group)?.versions.find(({ name }) => name === version)?.types;
  if (types === undefined) return undefined;
  return { status: 200, body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: types.flatMap(resourcesOf) } };
}

function resourcesOf(type: ResourceType): readonly unknown[] {
  const main = {
    name: type.plural,
    singularName: type.singular,
    namespaced: type.namespaced,
    kind: type.kind,
    verbs: VERBS,
    ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
    ...(type.inAll ? { categories: ['all'] } : {}),
  };
  const subresources = type.subresources.map((name) => ({
    name: `${type.plural}/${name}`,
    singularName: '',
    namespaced: type.namespaced,
    ...subresourceKind(type, name),
  }));
  return [main, ...subresources];
}

function subresourceKind(
  type: ResourceType,
  name: string,
): { readonly kind: string; readonly verbs: readonly string[]; readonly group?: string; readonly version?: string } {
  switch (name) {
    case 'scale':
      return { group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] };
    case 'eviction':
      return { group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] };
    case 'binding':
      return { kind: 'Binding', verbs: ['create'] };
    case 'log':
      return { kind: 'Pod', verbs: ['get'] };
    default:
      return { kind: type.kind, verbs: ['get', 'patch', 'update'] };
  }
}

function aggregated(request: ApiRequest, groups: readonly ApiGroup[]): ApiReply | undefined {
  if (!request.accept.includes('g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')) return undefined;
  const items = groups.map(({ name, versions }) => ({
    metadata: { name, creationTimestamp: null },
    versions: versions.map((version) => ({
      version: version.name,
      freshness: 'Current',
      resources: aggregatedResources(name, version.types),
    })),
  }));
  return {
    status: 200,
    body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items },
    headers: { 'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
  };
}

function aggregatedResources(group: string, types: readonly ResourceType[]): readonly unknown[] {
  if (group === REVIEW.group) {
    const responseKind = { group: REVIEW.group, version: REVIEW.version, kind: REVIEW.kind };
    return [{ resource: REVIEW.plural, responseKind, scope: 'Cluster', singularResource: 'selfsubjectaccessreview', verbs: ['create'] }];
  }
  return types.map((type) => ({
    resource: type.plural,
    responseKind: { group: type.group, version: type.version, kind: type.kind },
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: VERBS,
    shortNames: type.shortNames,
    ...(type.inAll ? { categories: ['all'] } : {}),
    subresources: type.subresources.map((name) => {
      const { kind, verbs, group: ownGroup, version } = subresourceKind(type, name);
      return { subresource: name, responseKind: { group: ownGroup ?? type.group, version: version ?? type.version, kind }, verbs };
    }),
  }));
}

function openApi({ accept }: ApiRequest, path: string, kinds: KindTable): ApiReply | undefined {
  if (path === '/openapi/v2') return accept.includes('protobuf') ? NO_SCHEMAS : { status: 200, body: openApiV2(kinds, VERSION.gitVersion) };
  const documents = Map.groupBy(kinds.types(), (type) => (type.group === '' ? `api/${type.version}` : `apis/${apiVersionOf(type)}`));
  if (path === '/openapi/v3') {
    // A client keeps a document by its hash: that of a group changes with its definitions.
    const paths = [...documents].map(([name, types]) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hashOf(kinds, types)}` }]);
    return { status: 200, body: { paths: Object.fromEntries(paths) as unknown } };
  }
  const types = documents.get(path.slice('/openapi/v3/'.length));
  return types === undefined ? undefined : { status: 200, body: openApiV3(kinds, types, VERSION.gitVersion) };
}

function hashOf(kinds: KindTable, types: readonly ResourceType[]): string {
  const custom = types.map((type) => kinds.custom(type)?.json ?? type.kind);
  return stableHash(JSON.stringify(custom)).toString(16).toUpperCase().padStart(8, '0');
}

/** The response to an access review: the result that the request itself would have. */
export function reviewAccess(request: ApiRequest, forbidden: ReadonlySet<string>): ApiReply | undefined {
  if (!isReview(request)) return undefined;
  const asked = typeof request.body === 'object' && request.body !== null ? request.body : {};
  const allowed = !forbidden.has(accessOf(asked));
  const status = allowed ? { allowed, reason: 'the simulated cluster allows what it does not forbid' } : { allowed };
  return { status: 201, body: { ...asked, apiVersion: `${REVIEW.group}/${REVIEW.version}`, kind: REVIEW.kind, metadata: {}, status } };
}

function accessOf(body: object): string {
  const spec: unknown = Reflect.get(body, 'spec');
  const asked: unknown = typeof spec === 'object' && spec !== null ? Reflect.get(spec, 'resourceAttributes') : undefined;
  const field = (name: string): string => {
    const value: unknown = typeof asked === 'object' && asked !== null ? Reflect.get(asked, name) : undefined;
    return typeof value === 'string' ? value : '';
  };
  const sub = field('subresource');
  return `${field('verb')} ${field('resource')}${sub === '' ? '' : `/${sub}`}`;
}

export function isReview(request: Pick<ApiRequest, 'method' | 'path'>): boolean {
  return request.method === 'POST' && request.path === `/apis/${REVIEW.group}/${REVIEW.version}/${REVIEW.plural}`;
}

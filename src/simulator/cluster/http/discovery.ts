/** Discovery: groups, resources, the version, and as much OpenAPI as kubectl needs. */
import { apiVersionOf, RESOURCE_TYPES, type ResourceType } from '../store/resource-types.ts';
import type { ApiReply, ApiRequest } from './requests.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const GROUPS: readonly string[] = [...new Set(RESOURCE_TYPES.map((type) => type.group).filter((group) => group !== ''))];
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

/**
 * An older form of OpenAPI in protobuf; an empty document has no bytes. kubectl requests it for kinds that it finds nowhere else.
 */
const NO_SCHEMAS: ApiReply = {
  status: 200,
  body: '',
  headers: { 'content-type': 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf' },
};

/** The response to a discovery path; undefined for other paths. */
export function handleDiscovery(request: ApiRequest): ApiReply | undefined {
  const path = request.path.replace(/\/$/, '');
  if (['/healthz', '/readyz', '/livez'].includes(path)) return { status: 200, body: 'ok' };
  if (path === '/version') return { status: 200, body: VERSION };
  if (path === '/api')
    return aggregated(request, ['']) ?? { status: 200, body: { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] } };
  if (path === '/apis') return aggregated(request, [...GROUPS, REVIEW.group]) ?? { status: 200, body: groupList() };
  if (path.startsWith('/openapi/')) return openApi(path);
  const versioned = /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))$/.exec(path);
  if (versioned !== null) return resourceList(versioned[2] ?? '', versioned[3] ?? versioned[1] ?? '');
  const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
  return group !== undefined && allGroups().includes(group)
    ? { status: 200, body: { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) } }
    : undefined;
}

function allGroups(): readonly string[] {
  return [...GROUPS, REVIEW.group];
}

function typesOf(group: string): readonly ResourceType[] {
  return RESOURCE_TYPES.filter((type) => type.group === group);
}

function versionOf(group: string): string {
  return typesOf(group)[0]?.version ?? REVIEW.version;
}

function groupOf(group: string): Readonly<Record<string, unknown>> {
  const version = { groupVersion: `${group}/${versionOf(group)}`, version: versionOf(group) };
  return { name: group, versions: [version], preferredVersion: version };
}

function groupList(): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: allGroups().map(groupOf) };
}

function resourceList(group: string, version: string): ApiReply | undefined {
  const groupVersion = group === '' ? version : `${group}/${version}`;
  if (group === REVIEW.group && version === REVIEW.version) {
    const resources = [{ name: REVIEW.plural, singularName: '', namespaced: false, kind: REVIEW.kind, verbs: ['create'] }];
    return { status: 200, body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources } };
  }
  const types = typesOf(group).filter((type) => type.version === version);
  if (types.length === 0) return undefined;
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

function aggregated(request: ApiRequest, groups: readonly string[]): ApiReply | undefined {
  if (!request.accept.includes('g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')) return undefined;
  const items = groups.map((group) => ({
    metadata: { name: group, creationTimestamp: null },
    versions: [{ version: versionOf(group), freshness: 'Current', resources: aggregatedResources(group) }],
  }));
  return {
    status: 200,
    body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items },
    headers: { 'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
  };
}

function aggregatedResources(group: string): readonly unknown[] {
  if (group === REVIEW.group) {
    const responseKind = { group: REVIEW.group, version: REVIEW.version, kind: REVIEW.kind };
    return [{ resource: REVIEW.plural, responseKind, scope: 'Cluster', singularResource: 'selfsubjectaccessreview', verbs: ['create'] }];
  }
  return typesOf(group).map((type) => ({
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

/** kubectl checks the `fieldValidation` parameter of PATCH to decide which side validates: the server does. */
function openApi(path: string): ApiReply | undefined {
  if (path === '/openapi/v2') return NO_SCHEMAS;
  const documents = new Map(['', ...GROUPS].map((group) => [group === '' ? 'api/v1' : `apis/${group}/${versionOf(group)}`, group]));
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries(
      [...documents.keys()].map((name) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=simulated` }]),
    );
    return { status: 200, body: { paths } };
  }
  const group = documents.get(path.slice('/openapi/v3/'.length));
  if (group === undefined) return undefined;
  const paths = Object.fromEntries(typesOf(group).map((type) => [objectPath(type), { patch: patchOperation(type) }]));
  return {
    status: 200,
    body: { openapi: '3.0.0', info: { title: 'Kubernetes', version: VERSION.gitVersion }, paths, components: { schemas: {} } },
  };
}

function objectPath(type: ResourceType): string {
  const root = type.group === '' ? '/api/v1' : `/apis/${apiVersionOf(type)}`;
  return `${root}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.plural}/{name}`;
}

function patchOperation(type: ResourceType): unknown {
  return {
    parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    responses: { '200': { description: 'OK' } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': { group: type.group, version: type.version, kind: type.kind },
  };
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

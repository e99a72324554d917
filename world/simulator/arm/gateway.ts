/**
 * The path of a request through ARM: route, faults, api version, token, scope, rate limits, the resource's own response, and the
 * headers of every response. Must not know sockets.
 */
import { asOfVersion, refuseVersion } from './api-versions.ts';
import { listScheduledEvents, startScheduledEvents } from './compute/spot-eviction.ts';
import type { FrozenLists } from './compute/stale-lists.ts';
import { isIdle } from './aks/agent-pool-validation.ts';
import { applyPendingForeignPoolWrite, scalePoolAsForeigner } from './faults/concurrent-pool-writers.ts';
import { applyPendingForeignWrite, scaleAsForeigner } from './faults/concurrent-writers.ts';
import { respondUnderFaults } from './faults/fault-responses.ts';
import { gatewayError } from './http/errors.ts';
import { parseJson, type Json } from './http/json.ts';
import type { ArmReply, ArmRequest, Trace } from './http/messages.ts';
import { compileRoutes, routeLabel, type RouteMatch } from './http/router.ts';
import { instanceMetadata } from './identity/metadata-server.ts';
import { refuseUnpermitted } from './identity/permissions.ts';
import { cloudMetadata } from './identity/cloud-metadata.ts';
import { getPrincipalsByIds, listPrincipals } from './identity/directory.ts';
import type { Identity } from './identity/tokens.ts';
import { listRetailPrices } from './other/retail-prices.ts';
import { ARM_ROUTES, type Route } from './routes.ts';
import { findAgentPool } from './state/agent-pool-document.ts';
import { type ArmWorld, findSet, setOfPool, type ScaleSet } from './state/arm-state.ts';
import type { Fault, FaultEffect, FaultTable } from './state/fault-rules.ts';
import { defined } from '../../../src/lib/defined.ts';

// Headers of every ARM response.

/** Echoes the client's own ids. `dateSkewMs`: the offset of `Date`. */
function withCommonHeaders(world: ArmWorld, request: ArmRequest, reply: ArmReply, dateSkewMs: number): ArmReply {
  const { draws, spec } = world;
  const requestId = draws.guid(`request|${request.occasion}`);
  const clientId = request.headers['x-ms-client-request-id'];
  const echo =
    clientId !== undefined && request.headers['x-ms-return-client-request-id'] === 'true' ? { 'x-ms-client-request-id': clientId } : {};
  const time = new Date(world.clock.now()).toISOString();
  const actor = request.principal.clientId;
  const who =
    actor === ''
      ? {}
      : { 'x-ms-operation-identifier': `tenantId=${spec.tenantId},objectId=${draws.guid(`oid|${actor}`)}/${spec.location}/${requestId}` };
  return {
    ...reply,
    headers: {
      'cache-control': 'no-cache',
      pragma: 'no-cache',
      expires: '-1',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-cache': 'CONFIG_NOCACHE',
      'x-msedge-ref': `Ref A: ${draws.hex(`edge|a|${request.occasion}`, 32).toUpperCase()} Ref B: AMS231 Ref C: ${time.replace(/\.\d+Z$/, 'Z')}`,
      'x-ms-request-id': requestId,
      'x-ms-correlation-request-id': request.headers['x-ms-correlation-request-id'] ?? requestId,
      'x-ms-routing-request-id': `${spec.location.toUpperCase()}:${time.replace(/[-:]|\.\d+/g, '')}:${requestId}`,
      ...who,
      ...(isByAks(request, reply) ? { 'content-type': 'application/json' } : {}),
      date: new Date(world.clock.now() + dateSkewMs).toUTCString(),
      ...echo,
      ...reply.headers,
    },
  };
}

/** AKS names no character set (recorded by azure-service-operator, August 2026). */
function isByAks({ path }: ArmRequest, { body, headers }: ArmReply): boolean {
  const isByGateway = headers?.['x-ms-failure-cause'] === 'gateway';
  return body !== undefined && typeof body !== 'string' && !isByGateway && /\/providers\/microsoft\.containerservice\//i.test(path);
}

// What ARM's gateway refuses itself, before a resource provider handles the request.

/** Refusals that need no resource: version, token, body. */
function refuseAtGateway({ identity, world }: GatewayDeps, request: ArmRequest): ArmReply | undefined {
  const unversioned = refuseVersion(request, world.spec.location);
  if (unversioned !== undefined) return unversioned;
  const unauthorized = identity.refuse(request.headers, request.base);
  if (unauthorized !== undefined) return unauthorized;
  if (request.text !== '' && request.body === undefined) {
    return gatewayError(400, 'InvalidRequestContent', 'The request content was invalid and could not be deserialized.');
  }
  return undefined;
}

/** Refuses a subscription or a resource group that does not exist. */
function refuseScope({ spec }: ArmWorld, { params }: ArmRequest): ArmReply | undefined {
  const { sub, rg } = params;
  if (sub !== undefined && sub.toLowerCase() !== spec.subscriptionId.toLowerCase()) {
    return gatewayError(404, 'SubscriptionNotFound', `The subscription '${sub}' could not be found.`);
  }
  const groups = [spec.nodeResourceGroup, spec.clusterResourceGroup].map((name) => name.toLowerCase());
  if (rg === undefined || groups.includes(rg.toLowerCase())) return undefined;
  return gatewayError(404, 'ResourceGroupNotFound', `Resource group '${rg}' could not be found.`);
}

function unknownRoute(request: ArmRequest): ArmReply {
  const [, namespace = 'Microsoft.Resources', type = ''] = /\/providers\/([^/]+)\/(.*)$/i.exec(request.path) ?? [];
  const version = request.query['api-version'] ?? '';
  const message = `The resource type '${type}' could not be found in the namespace '${namespace}' for api version '${version}'.`;
  return gatewayError(404, 'InvalidResourceType', message);
}

/** How the server sends a response: when, and how much of it. */
interface GatewayResponse {
  readonly reply: ArmReply;
  readonly fault: FaultEffect | undefined;
}

export interface Gateway {
  /** Routing fills `params`. */
  answer(request: ArmRequest): GatewayResponse;
}

interface OpenRoute {
  readonly method: string;
  readonly template: string;
  readonly answer: (identity: Identity, world: ArmWorld, request: ArmRequest) => ArmReply;
}

/** Routes outside of ARM, which have no api-version. */
const OPEN_ROUTES: readonly OpenRoute[] = [
  { method: 'GET', template: '/metadata/endpoints', answer: (_identity, _world, request) => cloudMetadata(request) },
  { method: 'GET', template: '/metadata/instance', answer: (_identity, world, request) => instanceMetadata(world, request) },
  { method: 'GET', template: '/metadata/instance/compute', answer: (_identity, world, request) => instanceMetadata(world, request) },
  { method: 'GET', template: '/api/retail/prices', answer: (_identity, world, request) => listRetailPrices(world, request) },
  { method: 'GET', template: '/metadata/identity/oauth2/token', answer: (identity, _world, request) => identity.metadataToken(request) },
  { method: 'GET', template: '/msi/token', answer: (identity, _world, request) => identity.appServiceToken(request) },
  { method: 'GET', template: '/metadata/scheduledevents', answer: (_identity, world, request) => listScheduledEvents(world, request) },
  { method: 'POST', template: '/metadata/scheduledevents', answer: (_identity, world, request) => startScheduledEvents(world, request) },
  { method: 'GET', template: '/common/discovery/instance', answer: (identity, _world, request) => identity.instanceDiscovery(request) },
  {
    method: 'GET',
    template: '/{tenant}/v2.0/.well-known/openid-configuration',
    answer: (identity, _world, request) => identity.openIdConfiguration(request),
  },
  { method: 'GET', template: '/{tenant}/discovery/v2.0/keys', answer: () => ({ status: 200, body: { keys: [] } }) },
  { method: 'POST', template: '/{tenant}/oauth2/v2.0/token', answer: (identity, _world, request) => identity.issueToken(request) },
  // The directory has no api-version, so it does not pass the gateway of ARM. It wants a token all the same.
  {
    method: 'POST',
    template: '/v1.0/directoryObjects/getByIds',
    answer: (identity, world, request) =>
      identity.refuse(request.headers, request.base) ?? getPrincipalsByIds(world, request, identity.clientIds),
  },
  {
    method: 'GET',
    template: '/v1.0/servicePrincipals',
    answer: (identity, world, request) =>
      identity.refuse(request.headers, request.base) ?? listPrincipals(world, request, identity.clientIds),
  },
];

const findArm = compileRoutes(ARM_ROUTES);
const findOpen = compileRoutes(OPEN_ROUTES);

/** Faults under which a read still returns the truth. */
const TRUTHFUL: ReadonlySet<FaultEffect['kind']> = new Set([
  'delay',
  'racing-writer',
  'upper-case-ids',
  'date-skew',
  'capacity-lag',
  'empty-page',
]);

export interface GatewayDeps {
  readonly world: ArmWorld;
  readonly identity: Identity;
  readonly faults: FaultTable;
  readonly frozen: FrozenLists;
}

export function createGateway(deps: GatewayDeps): Gateway {
  return {
    answer: (bare) => {
      const open = findOpen(bare.method, bare.path);
      const arm = open === undefined ? findArm(bare.method, bare.path) : undefined;
      const request = { ...bare, params: (open ?? arm)?.params ?? {} };
      const set = subjectSet(deps.world, request);
      const fault = findFault(deps, request, set);
      if (fault?.effect.kind === 'capacity-lag' && set !== undefined) set.nextLagMs = fault.effect.ms;
      const plain = (original: ArmRequest): ArmReply => {
        if (open !== undefined) return open.row.answer(deps.identity, deps.world, original);
        return answerArm(deps, original, { match: arm, set, fault });
      };
      const dateSkewMs = fault?.effect.kind === 'date-skew' ? fault.effect.ms : 0;
      const limited = withRateLimitHeaders(deps.world, { fault, arm, request }, respondUnderFaults(fault?.effect, request, plain));
      const reply = withCommonHeaders(deps.world, request, limited, dateSkewMs);
      if (set !== undefined) set.nextLagMs = undefined;
      recordRequest(deps.world, { request, reply, fault, pool: poolOf(request, set), match: open ?? arm });
      return { reply, fault: fault?.effect };
    },
  };
}

/** A fault that replaces a resource's response acts behind the gateway: the request still uses rate-limit tokens. */
function withRateLimitHeaders(
  world: ArmWorld,
  { fault, arm, request }: { readonly fault: Fault | undefined; readonly arm: RouteMatch<Route> | undefined; readonly request: ArmRequest },
  reply: ArmReply,
): ArmReply {
  if (fault?.effect.kind !== 'answer' || arm === undefined || !world.knobs.throttling) return reply;
  const limits = chargeRateLimits(world, request, {});
  return { ...reply, headers: { ...limits.headers, ...reply.headers } };
}

function poolOf(request: ArmRequest, set: ScaleSet | undefined): string | undefined {
  return set?.pool.name ?? request.params['pool'];
}

function findFault({ world, faults }: GatewayDeps, request: ArmRequest, set: ScaleSet | undefined): Fault | undefined {
  return faults.matchRequest({
    method: request.method,
    path: request.path,
    query: request.query,
    pool: poolOf(request, set),
    nowMs: world.clock.now(),
    chance: (id) => world.draws.unit(`fault|${id}|${request.occasion}`),
  });
}

interface JournalInput {
  readonly request: ArmRequest;
  readonly reply: ArmReply;
  readonly fault: Fault | undefined;
  readonly pool: string | undefined;
  readonly match: RouteMatch<{ readonly template: string }> | undefined;
}

function recordRequest(world: ArmWorld, { request, reply, fault, pool, match }: JournalInput): void {
  world.journal.add({
    seq: request.seq,
    at: world.clock.now(),
    method: request.method,
    route: routeOf(request, match),
    path: request.path,
    status: reply.status,
    principal: request.principal.clientId,
    ...defined({ pool, filter: request.query['$filter'] }),
    ...traceOf(request, reply.trace),
    ...(fault === undefined ? {} : { faultId: fault.id }),
    ...defined({ retryAfterSeconds: retryAfterOf(world, reply, fault?.effect) }),
    ...(match === undefined ? { loud: 'The emulator does not know this route.' } : {}),
  });
}

/** Of a fault, or of the resource itself. */
function retryAfterOf({ throttle }: ArmWorld, { headers }: ArmReply, effect: FaultEffect | undefined): number | undefined {
  const ofFault = effect?.kind === 'answer' ? effect.retryAfterSeconds : undefined;
  const text = ofFault === undefined ? headers?.['retry-after'] : throttle.retryAfter(ofFault);
  return text === undefined ? undefined : Number(text);
}

function routeOf(request: ArmRequest, match: RouteMatch<{ readonly template: string }> | undefined): string {
  return match === undefined ? `${request.method} (unknown)` : routeLabel(request.method, match.row.template);
}

function traceOf(request: ArmRequest, trace: Trace | undefined): Trace {
  const etagIn = request.headers['if-match'];
  return { ...defined({ etagIn }), ...trace };
}

function subjectSet(world: ArmWorld, request: ArmRequest): ScaleSet | undefined {
  const { name, pool } = request.params;
  if (name !== undefined) return findSet(world, name);
  return pool === undefined ? undefined : setOfPool(world, pool);
}

interface Subject {
  readonly match: RouteMatch<Route> | undefined;
  readonly set: ScaleSet | undefined;
  readonly fault: Fault | undefined;
}

function answerArm(deps: GatewayDeps, request: ArmRequest, { match, set, fault }: Subject): ArmReply {
  const { world } = deps;
  const refusal = refuseAtGateway(deps, request) ?? (match === undefined ? unknownRoute(request) : refuseScope(world, request));
  if (refusal !== undefined || match === undefined) return refusal ?? unknownRoute(request);
  const unpermitted = refuseUnpermitted(world, request, match.row.template);
  if (unpermitted !== undefined) return unpermitted;
  const limits = world.knobs.throttling ? chargeRateLimits(world, request, match.row) : { headers: {}, refusal: undefined };
  const answer = (): ArmReply => {
    if (set !== undefined && request.params['pool'] === undefined) applyForeignWritesToSet(world, request, { set, effect: fault?.effect });
    else applyForeignWritesToPool(world, request, fault?.effect);
    const stale = fault?.effect.kind === 'stale-list' ? deps.frozen.answer(fault.id, request) : undefined;
    return stale ?? match.row.answer(world, withoutFalseRead(request, fault?.effect));
  };
  const reply = limits.refusal ?? asOfVersion(request, answer());
  return { ...reply, headers: { ...limits.headers, ...reply.headers } };
}

/** A read that a fault falsifies or drops gives the client no knowledge, so the write-safety rules must not count it as a read. */
function withoutFalseRead(request: ArmRequest, effect: FaultEffect | undefined): ArmRequest {
  const isTrue = effect === undefined || TRUTHFUL.has(effect.kind);
  return isTrue || request.method !== 'GET' ? request : { ...request, principal: { clientId: '', foreign: false } };
}

/** Applies the pending changes of foreign writers before the request's conditions are compared. */
function applyForeignWritesToSet(
  world: ArmWorld,
  request: ArmRequest,
  { set, effect }: { readonly set: ScaleSet; readonly effect: FaultEffect | undefined },
): void {
  if (effect?.kind === 'racing-writer') scaleAsForeigner(world, set, { delta: effect.delta });
  const writes = request.method === 'PUT' || request.method === 'PATCH';
  if (writes && request.params['name'] !== undefined && !request.principal.foreign) applyPendingForeignWrite(world, set);
}

/** AKS accepts no write while an operation on the pool runs, so another writer can only come first on an idle pool. */
function applyForeignWritesToPool(world: ArmWorld, request: ArmRequest, effect: FaultEffect | undefined): void {
  const pool = request.principal.foreign ? undefined : findAgentPool(world, request.params['pool'] ?? '');
  if (pool === undefined) return;
  if (effect?.kind === 'racing-writer' && isIdle(pool)) scalePoolAsForeigner(world, pool, { delta: effect.delta });
  if (request.method === 'PUT') applyPendingForeignPoolWrite(world, pool);
}

function chargeRateLimits(world: ArmWorld, request: ArmRequest, route: Pick<Route, 'compute' | 'aks'>) {
  const { params } = request;
  return world.throttle.charge({
    method: request.method,
    clientId: request.principal.clientId,
    subscription: world.spec.subscriptionId,
    compute: route.compute,
    aks: route.aks,
    group: world.spec.nodeResourceGroup,
    resource: [
      params['name'] ?? params['pool'] ?? params['id'] ?? params['cluster'] ?? '',
      ...(params['instance'] === undefined ? [] : [params['instance']]),
    ].join('/'),
  });
}

export function parseBody(text: string, contentType: string): Json | undefined {
  return text === '' || contentType.includes('x-www-form-urlencoded') ? undefined : parseJson(text);
}

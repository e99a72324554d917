/**
 * The identity side: tokens by client secret, by federated assertion and from the instance metadata route, and their validation.
 * Tokens are signed, not stored, so a world of the same seed accepts the tokens that it issued. Must not know Azure's resources.
 */
import { createHmac } from 'node:crypto';
import { gatewayError } from '../http/errors.ts';
import { parseJson, pick, type Json, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';

/** An application that may sign in. Foreign ones are other writers, and the write-safety rules do not apply to them. */
export interface ArmClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly foreign?: boolean;
}

const AUDIENCE = 'https://management.azure.com';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export interface Identity {
  openIdConfiguration(request: ArmRequest): ArmReply;
  instanceDiscovery(request: ArmRequest): ArmReply;
  issueToken(request: ArmRequest): ArmReply;
  metadataToken(request: ArmRequest): ArmReply;
  /** The form of App Service, which clients use if IDENTITY_ENDPOINT and IDENTITY_HEADER are set. */
  appServiceToken(request: ArmRequest): ArmReply;
  /** The applications that may sign in. Empty if every application may. */
  readonly clientIds: readonly string[];
  /** The principal of a token. It has an empty client id if the token is not valid here. Ignores expiry. */
  principalOf(headers: Readonly<Record<string, string>>): Principal;
  /** The refusal of a missing, invalid or expired token. */
  refuse(headers: Readonly<Record<string, string>>, base: string): ArmReply | undefined;
}

/** If `clients` is undefined, every application is known, with any secret. */
export function createIdentity(world: ArmWorld, clients: readonly ArmClient[] | undefined): Identity {
  const secret = `signing|${world.spec.seed}`;
  const claimsOf = rememberedClaims(secret);
  const nowSeconds = (): number => Math.floor(world.clock.now() / 1_000);
  const tokenFor = (clientId: string): string => {
    const times = { iat: nowSeconds(), nbf: nowSeconds(), exp: nowSeconds() + world.knobs.tokenLifetimeSeconds };
    const oid = world.draws.guid(`oid|${clientId}`);
    return signToken(
      { aud: AUDIENCE, iss: `https://sts.windows.net/${world.spec.tenantId}/`, ...times, appid: clientId, oid, tid: world.spec.tenantId },
      secret,
    );
  };
  const managedToken = (request: ArmRequest): ArmReply => {
    const missing = ['api-version', 'resource'].find((name) => (request.query[name] ?? '') === '');
    if (missing !== undefined) return badMetadata(`Required query variable '${missing}' is missing`);
    // By client id or by the ARM id of the identity, whose name is its client id here. Without either: the VM's own identity.
    const named = request.query['client_id'] ?? request.query['msi_res_id']?.split('/').at(-1);
    const clientId = named ?? clients?.[0]?.clientId ?? 'system-assigned';
    if (clients !== undefined && !clients.some((client) => client.clientId === clientId)) return badMetadata('Identity not found');
    return { status: 200, body: metadataBody(world, clientId, tokenFor(clientId), nowSeconds()) };
  };
  return {
    clientIds: clients?.map(({ clientId }) => clientId) ?? [],
    openIdConfiguration: (request) => openIdConfiguration(request),
    instanceDiscovery: (request) => instanceDiscovery(world, request),
    issueToken: (request) => {
      const form = new URLSearchParams(request.text);
      const refusal = refuseSignIn(world, request, form, clients);
      if (refusal !== undefined) return refusal;
      const expires = world.knobs.tokenLifetimeSeconds;
      return {
        status: 200,
        body: { token_type: 'Bearer', expires_in: expires, ext_expires_in: expires, access_token: tokenFor(form.get('client_id') ?? '') },
      };
    },
    metadataToken: (request) =>
      request.headers['metadata'] === 'true' ? managedToken(request) : badMetadata('Required metadata header not specified'),
    // learn.microsoft.com/azure/app-service/overview-managed-identity, REST endpoint reference.
    appServiceToken: (request) =>
      (request.headers['x-identity-header'] ?? '') === '' ? badMetadata('Required X-IDENTITY-HEADER not specified') : managedToken(request),
    principalOf: (headers) => {
      const clientId = pick(claimsOf(bearerOf(headers) ?? ''), 'appid');
      if (typeof clientId !== 'string') return { clientId: '', foreign: false };
      return { clientId, foreign: clients?.find((client) => client.clientId === clientId)?.foreign === true };
    },
    refuse: (headers, base) => refuseBearer(world, claimsOf(bearerOf(headers) ?? ''), { present: bearerOf(headers) !== undefined, base }),
  };
}

function openIdConfiguration(request: ArmRequest): ArmReply {
  const root = `${request.base}/${param(request, 'tenant')}`;
  return {
    status: 200,
    body: {
      token_endpoint: `${root}/oauth2/v2.0/token`,
      authorization_endpoint: `${root}/oauth2/v2.0/authorize`,
      issuer: `${root}/v2.0`,
      jwks_uri: `${root}/discovery/v2.0/keys`,
    },
  };
}

function instanceDiscovery(world: ArmWorld, request: ArmRequest): ArmReply {
  const host = new URL(request.base).host;
  return {
    status: 200,
    body: {
      tenant_discovery_endpoint: `${request.base}/${world.spec.tenantId}/v2.0/.well-known/openid-configuration`,
      'api-version': '1.1',
      metadata: [{ preferred_network: host, preferred_cache: host, aliases: [host] }],
    },
  };
}

function metadataBody(world: ArmWorld, clientId: string, token: string, nowSeconds: number): Json {
  const lifetime = world.knobs.tokenLifetimeSeconds;
  return {
    access_token: token,
    client_id: clientId,
    expires_in: String(lifetime),
    expires_on: String(nowSeconds + lifetime),
    ext_expires_in: String(lifetime),
    not_before: String(nowSeconds),
    resource: AUDIENCE,
    token_type: 'Bearer',
  };
}

function badMetadata(description: string): ArmReply {
  return { status: 400, body: { error: 'invalid_request', error_description: description } };
}

function refuseSignIn(
  world: ArmWorld,
  request: ArmRequest,
  form: URLSearchParams,
  clients: readonly ArmClient[] | undefined,
): ArmReply | undefined {
  const refuse = (status: number, code: number, kind: string, message: string): ArmReply =>
    signInError(world, request, { status, code, kind, message });
  const clientId = form.get('client_id') ?? '';
  const tenant = param(request, 'tenant');
  if (tenant.toLowerCase() !== world.spec.tenantId.toLowerCase())
    return refuse(400, 90002, 'invalid_request', `Tenant '${tenant}' not found.`);
  if (form.get('grant_type') !== 'client_credentials')
    return refuse(400, 70003, 'unsupported_grant_type', 'The app requested an unsupported grant type.');
  const client = clients?.find((candidate) => candidate.clientId === clientId);
  if (clients !== undefined && client === undefined) {
    return refuse(400, 700016, 'unauthorized_client', `Application with identifier '${clientId}' was not found in the directory.`);
  }
  if (form.get('client_assertion_type') === ASSERTION_TYPE) {
    const expiry = pick(payloadOf(form.get('client_assertion') ?? ''), 'exp');
    if (typeof expiry !== 'number') return refuse(401, 50027, 'invalid_client', 'JWT token is invalid or malformed.');
    const expired = expiry <= Math.floor(world.clock.now() / 1_000);
    return expired ? refuse(401, 700024, 'invalid_client', 'Client assertion is not within its valid time range.') : undefined;
  }
  const secretIsRight = client === undefined ? form.has('client_secret') : form.get('client_secret') === client.clientSecret;
  return secretIsRight ? undefined : refuse(401, 7000215, 'invalid_client', 'Invalid client secret provided.');
}

interface SignInRefusal {
  readonly status: number;
  readonly code: number;
  readonly kind: string;
  readonly message: string;
}

function signInError(world: ArmWorld, request: ArmRequest, { status, code, kind, message }: SignInRefusal): ArmReply {
  const trace = world.draws.guid(`trace|${request.occasion}`);
  const timestamp = new Date(world.clock.now())
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
  const description = `AADSTS${code}: ${message} Trace ID: ${trace} Correlation ID: ${trace} Timestamp: ${timestamp}`;
  return {
    status,
    body: {
      error: kind,
      error_description: description,
      error_codes: [code],
      timestamp,
      trace_id: trace,
      correlation_id: trace,
      error_uri: `${request.base}/error?code=${code}`,
    },
  };
}

function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1];
}

function refuseBearer(
  world: ArmWorld,
  claims: Json | undefined,
  { present, base }: { readonly present: boolean; readonly base: string },
): ArmReply | undefined {
  const challenge = `Bearer authorization_uri="${base}/${world.spec.tenantId}", error="invalid_token"`;
  const unauthorized = (code: string, message: string): ArmReply => gatewayError(401, code, message, { 'www-authenticate': challenge });
  if (!present) return unauthorized('AuthenticationFailed', "Authentication failed. The 'Authorization' header is missing.");
  const expiry = pick(claims, 'exp');
  if (typeof expiry !== 'number') return unauthorized('InvalidAuthenticationToken', 'The access token is invalid.');
  const now = world.clock.now();
  if (expiry * 1_000 > now) return undefined;
  const message = `The access token expiry UTC time '${new Date(expiry * 1_000).toISOString()}' is earlier than current UTC time '${new Date(now).toISOString()}'.`;
  return unauthorized('ExpiredAuthenticationToken', message);
}

function signToken(claims: JsonObject, secret: string): string {
  const encode = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = `${encode({ typ: 'JWT', alg: 'HS256', kid: 'simulated' })}.${encode(claims)}`;
  return `${unsigned}.${createHmac('sha256', secret).update(unsigned).digest('base64url')}`;
}

const REMEMBERED_TOKENS = 100;

/** A client sends the same token for an hour, and each request asks for its claims twice. */
function rememberedClaims(secret: string): (token: string) => Json | undefined {
  const known = new Map<string, Json | undefined>();
  return (token) => {
    if (known.has(token)) return known.get(token);
    if (known.size >= REMEMBERED_TOKENS) known.clear();
    const claims = verifyToken(token, secret);
    known.set(token, claims);
    return claims;
  };
}

/** The claims of a token that this world issued; undefined for any other token. */
function verifyToken(token: string, secret: string): Json | undefined {
  const cut = token.lastIndexOf('.');
  const unsigned = token.slice(0, cut);
  const signature = createHmac('sha256', secret).update(unsigned).digest('base64url');
  return cut > 0 && token.slice(cut + 1) === signature ? payloadOf(token) : undefined;
}

function payloadOf(token: string): Json | undefined {
  return parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

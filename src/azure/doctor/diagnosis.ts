/**
 * What `doctor` asks of Azure: who we are, what our roles allow, and what stands around the pools. Reads only, through the
 * same clients, limits and error table as the daemon. Each answer stands alone: one that fails costs itself and no other.
 */
import type { TokenCredential } from '@azure/core-auth';
import { LogicalClock } from '../../cache/logical-clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { listSkus } from '../inventory/agents.ts';
import { ArmCalls } from '../arm/arm-client.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import type { ArmOperation } from '../arm/call-list.ts';
import { RateLimits } from '../arm/rate-limits.ts';
import { createClients, createCredential } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import { readPools, type PoolDiagnosisDeps, type DiagnosedPools } from './pool-diagnosis.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import { signInFailure } from '../arm/sign-in-errors.ts';

/** A thing that was asked for, or why there is no answer. */
export type ReadResult<Value> = { readonly value: Value } | { readonly error: AutoscalerError };

/** Whose token it is, as the token itself says; empty where it does not. */
export interface SignedIn {
  readonly clientId: string;
  readonly objectId: string;
  readonly tenantId: string;
}

/** Patterns with `*`. Within one grant, what `notActions` matches is not allowed. */
export interface RoleGrant {
  readonly actions: readonly string[];
  readonly notActions: readonly string[];
}

export interface AutoscaleRule {
  readonly name: string;
  readonly enabled: boolean;
  readonly target: string;
}

export interface SubnetUsage {
  /** Addresses that machines can have: the prefixes less the five that Azure keeps of each. */
  readonly addresses: number;
  readonly used: number;
}

export interface QuotaUsage {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

export interface AzureDiagnosis {
  signIn(signal: AbortSignal): Promise<ReadResult<SignedIn>>;
  grants(resourceGroup: string, signal: AbortSignal): Promise<ReadResult<readonly RoleGrant[]>>;
  /** What is allowed on one resource, what comes from above it included. */
  grantsOn(armId: string, signal: AbortSignal): Promise<ReadResult<readonly RoleGrant[]>>;
  pools(signal: AbortSignal): Promise<ReadResult<DiagnosedPools>>;
  autoscaleRules(signal: AbortSignal): Promise<ReadResult<readonly AutoscaleRule[]>>;
  subnet(id: string, signal: AbortSignal): Promise<ReadResult<SubnetUsage>>;
  quotas(signal: AbortSignal): Promise<ReadResult<readonly QuotaUsage[]>>;
  /** The sizes of the region. */
  sizes(signal: AbortSignal): Promise<ReadResult<SkuCatalog>>;
}

export interface DiagnosisDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Asks nothing yet. @throws AutoscalerError `config` when the credential cannot be made. */
export function diagnoseAzure({ options, clock, metrics }: DiagnosisDeps): AzureDiagnosis {
  const calls = new ArmCalls({
    clock,
    metrics: metrics.arm,
    rateLimits: new RateLimits(clock, metrics.arm),
    timeoutMs: options.requestTimeoutMs,
    maxConcurrent: options.maxConcurrentCalls,
    random: () => 0,
  });
  const credential = createCredential(options);
  const clients = createClients(options, credential, calls);
  const parts: PoolDiagnosisDeps = { options, calls, clients, order: new LogicalClock(clock) };
  const group = `/subscriptions/${options.subscriptionId}/resourceGroups`;
  return {
    signIn: (signal) => resultOf(() => signIn(options, credential, signal)),
    grants: (name, signal) => resultOf(() => readGrants(parts, `${group}/${name}`, signal)),
    grantsOn: (id, signal) => resultOf(() => readGrants(parts, id, signal)),
    pools: (signal) => resultOf(() => readPools(parts, signal)),
    autoscaleRules: (signal) =>
      resultOf(async () => {
        const path = `${group}/${options.nodeResourceGroup}/providers/Microsoft.Insights/autoscaleSettings?api-version=2022-10-01`;
        return (await readList(parts, { operation: 'listAutoscaleSettings', path, resource: '' }, signal)).map(projectRule);
      }),
    subnet: (id, signal) =>
      resultOf(async () =>
        projectSubnet(await readBody(parts, { operation: 'getSubnet', path: `${id}?api-version=2024-05-01`, resource: '' }, signal)),
      ),
    quotas: (signal) => resultOf(() => readQuotas(parts, signal)),
    sizes: (signal) => resultOf(() => listSkus({ ...parts, clock }, signal)),
  };
}

interface ArmQuery {
  readonly operation: ArmOperation;
  readonly path: string;
  readonly resource: string;
}

const MOST_PAGES = 100;

async function resultOf<Value>(ask: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await ask() };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return { error };
  }
}

async function signIn(options: AzureOptions, credential: TokenCredential, signal: AbortSignal): Promise<SignedIn> {
  const scopes = options.scopes.length === 0 ? [`${options.armEndpoint.replace(/\/+$/, '')}/.default`] : [...options.scopes];
  try {
    const token = await credential.getToken(scopes, { abortSignal: signal });
    const claims = claimsOf(token?.token ?? '');
    return { clientId: text(claims['appid']), objectId: text(claims['oid']), tenantId: text(claims['tid']) };
  } catch (thrown) {
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The sign-in was cancelled.', { cause: thrown });
    const known = signInFailure('reading the resource groups', thrown);
    if (known !== undefined) throw known;
    const why = thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown);
    throw new AutoscalerError({ kind: 'auth' }, `Cannot sign in to Azure: ${why}`, { cause: thrown });
  }
}

/** The readable middle of a JSON web token. Not verified: Azure does that. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  const claims = jsonOf(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  return isRecord(claims) ? claims : {};
}

async function readBody(
  { clients, calls, options }: PoolDiagnosisDeps,
  { operation, path, resource }: ArmQuery,
  signal: AbortSignal,
): Promise<unknown> {
  const url = path.startsWith('/') ? `${options.armEndpoint.replace(/\/+$/, '')}${path}` : path;
  const answer = await calls.run({ operation, resource }, signal, () => clients.getRaw(url));
  return jsonOf(answer.bodyAsText);
}

async function readList(parts: PoolDiagnosisDeps, question: ArmQuery, signal: AbortSignal): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let path = question.path;
  for (let page = 0; page < MOST_PAGES; page++) {
    const body = await readBody(parts, { ...question, path }, signal);
    if (!isRecord(body) || !Array.isArray(body['value'])) {
      throw new AutoscalerError(
        { kind: 'unavailable', effect: 'none' },
        `Azure answered ${question.operation} with something that is no list.`,
      );
    }
    found.push(...(body['value'] as readonly unknown[]));
    if (typeof body['nextLink'] !== 'string' || body['nextLink'] === '') return found;
    path = body['nextLink'];
  }
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The list of ${question.operation} does not end.`);
}

async function readGrants(parts: PoolDiagnosisDeps, scope: string, signal: AbortSignal): Promise<readonly RoleGrant[]> {
  const path = `${scope}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`;
  return (await readList(parts, { operation: 'listPermissions', path, resource: scope }, signal)).map(projectGrant);
}

async function readQuotas(parts: PoolDiagnosisDeps, signal: AbortSignal): Promise<readonly QuotaUsage[]> {
  const location = parts.options.location.replaceAll(' ', '').toLowerCase();
  const path = `/subscriptions/${parts.options.subscriptionId}/providers/Microsoft.Compute/locations/${location}/usages?api-version=2024-07-01`;
  const rows = await readList(parts, { operation: 'listUsages', path, resource: '' }, signal);
  return rows.flatMap((row): readonly QuotaUsage[] => {
    if (!isRecord(row) || !isRecord(row['name'])) return [];
    const { currentValue: used, limit } = row;
    return typeof used === 'number' && typeof limit === 'number' && limit >= 0 ? [{ name: text(row['name']['value']), used, limit }] : [];
  });
}

function projectGrant(raw: unknown): RoleGrant {
  const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []);
  return isRecord(raw) ? { actions: texts(raw['actions']), notActions: texts(raw['notActions']) } : { actions: [], notActions: [] };
}

function projectRule(raw: unknown): AutoscaleRule {
  const properties = isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
  return {
    name: isRecord(raw) ? text(raw['name']) : '',
    // Left out means on, as the monitor's documentation says.
    enabled: properties['enabled'] !== false,
    target: text(properties['targetResourceUri']),
  };
}

/** Azure keeps five addresses of each prefix. IPv6 prefixes have room for everybody and are not counted. */
function projectSubnet(raw: unknown): SubnetUsage {
  const properties = isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
  const many: readonly unknown[] = Array.isArray(properties['addressPrefixes']) ? properties['addressPrefixes'] : [];
  const prefixes = [properties['addressPrefix'], ...many].map(text).filter((prefix) => /^[\d.]+\/\d+$/.test(prefix));
  const addresses = [...new Set(prefixes)].reduce((sum, prefix) => sum + 2 ** (32 - Number(prefix.split('/')[1])) - 5, 0);
  const used = Array.isArray(properties['ipConfigurations']) ? properties['ipConfigurations'].length : 0;
  return { addresses, used };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

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
import { Budgets } from '../arm/rate-limits.ts';
import { createClients, createCredential } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import { readPools, type DiagnosisParts, type PoolsFacts } from './pool-diagnosis.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import { signInFailure } from '../arm/sign-in-errors.ts';

/** A thing that was asked for, or why there is no answer. */
export type Told<Value> = { readonly value: Value } | { readonly error: AutoscalerError };

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

export interface SubnetFacts {
  /** Addresses that machines can have: the prefixes less the five that Azure keeps of each. */
  readonly addresses: number;
  readonly used: number;
}

export interface QuotaFacts {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

export interface AzureDiagnosis {
  signIn(signal: AbortSignal): Promise<Told<SignedIn>>;
  grants(resourceGroup: string, signal: AbortSignal): Promise<Told<readonly RoleGrant[]>>;
  /** What is allowed on one resource, what comes from above it included. */
  grantsOn(armId: string, signal: AbortSignal): Promise<Told<readonly RoleGrant[]>>;
  pools(signal: AbortSignal): Promise<Told<PoolsFacts>>;
  autoscaleRules(signal: AbortSignal): Promise<Told<readonly AutoscaleRule[]>>;
  subnet(id: string, signal: AbortSignal): Promise<Told<SubnetFacts>>;
  quotas(signal: AbortSignal): Promise<Told<readonly QuotaFacts[]>>;
  /** The sizes of the region. */
  sizes(signal: AbortSignal): Promise<Told<SkuCatalog>>;
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
    budgets: new Budgets(clock, metrics.arm),
    timeoutMs: options.requestTimeoutMs,
    maxConcurrent: options.maxConcurrentCalls,
    random: () => 0,
  });
  const credential = createCredential(options);
  const clients = createClients(options, credential, calls);
  const parts: DiagnosisParts = { options, calls, clients, order: new LogicalClock(clock) };
  const group = `/subscriptions/${options.subscriptionId}/resourceGroups`;
  return {
    signIn: (signal) => told(() => signIn(options, credential, signal)),
    grants: (name, signal) => told(() => readGrants(parts, `${group}/${name}`, signal)),
    grantsOn: (id, signal) => told(() => readGrants(parts, id, signal)),
    pools: (signal) => told(() => readPools(parts, signal)),
    autoscaleRules: (signal) =>
      told(async () => {
        const path = `${group}/${options.nodeResourceGroup}/providers/Microsoft.Insights/autoscaleSettings?api-version=2022-10-01`;
        return (await listOf(parts, { operation: 'listAutoscaleSettings', path, resource: '' }, signal)).map(projectRule);
      }),
    subnet: (id, signal) =>
      told(async () =>
        projectSubnet(await bodyOf(parts, { operation: 'getSubnet', path: `${id}?api-version=2024-05-01`, resource: '' }, signal)),
      ),
    quotas: (signal) => told(() => readQuotas(parts, signal)),
    sizes: (signal) => told(() => listSkus({ ...parts, clock }, signal)),
  };
}

interface Question {
  readonly operation: ArmOperation;
  readonly path: string;
  readonly resource: string;
}

const MOST_PAGES = 100;

async function told<Value>(ask: () => Promise<Value>): Promise<Told<Value>> {
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

async function bodyOf(
  { clients, calls, options }: DiagnosisParts,
  { operation, path, resource }: Question,
  signal: AbortSignal,
): Promise<unknown> {
  const url = path.startsWith('/') ? `${options.armEndpoint.replace(/\/+$/, '')}${path}` : path;
  const answer = await calls.run({ operation, resource }, signal, () => clients.getRaw(url));
  return jsonOf(answer.bodyAsText);
}

async function listOf(parts: DiagnosisParts, question: Question, signal: AbortSignal): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let path = question.path;
  for (let page = 0; page < MOST_PAGES; page++) {
    const body = await bodyOf(parts, { ...question, path }, signal);
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

async function readGrants(parts: DiagnosisParts, scope: string, signal: AbortSignal): Promise<readonly RoleGrant[]> {
  const path = `${scope}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`;
  return (await listOf(parts, { operation: 'listPermissions', path, resource: scope }, signal)).map(projectGrant);
}

async function readQuotas(parts: DiagnosisParts, signal: AbortSignal): Promise<readonly QuotaFacts[]> {
  const location = parts.options.location.replaceAll(' ', '').toLowerCase();
  const path = `/subscriptions/${parts.options.subscriptionId}/providers/Microsoft.Compute/locations/${location}/usages?api-version=2024-07-01`;
  const rows = await listOf(parts, { operation: 'listUsages', path, resource: '' }, signal);
  return rows.flatMap((row): readonly QuotaFacts[] => {
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
function projectSubnet(raw: unknown): SubnetFacts {
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

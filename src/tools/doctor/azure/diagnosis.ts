/**
 * Reads for `doctor` from Azure: the signed-in identity, what its roles allow, and the surroundings of the pools. Read-only,
 * through the same clients, limits and error table as the daemon. Each read stands alone: a failed one affects no other.
 * Must not know checks and their fixes.
 */
import type { TokenCredential } from '@azure/core-auth';
import { LogicalClock } from '../../../cache/logical-clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../../../lib/errors.ts';
import type { Metrics } from '../../../telemetry/metrics.ts';
import { listSkus } from '../../../azure/agents/agents.ts';
import { askPlacement } from '../../../azure/agents/placement-agent.ts';
import { ArmCalls } from '../../../azure/arm/arm-client.ts';
import { jsonOf } from '../../../azure/arm/error-bodies.ts';
import type { ArmOperation } from '../../../azure/arm/call-list.ts';
import { RateLimits } from '../../../azure/arm/rate-limits.ts';
import { PageAddresses } from '../../../azure/arm/request-addresses.ts';
import { claimsOfToken, createClients, createCredential } from '../../../azure/arm/sdk-clients.ts';
import type { AzureOptions } from '../../../azure/arm/options.ts';
import { readPools, type PoolDiagnosisDeps, type DiagnosedPools } from './pool-diagnosis.ts';
import type { PlacementRow, SpotPlace } from '../../../azure/sizes/placement-scores.ts';
import type { SkuCatalog } from '../../../azure/sizes/sku-catalog.ts';
import { signInFailure } from '../../../azure/arm/sign-in-errors.ts';
import { isRecord, textIn } from '../../../lib/json.ts';

/** A value that was read, or why it could not be read. */
export type ReadResult<Value> = { readonly value: Value } | { readonly error: AutoscalerError };

/** The identity in the token; empty fields are not in the token. */
export interface SignedIn {
  readonly clientId: string;
  readonly objectId: string;
  readonly tenantId: string;
}

/** Patterns with `*`. Within one grant, actions that match `notActions` are not allowed. */
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
  /** Usable addresses: the prefixes minus the five that Azure reserves in each. */
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
  /** Permissions on one resource, including inherited ones. */
  grantsOn(armId: string, signal: AbortSignal): Promise<ReadResult<readonly RoleGrant[]>>;
  pools(signal: AbortSignal): Promise<ReadResult<DiagnosedPools>>;
  autoscaleRules(signal: AbortSignal): Promise<ReadResult<readonly AutoscaleRule[]>>;
  subnet(id: string, signal: AbortSignal): Promise<ReadResult<SubnetUsage>>;
  quotas(signal: AbortSignal): Promise<ReadResult<readonly QuotaUsage[]>>;
  /** The VM sizes of the region. */
  sizes(signal: AbortSignal): Promise<ReadResult<SkuCatalog>>;
  /** Azure's placement scores of one size, by place. */
  placementScores(place: SpotPlace, signal: AbortSignal): Promise<ReadResult<readonly PlacementRow[]>>;
}

interface DiagnosisDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Sends nothing yet. @throws AutoscalerError `config` if the credential cannot be made. */
export function diagnoseAzure({ options, clock, metrics }: DiagnosisDeps): AzureDiagnosis {
  const calls = new ArmCalls({
    clock,
    metrics: metrics.arm,
    rateLimits: new RateLimits(clock, metrics.arm),
    endpoint: options.armEndpoint,
    timeoutMs: options.requestTimeoutMs,
    maxConcurrent: options.maxConcurrentCalls,
    random: () => 0,
  });
  const credential = createCredential(options);
  const clients = createClients(options, credential, calls);
  const deps: PoolDiagnosisDeps = { options, calls, clients, order: new LogicalClock(clock) };
  const group = `/subscriptions/${options.subscriptionId}/resourceGroups`;
  return {
    signIn: (signal) => resultOf(() => signIn(options, credential, signal)),
    grants: (name, signal) => resultOf(() => readGrants(deps, `${group}/${name}`, signal)),
    grantsOn: (id, signal) => resultOf(() => readGrants(deps, id, signal)),
    pools: (signal) => resultOf(() => readPools(deps, signal)),
    autoscaleRules: (signal) =>
      resultOf(async () => {
        const path = `${group}/${options.nodeResourceGroup}/providers/Microsoft.Insights/autoscaleSettings?api-version=2022-10-01`;
        return (await readList(deps, { operation: 'listAutoscaleSettings', path, resource: '' }, signal)).map(projectRule);
      }),
    subnet: (id, signal) =>
      resultOf(async () =>
        projectSubnet(await readBody(deps, { operation: 'getSubnet', path: `${id}?api-version=2024-05-01`, resource: '' }, signal)),
      ),
    quotas: (signal) => resultOf(() => readQuotas(deps, signal)),
    sizes: (signal) => resultOf(() => listSkus({ ...deps, clock }, signal)),
    placementScores: ({ vmSize, isZonal }, signal) => resultOf(() => askPlacement(deps, { sizes: [vmSize], isZonal }, signal)),
  };
}

interface ArmQuery {
  readonly operation: ArmOperation;
  readonly path: string;
  readonly resource: string;
}

const MOST_PAGES = 100;

async function resultOf<Value>(read: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await read() };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return { error };
  }
}

async function signIn(options: AzureOptions, credential: TokenCredential, signal: AbortSignal): Promise<SignedIn> {
  try {
    const claims = await claimsOfToken(credential, options, signal);
    return { clientId: textIn(claims['appid']), objectId: textIn(claims['oid']), tenantId: textIn(claims['tid']) };
  } catch (thrown) {
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The sign-in was cancelled.', { cause: thrown });
    const known = signInFailure('reading the resource groups', thrown);
    if (known !== undefined) throw known;
    const why = thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown);
    throw new AutoscalerError({ kind: 'auth' }, `Cannot sign in to Azure: ${why}`, { cause: thrown });
  }
}

async function readBody(
  { clients, calls, options }: PoolDiagnosisDeps,
  { operation, path, resource }: ArmQuery,
  signal: AbortSignal,
  pages?: PageAddresses,
): Promise<unknown> {
  const url = path.startsWith('/') ? `${options.armEndpoint.replace(/\/+$/, '')}${path}` : path;
  const answer = await calls.run({ operation, resource }, signal, () => clients.getRaw(url), pages);
  return jsonOf(answer.bodyAsText);
}

async function readList(deps: PoolDiagnosisDeps, query: ArmQuery, signal: AbortSignal): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const addresses = new PageAddresses();
  let path = query.path;
  for (let page = 0; page < MOST_PAGES; page++) {
    const body = await readBody(deps, { ...query, path }, signal, addresses);
    if (!isRecord(body) || !Array.isArray(body['value'])) {
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Azure returned no list for ${query.operation}.`);
    }
    found.push(...(body['value'] as readonly unknown[]));
    if (typeof body['nextLink'] !== 'string' || body['nextLink'] === '') return found;
    path = body['nextLink'];
  }
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `${query.operation} returned more than ${MOST_PAGES} pages.`);
}

async function readGrants(deps: PoolDiagnosisDeps, scope: string, signal: AbortSignal): Promise<readonly RoleGrant[]> {
  const path = `${scope}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`;
  return (await readList(deps, { operation: 'listPermissions', path, resource: scope }, signal)).map(projectGrant);
}

async function readQuotas(deps: PoolDiagnosisDeps, signal: AbortSignal): Promise<readonly QuotaUsage[]> {
  const location = deps.options.location.replaceAll(' ', '').toLowerCase();
  const path = `/subscriptions/${deps.options.subscriptionId}/providers/Microsoft.Compute/locations/${location}/usages?api-version=2024-07-01`;
  const rows = await readList(deps, { operation: 'listUsages', path, resource: '' }, signal);
  return rows.flatMap((row): readonly QuotaUsage[] => {
    if (!isRecord(row) || !isRecord(row['name'])) return [];
    const { currentValue: used, limit } = row;
    return typeof used === 'number' && typeof limit === 'number' && limit >= 0 ? [{ name: textIn(row['name']['value']), used, limit }] : [];
  });
}

function projectGrant(raw: unknown): RoleGrant {
  const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []);
  return isRecord(raw) ? { actions: texts(raw['actions']), notActions: texts(raw['notActions']) } : { actions: [], notActions: [] };
}

function projectRule(raw: unknown): AutoscaleRule {
  const properties = isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
  return {
    name: isRecord(raw) ? textIn(raw['name']) : '',
    // A missing value means enabled, as the Azure Monitor documentation says.
    enabled: properties['enabled'] !== false,
    target: textIn(properties['targetResourceUri']),
  };
}

/** Azure reserves five addresses of each prefix. IPv6 prefixes are large enough and not counted. */
function projectSubnet(raw: unknown): SubnetUsage {
  const properties = isRecord(raw) && isRecord(raw['properties']) ? raw['properties'] : {};
  const many: readonly unknown[] = Array.isArray(properties['addressPrefixes']) ? properties['addressPrefixes'] : [];
  const prefixes = [properties['addressPrefix'], ...many].map(textIn).filter((prefix) => /^[\d.]+\/\d+$/.test(prefix));
  const addresses = [...new Set(prefixes)].reduce((sum, prefix) => sum + 2 ** (32 - Number(prefix.split('/')[1])) - 5, 0);
  const used = Array.isArray(properties['ipConfigurations']) ? properties['ipConfigurations'].length : 0;
  return { addresses, used };
}

/**
 * What `doctor` asks of Azure: who we are, what our roles allow, and what stands around the pools. Reads only, through the
 * same clients, limits and error table as the daemon. Each answer stands alone: one that fails costs itself and no other.
 */
import type { TokenCredential } from '@azure/core-auth';
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { AgentPool } from '@azure/arm-containerservice';
import { LogicalClock } from '../../cache/logical-clock.ts';
import type { Clock } from '../../domain/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../../domain/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ArmCalls } from './arm-calls.ts';
import { isRecord, jsonOf } from './arm-body.ts';
import type { ArmOperation } from './arm-operations.ts';
import { Budgets } from './budgets.ts';
import { createClients, createCredential, type ArmClients } from './clients.ts';
import type { AzureOptions } from './options.ts';
import { readPages } from './page-reader.ts';
import { frozenBecause, register, type Registered } from './registry.ts';
import { projectAgentPool, projectScaleSet, type AgentPoolRow, type ScaleSetRow } from './rows.ts';
import { signInFailure } from './sign-in-errors.ts';
import { poolOf } from './tags.ts';

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

export interface PoolFacts {
  /** As configured, or the set's name where a rule found it. */
  readonly name: string;
  /** undefined: there is no such scale set. A size of a pool of virtual machines is `POOL/SIZE`. */
  readonly found: boolean;
  readonly kind: string;
  readonly min: number;
  readonly max: number;
  readonly capacity: number | undefined;
  readonly vmSize: string;
  readonly agentPool: string | undefined;
  /** AKS's own autoscaler runs over it. */
  readonly managedAutoscaler: boolean;
  /** Neither grown nor shrunk now, and why. */
  readonly frozen: string | undefined;
  readonly subnetId: string | undefined;
  readonly armId: string;
}

export interface PoolsFacts {
  readonly pools: readonly PoolFacts[];
  /** Sets that a rule selects and that cannot be groups: why. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Places of discovery rules that select nothing, counted from 0. */
  readonly idleRules: readonly number[];
  /** Every scale set of the node resource group. */
  readonly scaleSets: readonly string[];
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
  pools(signal: AbortSignal): Promise<Told<PoolsFacts>>;
  autoscaleRules(signal: AbortSignal): Promise<Told<readonly AutoscaleRule[]>>;
  subnet(id: string, signal: AbortSignal): Promise<Told<SubnetFacts>>;
  quotas(signal: AbortSignal): Promise<Told<readonly QuotaFacts[]>>;
  /** One page of the sizes of the region: whether they may be read. */
  sizes(signal: AbortSignal): Promise<Told<'readable'>>;
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
  const parts: Parts = { options, calls, clients, order: new LogicalClock(clock) };
  const group = `/subscriptions/${options.subscriptionId}/resourceGroups`;
  return {
    signIn: (signal) => told(() => signIn(options, credential, signal)),
    grants: (name, signal) =>
      told(async () => {
        const path = `${group}/${name}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`;
        return (await listOf(parts, { operation: 'listPermissions', path, resource: name }, signal)).map(projectGrant);
      }),
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
    sizes: (signal) =>
      told(async () => {
        const location = encodeURIComponent(`location eq '${options.location}'`);
        const path = `/subscriptions/${options.subscriptionId}/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter=${location}`;
        await bodyOf(parts, { operation: 'listSkus', path, resource: '' }, signal);
        return 'readable' as const;
      }),
  };
}

interface Parts {
  readonly options: AzureOptions;
  readonly calls: ArmCalls;
  readonly clients: ArmClients;
  readonly order: LogicalClock;
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

async function bodyOf({ clients, calls, options }: Parts, { operation, path, resource }: Question, signal: AbortSignal): Promise<unknown> {
  const url = path.startsWith('/') ? `${options.armEndpoint.replace(/\/+$/, '')}${path}` : path;
  const answer = await calls.run({ operation, resource }, signal, () => clients.getRaw(url));
  return jsonOf(answer.bodyAsText);
}

async function listOf(parts: Parts, question: Question, signal: AbortSignal): Promise<readonly unknown[]> {
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

async function readPools(parts: Parts, signal: AbortSignal): Promise<PoolsFacts> {
  const { options, clients, calls } = parts;
  const { nodeResourceGroup, clusterName, clusterResourceGroup } = options;
  const sets = await rowsOf(parts, {
    call: { operation: 'listScaleSets', resource: nodeResourceGroup },
    signal,
    open: () => clients.compute.virtualMachineScaleSets.list(nodeResourceGroup).byPage(),
    project: (raw: VirtualMachineScaleSet) => {
      const value = projectScaleSet(raw);
      return value === undefined ? undefined : { key: value.name.toLowerCase(), value: { row: value, subnetId: subnetOf(raw) } };
    },
  });
  const agentPools =
    clusterName === undefined || clusterResourceGroup === undefined
      ? new Map<string, AgentPoolRow>()
      : await rowsOf(
          { ...parts, calls },
          {
            call: { operation: 'listAgentPools', resource: clusterName },
            signal,
            open: () => clients.aks.agentPools.list(clusterResourceGroup, clusterName).byPage(),
            project: (raw: AgentPool) => {
              const value = projectAgentPool(raw);
              return value === undefined ? undefined : { key: value.name.toLowerCase(), value };
            },
          },
        );
  return judge(options, sets, agentPools);
}

async function rowsOf<Raw, Value>(parts: Parts, read: Parameters<typeof readPages<Raw, Value>>[1]): Promise<ReadonlyMap<string, Value>> {
  const { pages, error } = await readPages(parts, read);
  if (error !== undefined) throw error;
  return new Map(pages.flatMap(({ rows }) => rows.map(({ key, value }) => [key, value] as const)));
}

interface ListedSet {
  readonly row: ScaleSetRow;
  readonly subnetId: string | undefined;
}

function judge(options: AzureOptions, sets: ReadonlyMap<string, ListedSet>, agentPools: ReadonlyMap<string, AgentPoolRow>): PoolsFacts {
  const scaleSets = new Map([...sets].map(([key, { row }]) => [key, { value: row }]));
  const registration = register({ options, scaleSets, agentPools });
  const pools = [...registration.groups.values()].map((group) =>
    group.kind === 'vms-pool' ? vmsPoolFacts(group, agentPools) : scaleSetFacts(group, sets.get(group.key), agentPools),
  );
  const idleRules = options.discovery.flatMap((rule, index) => {
    const alone = register({ options: { ...options, nodeGroups: [], discovery: [rule] }, scaleSets, agentPools });
    return alone.groups.size + alone.skipped.size === 0 ? [index] : [];
  });
  const skipped = [...registration.skipped].map(([name, reason]) => ({ name, reason }));
  return { pools, skipped, idleRules, scaleSets: [...sets.values()].map(({ row }) => row.name) };
}

function scaleSetFacts(group: Registered, set: ListedSet | undefined, agentPools: ReadonlyMap<string, AgentPoolRow>): PoolFacts {
  const limits = { name: group.id, min: group.min, max: group.max };
  if (set === undefined) return { ...limits, ...NOT_THERE };
  const { row, subnetId } = set;
  const named = poolOf(row.tags);
  const pool = named === undefined ? undefined : agentPools.get(named.toLowerCase());
  return {
    ...limits,
    found: true,
    kind: `${row.orchestration} scale set`,
    capacity: row.capacity,
    vmSize: row.vmSize,
    agentPool: pool?.name ?? named,
    managedAutoscaler: pool?.managedAutoscaler ?? false,
    frozen: frozenBecause(group, row, pool),
    subnetId,
    armId: row.armId,
  };
}

/** Without the cluster's name no agent pools were read, and nothing is known against it. */
function vmsPoolFacts(group: Registered, agentPools: ReadonlyMap<string, AgentPoolRow>): PoolFacts {
  const [name = ''] = group.key.split('/');
  const pool = agentPools.get(name.toLowerCase());
  return {
    name: group.id,
    min: group.min,
    max: group.max,
    ...NOT_THERE,
    found: agentPools.size === 0 || pool !== undefined,
    kind: 'VirtualMachines pool',
    agentPool: pool?.name ?? name,
    managedAutoscaler: pool?.managedAutoscaler ?? false,
  };
}

const NOT_THERE = {
  found: false,
  kind: 'scale set',
  capacity: undefined,
  vmSize: '',
  agentPool: undefined,
  managedAutoscaler: false,
  frozen: undefined,
  subnetId: undefined,
  armId: '',
} as const;

function subnetOf({ virtualMachineProfile }: VirtualMachineScaleSet): string | undefined {
  const nics = virtualMachineProfile?.networkProfile?.networkInterfaceConfigurations ?? [];
  return nics.flatMap((nic) => (nic.ipConfigurations ?? []).map(({ subnet }) => subnet?.id)).find((id) => id !== undefined);
}

async function readQuotas(parts: Parts, signal: AbortSignal): Promise<readonly QuotaFacts[]> {
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

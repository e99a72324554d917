/**
 * One agent pool as the experiment reads and writes it, of either type: a scale set, or a pool of type VirtualMachines. A node is
 * added as the daemon adds it. Must not know the order of the experiment or what an answer means.
 */
import { describeExcessiveMaximum, MAX_POOL_NODES } from '../../../domain/platform-limits.ts';
import { defined } from '../../../lib/defined.ts';
import { AutoscalerError } from '../../../lib/errors.ts';
import { shell } from '../../../lib/shown-text.ts';
import { AKS_API_VERSION, agentPoolId } from '../../../azure/arm/agent-pool-api.ts';
import type { AzureOptions } from '../../../azure/arm/options.ts';
import { parseAgentPool } from '../../../azure/rows/agent-pool-list.ts';
import { readAgentPool, type AgentPoolRow } from '../../../azure/rows/agent-pool.ts';
import { poolOf, readTags } from '../../../azure/rows/tags.ts';
import { readVmsPool, withSizeCount } from '../../../azure/rows/vms-pool.ts';
import type { RawRequest, RawRequests, RawResponse } from './experiment-requests.ts';
import { isRecord, textIn } from '../../../lib/json.ts';

/** The version that the daemon's client of Compute uses. */
const COMPUTE_API_VERSION = '2026-04-01';
const MOST_PAGES = 20;

/** An instance as a list shows it. */
export interface SeenInstance {
  /** No other instance ever has it, unlike the id within a scale set. */
  readonly key: string;
  /** What a deletion names: the id within the scale set, or the name of the machine. */
  readonly name: string;
  readonly state: string;
}

/** What a write needs and a fact shows of one read. */
export interface SizeReading {
  /** The capacity of the scale set, or the count of the size. undefined: Azure returned none. */
  readonly size: number | undefined;
  /** The entity tag that a growth is conditional on. */
  readonly etag: string | undefined;
  readonly state: string;
  readonly response: RawResponse;
}

export interface PoolReading {
  readonly row: AgentPoolRow;
  readonly raw: unknown;
  readonly response: RawResponse;
}

/** The parts in which the two types differ. */
export interface TestedPool {
  readonly name: string;
  readonly type: 'scale set' | 'VirtualMachines';
  readonly vmSize: string;
  /** Names that a report must not show. */
  readonly secretNames: readonly string[];
  readonly poolPath: string;
  readPool(signal: AbortSignal): Promise<PoolReading>;
  readSize(signal: AbortSignal): Promise<SizeReading>;
  /** Also returns the first page, for its headers. */
  listInstances(signal: AbortSignal): Promise<{ readonly instances: readonly SeenInstance[]; readonly response: RawResponse }>;
  /** The write of this size over the reading, on the condition of this tag. */
  growth(reading: SizeReading, to: number, etag: string | undefined): RawRequest;
  deletion(instance: SeenInstance): RawRequest;
  /** The read of one instance. */
  instancePath(instance: SeenInstance): string;
  /** The command that deletes this instance, for a person. */
  deletionCommand(instance: string): string;
}

interface PoolDeps {
  readonly requests: RawRequests;
  readonly options: AzureOptions;
  readonly signal: AbortSignal;
}

/** Reads the pool and finds its scale set. @returns the reason if it cannot be tested. @throws AutoscalerError if no response came. */
export async function findPool({ requests, options, signal }: PoolDeps, name: string): Promise<TestedPool | string> {
  const id = agentPoolId(options, name);
  if (id === undefined)
    return 'azure.clusterName and azure.clusterResourceGroup must be set: the experiment reads and writes an agent pool';
  const poolPath = `${id}?api-version=${AKS_API_VERSION}`;
  const response = await requests.send({ method: 'GET', path: poolPath }, signal);
  if (response.status === 404) return `the cluster has no agent pool ${name}`;
  const { row, raw } = poolReading(response);
  const shared = { requests, options, poolPath, poolId: id, name: row.name };
  const vms = readVmsPool(parseAgentPool(raw));
  if (vms === undefined) {
    const sets = await listAll(requests, setPath(options, ''), signal);
    const set = sets.items.find((item) => isRecord(item) && poolOf(tagsOf(item))?.toLowerCase() === row.name.toLowerCase());
    return isRecord(set) && typeof set['name'] === 'string'
      ? scaleSetPool(shared, set['name'], set)
      : `agent pool ${name} has no scale set`;
  }
  const [size] = vms.sizes;
  return size === undefined ? `agent pool ${name} has no size of its own` : vmsPool(shared, size.vmSize);
}

/** Every page of a list, and the first response. @throws AutoscalerError if a page is no list. */
export async function listAll(
  requests: RawRequests,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly items: readonly unknown[]; readonly responses: readonly [RawResponse, ...RawResponse[]] }> {
  const first = await requests.send({ method: 'GET', path }, signal);
  const responses: [RawResponse, ...RawResponse[]] = [first];
  const items = [...itemsOf(first)];
  let next = nextLinkOf(first);
  while (next !== undefined) {
    if (responses.length === MOST_PAGES) throw unusable('its pages do not end');
    const page = await requests.send({ method: 'GET', path: next }, signal);
    responses.push(page);
    items.push(...itemsOf(page));
    next = nextLinkOf(page);
  }
  return { items, responses };
}

function itemsOf(response: RawResponse): readonly unknown[] {
  const { body, status, code } = response;
  if (!isRecord(body) || !Array.isArray(body['value'])) throw unusable(`HTTP ${status} ${code}`.trim());
  return body['value'];
}

function nextLinkOf({ body }: RawResponse): string | undefined {
  const next = isRecord(body) ? body['nextLink'] : undefined;
  return typeof next === 'string' && next !== '' ? next : undefined;
}

function unusable(why: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `A read of the experiment cannot be used: ${why}.`);
}

function poolReading(response: RawResponse): PoolReading {
  const row = response.status === 200 ? readAgentPool(response.body) : undefined;
  if (row === undefined) throw unusable(`HTTP ${response.status} ${response.code}`.trim());
  return { row, raw: response.body, response };
}

interface PoolPartDeps {
  readonly requests: RawRequests;
  readonly options: AzureOptions;
  readonly poolPath: string;
  readonly poolId: string;
  readonly name: string;
}

function setPath({ subscriptionId, nodeResourceGroup }: AzureOptions, rest: string, query = ''): string {
  const provider = `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute`;
  return `${provider}/virtualMachineScaleSets${rest}?api-version=${COMPUTE_API_VERSION}${query}`;
}

function commonParts({ requests, options, poolPath, name }: PoolPartDeps) {
  const { subscriptionId, nodeResourceGroup, clusterName = '', clusterResourceGroup = '', tenantId = '' } = options;
  return {
    name,
    poolPath,
    secretNames: [subscriptionId, nodeResourceGroup, clusterName, clusterResourceGroup, tenantId],
    readPool: async (signal: AbortSignal) => poolReading(await requests.send({ method: 'GET', path: poolPath }, signal)),
  };
}

function scaleSetPool(shared: PoolPartDeps, set: string, listed: Readonly<Record<string, unknown>>): TestedPool {
  const { requests, options } = shared;
  const common = commonParts(shared);
  const path = setPath(options, `/${set}`);
  const sku = isRecord(listed['sku']) ? listed['sku'] : {};
  return {
    ...common,
    type: 'scale set',
    vmSize: textIn(sku['name']),
    secretNames: [...common.secretNames, set],
    readSize: async (signal) => {
      const response = await requests.send({ method: 'GET', path }, signal);
      if (response.status !== 200) throw unusable(`HTTP ${response.status} ${response.code}`.trim());
      const body = isRecord(response.body) ? response.body : {};
      const capacity = isRecord(body['sku']) ? body['sku']['capacity'] : undefined;
      const etag = textIn(body['etag']) || (response.headers['etag'] ?? '');
      return {
        size: typeof capacity === 'number' ? capacity : undefined,
        etag: etag === '' ? undefined : etag,
        state: propertyOf(body, 'provisioningState'),
        response,
      };
    },
    listInstances: async (signal) => {
      const { items, responses } = await listAll(requests, setPath(options, `/${set}/virtualMachines`, '&$expand=instanceView'), signal);
      return { instances: items.map((item) => seenInstance(item, 'instanceId', 'vmId')), response: responses[0] };
    },
    growth: ({ response: { body } }, to, etag) => {
      const read = isRecord(body) ? body : {};
      const { location, extendedLocation } = read;
      const { name, tier } = isRecord(read['sku']) ? read['sku'] : {};
      return {
        method: 'PUT',
        path,
        body: { location, sku: { name, capacity: to, ...defined({ tier }) }, ...defined({ extendedLocation }) },
        ...defined({ ifMatch: etag }),
      };
    },
    deletion: ({ name }) => ({ method: 'POST', path: setPath(options, `/${set}/delete`), body: { instanceIds: [name] } }),
    instancePath: ({ name }) => setPath(options, `/${set}/virtualMachines/${name}`),
    deletionCommand: (instance) => shell`az vmss delete-instances -g ${options.nodeResourceGroup} -n ${set} --instance-ids ${instance}`,
  };
}

function vmsPool(shared: PoolPartDeps, vmSize: string): TestedPool {
  const { requests, options, poolId, poolPath } = shared;
  const common = commonParts(shared);
  const machines = (rest: string): string => `${poolId}/machines${rest}?api-version=${AKS_API_VERSION}`;
  return {
    ...common,
    type: 'VirtualMachines',
    vmSize,
    readSize: async (signal) => {
      const { row, raw, response } = await common.readPool(signal);
      const size = readVmsPool(parseAgentPool(raw))?.sizes.find((each) => each.vmSize.toLowerCase() === vmSize.toLowerCase());
      return { size: size?.count, etag: row.etag, state: row.provisioningState, response };
    },
    listInstances: async (signal) => {
      const { items, responses } = await listAll(requests, machines(''), signal);
      return { instances: items.map((item) => seenInstance(item, 'name', 'resourceId')), response: responses[0] };
    },
    growth: ({ response: { body } }, to, etag) => ({
      method: 'PUT',
      path: poolPath,
      body: withSizeCount(body, vmSize, to),
      ...defined({ ifMatch: etag }),
    }),
    deletion: ({ name }) => ({
      method: 'POST',
      path: `${poolId}/deleteMachines?api-version=${AKS_API_VERSION}`,
      body: { machineNames: [name] },
    }),
    instancePath: ({ name }) => machines(`/${name}`),
    deletionCommand: (instance) =>
      shell`az aks nodepool delete-machines -g ${options.clusterResourceGroup ?? 'GROUP'} --cluster-name ${options.clusterName ?? 'CLUSTER'} -n ${shared.name} --machine-names ${instance}`,
  };
}

function seenInstance(item: unknown, nameField: string, keyProperty: string): SeenInstance {
  const raw = isRecord(item) ? item : {};
  const name = textIn(raw[nameField]);
  return { key: `${name}|${propertyOf(raw, keyProperty)}`.toLowerCase(), name, state: propertyOf(raw, 'provisioningState') };
}

function tagsOf({ tags }: Readonly<Record<string, unknown>>) {
  const texts = Object.entries(isRecord(tags) ? tags : {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  return readTags(Object.fromEntries(texts));
}

function propertyOf(raw: Readonly<Record<string, unknown>>, name: string): string {
  return isRecord(raw['properties']) ? textIn(raw['properties'][name]) : '';
}

/** Everything that was read before the first write. */
export interface PoolBefore {
  readonly pool: PoolReading;
  readonly size: SizeReading;
  readonly instances: readonly SeenInstance[];
  /** The configured maximum of the node group. undefined: it is no node group. */
  readonly max: number | undefined;
}

/** Why nothing may be written to the pool now, as a sentence without a full stop. undefined: it may be tested. */
export function refusalOf({ type, vmSize }: Pick<TestedPool, 'type' | 'vmSize'>, before: PoolBefore): string | undefined {
  const { row } = before.pool;
  const vms = readVmsPool(parseAgentPool(before.pool.raw));
  if (row.managedAutoscaler || vms?.shared.managedAutoscaler === true) return "AKS's own autoscaler scales the pool";
  if (row.stopped) return 'the pool is stopped';
  if (row.provisioningState !== 'Succeeded')
    return `an operation of AKS is in progress in the pool, or the last one failed (${row.provisioningState})`;
  if (before.size.state !== 'Succeeded') return `the scale set is being changed, or its last change failed (${before.size.state})`;
  if (row.deallocates === true) return 'the pool deallocates nodes instead of deleting them, so its count leaves some out';
  if (row.etag === undefined || before.size.etag === undefined)
    return 'Azure returned no entity tag, so a write could overwrite the change of another writer';
  return sizeRefusal({ type, vmSize, count: row.count, sizes: vms?.sizes.map(({ count }) => count) }, before);
}

function sizeRefusal(
  {
    type,
    vmSize,
    count,
    sizes,
  }: Pick<TestedPool, 'type' | 'vmSize'> & {
    readonly count: number | undefined;
    readonly sizes: readonly (number | undefined)[] | undefined;
  },
  { size: { size }, instances, max = MAX_POOL_NODES }: PoolBefore,
): string | undefined {
  if (size === undefined) return `Azure returned no size of ${vmSize}`;
  if (size >= Math.min(max, MAX_POOL_NODES))
    return max > MAX_POOL_NODES ? describeExcessiveMaximum(max) : `the pool is at its maximum, ${size} of ${max} nodes`;
  // An unchanged write of the pool makes AKS set the capacity to its count.
  if (type === 'scale set' && count !== size)
    return `AKS counts ${count ?? 'no'} nodes and the scale set has ${size}: a write of the pool would change it`;
  const expected = sizes === undefined ? size : sizes.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  return instances.length === expected
    ? undefined
    : `${instances.length} instances are listed for a size of ${expected}: a new one could not be recognised`;
}

/**
 * The caching agents: what each reads, how often, and what absence from its list means. At rest they need O(pools) calls
 * together. They throw on failure: an error is never an empty list. Must not know the groups that are made of what they read.
 */
import type { VirtualMachineScaleSetVM } from '@azure/arm-compute';
import {
  replacedRows,
  type AgentPolicy,
  type AgentRest,
  type CachingAgent,
  type CommitSummary,
  type Jitter,
  type Loaded,
  type RunContext,
} from '../../cache/agents/agent.ts';
import type { LogicalClock } from '../../cache/logical-clock.ts';
import type { ListCommit, ListedRow } from '../../cache/table/row.ts';
import type { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { foldName, isInResourceGroup, isInScope, type ResourceScope } from '../arm/resource-ids.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import { OPERATIONS, type ArmOperation } from '../arm/call-list.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import { withViews } from './instance-views.ts';
import type { AzureOptions } from '../arm/options.ts';
import { readPages, type PagedResult } from '../arm/pages.ts';
import { agentPoolPages } from '../rows/agent-pool-list.ts';
import { projectAgentPool, type AgentPools } from '../rows/agent-pool.ts';
import {
  instanceKeyOf,
  isOfSet,
  projectInstance,
  projectVm,
  projectScaleSet,
  type InstanceRow,
  type ScaleSetRow,
} from '../rows/scale-set.ts';
import { buildCatalog, type SkuCatalog } from '../sizes/sku-catalog.ts';
import type { ForeignItems, SkippedItems } from '../rows/foreign-items.ts';
import type { RestWatch } from './rest-watch.ts';
import { SpotScaleSets } from './spot-scale-sets.ts';
import { AGENT_POOLS_AGENT, INSTANCES, instancesAgent, VMS_AGENT, SCALE_SETS_AGENT } from '../rows/tables.ts';

export interface AgentDeps {
  readonly options: AzureOptions;
  readonly clients: ArmClients;
  readonly calls: ArmCalls;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly order: LogicalClock;
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Table<InstanceRow>;
  readonly foreign: ForeignItems;
  /** Which agents may skip a turn. If absent, none. */
  readonly rest?: RestWatch | undefined;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** A list of instances is the most expensive read: Azure allows 10 pages a minute for each set, and 300 lists of VMs for the subscription. */
const INSTANCE_LISTS = { count: 2, withinMs: MINUTE } as const;

const SPREAD: Jitter = { kind: 'spread', fraction: 0.1 };

interface AgentShape {
  readonly rest?: AgentRest | undefined;
  readonly id: string;
  readonly kind: string;
  readonly order: number;
  readonly operation: ArmOperation;
  readonly policy: AgentPolicy;
  /** True: the loop also decides without it. */
  readonly optional?: boolean;
}

/** A caching agent with the rate-limit budget of its operation. */
export function cachingAgent(shape: AgentShape, load: (context: RunContext) => Promise<Loaded>): CachingAgent {
  return {
    id: shape.id,
    kind: shape.kind,
    required: shape.optional !== true,
    warm: true,
    order: shape.order,
    bucket: OPERATIONS[shape.operation].family,
    policy: shape.policy,
    rest: shape.rest,
    load,
  };
}

/** All scale sets of the node resource group. Absence from a complete list means deleted. */
export function scaleSetsAgent(deps: AgentDeps): CachingAgent {
  // ARM has returned 200 with an empty list for resource groups full of scale sets. The first such answer is read again.
  let emptyBefore = false;
  const spotSizes = new SpotScaleSets(deps);
  const policy = {
    intervalMs: deps.options.vmssCacheTtlMs,
    jitter: SPREAD,
    errorIntervalMs: 30 * SECOND,
    // One call a minute is cheap, and this agent sees the end of an outage first.
    maxErrorIntervalMs: MINUTE,
    timeoutMs: 45 * SECOND,
    requestedRate: undefined,
  };
  return cachingAgent({ id: SCALE_SETS_AGENT, kind: 'scaleSets', order: 0, operation: 'listScaleSets', policy }, async ({ signal }) => {
    const list = await readPages(deps, {
      call: { operation: 'listScaleSets', resource: '' },
      signal,
      open: () => deps.clients.compute.virtualMachineScaleSets.list(deps.options.nodeResourceGroup).byPage(),
      project: (raw) => {
        const value = projectScaleSet(raw);
        return value === undefined ? undefined : { key: foldName(value.name), value, etag: raw.etag ?? undefined };
      },
    });
    const pages = await spotSizes.refreshPages(list.pages, signal);
    const isEmpty = list.error === undefined && rowCount(list) === 0 && deps.scaleSets.snapshot().size > 0;
    const doubted = isEmpty && !emptyBefore;
    emptyBefore = isEmpty;
    const read = loaded(list, (complete) =>
      deps.scaleSets.commitList({
        agentId: SCALE_SETS_AGENT,
        scope: undefined,
        complete: complete && !doubted,
        pages,
      }),
    );
    return { ...read, commit: () => ({ ...read.commit(), ...(doubted ? { runAgain: true } : {}) }) };
  });
}

/** The instances of one scale set, with their instance views. Flexible sets are read through the list of VMs. */
export function scaleSetInstancesAgent(deps: AgentDeps, setKey: string): CachingAgent {
  const { vmssVmsCacheTtlMs, vmssVmsCacheJitterMs } = deps.options;
  const jitter: Jitter = { kind: 'shorten', maxMs: vmssVmsCacheJitterMs };
  const policy = {
    intervalMs: vmssVmsCacheTtlMs,
    jitter,
    errorIntervalMs: 60 * SECOND,
    maxErrorIntervalMs: 10 * MINUTE,
    timeoutMs: 60 * SECOND,
    requestedRate: INSTANCE_LISTS,
  };
  const id = instancesAgent(setKey);
  const rest = deps.rest?.restOf(id, policy.intervalMs);
  return cachingAgent({ id, kind: 'instances', order: 1, operation: 'listInstances', policy, rest }, async ({ signal }) => {
    const wasListed = deps.rest?.beginList([setKey]);
    const set = deps.scaleSets.get(setKey)?.value;
    const skipped = deps.foreign.startList(INSTANCES.name, setKey);
    const read = { deps, skipped, signal };
    const list = set?.orchestration === 'Flexible' ? await readFlexible(read, set) : await readUniform(read, set?.name ?? setKey);
    skipped.report();
    return loaded(list, (complete) =>
      believed(deps.instances.commitList({ agentId: id, scope: setKey, complete, pages: list.pages }), complete, wasListed),
    );
  });
}

interface InstanceRead {
  readonly deps: AgentDeps;
  readonly skipped: SkippedItems;
  readonly signal: AbortSignal;
}

function readUniform({ deps, skipped, signal }: InstanceRead, set: string): Promise<PagedResult<InstanceRow>> {
  return readPages<VirtualMachineScaleSetVM, InstanceRow>(deps, {
    call: { operation: 'listInstances', resource: set },
    signal,
    open: () =>
      deps.clients.compute.virtualMachineScaleSetVMs.list(deps.options.nodeResourceGroup, set, { expand: 'instanceView' }).byPage(),
    project: (raw) => skipped.pass(listed(deps.options, projectInstance(raw, set))),
  });
}

function readFlexible({ deps, skipped, signal }: InstanceRead, set: ScaleSetRow): Promise<PagedResult<InstanceRow>> {
  // The API needs quotes around the field's name, and allows instance views with this filter only.
  const filter = `'virtualMachineScaleSet/id' eq '${set.armId}'`;
  return readPages(deps, {
    call: { operation: 'listVms', resource: set.name },
    signal,
    open: () => deps.clients.compute.virtualMachines.list(deps.options.nodeResourceGroup, { filter, expand: 'instanceView' }).byPage(),
    project: (raw) => skipped.pass(isOfSet(raw, set) ? listed(deps.options, projectVm(raw, set.name)) : undefined),
  });
}

export interface VmsPoolsToList {
  /** The groups that have no scale set. */
  readonly groups: () => readonly string[];
  /** Instances whose nodes have been silent for a while, by folded key. */
  readonly silent: () => ReadonlySet<string>;
}

/** Instances of pools without a scale set, by pool tag. It lists the whole resource group, so it is added only when needed. */
export function vmsAgent(deps: AgentDeps, pools: VmsPoolsToList): CachingAgent {
  const policy = {
    intervalMs: 2 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 60 * SECOND,
    maxErrorIntervalMs: 10 * MINUTE,
    timeoutMs: 45 * SECOND,
    requestedRate: INSTANCE_LISTS,
  };
  const rest = deps.rest?.restOf(VMS_AGENT, policy.intervalMs);
  let turn = 0;
  return cachingAgent({ id: VMS_AGENT, kind: 'vms', order: 1, operation: 'listVms', policy, rest }, async ({ signal }) => {
    const wasListed = deps.rest?.beginList(pools.groups());
    const silent = pools.silent();
    const skipped = deps.foreign.startList(INSTANCES.name, VMS_AGENT);
    const unclear = new Set<string>();
    const list = await readPages(deps, {
      call: { operation: 'listVms', resource: '' },
      signal,
      open: () => deps.clients.compute.virtualMachines.list(deps.options.nodeResourceGroup).byPage(),
      project: (raw) => {
        // Machines of sets, and those of no pool, are neighbours: they are in other lists or none.
        const key = instanceKeyOf(raw);
        if (key === undefined || !isInResourceGroup(key, deps.options)) return skipped.pass<InstanceRow>(undefined);
        const row = raw.virtualMachineScaleSet?.id === undefined ? listed(deps.options, projectVm(raw)) : undefined;
        if (row !== undefined && (raw.provisioningState?.toLowerCase() === 'failed' || silent.has(row.key))) unclear.add(row.key);
        return row;
      },
    });
    skipped.report();
    turn += 1;
    const pages = await withViews(deps, list.pages, { keys: unclear, turn }, signal);
    return loaded(list, (complete) =>
      believed(deps.instances.commitList({ agentId: VMS_AGENT, scope: undefined, complete, pages }), complete, wasListed),
    );
  });
}

/** AKS's view of the pools. `keep` gets them only when the whole list was read. */
export function agentPoolsAgent(
  deps: AgentDeps,
  cluster: { readonly resourceGroup: string; readonly name: string },
  keep: (pools: AgentPools) => void,
): CachingAgent {
  const policy = {
    // An upgrade of a pool, during which the pool is frozen, is noticed this late.
    intervalMs: 2 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: MINUTE,
    maxErrorIntervalMs: 10 * MINUTE,
    timeoutMs: 30 * SECOND,
    requestedRate: undefined,
  };
  const rest = deps.rest?.restOf(AGENT_POOLS_AGENT, policy.intervalMs);
  return cachingAgent(
    { id: AGENT_POOLS_AGENT, kind: 'agentPools', order: 0, operation: 'listAgentPools', policy, rest },
    async ({ signal }) => {
      const list = await readPages(deps, {
        call: { operation: 'listAgentPools', resource: cluster.name },
        signal,
        open: () => agentPoolPages(deps, cluster),
        project: (raw) => {
          const value = projectAgentPool(raw);
          return value === undefined ? undefined : { key: foldName(value.name), value, etag: undefined };
        },
      });
      // A cluster has at least a system pool, and pools that AKS scales itself must stay known.
      if (list.error === undefined && rowCount(list) === 0) {
        throw new AutoscalerError(
          { kind: 'unavailable', effect: 'none' },
          `AKS returned an empty list of agent pools for cluster ${cluster.name}.`,
        );
      }
      return replaceAll(list, (rows) => {
        const byName = new Map(rows.map(({ key, value }) => [key, value]));
        keep({ observedAtMs: deps.clock.now(), byName, pages: list.pages });
      });
    },
  );
}

/** Every size of the region. @throws AutoscalerError if a page could not be read: part of the list is useless. */
export async function listSkus(
  deps: Pick<AgentDeps, 'options' | 'clients' | 'calls' | 'clock' | 'order'>,
  signal: AbortSignal,
): Promise<SkuCatalog> {
  const { location } = deps.options;
  const observedAtMs = deps.clock.now();
  const { pages, error } = await readPages(deps, {
    call: { operation: 'listSkus', resource: '' },
    signal,
    open: () => deps.clients.compute.resourceSkus.list({ filter: `location eq '${location}'` }).byPage(),
    // Disks share a name and differ in size.
    project: (raw) => ({ key: [raw.resourceType, raw.name, raw.tier, raw.size].join('/'), value: raw, etag: undefined }),
  });
  if (error !== undefined) throw error;
  const rows = pages.flatMap((page) => page.rows);
  return buildCatalog(
    rows.map(({ value }) => value),
    location,
    observedAtMs,
  );
}

/** Without instances of other resource groups: deletes name instances by their number or name alone, within ours. */
function listed(options: ResourceScope, value: InstanceRow | undefined): ListedRow<InstanceRow> | undefined {
  // guard: an instance of another resource group is not taken for our own
  return value === undefined || !isInScope(value.ref, options) ? undefined : { key: value.ref.key, value, etag: undefined };
}

/** Commits the pages that were read. Only a complete list may remove rows. */
function loaded<Value>(list: PagedResult<Value>, commitList: (complete: boolean) => ListCommit): Loaded {
  const commit = (): CommitSummary => {
    const { listAgain, added, changed, evicted, rejected } = commitList(list.error === undefined);
    return { rows: rowCount(list), added, changed, evicted, rejected, runAgain: listAgain, readBy: undefined };
  };
  return { commit, error: list.error };
}

/** Notes a list that shows all instances. */
function believed(commit: ListCommit, complete: boolean, listed: (() => void) | undefined): ListCommit {
  if (complete && !commit.listAgain && commit.dropped === undefined) listed?.();
  return commit;
}

/** For data that is replaced as a whole: part of the list is useless. */
function replaceAll<Value>(list: PagedResult<Value>, replace: (rows: readonly ListedRow<Value>[]) => void): Loaded {
  if (list.error !== undefined) throw list.error;
  return {
    commit: () => {
      const rows = list.pages.flatMap((page) => page.rows);
      replace(rows);
      return replacedRows(rows.length);
    },
    error: undefined,
  };
}

function rowCount<Value>(list: PagedResult<Value>): number {
  return list.pages.reduce((sum, page) => sum + page.rows.length, 0);
}

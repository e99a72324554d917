/**
 * Which scale sets and pools are node groups, with which limits. A set may be named by its agent pool, whose name survives when
 * the pool is made anew. Named ones win over discovered ones; limits change in place; a set that is gone, or tagged badly,
 * costs its own group and no other. Pure: rows in, registration out.
 */
import { isDeepStrictEqual } from 'node:util';
import { nodeGroupId, type NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AzureOptions, DiscoveryRule, ExplicitNodeGroup, GroupChoice } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { AgentPoolRow, AgentPools } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { discover, poolOf } from '../rows/tags.ts';
import { VMS_TYPE, type PoolSizeRow } from '../rows/vms-pool.ts';
import { discoverSize } from './vms-pool-groups.ts';

export interface Registered {
  readonly id: NodeGroupId;
  /** Folded: the scale set's name, or `<pool>/<vm size>`. */
  readonly key: string;
  readonly kind: 'scale-set' | 'vms-pool';
  readonly min: number;
  readonly max: number;
  readonly explicit: boolean;
}

export interface Registration {
  /** By folded name. */
  readonly groups: ReadonlyMap<string, Registered>;
  readonly byId: ReadonlyMap<NodeGroupId, Registered>;
  /** Sets that a discovery rule selects and that cannot be groups: why. */
  readonly skipped: ReadonlyMap<string, string>;
  /** Places of discovery rules that select nothing, counted from 0. */
  readonly idleRules: readonly number[];
}

type ScaleSets = ReadonlyMap<string, { readonly value: ScaleSetRow }>;

export interface RegistrationInput {
  readonly options: Pick<AzureOptions, 'nodeGroups' | 'discovery'>;
  /** undefined: never listed. */
  readonly scaleSets: ScaleSets | undefined;
  /** Sizes of pools of type VirtualMachines, by `<pool>/<size>`. */
  readonly poolSizes?: ReadonlyMap<string, { readonly value: PoolSizeRow }>;
  /** What AKS tells of its pools, by folded name. Absent: it was not asked. */
  readonly agentPools?: ReadonlyMap<string, AgentPoolRow> | undefined;
}

export function register(input: RegistrationInput): Registration {
  const { discovery } = input.options;
  const idleRules = discovery.flatMap((rule, index) =>
    selectsNothing({ ...input, options: { nodeGroups: [], discovery: [rule] } }) ? [index] : [],
  );
  return { ...selected(input), idleRules };
}

function selectsNothing(input: RegistrationInput): boolean {
  const { groups, skipped } = selected(input);
  return groups.size + skipped.size === 0;
}

function selected(input: RegistrationInput): Omit<Registration, 'idleRules'> {
  const { options, scaleSets = new Map(), poolSizes = new Map(), agentPools } = input;
  const skipped = new Map<string, string>();
  const groups = named(options.nodeGroups, scaleSets, skipped);
  const found = [...discoveredSets(scaleSets, options.discovery, agentPools), ...discoveredSizes(poolSizes, options.discovery)];
  for (const [key, group] of found) {
    if (groups.has(key)) continue;
    if (typeof group === 'string') skipped.set(key, group);
    else groups.set(key, group);
  }
  for (const [key, pool] of agentPools ?? []) {
    if (isServed(pool) || discover(pool.tags, options.discovery).kind === 'not-matched') continue;
    skipped.set(key, `its agent pool is of type ${pool.type}, which is not scaled`);
  }
  return { groups, byId: new Map([...groups.values()].map((group) => [group.id, group])), skipped };
}

/** By key: a group that a rule selects, or why it cannot be one. */
type Found = readonly (readonly [key: string, found: Registered | string])[];

function discoveredSets(scaleSets: ScaleSets, rules: readonly DiscoveryRule[], agentPools: RegistrationInput['agentPools']): Found {
  return [...scaleSets].flatMap(([key, { value }]): Found => {
    // The tags of a pool reach its set, a little later; what AKS is told is as good.
    const pool = agentPools?.get(foldName(poolOf(value.tags) ?? ''));
    const limits = discover({ ...pool?.tags, ...value.tags }, rules);
    if (limits.kind === 'not-matched') return [];
    if (limits.kind === 'skipped') return [[key, limits.reason]];
    const { min, max } = limits;
    return [[key, { id: nodeGroupId(value.name), key, kind: 'scale-set', min, max, explicit: false }]];
  });
}

function discoveredSizes(poolSizes: NonNullable<RegistrationInput['poolSizes']>, rules: readonly DiscoveryRule[]): Found {
  return [...poolSizes].flatMap(([key, { value }]): Found => {
    const found = discoverSize(key, value, rules);
    return found === undefined ? [] : [[key, found]];
  });
}

/** The groups that the user names, by key. A set that is named by itself and by its pool keeps the name of its own. */
function named(specs: readonly ExplicitNodeGroup[], scaleSets: ScaleSets, skipped: Map<string, string>): Map<string, Registered> {
  const setOfPool = setsByPool(scaleSets);
  const keyOf = (name: string): string => (scaleSets.has(foldName(name)) ? undefined : setOfPool.get(foldName(name))) ?? foldName(name);
  const isOwn = ({ name }: ExplicitNodeGroup): boolean => keyOf(name) === foldName(name);
  const groups = new Map<string, Registered>();
  for (const { name, min, max } of [...specs.filter(isOwn), ...specs.filter((spec) => !isOwn(spec))]) {
    const key = keyOf(name);
    const kind = /^[^/]+\/[^/]+$/.test(name) ? 'vms-pool' : 'scale-set';
    const other = groups.get(key);
    if (other !== undefined) skipped.set(name, `its scale set is the node group "${other.id}" already`);
    else groups.set(key, { id: nodeGroupId(name), key, kind, min, max, explicit: true });
  }
  return groups;
}

function setsByPool(scaleSets: ScaleSets): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const [key, { value }] of scaleSets) {
    const pool = poolOf(value.tags);
    if (pool !== undefined) keys.set(foldName(pool), key);
  }
  return keys;
}

const RESTING_POOL_STATES = new Set(['', 'succeeded', 'failed', 'canceled']);

/** Why a set that is to be written through AKS cannot be. */
export const POOL_UNKNOWN = 'it is to be written through AKS, which has told of no agent pool for it';

const SERVED_TYPES = new Set(['', 'virtualmachinescalesets', VMS_TYPE]);

function isServed({ type }: AgentPoolRow): boolean {
  return SERVED_TYPES.has(type.toLowerCase());
}

export function isResting(provisioningState: string): boolean {
  return RESTING_POOL_STATES.has(provisioningState.toLowerCase());
}

/** Why a group may be neither grown nor shrunk, as far as its rows tell. */
export function frozenBecause(
  group: Registered,
  row: ScaleSetRow | undefined,
  pool: AgentPoolRow | undefined,
  /** An operation of ours runs in the pool, which explains its state. */
  ours = false,
): string | undefined {
  if (row === undefined) return missingBecause(group, pool);
  if (row.unreadable !== undefined) return row.unreadable;
  if (row.orchestration !== 'Uniform' && row.orchestration !== 'Flexible')
    return `its orchestration mode "${row.orchestration}" is not known`;
  if (row.provisioningState.toLowerCase() === 'deleting') return 'it is being deleted';
  if (pool === undefined) return undefined;
  // Between AKS's own operations and ours there is no lock: whoever writes second wins over the other's numbers.
  if (!ours && !isResting(pool.provisioningState)) return `its agent pool is in state ${pool.provisioningState}`;
  if (pool.stopped) return 'its agent pool is stopped';
  if (pool.managedAutoscaler) return 'AKS runs its own autoscaler over its agent pool (enableAutoScaling)';
  if (pool.mode?.toLowerCase() === 'hostedsystem') return 'its agent pool is hosted by AKS, which scales it';
  return undefined;
}

/** `pool`: the one that has the group's name. */
function missingBecause({ id }: Registered, pool: AgentPoolRow | undefined): string {
  if (pool?.type.toLowerCase() === VMS_TYPE)
    return `the agent pool "${id}" is of type ${pool.type}: each of its sizes is named by itself, as ${id}/SIZE`;
  if (pool !== undefined && !isServed(pool)) return `the agent pool "${id}" is of type ${pool.type}, which is not scaled`;
  return `there is no scale set named "${id}" in the node resource group, nor one of an agent pool of that name`;
}

export function kindOf(group: Registered, set: ScaleSetRow | undefined): NodeGroup['kind'] {
  if (group.kind === 'vms-pool') return 'vms-pool';
  return set?.orchestration === 'Flexible' ? 'vmss-flexible' : 'vmss-uniform';
}

// The registration of now, made anew only when what it is made from is another one; says once why what was selected is no group.

export interface RegistrationSources {
  readonly choice: GroupChoice;
  /** Another number whenever a set or a size of a pool is another one. */
  readonly version: number;
  readonly scaleSets: { snapshot(): NonNullable<RegistrationInput['scaleSets']> };
  readonly poolSizes: { snapshot(): NonNullable<RegistrationInput['poolSizes']> };
  /** The object of the last list; undefined: never listed. */
  readonly pools: AgentPools | undefined;
}

export class Registrations {
  readonly #log: Log;
  readonly #warned = new Set<string>();
  #last: { readonly sources: RegistrationSources; readonly value: Registration } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The same object while it says the same. */
  from(sources: RegistrationSources): Registration {
    const last = this.#last;
    if (last !== undefined && isSameSource(last.sources, sources)) return last.value;
    const { choice, scaleSets, poolSizes, pools } = sources;
    const next = register({
      options: choice,
      scaleSets: scaleSets.snapshot(),
      poolSizes: poolSizes.snapshot(),
      agentPools: pools?.byName,
    });
    this.#warnOfSkipped(next);
    const value = last !== undefined && isSame(last.value, next) ? last.value : next;
    this.#last = { sources, value };
    return value;
  }

  /** Each reason once, not once per refresh. */
  #warnOfSkipped({ skipped }: Registration): void {
    for (const [name, reason] of skipped) {
      const said = `${name}: ${reason}`;
      if (this.#warned.has(said)) continue;
      this.#warned.add(said);
      this.#log.warn({ pool: name, reason }, 'a pool is selected but cannot be a node group');
    }
  }
}

function isSameSource(left: RegistrationSources, right: RegistrationSources): boolean {
  return left.version === right.version && left.pools === right.pools && left.choice === right.choice;
}

function isSame(left: Registration, right: Registration): boolean {
  if (left.groups.size !== right.groups.size || !isDeepStrictEqual(left.idleRules, right.idleRules)) return false;
  return [...right.groups].every(([key, group]) => {
    const other = left.groups.get(key);
    return other !== undefined && other.id === group.id && other.min === group.min && other.max === group.max && other.kind === group.kind;
  });
}

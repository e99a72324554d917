/**
 * Decides which scale sets and pools are node groups, and their limits. A set may be named by its agent pool, whose name
 * survives when the pool is recreated. Named groups win over discovered ones, and limits change in place. A set that is gone,
 * or badly tagged, affects only its own group. Must not know instances, nodes or how rows are read.
 */
import { isDeepStrictEqual } from 'node:util';
import { nodeGroupId, type NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AzureOptions, DiscoveryRule, ExplicitNodeGroup, GroupSelection } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { AgentPoolRow, AgentPools } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { matchRules, poolOf } from '../rows/tags.ts';
import { VMS_POOL_TYPE, type PoolSizeRow } from '../rows/vms-pool.ts';
import { discoverSize } from './vms-pool-groups.ts';

export interface RegisteredGroup {
  readonly id: NodeGroupId;
  /** Folded: the scale set's name, or `<pool>/<vm size>`. */
  readonly key: string;
  readonly kind: 'scale-set' | 'vms-pool';
  readonly min: number;
  readonly max: number;
  readonly explicit: boolean;
  /** The limits are those of AKS's own autoscaler. If absent, the user set them. */
  readonly managed?: true;
}

export interface Registration {
  /** By folded name. */
  readonly groups: ReadonlyMap<string, RegisteredGroup>;
  readonly byId: ReadonlyMap<NodeGroupId, RegisteredGroup>;
  /** Reasons why sets or pools that a discovery rule selects cannot be groups. */
  readonly skipped: ReadonlyMap<string, string>;
  /** Indexes of discovery rules that select nothing, counted from 0. */
  readonly idleRules: readonly number[];
}

type ScaleSets = ReadonlyMap<string, { readonly value: ScaleSetRow }>;

export interface RegistrationInput {
  readonly options: Pick<AzureOptions, 'nodeGroups' | 'discovery' | 'adoptsManagedPools'>;
  /** undefined: never listed. */
  readonly scaleSets: ScaleSets | undefined;
  /** Sizes of pools of type VirtualMachines, by `<pool>/<size>`. */
  readonly poolSizes?: ReadonlyMap<string, { readonly value: PoolSizeRow }>;
  /** Agent pools by folded name. If absent, they were not read. */
  readonly agentPools?: ReadonlyMap<string, AgentPoolRow> | undefined;
}

export function registerGroups(input: RegistrationInput): Registration {
  const { discovery } = input.options;
  const idleRules = discovery.flatMap((rule, index) =>
    rule.byDefault !== true && isIdleRule({ ...input, options: { nodeGroups: [], discovery: [rule] } }) ? [index] : [],
  );
  return { ...selectGroups(input), idleRules };
}

function isIdleRule(input: RegistrationInput): boolean {
  const { groups, skipped } = selectGroups(input);
  return groups.size + skipped.size === 0;
}

function selectGroups(input: RegistrationInput): Omit<Registration, 'idleRules'> {
  const { options, scaleSets = new Map(), poolSizes = new Map(), agentPools } = input;
  const skipped = new Map<string, string>();
  const groups = explicitGroups(options.nodeGroups, scaleSets, skipped);
  const discovered = [...discoveredSets(scaleSets, options.discovery, agentPools), ...discoveredSizes(poolSizes, options.discovery)];
  const managed = showsManagedPools(options) ? managedGroups(scaleSets, poolSizes, agentPools) : [];
  const found = options.adoptsManagedPools === true ? withLater(discovered, managed) : withLater(managed, discovered);
  for (const [key, group] of found) {
    if (groups.has(key)) continue;
    if (typeof group === 'string') skipped.set(key, group);
    else groups.set(key, group);
  }
  for (const [key, pool] of agentPools ?? []) {
    if (isSupportedType(pool) || matchRules(pool.tags, options.discovery).kind === 'not-matched') continue;
    skipped.set(key, `its agent pool is of type ${pool.type}, which the autoscaler does not support`);
  }
  return { groups, byId: new Map([...groups.values()].map((group) => [group.id, group])), skipped };
}

/** By key: a group that a rule selects, or the reason why it cannot be one. */
type DiscoveredGroups = readonly (readonly [key: string, found: RegisteredGroup | string])[];

function discoveredSets(
  scaleSets: ScaleSets,
  rules: readonly DiscoveryRule[],
  agentPools: RegistrationInput['agentPools'],
): DiscoveredGroups {
  return [...scaleSets].flatMap(([key, { value }]): DiscoveredGroups => {
    // AKS copies a pool's tags to its set with a delay, so the pool's tags count too.
    const pool = agentPools?.get(foldName(poolOf(value.tags) ?? ''));
    const limits = matchRules({ ...pool?.tags, ...value.tags }, rules);
    if (limits.kind === 'not-matched') return [];
    if (limits.kind === 'skipped') return [[key, limits.reason]];
    const { min, max } = limits;
    return [[key, { id: nodeGroupId(value.name), key, kind: 'scale-set', min, max, explicit: false }]];
  });
}

function discoveredSizes(poolSizes: NonNullable<RegistrationInput['poolSizes']>, rules: readonly DiscoveryRule[]): DiscoveredGroups {
  return [...poolSizes].flatMap(([key, { value }]): DiscoveredGroups => {
    const found = discoverSize(key, value, rules);
    return found === undefined ? [] : [[key, found]];
  });
}

/**
 * A dry run decides about the pools of AKS's own autoscaler. Without any selection they are listed too, as frozen: else nothing
 * would show why no pool is scaled.
 */
function showsManagedPools({ adoptsManagedPools = false, nodeGroups, discovery }: RegistrationInput['options']): boolean {
  return adoptsManagedPools || (nodeGroups.length === 0 && discovery.every(({ byDefault }) => byDefault === true));
}

/** Later entries of the same key win. */
function withLater(first: DiscoveredGroups, later: DiscoveredGroups): DiscoveredGroups {
  return [...new Map([...first, ...later])];
}

/** The groups that AKS's own autoscaler scales, with its limits. */
function managedGroups(
  scaleSets: ScaleSets,
  poolSizes: NonNullable<RegistrationInput['poolSizes']>,
  agentPools: RegistrationInput['agentPools'],
): DiscoveredGroups {
  const sets = [...scaleSets].map(
    ([
      key,
      {
        value: { name, tags },
      },
    ]) => {
      const pool = agentPools?.get(foldName(poolOf(tags) ?? ''));
      return { key, name, kind: 'scale-set' as const, limits: pool?.managedLimits, managed: pool?.managedAutoscaler === true };
    },
  );
  const sizes = [...poolSizes].map(
    ([
      key,
      {
        value: { pool, vmSize, managedLimits, managedAutoscaler },
      },
    ]) => {
      return { key, name: `${pool}/${vmSize}`, kind: 'vms-pool' as const, limits: managedLimits, managed: managedAutoscaler };
    },
  );
  return [...sets, ...sizes].flatMap(({ key, name, kind, limits, managed }): DiscoveredGroups => {
    if (!managed) return [];
    if (limits === undefined)
      return [[key, 'AKS runs its own autoscaler over its agent pool, and returned no usable minCount and maxCount']];
    return [[key, { id: nodeGroupId(name), key, kind, ...limits, explicit: false, managed: true }]];
  });
}

/** The groups that the user names, by key. If a set is named both by itself and by its pool, the set's own name wins. */
function explicitGroups(
  specs: readonly ExplicitNodeGroup[],
  scaleSets: ScaleSets,
  skipped: Map<string, string>,
): Map<string, RegisteredGroup> {
  const setOfPool = setsByPool(scaleSets);
  const keyOf = (name: string): string => (scaleSets.has(foldName(name)) ? undefined : setOfPool.get(foldName(name))) ?? foldName(name);
  const isOwn = ({ name }: ExplicitNodeGroup): boolean => keyOf(name) === foldName(name);
  const groups = new Map<string, RegisteredGroup>();
  for (const { name, min, max } of [...specs.filter(isOwn), ...specs.filter((spec) => !isOwn(spec))]) {
    const key = keyOf(name);
    const kind = /^[^/]+\/[^/]+$/.test(name) ? 'vms-pool' : 'scale-set';
    const other = groups.get(key);
    if (other !== undefined) skipped.set(name, `its scale set is already the node group "${other.id}"`);
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

const SUPPORTED_TYPES = new Set(['', 'virtualmachinescalesets', VMS_POOL_TYPE]);

export function isSupportedType({ type }: AgentPoolRow): boolean {
  return SUPPORTED_TYPES.has(type.toLowerCase());
}

export function groupKindOf(group: RegisteredGroup, set: ScaleSetRow | undefined): NodeGroup['kind'] {
  if (group.kind === 'vms-pool') return 'vms-pool';
  return set?.orchestration === 'Flexible' ? 'vmss-flexible' : 'vmss-uniform';
}

interface RegistrationSources {
  readonly selection: GroupSelection;
  /** Changes whenever a set or a size of a pool changes. */
  readonly version: number;
  readonly scaleSets: { snapshot(): NonNullable<RegistrationInput['scaleSets']> };
  readonly poolSizes: { snapshot(): NonNullable<RegistrationInput['poolSizes']> };
  /** The result of the last list; undefined: never listed. */
  readonly pools: AgentPools | undefined;
}

/** Keeps the current registration. Rebuilds it only when its sources change, and logs once why a selected pool is not a group. */
export class GroupRegistry {
  readonly #log: Log;
  readonly #warned = new Set<string>();
  #last: { readonly sources: RegistrationSources; readonly value: Registration } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Returns the same object while the registration stays equal. */
  registrationFrom(sources: RegistrationSources): Registration {
    const last = this.#last;
    if (last !== undefined && isSameSource(last.sources, sources)) return last.value;
    const { selection: choice, scaleSets, poolSizes, pools } = sources;
    const next = registerGroups({
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

  /** Logs each reason once, not once per refresh. */
  #warnOfSkipped({ skipped }: Registration): void {
    for (const [name, reason] of skipped) {
      const warning = `${name}: ${reason}`;
      if (this.#warned.has(warning)) continue;
      this.#warned.add(warning);
      this.#log.warn({ pool: name, reason }, 'Selected pool cannot be a node group');
    }
  }
}

function isSameSource(left: RegistrationSources, right: RegistrationSources): boolean {
  return left.version === right.version && left.pools === right.pools && left.selection === right.selection;
}

function isSame(left: Registration, right: Registration): boolean {
  if (left.groups.size !== right.groups.size || !isDeepStrictEqual(left.idleRules, right.idleRules)) return false;
  return [...right.groups].every(([key, group]) => isDeepStrictEqual(left.groups.get(key), group));
}

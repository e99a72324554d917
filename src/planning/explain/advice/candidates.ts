/**
 * Which changes would remove the obstacles of one group, before any of them is tried. Every obstacle needs its change, so the sets
 * differ only where an obstacle has several remedies.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import { zonePart } from '../../../domain/node-template.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { CapacityQuota } from '../../../domain/capacity-objects.ts';
import {
  MISSING_LABEL,
  type ClusterLimit,
  type FitReason,
  type GroupRefusal,
  type LabelGap,
  type SkipReason,
} from '../../../domain/reasons.ts';
import { isAttachResource, type ResourceNames } from '../../../domain/resources.ts';
import { blockingTaintOf } from '../../../domain/taints.ts';
import { defined } from '../../../lib/defined.ts';
import { speakable } from '../amounts.ts';
import type { Change } from '../fix.ts';
import { isNodeNameKey, isPoolNameKey, isSettable, isZoneKey } from './label-keys.ts';

/** The new nodes that limits must allow. */
export interface NodesToAllow {
  readonly of: (group: NodeGroupId) => number;
  readonly all: number;
}

/** A set of changes that removes all obstacles of a group. */
export interface Candidate {
  /** With limits raised for so many new nodes. */
  readonly changesFor: (nodes: NodesToAllow) => readonly Change[];
  /** How much is asked of people; less is better. */
  readonly effort: number;
  /** Whether a pool is added. */
  readonly addsPool: boolean;
}

export interface CandidateInput {
  readonly refusal: GroupRefusal;
  readonly group: NodeGroup;
  readonly shape: PodShape;
  readonly quotas: readonly CapacityQuota[];
  readonly names: ResourceNames;
}

/** A change with its effort: 1 is a number in our own configuration. A limit is raised by what the nodes need. */
type Remedy = readonly [change: Change | ((nodes: NodesToAllow) => Change), effort: number];
/** undefined: nothing that a person could change is known to remove the obstacle. */
type Remedies = readonly (readonly Remedy[])[] | undefined;

const NO_OBSTACLE: Remedies = [[]];

/** Empty if some obstacle has no remedy. */
export function candidatesFor(input: CandidateInput): readonly Candidate[] {
  const { fit = [], skip } = input.refusal;
  const perObstacle = fit.map((reason) => remediesFor(reason, input));
  const stop = skip === undefined ? NO_OBSTACLE : remediesForStop(skip, input);
  const inPlace = combine([...perObstacle, stop].map((remedies) => withoutNewPool(remedies)));
  const elsewhere = combine([...perObstacle, skip === undefined || isOfPool(skip) ? NO_OBSTACLE : stop]).filter(needsNewPool);
  return [...inPlace, ...elsewhere].map(candidateOf);
}

/** Whether only time removes the obstacle. */
export function isWaiting({ skip }: GroupRefusal): boolean {
  return skip !== undefined && WAITING.has(skip.kind);
}

const WAITING: ReadonlySet<SkipReason['kind']> = new Set([
  'backoff',
  'stockout',
  'frozen',
  'unhealthy',
  'target-unknown',
  'ramp',
  'probing',
  'trial',
  'not-judged',
]);

/** Obstacles that another pool of the same kind would not have. */
function isOfPool({ kind }: SkipReason): boolean {
  return kind === 'max-size';
}

function needsNewPool(set: readonly Remedy[]): boolean {
  return set.some(([change]) => isNewPool(change));
}

function isNewPool(change: Remedy[0]): change is NewPool {
  return typeof change !== 'function' && change.kind === 'add-pool';
}

type NewPool = Extract<Change, { readonly kind: 'add-pool' }>;

function withoutNewPool(remedies: Remedies): Remedies {
  const left = remedies?.filter((set) => !needsNewPool(set));
  return left === undefined || left.length === 0 ? undefined : left;
}

/** One remedy of each obstacle, in all ways. */
function combine(obstacles: readonly Remedies[]): readonly (readonly Remedy[])[] {
  return obstacles.reduce<readonly (readonly Remedy[])[]>(
    (sets, remedies) => sets.flatMap((set) => (remedies ?? []).map((more) => [...set, ...more])).slice(0, MOST_SETS),
    [[]],
  );
}

const MOST_SETS = 16;

/** Several obstacles may need the same change, or one new pool that offers all that is needed. */
function candidateOf(remedies: readonly Remedy[]): Candidate {
  const others = remedies.filter(([change]) => !isNewPool(change));
  const distinct = [
    ...new Map(others.map((remedy) => [typeof remedy[0] === 'function' ? remedy[0] : JSON.stringify(remedy[0]), remedy])).values(),
  ];
  const poolEfforts = remedies.flatMap(([change, effort]) => (isNewPool(change) ? [effort] : []));
  const pool = joinedPool(remedies.flatMap(([change]) => (isNewPool(change) ? [change] : [])));
  const all: readonly Remedy[] = pool === undefined ? distinct : [[pool, Math.max(...poolEfforts)], ...distinct];
  return {
    changesFor: (nodes) => all.map(([change]) => (typeof change === 'function' ? change(nodes) : change)),
    effort: all.reduce((sum, [, effort]) => sum + effort, 0),
    addsPool: pool !== undefined,
  };
}

function joinedPool(pools: readonly NewPool[]): NewPool | undefined {
  const [first] = pools;
  if (first === undefined) return undefined;
  const zone = pools.flatMap((pool) => pool.zone ?? [])[0];
  const offers: Readonly<Record<string, number>> = Object.fromEntries(pools.flatMap((pool) => Object.entries(pool.offers)));
  return { kind: 'add-pool', like: first.like, offers, ...defined({ zone }) };
}

function remediesForStop(skip: SkipReason, { group, quotas }: CandidateInput): Remedies {
  switch (skip.kind) {
    case 'max-size':
      return remediesForMaximum(group);
    case 'pool-limit':
      return [[[{ kind: 'add-pool', like: group.id, offers: {} }, NEW_POOL_EFFORT]]];
    case 'cluster-limit':
      return [[skip, ...(skip.also ?? [])].map(remedyForLimit)];
    case 'quota': {
      const { quota, limit: from, used, needs } = skip;
      return [[[({ all }) => ({ kind: 'raise-azure-quota', quota, from, to: used + needs * all }), 2]]];
    }
    case 'capacity-quota':
      return remediesForQuotas(skip, quotas);
    default:
      return undefined;
  }
}

/** An atomic group grows to its maximum, whatever that is. */
const ATOMIC_STEPS = [1, 2, 4, 8, 16];

function remediesForMaximum(group: NodeGroup): Remedies {
  const { id, maxSize: from, target } = group;
  const size = target.known ? Math.max(target.value, from) : from;
  if (!isWhole(group)) return [[[({ of }) => ({ kind: 'raise-maximum', group: id, from, to: size + of(id) }), 1]]];
  return ATOMIC_STEPS.map((step) => [[{ kind: 'raise-maximum', group: id, from, to: size + step }, 1 + step / 100]]);
}

function remedyForLimit({ limit, value: from, used, needs }: ClusterLimit): Remedy {
  return [({ all }) => ({ kind: 'raise-cluster-limit', limit, from, to: used + needs * all }), 1];
}

/** `cluster-wide` stands for limits of the configuration, whose use is not known here. */
function remediesForQuotas({ exceeded }: Extract<SkipReason, { kind: 'capacity-quota' }>, quotas: readonly CapacityQuota[]): Remedies {
  const remedies = exceeded.flatMap(({ quota: id, resources, short }) =>
    resources.map((resource, at): Remedy | undefined => {
      const quota = id.replace(/^CapacityQuota\//, '');
      const from = quotas.find(({ ref }) => ref.name === quota)?.limits[resource];
      const { left = 0, needs = 0 } = short[at] ?? {};
      if (from === undefined) return undefined;
      return [
        ({ all }) => ({ kind: 'raise-capacity-quota', quota, resource, from, to: quotaAmount(resource, from - left + needs * all) }),
        1.5,
      ];
    }),
  );
  const known = remedies.filter((remedy) => remedy !== undefined);
  return known.length < remedies.length ? undefined : [known];
}

/** A quota counts whole cores, not millicores. */
function quotaAmount(resource: string, value: number): number {
  return resource === 'cpu' ? Math.ceil(value) : speakable(resource, value, 'up');
}

function remediesFor(reason: FitReason, input: CandidateInput): Remedies {
  const { id } = input.group;
  switch (reason.kind) {
    case 'insufficient-resource':
      return remediesForResource(reason, input);
    case 'untolerated-taint': {
      const taint = blockingTaintOf(reason.taint);
      return taint === undefined ? undefined : [[[{ kind: 'tolerate', taint }, 3]]];
    }
    case 'node-selector-mismatch':
      return remediesForLabels(reason, input);
    case 'topology-spread':
      return remediesForSpread(reason, input);
    case 'pod-affinity':
      return reason.rule === 'repelled'
        ? undefined
        : [[[{ kind: 'drop-pod-affinity', rule: reason.rule, topologyKey: reason.topologyKey }, 7]]];
    case 'host-port-taken':
      return [[[{ kind: 'drop-host-port', port: reason.port, protocol: reason.protocol }, 6]]];
    case 'unschedulable':
      return [[[{ kind: 'uncordon-template', group: id }, 2]]];
    case 'volume':
      return remediesForVolume(reason, input);
    case 'node-features':
    case 'device':
    case 'unsupported':
      return undefined;
  }
}

const REDUCIBLE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const NEW_POOL_EFFORT = 6;

/** The larger the part of a request that would have to be cut, the less likely it is that the pod can do without. */
function remediesForResource(reason: Extract<FitReason, { kind: 'insufficient-resource' }>, { group, names }: CandidateInput): Remedies {
  const { resource, requested, free, untold } = reason;
  const { id, template } = group;
  if (untold === true) return [[[{ kind: 'declare-resource', group: id, resource, amount: requested }, 2]]];
  // The node's own pods need their part, too.
  const ownPods = Math.max(0, (template?.allocatable[names.indexOf(resource)] ?? 0) - free);
  const offers = { [resource]: isAttachResource(resource) ? requested : speakable(resource, requested + ownPods, 'up') };
  // Of several pools, the new one is like the one that lacks least.
  const lacking = 1 - Math.max(0, free) / requested;
  const larger: Remedy = [{ kind: 'add-pool', like: id, offers }, NEW_POOL_EFFORT + lacking / 4];
  const to = speakable(resource, free, 'down');
  if (!REDUCIBLE.has(resource) || to <= 0) return [[larger]];
  return [[[{ kind: 'lower-request', resource, from: requested, to }, 3 + 8 * (1 - to / requested)]], [larger]];
}

function remediesForLabels(
  { gaps = [], untold }: Extract<FitReason, { kind: 'node-selector-mismatch' }>,
  { group }: CandidateInput,
): Remedies {
  if (gaps.length === 0) return undefined;
  const perGap = gaps.map((gap): Remedies => {
    if (untold !== undefined) return [[[{ kind: 'declare-label', group: group.id, key: gap.key, value: gap.values[0] ?? 'true' }, 2]]];
    return remediesForGap(gap, group.id);
  });
  return combine(perGap);
}

function remediesForGap({ key, operator, values }: LabelGap, group: NodeGroupId): Remedies {
  const dropped: Remedy = [{ kind: 'drop-label-rule', key }, isPoolNameKey(key) || isNodeNameKey(key) ? 8 : 6];
  const [value] = values;
  if (isZoneKey(key) && operator === 'In' && value !== undefined)
    return [[[{ kind: 'add-pool', like: group, offers: {}, zone: value }, NEW_POOL_EFFORT]], [dropped]];
  const canBeSet = isSettable(key) && (operator === 'In' || operator === 'Exists');
  return canBeSet ? [[[{ kind: 'label-pool', group, key, value: value ?? 'true' }, 4]], [dropped]] : [[dropped]];
}

/** Skews that are tried, above the present one. */
const SKEW_STEPS = [1, 2, 4, 8];

function remediesForSpread(
  { topologyKey, detail }: Extract<FitReason, { kind: 'topology-spread' }>,
  { group, shape }: CandidateInput,
): Remedies {
  if (detail === MISSING_LABEL)
    return isSettable(topologyKey) ? [[[{ kind: 'label-pool', group: group.id, key: topologyKey, value: group.id }, 4]]] : undefined;
  const from = shape.topologySpread.find((rule) => rule.topologyKey === topologyKey)?.maxSkew ?? 1;
  return SKEW_STEPS.map((step) => [[{ kind: 'raise-max-skew', topologyKey, from, to: from + step }, 4 + step / 10]]);
}

/** A volume that is in one zone needs a pool there; a claim that no node can serve must be repaired first. */
function remediesForVolume(
  { message, detail }: Extract<FitReason, { kind: 'volume' | 'device' }>,
  { group, shape }: CandidateInput,
): Remedies {
  const { blockers = [], places = [] } = shape.volumes ?? {};
  if (blockers.some((blocker) => blocker.message === message && blocker.detail === detail))
    return [[[{ kind: 'repair-claims', message, detail }, 2]]];
  const zones = new Set(
    places.flatMap((place) =>
      (place.kind === 'zone-labels' ? [place.requirements] : place.terms.map(({ expressions }) => expressions))
        .flat()
        .flatMap(({ key, operator, values }) => (isZoneKey(key) && operator === 'In' ? values : [])),
    ),
  );
  if (zones.size === 0) return undefined;
  return [...zones].sort().map((zone) => [[{ kind: 'add-pool', like: group.id, offers: {}, zone: zoneNameOf(zone) }, NEW_POOL_EFFORT]]);
}

function zoneNameOf(zone: string): string {
  return zone.includes('-') ? zone : zonePart(zone);
}

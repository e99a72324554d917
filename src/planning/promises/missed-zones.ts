/**
 * Zones in which a group brings no node, although nodes were requested for pods that need them. Azure chooses the zone of a new node: the
 * one with the fewest nodes, and without strict balance another one if that has no capacity. So each zone has had its turn after as many
 * nodes as there are zones. Must not know what follows from a missed zone.
 * Idea: broken promise.
 */
import type { AcceptedIncrease, BrokenPromise, PodsOfClass } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { zonePart } from '../../domain/node-template.ts';
import { nodeOfInstance } from '../facts/instance-facts.ts';
import type { GroupTemplate } from '../scale-up/groups/template-node.ts';
import { findUpcomingNodes } from '../scale-up/groups/upcoming-nodes.ts';
import { classesOf, isOfTemplate, phaseOfPromise, promiseBroken } from './broken-promise.ts';
import { type PromiseContext, templateOf, variantsForShape } from './promise-context.ts';
import { ownIncreases } from '../state/increases/increase-records.ts';

const ZONE = 'topology.kubernetes.io/zone';
/** The instances of one increase are listed within this time: those in other zones follow from the same request as one in the right zone. */
const ONE_INCREASE_MS = 60_000;

/** The zones that the group's nodes miss. undefined: none are known. */
export function checkZones(group: NodeGroup, context: PromiseContext): BrokenPromise | undefined {
  if ((group.template?.zones.length ?? 0) < 2) return undefined;
  const known = context.state.brokenZones.get(group.id);
  const entries = [...ownIncreases(context.before, group.id), ...ownIncreases(context.state, group.id)];
  if (known === undefined && entries.length === 0) return undefined;
  const arrivals = arrivalsOf(group, context);
  const held = known !== undefined && holds(known, group, arrivals, context.observation.nowMs) ? known : undefined;
  const template = entries.length === 0 ? undefined : templateOf(group, context);
  if (template === undefined || awaitsPlaces(group, context)) return held;
  return withMisses(held, findMisses(entries, { template, held, arrivals }, context), { group, nowMs: context.observation.nowMs });
}

/** A new instance or node, and when it was first seen. */
interface Arrival {
  readonly name: string;
  readonly zone: string;
  readonly atMs: number;
}

/** The earliest first. */
function arrivalsOf({ id, instances = [] }: NodeGroup, { observation, index }: PromiseContext): readonly Arrival[] {
  const { cloud, cluster } = observation;
  const listed = new Set(instances.map(({ key }) => key));
  const nodeOf = nodeOfInstance(cloud);
  const fromAzure = instances.flatMap(({ key, state, zone, hostName, instanceId, firstSeenMs }) => {
    const nodeName = nodeOf.get(key);
    const node = nodeName === undefined ? undefined : cluster.nodes.get(nodeName);
    if (state === 'failed' || zone === undefined) return [];
    return [{ name: node?.name ?? hostName ?? instanceId, zone, atMs: Math.min(firstSeenMs, node?.createdAtMs ?? Infinity) }];
  });
  const unlisted = (index.nodesByGroup.get(id) ?? []).flatMap((name) => {
    const key = cloud.instanceOfNode.get(name);
    const node = key !== undefined && listed.has(key) ? undefined : cluster.nodes.get(name);
    const zone = node?.labels[ZONE];
    return node === undefined || zone === undefined ? [] : [{ name, zone, atMs: node.createdAtMs }];
  });
  return [...fromAzure, ...unlisted].sort((left, right) => left.atMs - right.atMs);
}

/** Whether the finding is still true: nothing that it is about has changed, and no node came in one of the zones since. */
function holds(known: BrokenPromise, group: NodeGroup, arrivals: readonly Arrival[], nowMs: number): boolean {
  if (!isOfTemplate(known, group) || phaseOfPromise(known, nowMs) === 'over') return false;
  const missing = partsOf(known.difference.zones?.missing ?? []);
  return !arrivals.some(({ zone, atMs }) => atMs > known.sinceMs && missing.has(zonePart(zone)));
}

function partsOf(zones: readonly string[]): ReadonlySet<string> {
  return new Set(zones.map(zonePart));
}

/** Whether the zone of a node on its way is not known yet. */
function awaitsPlaces(group: NodeGroup, { index }: PromiseContext): boolean {
  return findUpcomingNodes(group, index).unregistered.includes(undefined);
}

interface GroupArrivals {
  readonly template: GroupTemplate;
  readonly held: BrokenPromise | undefined;
  readonly arrivals: readonly Arrival[];
}

/** Pods of one class that got none of the zones that they need. */
interface Miss {
  readonly class: string;
  readonly zones: readonly string[];
  readonly last: Arrival;
}

function findMisses(entries: readonly AcceptedIncrease[], group: GroupArrivals, context: PromiseContext): readonly Miss[] {
  return entries.flatMap(({ pods, acceptedAtMs }) => pods.flatMap((some) => findMiss(some, acceptedAtMs, group, context) ?? []));
}

function findMiss(pods: PodsOfClass, acceptedAtMs: number, group: GroupArrivals, context: PromiseContext): Miss | undefined {
  const { template, held, arrivals } = group;
  const zones = zonesFor(pods, template, context);
  if (zones.length === 0) return undefined;
  const isKnown = zones.every((zone) => held?.difference.zones?.missing.includes(zone));
  const isTrial = held !== undefined && isKnown && phaseOfPromise(held, context.observation.nowMs) !== 'closed';
  if (isKnown && !isTrial) return undefined;
  const sinceMs = Math.max(pods.firstAskedAtMs ?? acceptedAtMs, isTrial ? held.untilMs : 0, lastIn(zones, arrivals));
  const others = arrivals.filter(({ atMs }) => atMs >= sinceMs);
  const last = others.at(-1);
  const isMissed = others.length >= (isTrial ? 1 : template.template.zones.length);
  return last === undefined || !isMissed ? undefined : { class: pods.class, zones, last };
}

/** The zones that the pods need; none if no such pod is pending, or if they may run in each zone or in none. */
function zonesFor({ class: name }: PodsOfClass, template: GroupTemplate, { pending }: PromiseContext): readonly string[] {
  const shape = pending.get(name);
  const allowed = shape === undefined ? 0 : variantsForShape(shape, template);
  const zones = template.template.zones.filter((_zone, at) => (allowed & (1 << at)) !== 0);
  return zones.length === template.template.zones.length ? [] : zones;
}

/** When the increase that last brought a node in one of the zones had brought all of its nodes. */
function lastIn(zones: readonly string[], arrivals: readonly Arrival[]): number {
  const needed = partsOf(zones);
  const last = arrivals.findLast(({ zone }) => needed.has(zonePart(zone)));
  return last === undefined ? 0 : last.atMs + ONE_INCREASE_MS;
}

function withMisses(
  held: BrokenPromise | undefined,
  misses: readonly Miss[],
  { group, nowMs }: { readonly group: NodeGroup; readonly nowMs: number },
): BrokenPromise | undefined {
  const last = misses.at(-1)?.last;
  if (last === undefined) return held;
  const all = new Set([...(held?.difference.zones?.missing ?? []), ...misses.flatMap(({ zones }) => zones)]);
  const missing = [...all].filter((zone) => zonePart(zone) !== zonePart(last.zone)).sort();
  const classes = classesOf(
    held?.classes ?? [],
    misses.map((miss) => miss.class),
  );
  const difference = { node: last.name, resources: [], labels: [], taints: [], ports: [], zones: { missing, found: last.zone } };
  return promiseBroken(group, { difference, nodes: [last.name], classes, reportedAtMs: nowMs }, nowMs);
}

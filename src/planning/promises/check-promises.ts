/**
 * Whether the nodes of accepted increases are what their templates promised. A promise is broken if a ready node does not fit the
 * pods that its increase was made for, even when it holds only what runs on every node of the group. If other pods took the
 * room, the promise was kept, and the pods ask again. Must not know how templates are made.
 * Idea: broken promise.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { AcceptedIncrease, BrokenPromise, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { TemplateDifference } from '../../domain/node-template.ts';
import { isBeingRemoved, RESOURCE_NOT_READY, type Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { isConditionTaint } from '../../domain/taints.ts';
import { compareText } from '../../lib/comparison.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { type GroupTemplate } from '../scale-up/groups/template-node.ts';
import { findUpcomingNodes } from '../scale-up/groups/upcoming-nodes.ts';
import { classesOf, phaseOfPromise, promiseBroken } from './broken-promise.ts';
import { checkZones } from './missed-zones.ts';
import { makePromiseContext, templateOf, variantsForShape, type PromiseContext, type PromiseInput } from './promise-context.ts';
import { podsOnEveryNode } from './pods-on-every-node.ts';
import { differenceOf, offerOf, persists, refusalsOf, type NodeOffer } from './node-offer.ts';
import { ownByGroup, ownIncreases } from '../state/increases/increase-records.ts';

/** A young node may still get labels, devices or lose taints. Until then the group waits, and nothing is reported. */
const SETTLED_AFTER_MS = 60_000;
/** Of a large increase the newest nodes are enough. */
const MOST_NODES = 20;
const MOST_SHOWING = 3;

/** Finds promises that were broken, kept after all, or are too old to matter. After a large increase it looks at the nodes of every group. */
export function* checkPromises(input: PromiseInput): SlicedWork<LoopState> {
  const { state, before, observation } = input;
  const ids = new Set<NodeGroupId>([...ownByGroup(before).keys(), ...ownByGroup(state).keys(), ...state.broken.keys()]);
  if (ids.size === 0 && state.brokenZones.size === 0) return state;
  const context = makePromiseContext(input);
  const broken = new Map<NodeGroupId, BrokenPromise>();
  const brokenZones = new Map<NodeGroupId, BrokenPromise>();
  for (const group of observation.cloud.groups) {
    const parts = ids.has(group.id) && group.template !== undefined ? checkParts(group, context) : undefined;
    if (parts !== undefined) broken.set(group.id, parts);
    const zones = checkZones(group, context);
    if (zones !== undefined) brokenZones.set(group.id, zones);
    yield;
  }
  return { ...state, broken, brokenZones };
}

function checkParts(group: NodeGroup, context: PromiseContext): BrokenPromise | undefined {
  const { nowMs } = context.observation;
  const known = context.state.broken.get(group.id);
  const found = askNodes(group, known, context);
  if (found === 'kept') return undefined;
  if (found !== undefined) return known === undefined ? found : renewed(known, found, nowMs);
  return known === undefined || phaseOfPromise(known, nowMs) === 'over' ? undefined : { ...known, reportedAtMs: reportTime(known, nowMs) };
}

/**
 * While the time of the first finding lasts, the same holds for whatever template the node contradicts now. Afterwards one node more is
 * tried, unless two nodes agree already. Only the node of a trial starts a new finding.
 */
function renewed(known: BrokenPromise, found: BrokenPromise, nowMs: number): BrokenPromise {
  if (phaseOfPromise(known, nowMs) === 'closed' && known.model === found.model) return confirmed(known, found, nowMs);
  if (known.model === found.model && found.nodes.length > 1) return { ...confirmed(known, found, nowMs), untilMs: found.untilMs };
  const isTrial = !known.nodes.includes(found.difference.node) && !isEmptyDifference(found.difference);
  return isTrial ? found : known;
}

function confirmed(known: BrokenPromise, found: BrokenPromise, nowMs: number): BrokenPromise {
  const { nodes, template } = found;
  return { ...known, reportedAtMs: reportTime(known, nowMs), nodes, template, classes: classesOf(known.classes, found.classes) };
}

/** A node that was removed before it settled did not become what was promised, either. */
function reportTime({ reportedAtMs, sinceMs }: BrokenPromise, nowMs: number): number | undefined {
  if (nowMs - sinceMs < SETTLED_AFTER_MS) return reportedAtMs;
  return reportedAtMs === undefined ? nowMs : Math.min(reportedAtMs, nowMs);
}

/** What the nodes of increases say: that a promise was broken, that a broken one is kept now, or nothing. */
function askNodes(group: NodeGroup, known: BrokenPromise | undefined, context: PromiseContext): BrokenPromise | 'kept' | undefined {
  const { state, before, names } = context;
  const entries = [...ownIncreases(before, group.id), ...ownIncreases(state, group.id)];
  const offers = offersOf(group, { entries, known }, context);
  const [newest] = offers;
  const template = newest === undefined ? undefined : templateOf(group, context);
  if (newest === undefined || template === undefined) return undefined;
  if (known !== undefined && isOvercome(known, offers, names)) return 'kept';
  const shapes = shapesOf({ entries, known }, template, context);
  const failing = [...shapes].filter(([, shape]) => offers.every((offer) => refusalsOf(shape, offer, template, names).length > 0));
  if (failing.length === 0) return known?.classes.some((name) => shapes.has(name)) === true ? 'kept' : undefined;
  const reasons = failing.flatMap(([, shape]) => refusalsOf(shape, newest, template, names));
  return brokenBy(offers, { group, template, reasons, classes: failing.map(([name]) => name) }, context);
}

/** A node that broke the promise offers now what it did not, whether pods need it or not. */
function isOvercome({ nodes, difference }: BrokenPromise, offers: readonly NodeOffer[], names: ResourceNames): boolean {
  return offers.some((offer) => nodes.includes(offer.node.name) && !persists(difference, offer, names));
}

interface Suspects {
  readonly entries: readonly AcceptedIncrease[];
  readonly known: BrokenPromise | undefined;
}

/** The pending pods of the increases that the template promises to take, and those that the last node did not fit. By class. */
function shapesOf({ entries, known }: Suspects, template: GroupTemplate, { pending }: PromiseContext): ReadonlyMap<string, PodShape> {
  const shapes = new Map<string, PodShape>();
  for (const { class: name } of entries.flatMap(({ pods }) => pods)) {
    const shape = pending.get(name);
    if (shape !== undefined && variantsForShape(shape, template) !== 0) shapes.set(name, shape);
  }
  for (const name of known?.classes ?? []) {
    const shape = pending.get(name);
    if (shape !== undefined) shapes.set(name, shape);
  }
  return shapes;
}

/** Of nodes that came of the increases, and of those that broke a promise before. The newest first. */
function offersOf(group: NodeGroup, { entries, known }: Suspects, context: PromiseContext): readonly NodeOffer[] {
  const { index, observation, state, names } = context;
  const { nodes, podsByNode } = observation.cluster;
  const members = index.nodesByGroup.get(group.id) ?? [];
  const sinceMs = Math.min(...entries.map(({ acceptedAtMs }) => acceptedAtMs));
  const starting = new Set(findUpcomingNodes(group, index).unready);
  const found = members.flatMap((name) => {
    const node = nodes.get(name);
    // guard: a node that starts breaks no promise
    if (node === undefined || starting.has(name) || state.deleting.has(name) || !isSettled(node)) return [];
    return node.createdAtMs >= sinceMs || known?.nodes.includes(name) === true ? [node] : [];
  });
  const newest = found.toSorted((left, right) => right.createdAtMs - left.createdAtMs || compareText(left.name, right.name));
  if (newest.length === 0) return [];
  const isEverywhere = podsOnEveryNode(members, observation.cluster);
  return newest.slice(0, MOST_NODES).map((node) => offerOf(node, podsByNode.get(node.name) ?? [], { isEverywhere, names }));
}

/** Whether the node takes pods now, or would if it had all devices and had lost the taints of its start. */
function isSettled(node: Node): boolean {
  const { readiness, unschedulable, taints } = node;
  if (unschedulable || isBeingRemoved(node)) return false;
  if (taints.some(({ key, effect }) => isConditionTaint(key) && effect !== 'PreferNoSchedule')) return false;
  return readiness.ready || readiness.reason.split('; ').every((reason) => reason === RESOURCE_NOT_READY || reason.startsWith('taint '));
}

function isEmptyDifference({ resources, labels, taints, ports, features = [], devices = [], drivers = [] }: TemplateDifference): boolean {
  return [resources, labels, taints, ports, features, devices, drivers].every(({ length }) => length === 0);
}

interface Break {
  readonly group: NodeGroup;
  readonly template: GroupTemplate;
  readonly reasons: readonly FitReason[];
  readonly classes: readonly string[];
}

/** undefined if no template could state the difference. */
function brokenBy(
  offers: readonly NodeOffer[],
  { group, template, reasons, classes }: Break,
  context: PromiseContext,
): BrokenPromise | undefined {
  const { observation, names } = context;
  const [offer] = offers;
  if (offer === undefined) return undefined;
  const difference = differenceOf(offer, template, names, reasons);
  if (!context.state.broken.has(group.id) && isEmptyDifference(difference)) return undefined;
  const nodes = offers.slice(0, MOST_SHOWING).map(({ node }) => node.name);
  return promiseBroken(group, { difference, nodes, classes, reportedAtMs: undefined }, observation.nowMs);
}

/**
 * Places the pods of one group on the new nodes of a packing: first fit, in the order in which nodes were added. Equal pods only ever lose
 * places, so the search goes on where it ended; where rules decide, it does so per place, since these rules treat all nodes of a place
 * alike. Must not know where nodes and pods are kept.
 */
import type { Node } from '../../../domain/node.ts';
import type { NodeName } from '../../../domain/ids.ts';
import { rotate } from '../../../lib/collections.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { floorsOf } from '../../../scheduling/predicates/topology-spread.ts';
import type { SplitRules } from '../../../scheduling/snapshot/topology-index.ts';
import { dependsOnZones } from '../groups/zonal-siblings.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { NewNode, NewNodePlace } from './new-nodes.ts';
import type { NewNodeSpace, Placeholders, PodRange } from './packing-space.ts';

/** One of the groups that are packed as one family. */
export interface FamilyMember {
  readonly template: GroupTemplate;
  /** The largest number of nodes that it may add. */
  readonly limit: number;
}

export interface Packing {
  readonly space: NewNodeSpace;
  readonly members: readonly FamilyMember[];
  /** Per member, in the order of its zone variants. */
  readonly places: readonly (readonly NewNodePlace[])[];
  /** The largest number of new nodes of all members together. */
  readonly limit: number;
  /** Begins the names of this packing's nodes. */
  readonly prefix: string;
  /** In the order in which they were added. */
  readonly nodes: NewNode[];
  /** New nodes by member. */
  readonly counts: number[];
  readonly placed: readonly Map<EquivalenceGroup, number>[];
  /** Placeholder nodes for zones in which a member may add its first node. */
  readonly placeholders: readonly { readonly of: number; readonly node: Node }[];
}

/** A group of pods, with the zone variants of each member that it allows. */
export interface PodsToPack {
  readonly group: EquivalenceGroup;
  /** Of each member, as bits: see `variantsForPods`. */
  readonly allowedVariants: readonly number[];
  /** The places of each member that these variants are. */
  readonly places: readonly (readonly NewNodePlace[])[];
}

/** Where the search on the nodes of one place goes on. All nodes before are full, or refuse. */
interface Cursor {
  readonly place: NewNodePlace;
  at: number;
  /** The node that was seen to have room, and has received no pod since. */
  roomAt: number;
  /** The last pod to which rules closed the place, and the last one to which they left it open, by number. */
  closedTo: number;
  openTo: number;
}

/** Pods that only need room: as many as fit, node after node. */
export function placeIndependent(packing: Packing, toPack: PodsToPack): void {
  fillNodes(packing, toPack, () => addAnyNode(packing, toPack));
}

export function* placeInterdependent(packing: Packing, toPack: PodsToPack): SlicedWork<void> {
  const { group } = toPack;
  const rules = packing.space.rulesOf(group);
  // Without rules of their own, other pods' rules only count them.
  if (group.countable && isEmpty(rules.byPlace) && isEmpty(rules.byHost)) return placeIndependent(packing, toPack);
  const search = new RuledSearch(packing, toPack, rules);
  let placeholders = addMemberPlaceholders(packing, toPack);
  for (let count = 0; count < group.pods.length;) {
    const node = search.findNode() ?? addAdmittingNode(packing, toPack, rules);
    if (node !== undefined) {
      placePods(packing, node, group, { from: count, to: count + 1 });
      count += 1;
      if (count % PODS_PER_STEP === 0) yield;
    } else if (placeholders.count > 0) {
      // kube-scheduler would not count a zone in which no node can be added.
      placeholders.remove();
      placeholders = NO_PLACEHOLDERS;
    } else break;
  }
  placeholders.remove();
}

/** The pods of one group are interrupted, too: 20,000 pods of a StatefulSet that keep off each other make a turn of 75 ms at once, and of 50 ms so. */
const PODS_PER_STEP = 64;
/** No place is closed to it. */
const ANY_POD = -1;
const NOWHERE = -1;
const NO_PLACEHOLDERS: Placeholders = { count: 0, remove: () => undefined };

function fillNodes(packing: Packing, toPack: PodsToPack, addNode: () => NewNode | undefined): void {
  const { group } = toPack;
  const cursors = cursorsOf(toPack);
  for (let count = 0; count < group.pods.length;) {
    const cursor = firstWithRoom(cursors, group, ANY_POD);
    const node = cursor?.place.nodes.nodeAt(cursor.at) ?? addNode();
    if (node === undefined) return;
    const to = Math.min(count + node.place.nodes.countFitting(node, group), group.pods.length);
    placePods(packing, node, group, { from: count, to });
    count = to;
    // A node that was added is full now, too: all before it in its place are.
    if (cursor !== undefined) cursor.at += 1;
  }
}

/**
 * First fit for pods that have rules about other pods. A node that refuses a pod refuses the next ones, too, until the emptiest host has
 * more pods: more of its kind only ever crowd it, and affinity needs a pod that is there.
 */
class RuledSearch {
  readonly #space: NewNodeSpace;
  readonly #group: EquivalenceGroup;
  readonly #rules: SplitRules;
  readonly #cursors: readonly Cursor[];
  readonly #hasNoHostRules: boolean;
  /** The lowest floors at which a node was passed over. */
  #floors: readonly number[] | undefined;
  /** The number of the pod that is placed. */
  #serial = 0;

  constructor({ space }: Packing, toPack: PodsToPack, rules: SplitRules) {
    this.#space = space;
    this.#group = toPack.group;
    this.#rules = rules;
    this.#cursors = cursorsOf(toPack);
    this.#hasNoHostRules = isEmpty(rules.byHost);
  }

  /** The caller puts the pod there. */
  findNode(): NewNode | undefined {
    const floors = this.#startPod();
    for (;;) {
      const cursor = firstWithRoom(this.#cursors, this.#group, this.#serial);
      const node = cursor?.place.nodes.nodeAt(cursor.at);
      if (cursor === undefined || node === undefined) return undefined;
      if (!this.#admitsPlace(cursor, node)) continue;
      if (this.#admitsNode(node)) {
        // guard: a node that gets a pod is looked at again
        cursor.roomAt = NOWHERE;
        return node;
      }
      cursor.at += 1;
      this.#floors = floors.map((floor, at) => Math.min(floor, this.#floors?.[at] ?? floor));
    }
  }

  #admitsPlace(cursor: Cursor, node: NewNode): boolean {
    if (cursor.openTo === this.#serial) return true;
    const isOpen = this.#space.admits(this.#rules.byPlace, node);
    if (isOpen) cursor.openTo = this.#serial;
    else cursor.closedTo = this.#serial;
    return isOpen;
  }

  #admitsNode(node: NewNode): boolean {
    return (this.#hasNoHostRules || this.#space.admits(this.#rules.byHost, node)) && this.#space.admitsBesideRules(this.#group, node);
  }

  /** A rise of the emptiest host's number of pods may admit pods to nodes that were passed over. */
  #startPod(): readonly number[] {
    this.#serial += 1;
    const now = floorsOf(this.#rules.byHost.spread);
    if (this.#floors?.some((floor, at) => (now[at] ?? 0) > floor) === true) {
      for (const cursor of this.#cursors) cursor.at = 0;
      this.#floors = undefined;
    }
    return now;
  }
}

function isEmpty({ spread, near, apart, repelling }: SplitRules['byHost']): boolean {
  return spread.length + near.length + apart.length + repelling.length === 0;
}

function cursorsOf({ places }: PodsToPack): readonly Cursor[] {
  return places.flat().map((place) => ({ place, at: 0, roomAt: NOWHERE, closedTo: 0, openTo: 0 }));
}

/** Of the first node with room of each place, that of the one that was added first. Places that are closed to the pod are left out. */
function firstWithRoom(cursors: readonly Cursor[], group: EquivalenceGroup, pod: number): Cursor | undefined {
  let first: Cursor | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const cursor of cursors) {
    if (cursor.closedTo === pod) continue;
    const { nodes } = cursor.place;
    if (cursor.roomAt !== cursor.at) {
      cursor.at = nodes.firstWithRoom(group, cursor.at);
      cursor.roomAt = cursor.at < nodes.count ? cursor.at : NOWHERE;
    }
    const node = nodes.nodeAt(cursor.at);
    if (node === undefined || node.index >= least) continue;
    first = cursor;
    least = node.index;
  }
  return first;
}

/** Zones in which new nodes are possible count as domains, so that they fill evenly and not one after the other. */
function addMemberPlaceholders({ space, members, placeholders }: Packing, { group, allowedVariants }: PodsToPack): Placeholders {
  if (members.length < 2 || group.shape.topologySpread.length === 0) return NO_PLACEHOLDERS;
  return space.addPlaceholders(
    group,
    placeholders.filter(({ of }) => allowedVariants[of] !== 0).map(({ node }) => node),
  );
}

/** Adds a new node that admits the group, in the first zone in which one does; zones take turns. */
function addAdmittingNode(packing: Packing, toPack: PodsToPack, { byPlace, byHost }: SplitRules): NewNode | undefined {
  const { space } = packing;
  for (const place of nextPlaces(packing, toPack)) {
    const name = nextName(packing);
    const node = { name, slot: space.add(place, name) };
    if (space.admits(byPlace, node) && space.admits(byHost, node) && space.admitsBesideRules(toPack.group, node))
      return recordNode(packing, place, node);
    space.drop(node);
  }
  return undefined;
}

function addAnyNode(packing: Packing, toPack: PodsToPack): NewNode | undefined {
  const [place] = nextPlaces(packing, toPack);
  if (place === undefined) return undefined;
  const name = nextName(packing);
  return recordNode(packing, place, { name, slot: packing.space.add(place, name) });
}

/**
 * Where a new node may be tried; empty if the limit is reached. Zones of one group take turns. Members take turns for pods that
 * depend on zones; other pods get the first member that can take them.
 */
function nextPlaces({ nodes, counts, members, limit }: Packing, { group, places }: PodsToPack): readonly NewNodePlace[] {
  if (nodes.length >= limit) return [];
  const [only] = members;
  if (members.length === 1 && only !== undefined) return nodes.length < only.limit ? rotated(places[0], nodes.length) : [];
  const open = members.flatMap((member, of) => {
    const count = counts[of] ?? 0;
    return count < member.limit ? rotated(places[of], count) : [];
  });
  return group.interdependent && members.length > 1 && dependsOnZones(group) ? rotate(open, nodes.length) : open;
}

function rotated(places: readonly NewNodePlace[] = [], by: number): readonly NewNodePlace[] {
  return places.length < 2 ? places : rotate(places, by);
}

function nextName({ prefix, nodes }: Packing): NodeName {
  return `${prefix}-${nodes.length}`;
}

function recordNode({ nodes, counts }: Packing, place: NewNodePlace, at: { readonly name: NodeName; readonly slot: number }): NewNode {
  const { template, of } = place;
  const node = { ...at, place, index: nodes.length, at: place.nodes.count, ports: template.ports };
  place.nodes.add(node);
  nodes.push(node);
  counts[of] = (counts[of] ?? 0) + 1;
  return node;
}

function placePods({ placed, space }: Packing, node: NewNode, group: EquivalenceGroup, range: PodRange): void {
  const { place } = node;
  const own = placed[place.of];
  const count = range.to - range.from;
  own?.set(group, (own.get(group) ?? 0) + count);
  space.put(group, range, node);
  place.nodes.fill(node, group, count);
}

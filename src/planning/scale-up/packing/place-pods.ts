/**
 * Places the pods of one group on the new nodes of a packing: first fit, in the order in which nodes were added. Equal pods only ever lose
 * places, so the search goes on where it ended; where rules decide, it does so per place, since these rules treat all nodes of a place
 * alike. Must not know where nodes and pods are kept.
 */
import type { Node } from '../../../domain/node.ts';
import type { NodeName } from '../../../domain/ids.ts';
import { rotate } from '../../../lib/collections.ts';
import { floorsOf } from '../../../scheduling/predicates/topology-spread.ts';
import type { SplitRules } from '../../../scheduling/snapshot/topology-index.ts';
import { dependsOnZones } from '../groups/zonal-siblings.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { podsFittingOn } from './estimate.ts';
import type { NewNode, NewNodePlace } from './new-nodes.ts';
import { isCountable, type NewNodeSpace, type Placeholders, type PodRange } from './packing-space.ts';

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
  readonly masks: readonly number[];
  /** The places of each member that these variants are. */
  readonly places: readonly (readonly NewNodePlace[])[];
}

/** Where the search on the nodes of one place goes on. All nodes before are full, or refuse. */
interface Cursor {
  readonly place: NewNodePlace;
  at: number;
}

/** Pods that only need room: as many as fit, node after node. */
export function placeIndependent(packing: Packing, toPack: PodsToPack): void {
  fillNodes(packing, toPack, () => addAnyNode(packing, toPack));
}

export function placeInterdependent(packing: Packing, toPack: PodsToPack): void {
  const { group } = toPack;
  const rules = packing.space.rulesOf(group);
  // Without rules of their own, other pods' rules only count them.
  if (isCountable(group) && isEmpty(rules.byPlace) && isEmpty(rules.byHost)) return placeIndependent(packing, toPack);
  const search = new RuledSearch(packing, toPack, rules);
  let placeholders = addMemberPlaceholders(packing, toPack);
  for (let count = 0; count < group.pods.length;) {
    const node = search.findNode() ?? addAdmittingNode(packing, toPack, rules);
    if (node !== undefined) {
      placePods(packing, node, group, { from: count, to: count + 1 });
      count += 1;
    } else if (placeholders.count > 0) {
      // kube-scheduler would not count a zone in which no node can be added.
      placeholders.remove();
      placeholders = NO_PLACEHOLDERS;
    } else break;
  }
  placeholders.remove();
}

const NO_PLACEHOLDERS: Placeholders = { count: 0, remove: () => undefined };

function fillNodes(packing: Packing, toPack: PodsToPack, addNode: () => NewNode | undefined): void {
  const { group } = toPack;
  const cursors = cursorsOf(toPack);
  for (let count = 0; count < group.pods.length;) {
    const node = firstWithRoom(cursors, group)?.node ?? addNode();
    if (node === undefined) return;
    const to = Math.min(count + podsFittingOn(group, node.free, node.ports), group.pods.length);
    placePods(packing, node, group, { from: count, to });
    count = to;
    const cursor = cursors.find(({ place }) => place === node.place);
    if (cursor !== undefined) cursor.at = node.at + 1;
  }
}

/** First fit for pods that have rules about other pods. */
class RuledSearch {
  readonly #space: NewNodeSpace;
  readonly #group: EquivalenceGroup;
  readonly #rules: SplitRules;
  readonly #cursors: readonly Cursor[];
  /** Whether a node that refused a pod refuses the next ones, too, until the floors rise. */
  readonly #staysRefused: boolean;
  /** The lowest floors at which a node was passed over. */
  #floors: readonly number[] | undefined;

  constructor({ space }: Packing, toPack: PodsToPack, rules: SplitRules) {
    this.#space = space;
    this.#group = toPack.group;
    this.#rules = rules;
    this.#cursors = cursorsOf(toPack);
    this.#staysRefused = rules.byHost.near.length === 0 && (isCountable(toPack.group) || rules.byPlace.near.length === 0);
  }

  findNode(): NewNode | undefined {
    const floors = this.#startPod();
    const open = new Set(this.#staysRefused ? this.#cursors : this.#cursors.map((cursor) => ({ ...cursor })));
    const judged = new Set<Cursor>();
    for (;;) {
      const found = firstWithRoom(open, this.#group);
      if (found === undefined) return undefined;
      const { cursor, node } = found;
      if (!judged.has(cursor) && !this.#space.admits(this.#rules.byPlace, node)) {
        open.delete(cursor);
        continue;
      }
      judged.add(cursor);
      if (this.#space.admits(this.#rules.byHost, node) && this.#space.admitsBesideRules(this.#group, node)) return node;
      cursor.at += 1;
      this.#floors = floors.map((floor, at) => Math.min(floor, this.#floors?.[at] ?? floor));
    }
  }

  /** A rise of the emptiest host's number of pods may admit pods to nodes that were passed over. */
  #startPod(): readonly number[] {
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
  return places.flat().map((place) => ({ place, at: 0 }));
}

/** Of the first node with room of each place, the one that was added first. */
function firstWithRoom(
  cursors: Iterable<Cursor>,
  group: EquivalenceGroup,
): { readonly cursor: Cursor; readonly node: NewNode } | undefined {
  let first: { readonly cursor: Cursor; readonly node: NewNode } | undefined;
  for (const cursor of cursors) {
    const { nodes } = cursor.place;
    cursor.at = nodes.firstWithRoom(group, cursor.at);
    const node = nodes.nodeAt(cursor.at);
    if (node !== undefined && (first === undefined || node.index < first.node.index)) first = { cursor, node };
  }
  return first;
}

/** Zones in which new nodes are possible count as domains, so that they fill evenly and not one after the other. */
function addMemberPlaceholders({ space, members, placeholders }: Packing, { group, masks }: PodsToPack): Placeholders {
  if (members.length < 2 || group.shape.topologySpread.length === 0) return NO_PLACEHOLDERS;
  return space.addPlaceholders(
    group,
    placeholders.filter(({ of }) => masks[of] !== 0).map(({ node }) => node),
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
  const open = members.flatMap((member, of) => {
    const count = counts[of] ?? 0;
    return count < member.limit ? rotate(places[of] ?? [], count) : [];
  });
  return group.interdependent && members.length > 1 && dependsOnZones(group) ? rotate(open, nodes.length) : open;
}

function nextName({ prefix, nodes }: Packing): NodeName {
  return `${prefix}-${nodes.length}`;
}

function recordNode({ nodes, counts }: Packing, place: NewNodePlace, at: { readonly name: NodeName; readonly slot: number }): NewNode {
  const { template, of } = place;
  const node = { ...at, place, index: nodes.length, at: place.nodes.count, free: template.free.slice(), ports: template.ports };
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

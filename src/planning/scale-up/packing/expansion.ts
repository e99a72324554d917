/**
 * What one try of a plan has added so far: new nodes and their pods per group, and how much more sizes, limits and time
 * allow. Changes with every option that is taken. Must not know how pods are packed or how options are compared.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { Expander } from '../../expanders/expander.ts';
import type { ExistingCapacity } from '../groups/existing-capacity.ts';
import { type FreeRoom, nodesAllowed, takeNodes, type QuotaRoom } from '../groups/quotas.ts';
import type { SimilarityRules } from '../groups/similar-groups.ts';
import { simulatedNodeName, type GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { TryLimits } from '../pods/try-limits.ts';
import type { Estimate } from './estimate.ts';
import type { Scoring } from './option-score.ts';

/** Sizes of a group in one plan, in nodes. */
export interface SizeBounds {
  /** The target size, with the increase to the minimum size if there is one. */
  readonly size: number;
  /** The largest size after this plan: the maximum size, or less. */
  readonly ceiling: number;
}

export interface ExpandInput {
  /** Where pods are retried, on nodes of earlier rounds too. New nodes of the plan that stay in its snapshot are added to it. */
  readonly capacity: ExistingCapacity;
  /** The groups that may grow. */
  readonly templates: readonly GroupTemplate[];
  /** For every group of `templates`. */
  readonly bounds: ReadonlyMap<NodeGroupId, SizeBounds>;
  /** Pods that need new nodes. Pods of an earlier turn are served before those of a later turn get any node. */
  readonly turns: readonly (readonly EquivalenceGroup[])[];
  readonly room: QuotaRoom;
  readonly scoring: Scoring;
  /** By the name of the choice: the same name leads to the same choice. */
  readonly expandersFor: (choice: string) => readonly Expander[];
  readonly similarity: SimilarityRules;
  readonly tries: TryLimits;
  /** Rotates which group is estimated first, so that a deadline does not cut off the same groups in every loop. */
  readonly rotation: number;
  /** Either one option serves every pod, or nothing grows. */
  readonly allOrNothing: boolean;
  /** Similar groups share the new nodes. With `allOrNothing` they are one option. */
  readonly balance: boolean;
}

interface AddedNodes {
  readonly nodes: number;
  readonly pods: readonly Pod[];
  /** New nodes that help only if they land in the right zone. */
  readonly zoneBound: number;
}

export interface ExpansionResult {
  readonly added: ReadonlyMap<NodeGroupId, AddedNodes>;
  /** The first option of every group that had one. */
  readonly options: ReadonlyMap<NodeGroupId, ScoredOption>;
  readonly room: QuotaRoom;
  /** Rounds or time ran out before all pods that can be helped were helped. */
  readonly unfinished: boolean;
  /** The number of estimates after which the time was up. If absent, there was time enough for all. */
  readonly cutShortAfter: number | undefined;
  /** Groups that were estimated at least once. */
  readonly estimated: ReadonlySet<NodeGroupId>;
}

/** The result of a plan in which no pod needs a new node. */
export function emptyExpansion(room: QuotaRoom): ExpansionResult {
  return { added: new Map(), options: new Map(), room, unfinished: false, cutShortAfter: undefined, estimated: new Set() };
}

export class Expansion {
  readonly #bounds: ReadonlyMap<NodeGroupId, SizeBounds>;
  readonly #tries: TryLimits;
  readonly #added = new Map<NodeGroupId, AddedNodes>();
  readonly #estimated = new Set<NodeGroupId>();
  #room: QuotaRoom;
  #packings = 0;

  constructor({ bounds, room, tries }: Pick<ExpandInput, 'bounds' | 'room' | 'tries'>) {
    this.#bounds = bounds;
    this.#room = room;
    this.#tries = tries;
  }

  /** The group's size with the nodes that this plan adds. */
  sizeOf(id: NodeGroupId): number {
    return (this.#bounds.get(id)?.size ?? 0) + (this.#added.get(id)?.nodes ?? 0);
  }

  ceilingOf(id: NodeGroupId): number {
    return this.#bounds.get(id)?.ceiling ?? 0;
  }

  /** How many such nodes the limits of cluster, plan, quotas and a shared pool still allow. */
  allowedByLimits(template: GroupTemplate): number {
    return nodesAllowed(this.#room, template);
  }

  /** Further nodes that cost nothing. */
  get free(): FreeRoom {
    return this.#room;
  }

  /** How many nodes the group may still add. A zero-or-max group may add all its nodes or none. */
  nodesLeft(template: GroupTemplate): number {
    const { group } = template;
    const toCeiling = this.ceilingOf(group.id) - this.sizeOf(group.id);
    const allowed = this.allowedByLimits(template);
    return isWhole(group) && allowed < toCeiling ? 0 : Math.min(toCeiling, allowed);
  }

  /** Counts one estimate of these groups. False if the time is up: then none may be made. */
  startEstimate(templates: readonly GroupTemplate[]): boolean {
    if (!this.#tries.startEstimate()) return false;
    for (const { group } of templates) this.#estimated.add(group.id);
    return true;
  }

  get isCutShort(): boolean {
    return this.#tries.isLateInEstimates;
  }

  /** Begins the names of the next packing's nodes. One per packing, not per group: the snapshot remembers every host name. */
  get nodeNamePrefix(): string {
    return simulatedNodeName(`new-${this.#packings}`);
  }

  /** The nodes of a packing stay: the next packing gets names of its own. */
  finishPacking(): void {
    this.#packings += 1;
  }

  /** Counts the estimate's nodes against all limits, and removes its pods from their equivalence groups. */
  addNodes(template: GroupTemplate, estimate: Estimate): void {
    const { group } = template;
    const pods = removePlacedPods(estimate);
    const before = this.#added.get(group.id) ?? { nodes: 0, pods: [], zoneBound: 0 };
    this.#added.set(group.id, {
      nodes: before.nodes + estimate.nodes,
      pods: before.pods.concat(pods),
      zoneBound: before.zoneBound + estimate.zoneBound,
    });
    this.#room = takeNodes(this.#room, template, estimate.nodes);
  }

  result(options: ReadonlyMap<NodeGroupId, ScoredOption>, ranOutOfRounds: boolean): ExpansionResult {
    const { cutShortAfter, isLateInEstimates } = this.#tries;
    return {
      added: this.#added,
      options,
      room: this.#room,
      unfinished: ranOutOfRounds || this.isCutShort,
      estimated: this.#estimated,
      cutShortAfter: isLateInEstimates ? cutShortAfter : undefined,
    };
  }
}

function removePlacedPods({ placed }: Estimate): readonly Pod[] {
  return [...placed].flatMap(([group, count]) => group.pods.splice(0, count));
}

/**
 * Finds the group and the instance of each node with one Map look-up per node. Nodes without a group are remembered until the
 * registration or the instances change, so foreign nodes cost nothing either. Must not know templates or sizes.
 */
import type { Row } from '../../cache/table/row.ts';
import type { InstanceKey, NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { finishAtOnce, type SlicedWork } from '../../lib/slices.ts';
import { foldName, isInScope, parseProviderId, type InstanceRef } from '../arm/resource-ids.ts';
import type { Registration } from './registry.ts';
import type { InstanceRow } from '../rows/scale-set.ts';

export interface OwnershipInput {
  readonly nodes: ReadonlyMap<NodeName, Node>;
  readonly registration: Registration;
  /** Grows when instances are added, removed or changed. */
  readonly instancesVersion: number;
  readonly instance: (key: InstanceKey) => Row<InstanceRow> | undefined;
}

export interface Ownership {
  readonly groupOfNode: ReadonlyMap<NodeName, NodeGroupId>;
  readonly instanceOfNode: ReadonlyMap<NodeName, InstanceKey>;
  readonly nodeOfInstance: ReadonlyMap<InstanceKey, Node>;
  /** Nodes of a group whose instance is in no list, by the group's folded name. */
  readonly unlisted: ReadonlyMap<string, readonly NodeName[]>;
  /** Nodes on virtual machines of our resource group that are in no list, so that their group is unknown. */
  readonly unlistedVms: readonly NodeName[];
}

function isSameWorld(left: OwnershipInput, right: OwnershipInput): boolean {
  return left.registration === right.registration && left.instancesVersion === right.instancesVersion;
}

function isSameInput(left: OwnershipInput, right: OwnershipInput): boolean {
  return isSameWorld(left, right) && left.nodes === right.nodes;
}

export class OwnershipIndex {
  readonly #scope: { readonly subscriptionId: string; readonly nodeResourceGroup: string };
  /** Parsed once per spelling. Entries of removed nodes are dropped with the next full pass. */
  #refs = new Map<string, InstanceRef | undefined>();
  /** Without a group; the value: of these, a virtual machine of our resource group that is in no list. */
  #unowned = new Map<InstanceKey, boolean>();
  #last: { readonly input: OwnershipInput; readonly ownership: Ownership } | undefined;
  #searches = 0;

  constructor(scope: { readonly subscriptionId: string; readonly nodeResourceGroup: string }) {
    this.#scope = { subscriptionId: scope.subscriptionId.toLowerCase(), nodeResourceGroup: scope.nodeResourceGroup.toLowerCase() };
  }

  /** The number of look-ups so far. Tests check that no pass scans or repeats them. */
  get searches(): number {
    return this.#searches;
  }

  /** Returns the same object while nothing changed. */
  resolve(input: OwnershipInput): Ownership {
    if (this.#last !== undefined && isSameInput(this.#last.input, input)) return this.#last.ownership;
    const ownership = finishAtOnce(this.#resolveAll(input));
    this.#last = { input, ownership };
    return ownership;
  }

  /** Does in slices what the next `resolve` would do at once. undefined: something changed meanwhile, so that it was useless. */
  *prepare(current: () => OwnershipInput): SlicedWork<Ownership | undefined> {
    const input = current();
    if (this.#last !== undefined && isSameInput(this.#last.input, input)) return this.#last.ownership;
    const ownership = yield* this.#resolveAll(input);
    if (!isSameInput(input, current())) return undefined;
    this.#last = { input, ownership };
    return ownership;
  }

  *#resolveAll(input: OwnershipInput): SlicedWork<Ownership> {
    if (this.#last === undefined || !isSameWorld(this.#last.input, input)) this.#unowned = new Map();
    const refs = new Map<string, InstanceRef | undefined>();
    const groupOfNode = new Map<NodeName, NodeGroupId>();
    const instanceOfNode = new Map<NodeName, InstanceKey>();
    const nodeOfInstance = new Map<InstanceKey, Node>();
    const unlisted = new Map<string, NodeName[]>();
    const unlistedVms: NodeName[] = [];
    for (const node of input.nodes.values()) {
      yield;
      const ref = this.#refOf(node.providerId);
      refs.set(node.providerId, ref);
      if (ref === undefined) continue;
      const unowned = this.#unowned.get(ref.key);
      if (unowned === true) unlistedVms.push(node.name);
      if (unowned !== undefined) continue;
      const { groupKey, listed } = this.#ownerOf(ref, input);
      const group = groupKey === undefined ? undefined : input.registration.groups.get(groupKey);
      if (group === undefined) {
        const isUnlistedVm = ref.kind === 'vm' && !listed && isInScope(ref, this.#scope);
        this.#unowned.set(ref.key, isUnlistedVm);
        if (isUnlistedVm) unlistedVms.push(node.name);
        continue;
      }
      groupOfNode.set(node.name, group.id);
      nodeOfInstance.set(ref.key, node);
      if (listed) instanceOfNode.set(node.name, ref.key);
      else unlisted.set(group.key, [...(unlisted.get(group.key) ?? []), node.name]);
    }
    this.#refs = refs;
    return { groupOfNode, instanceOfNode, nodeOfInstance, unlisted, unlistedVms };
  }

  #refOf(providerId: string): InstanceRef | undefined {
    if (this.#refs.has(providerId)) return this.#refs.get(providerId);
    const parsed = parseProviderId(providerId);
    return parsed.ok ? parsed.ref : undefined;
  }

  /** The id of a Uniform instance names its set. A virtual machine with an id of its own is known only from the lists. */
  #ownerOf(ref: InstanceRef, input: OwnershipInput): { readonly groupKey: string | undefined; readonly listed: boolean } {
    this.#searches += 1;
    const row = input.instance(ref.key);
    if (row !== undefined) return { groupKey: row.value.group, listed: true };
    const ours = ref.kind === 'vmss' && isInScope(ref, this.#scope);
    // guard: the group of a node is known although no list shows its instance
    return { groupKey: ours ? foldName(ref.set) : undefined, listed: false };
  }
}

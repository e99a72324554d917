/**
 * Deletes instances of a node group by id: one protocol for every way in which they are deleted. Wait for the turn, read again
 * that each id still is the instance that the caller means, check, begin the mutations, send one call, follow the operation.
 * A delete carries no condition that Azure would check, so every guard is counted with everything in flight.
 * Must not know how instances are read and deleted: the backends do (`delete-backends`).
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { Mutation } from '../../cache/table/mutation.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { AutoscalerError, asAutoscalerError, isEffectUnknown } from '../../lib/errors.ts';
import { isInResourceGroup, scaleSetOfInstance } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { describeCounting } from '../groups/stopped-counts.ts';
import { hasFailed } from '../rows/scale-set.ts';
import { isAnother, isGuarded, isStaying, minimumBreach } from './delete-checks.ts';
import { type Batch, type DeleteBackend, keysOf, type ListedInstance } from './delete-backend.ts';
import { DeletionFollower } from './follow-deletion.ts';
import type { WriteDeps } from '../writes/write-context.ts';

/** See the port. Instances that are gone, or already going, are success. */
export async function deleteFromGroup(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, request }: { readonly backend: DeleteBackend; readonly request: DeleteRequest },
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  try {
    // Before the wait: what the caller means is what has the key now.
    const deletion = new Deletion({ deps, group, backend, request, signal });
    // guard: what a deletion means is taken before it waits for its turn
    return await backend.whenItsTurn(() => deletion.run(), signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

/** That Azure forbids to stop or reimage instances says nothing against the increases of the group. */
export function asRefusal(outcome: DeleteOutcome): DeleteOutcome {
  if (outcome.kind !== 'failed' || (outcome.error.kind !== 'auth' && outcome.error.kind !== 'bug')) return outcome;
  return { kind: 'refused', group: outcome.group, reason: outcome.error.message };
}

interface DeletionInput {
  readonly deps: WriteDeps;
  readonly group: RegisteredGroup;
  readonly backend: DeleteBackend;
  readonly request: DeleteRequest;
  /** The caller's. Aborted when it stops its work or loses the lease: then nothing is sent a second time. */
  readonly signal: AbortSignal;
}

/** One request to delete, from the fresh read to the end of its operation. */
class Deletion {
  readonly #deps: WriteDeps;
  readonly #group: RegisteredGroup;
  readonly #backend: DeleteBackend;
  readonly #request: DeleteRequest;
  readonly #signal: AbortSignal;
  readonly #follower: DeletionFollower;
  readonly #keys: readonly InstanceKey[];
  /** The `vmId` of each instance that the caller means; empty: unknown. */
  readonly #meant: Map<InstanceKey, string>;
  /** The minimum that was checked. undefined: it does not matter. */
  #minimum: number | undefined;

  constructor({ deps, group, backend, request, signal }: DeletionInput) {
    this.#deps = deps;
    this.#group = group;
    this.#backend = backend;
    this.#request = request;
    this.#signal = signal;
    this.#follower = new DeletionFollower({ deps, group, backend, signal, lookAt: (instances) => this.#lookAt(instances) });
    this.#keys = [...new Set(request.instances)];
    // guard: a deletion means the instances of the plan, however often it is tried
    this.#meant = new Map(this.#keys.map((key) => [key, request.uids.get(key) ?? this.#shownId(key)]));
  }

  async run(): Promise<DeleteOutcome> {
    const { instances: table } = this.#deps.inventory;
    const group = this.#group;
    const keys = this.#keys;
    const foreign = keys.find((key) => !this.#isOurs(key));
    // guard: an instance of another group is not deleted
    if (foreign !== undefined) return this.#refused(`${foreign} does not belong to it`);
    // guard: instances are read again before they are deleted
    await this.#backend.readFresh(keys, this.#signal);
    const present = keys.flatMap((key) => table.get(key) ?? []);
    const [other] = present.flatMap((row) => this.#identityObjection(row) ?? []);
    if (other !== undefined) return this.#refused(other);
    // One without an identity so far is the instance that the fresh read shows.
    for (const key of keys) if (this.#meant.get(key) === '') this.#meant.set(key, this.#shownId(key));
    const staying = present.filter((row) => isStaying(this.#deps, row));
    // Comes before the refusals: an instance that is being deleted already needs no permission.
    if (staying.length === 0) return { kind: 'accepted', group: group.id, instances: keys };
    const recovered = staying.filter((row) => this.#recoveryOf(row) !== undefined);
    const instances = staying.filter((row) => !recovered.includes(row));
    const [first] = recovered;
    if (first !== undefined && instances.length === 0) return this.#refused(this.#recoveryOf(first) ?? '');
    const guarded = instances.find(({ value }) => isGuarded(value));
    const refusal = guarded === undefined ? describeBlock(this.#backend.refusal()) : `${guarded.key} is protected by its owner`;
    const reason = refusal ?? (await this.#belowMinimum(instances, this.#request.allowBelowMin));
    if (reason !== undefined) return this.#refused(reason);
    const wanted = keys.filter((key) => !recovered.some((row) => row.key === key));
    return this.#send({ instances, keys: wanted, force: this.#backend.isForced(), retried: false });
  }

  /** An id that was never listed may be of the group, and gone. One of another resource group never is, whatever the names are. */
  #isOurs(key: InstanceKey): boolean {
    const { inventory, options } = this.#deps;
    const listed = inventory.instances.get(key)?.value.group;
    if (listed !== undefined) return listed === this.#group.key;
    // guard: an id of another resource group is refused
    return isInResourceGroup(key, options) && (scaleSetOfInstance(key) ?? this.#group.key) === this.#group.key;
  }

  /** Why an instance that was to be deleted because it failed must stay; undefined: it has still failed, or is meant for another reason. */
  #recoveryOf({ key, value }: ListedInstance): string | undefined {
    return !this.#request.failed.has(key as InstanceKey) || hasFailed(value)
      ? undefined
      : `${key} has not failed any more: its state is ${value.state}`;
  }

  #shownId(key: InstanceKey): string {
    return this.#deps.inventory.instances.get(key)?.value.vmId ?? '';
  }

  /** Why a row is not the instance that the caller means; undefined: it is, as far as that is known. */
  #identityObjection({ key, value }: ListedInstance): string | undefined {
    return isAnother(this.#meant.get(key as InstanceKey) ?? '', value.vmId)
      ? `${key} is now another instance than the one requested`
      : undefined;
  }

  /** Why an instance is no longer the one that is meant, as far as later reads show. */
  #changeOf({ key }: ListedInstance): string | undefined {
    const now = this.#deps.inventory.instances.get(key);
    return now === undefined ? undefined : (this.#identityObjection(now) ?? this.#recoveryOf(now));
  }

  #refused(reason: string): DeleteOutcome {
    return { kind: 'refused', group: this.#group.id, reason };
  }

  /** Why the group may not lose these instances; undefined: it may. */
  async #belowMinimum(going: readonly ListedInstance[], allowed: boolean): Promise<string | undefined> {
    const { inventory } = this.#deps;
    const group = this.#group;
    const size = await this.#backend.readSize(allowed, this.#signal);
    if (size === undefined) return 'its size is unknown';
    if (!size.confirmed) return 'the outcome of an earlier change is unknown';
    if (inventory.changes.isInherited(group.key)) return 'an operation that was in progress at the start may not be over yet';
    const { inSize, counting } = this.#deps.stopped.of(group.key);
    // guard: nothing is removed from a size while it is not known how it counts stopped machines
    if (inSize === undefined) return describeCounting(counting);
    if (allowed) return undefined;
    const listed = [...inventory.instances.scope(group.key).values()].filter((row) => isStaying(this.#deps, row));
    this.#minimum = this.#deps.limitsOf(group).min;
    // guard: a delete leaves the minimum of its group
    // Stopped instances do not stand in for the minimum.
    return minimumBreach({ size: size.low - inSize, listed, going, min: this.#minimum });
  }

  async #send(batch: Batch): Promise<DeleteOutcome> {
    const { log } = this.#deps;
    const group = this.#group;
    const resource = this.#backend.resource();
    const accepted: DeleteOutcome = { kind: 'accepted', group: group.id, instances: batch.keys };
    const mutations: Mutation[] = [];
    let spared: ReadonlyMap<InstanceKey, string> = new Map();
    const beforeSend = async (): Promise<void> => {
      // guard: the last look comes after every wait and every read of Azure
      spared = await this.#lookAt(batch.instances);
      if (spared.size > 0) throw new AutoscalerError({ kind: 'conflict' }, `${spared.size} instances must not be deleted any more.`);
      if (mutations.length === 0) mutations.push(...this.#beginMutations(batch.instances));
    };
    try {
      const answer = await this.#backend.post(resource, { ...batch, beforeSend }, this.#signal);
      for (const mutation of mutations) mutation.accepted({ etag: answer.etag, expect: answer.capacity, modelled: false });
      this.#follower.follow({ batch, resource, answer, mutations, resent: false });
      return accepted;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      for (const mutation of mutations) mutation.settle(isEffectUnknown(error) ? 'unknown' : 'refused');
      if (spared.size > 0) return this.#sendWithout(batch, spared);
      const next = await this.#backend.nextBatch(batch, error, this.#signal);
      if (next === undefined) return { kind: 'failed', group: group.id, error: this.#withWitness(error, batch) };
      log.info({ nodeGroup: group.id, code: error.code, left: next.instances.length }, 'Delete refused; sending it again with changes');
      return next.instances.length === 0 ? accepted : this.#send(next);
    }
  }

  /** A 404 for instances that a read still shows is no success: it is tried again later. */
  #withWitness(error: AutoscalerError, { instances }: Batch): AutoscalerError {
    const isShown = error.kind === 'not-found' && instances.some(({ key }) => this.#deps.inventory.instances.get(key) !== undefined);
    // guard: a 404 on a delete is no success while the instance is shown
    if (!isShown) return error;
    const message = `Azure did not find what it still shows: ${error.message}`;
    return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { cause: error });
  }

  #beginMutations(instances: readonly ListedInstance[]): readonly Mutation[] {
    const { instead } = this.#backend;
    if (instead !== undefined) return instead.begin(instances);
    const rows = this.#deps.inventory.instances.beginMutation({ kind: 'remove-rows', keys: instances.map(({ key }) => key) });
    return [this.#backend.beginSizeMutation(instances.length), rows];
  }

  /** The last look, the caller's and ours. Returns what speaks against instances. */
  async #lookAt(instances: readonly ListedInstance[]): Promise<ReadonlyMap<InstanceKey, string>> {
    const keys = keysOf(instances);
    const found = await this.#request.objections(keys, this.#signal);
    const changed = instances.flatMap((row) => {
      // guard: a deletion that waited for its turn obeys a pause
      const reason = this.#deps.pausedBecause(this.#group, this.#kindOf(row)) ?? this.#raisedMinimum() ?? this.#changeOf(row);
      return reason === undefined ? [] : [[row.value.ref.key, reason] as const];
    });
    return new Map([...changed, ...[...found].filter(([key]) => keys.includes(key))]);
  }

  #kindOf({ key }: ListedInstance): 'removal' | 'give-back' {
    return this.#request.failed.has(key as InstanceKey) ? 'give-back' : 'removal';
  }

  /** Why a schedule is against the deletion since its minimum was checked. */
  #raisedMinimum(): string | undefined {
    const { min } = this.#deps.limitsOf(this.#group);
    // guard: a minimum that rose while a deletion waited is obeyed
    return this.#minimum === undefined || min <= this.#minimum ? undefined : `the minimum of its node group is ${min} now`;
  }

  #sendWithout(batch: Batch, spared: ReadonlyMap<InstanceKey, string>): Promise<DeleteOutcome> | DeleteOutcome {
    const [reason = ''] = spared.values();
    const instances = batch.instances.filter(({ key }) => !spared.has(key as InstanceKey));
    if (instances.length === 0) return this.#refused(reason);
    return this.#send({ ...batch, instances, keys: batch.keys.filter((key) => !spared.has(key)) });
  }
}

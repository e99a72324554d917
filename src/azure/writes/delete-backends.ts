/** The two ways to delete instances: of a scale set, by its own call or through AKS, and of a pool of type VirtualMachines. */
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { postDeleteMachines } from '../arm/agent-pool-api.ts';
import { inactiveInstanceIds, isPlainlyNotAllowed } from '../arm/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import { POOL_UNKNOWN, type RegisteredGroup } from '../groups/registry.ts';
import { sizeFrozenReason } from '../groups/vms-pool-groups.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';
import { parseVmSize } from '../sizes/size-names.ts';
import { deleteFromGroup, type Batch, type DeleteBackend } from './delete.ts';
import { whenPoolIsFree } from './pool-turn.ts';
import { NO_ANSWER, readWriteAnswer, type WriteAnswer, type WriteParts } from './write-context.ts';

/** Up to this many ids are read one by one; more cost less as one list. */
const READ_EACH_UP_TO = 5;

/** See the port. */
export async function deleteFromScaleSet(
  parts: WriteParts,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  const { facts } = parts.store;
  const pool = facts.isWrittenThroughAks(group) ? facts.poolOf(group)?.name : null;
  if (pool === undefined) return { kind: 'refused', group: group.id, reason: POOL_UNKNOWN };
  const backend = scaleSetBackend(parts, group, pool);
  return deleteFromGroup(parts, group, { backend, request }, signal);
}

/** See the port. */
export function deleteFromVmsPool(
  parts: WriteParts,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  return deleteFromGroup(parts, group, { backend: vmsPoolBackend(parts, group), request }, signal);
}

/** `pool`: the agent pool through which AKS removes the instances; null: the set's own call does. */
function scaleSetBackend(parts: WriteParts, group: RegisteredGroup, pool: string | null): DeleteBackend {
  const { store, options, locks } = parts;
  const readInstances = async (keys: readonly InstanceKey[], signal: AbortSignal): Promise<void> => {
    const each = keys.length <= READ_EACH_UP_TO && keys.every((key) => store.instances.get(key)?.value.ref.kind === 'vmss');
    if (each) await Promise.all(keys.map((key) => store.refreshInstance(key, group.key, signal)));
    else await store.refreshInstances(group.key, signal);
  };
  return {
    whenItsTurn: (work, signal) => {
      const turn = async (): Promise<DeleteOutcome> => {
        // Before the fresh read, so that what is read is not old when the request goes.
        await untilWritable(parts, group.key, signal);
        return work();
      };
      return pool === null ? locks.hold(group.key, signal, turn) : whenPoolIsFree(parts, foldName(pool), turn, signal);
    },
    readFresh: readInstances,
    refusal: () => undefined,
    readSize: async (allowed, signal) => {
      // A delete carries no condition that Azure would check: what others took since the last list must be read now.
      if (!allowed || store.scaleSets.view(group.key)?.confirmed !== true) await store.refreshSet(group.key, signal);
      const view = store.scaleSets.view(group.key);
      if (view?.low === undefined || view.row.value.unreadable !== undefined) return undefined;
      return { low: view.low, confirmed: view.confirmed };
    },
    isForced: () => options.enableForceDelete && allowsForce(store.scaleSets.get(group.key)?.value),
    resource: () => {
      const set = store.scaleSets.get(group.key)?.value;
      if (set === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
      return set.name;
    },
    beginSizeMutation: (count) => store.scaleSets.beginMutation({ kind: 'remove', key: group.key, count }),
    post: (set, batch, signal) =>
      pool === null
        ? postToScaleSet(parts, set, batch, signal)
        : postToPool(parts, { pool, poolKey: foldName(pool), names: machineNames(batch) }, signal),
    nextBatch: (batch, refusal) => Promise.resolve(withoutForceOrGone(batch, refusal)),
    resendsPreempted: pool === null,
    readAfterEnd: readInstances,
    noteEnded: () => (pool === null ? Promise.resolve() : store.poolOperationEnded(pool)),
  };
}

function vmsPoolBackend(parts: WriteParts, group: RegisteredGroup): DeleteBackend {
  const { store, closing } = parts;
  const { vmsPools } = store;
  const poolName = (): string => vmsPools.sizes.get(group.key)?.value.pool ?? '';
  return {
    whenItsTurn: (work, signal) => whenPoolIsFree(parts, poolKeyOf(group.key), work, signal),
    readFresh: async (_keys, signal) => {
      await Promise.all([vmsPools.refresh(group.key, signal), store.refreshInstances(group.key, signal)]);
    },
    refusal: () => sizeFrozenReason(group.id, vmsPools.sizes.get(group.key)?.value, false),
    readSize: () => {
      const view = vmsPools.sizes.view(group.key);
      return Promise.resolve(view?.low === undefined ? undefined : { low: view.low, confirmed: view.confirmed });
    },
    isForced: () => false,
    resource: poolName,
    beginSizeMutation: (count) => vmsPools.sizes.beginMutation({ kind: 'remove', key: group.key, count }),
    post: (pool, { instances }, signal) => {
      const names = instances.map(({ value }) => value.instanceId);
      return postToPool(parts, { pool, poolKey: poolKeyOf(group.key), names }, signal);
    },
    nextBatch: async (batch, refusal, signal) => {
      if (batch.retried || (refusal.kind !== 'bug' && refusal.kind !== 'not-found')) return undefined;
      // AKS refuses a whole batch for one machine that it does not know, and does not say which.
      await store.refreshInstances(group.key, signal);
      const instances = batch.instances.flatMap(({ key }) => store.instances.get(key) ?? []);
      return instances.length === batch.instances.length ? undefined : { ...batch, instances, retried: true };
    },
    resendsPreempted: false,
    readAfterEnd: () => store.refreshInstances(group.key, closing),
    noteEnded: () => vmsPools.operationEnded(group.key, closing),
  };
}

/** Waits until the scale set takes a write of ours again. */
async function untilWritable({ store, clock }: WriteParts, setKey: string, signal: AbortSignal): Promise<void> {
  const waitMs = store.writes.removalWaitMs(setKey, clock.monotonic());
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

async function postToScaleSet(parts: WriteParts, set: string, { instances, force }: Batch, signal: AbortSignal): Promise<WriteAnswer> {
  const instanceIds = instances.map(({ value }) => value.instanceId);
  let answer: WriteAnswer | undefined;
  await untilWritable(parts, foldName(set), signal);
  parts.store.writes.note(foldName(set), parts.clock.monotonic());
  await parts.calls.run({ operation: 'deleteInstances', resource: set }, signal, async () => {
    const poller = parts.clients.compute.virtualMachineScaleSets.deleteInstances(
      parts.options.nodeResourceGroup,
      set,
      { instanceIds },
      {
        forceDeletion: force,
        onResponse: (raw) => {
          answer ??= readWriteAnswer(raw, parts.clock.now());
        },
      },
    );
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

function machineNames({ instances }: Batch): readonly string[] {
  return instances.map(({ value }) => value.machineName);
}

/** Asks AKS to remove machines by name. The pool is held until the end of the operation is noted. */
async function postToPool(
  parts: WriteParts,
  { pool, poolKey, names }: { readonly pool: string; readonly poolKey: string; readonly names: readonly string[] },
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const { operationUrl, retryAfterMs } = await postDeleteMachines(parts, pool, names, signal);
  parts.store.vmsPools.operationBegan(poolKey);
  return { operationUrl, retryAfterMs, etag: undefined, capacity: undefined };
}

/** What to send to a scale set after a refusal; undefined: nothing else. */
function withoutForceOrGone(batch: Batch, refusal: AutoscalerError): Batch | undefined {
  if (batch.force && isPlainlyNotAllowed(refusal)) return { ...batch, force: false };
  if (refusal.kind !== 'not-found' || batch.retried) return undefined;
  const gone = new Set(inactiveInstanceIds(refusal));
  const instances = batch.instances.filter(({ value }) => !gone.has(value.instanceId));
  // Without a name in the refusal there is nothing to leave out.
  return instances.length === batch.instances.length ? undefined : { ...batch, instances, retried: true };
}

/** Isolated sizes, by Azure's documentation, whose names lack the letter `i`. Folded. */
const ISOLATED_UNMARKED: ReadonlySet<string> = new Set(['standard_f72s_v2', 'standard_m128ms']);

/**
 * Which scale sets take a forced delete. Azure refuses it for machines that have a physical host to themselves. A set that was
 * not read (undefined) is tried with force: a refusal leads to a delete without.
 */
export function allowsForce(set: ScaleSetRow | undefined): boolean {
  return set === undefined || (!set.dedicatedHost && !isIsolated(set.vmSize));
}

function isIsolated(vmSize: string): boolean {
  return ISOLATED_UNMARKED.has(vmSize.toLowerCase()) || parseVmSize(vmSize).features.includes('i');
}

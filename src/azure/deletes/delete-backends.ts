/** The two delete backends: scale sets (by their own call or through AKS) and agent pools of type VirtualMachines. */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import { postDeleteMachines } from '../arm/agent-pool-api.ts';
import { isPlainlyNotAllowed } from '../arm/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { blockAgainstChange, inputOfRows } from '../groups/group-rules.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';
import { parseVmSize } from '../sizes/size-names.ts';
import type { Batch, DeleteBackend, SentBatch } from './delete-backend.ts';
import { deleteFromGroup } from './delete.ts';
import { untilScaleSetWritable, whenPoolIsFree } from '../writes/pool-turn.ts';
import { poolState, scaleSetState } from '../writes/resource-state.ts';
import { NO_ANSWER, readWriteAnswer, type WriteAnswer, type WriteDeps } from '../writes/write-context.ts';

/** The most ids that are read one by one. Fewer if one list costs less and need not wait. */
const READ_EACH_AT_MOST = 12;

/** See the port. */
export async function deleteFromScaleSet(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  const { facts } = deps.inventory;
  const pool = facts.isWrittenThroughAks(group) ? facts.poolOf(group)?.name : null;
  if (pool === undefined) return { kind: 'refused', group: group.id, reason: describeBlock({ code: 'pool-not-listed' }) };
  const backend = scaleSetBackend(deps, { group, count: request.instances.length }, pool);
  return deleteFromGroup(deps, group, { backend, request }, signal);
}

/** See the port. */
export function deleteFromVmsPool(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  return deleteFromGroup(deps, group, { backend: vmsPoolBackend(deps, group, request.instances.length), request }, signal);
}

/** `pool`: the agent pool through which AKS deletes the instances. If null, the scale set's own call deletes them. */
export function scaleSetBackend(
  deps: WriteDeps,
  { group, count }: { readonly group: RegisteredGroup; readonly count: number },
  pool: string | null,
): DeleteBackend {
  const { inventory, options, closing } = deps;
  const readInstances = (keys: readonly InstanceKey[], signal: AbortSignal): Promise<void> => readFreshly(deps, { group, keys }, signal);
  return {
    whenItsTurn: async (work, signal) => {
      await untilReadable(deps, { group, count }, signal);
      const turn = async (): Promise<DeleteOutcome> => {
        // Waits before the fresh read, so that the read is new when the request is sent.
        await untilScaleSetWritable(deps, group.key, signal);
        return work();
      };
      if (pool !== null) return whenPoolIsFree(deps, { poolKey: foldName(pool) }, turn, signal);
      // AKS may be bringing its count in step: it would create what is deleted meanwhile.
      // guard: a removal that waited for the lock sees that AKS is at work
      const poolKey = foldName(inventory.facts.poolOf(group)?.name ?? '');
      return whenPoolIsFree(deps, { poolKey, lockKey: group.key }, turn, signal);
    },
    readFresh: readInstances,
    refusal: () => undefined,
    readSize: async (allowed, signal) => {
      // A delete has no condition that Azure would check, so what others deleted since the last list must be read now.
      const isConfirmed = inventory.scaleSets.view(group.key)?.confirmed === true;
      if (!allowed || !isConfirmed) await inventory.reads.want({ what: 'size', group: group.key }).served(signal);
      const view = inventory.scaleSets.view(group.key);
      if (view?.low === undefined || view.row.value.unreadable !== undefined) return undefined;
      return { low: view.low, confirmed: view.confirmed };
    },
    isForced: () => options.enableForceDelete && allowsForce(inventory.scaleSets.get(group.key)?.value),
    resource: () => {
      const set = inventory.scaleSets.get(group.key)?.value;
      if (set === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
      return set.name;
    },
    beginSizeMutation: (count) => inventory.scaleSets.beginMutation({ kind: 'remove', key: group.key, count }),
    instead: undefined,
    post: (set, batch, signal) =>
      pool === null
        ? postToScaleSet(deps, set, batch, signal)
        : postToPool(deps, { pool, poolKey: foldName(pool), names: machineNames(batch), beforeSend: batch.beforeSend }, signal),
    nextBatch: async (batch, refusal, signal) => {
      if (batch.force && isPlainlyNotAllowed(refusal)) return { ...batch, force: false };
      if (refusal.kind !== 'not-found' || batch.retried) return undefined;
      // One 404 may be false: the reads are the second witness of what is gone.
      await readInstances(keysOf(batch), signal);
      const instances = batch.instances.flatMap(({ key }) => inventory.instances.get(key) ?? []);
      return { ...batch, instances, retried: true };
    },
    resendsPreempted: pool === null,
    readAfterEnd: readInstances,
    stateNow: (signal) => (pool === null ? scaleSetState(deps, group, signal) : poolState(deps, pool, signal)),
    noteEnded: () => (pool === null ? Promise.resolve() : inventory.vmsPools.scaleSetPoolOperationEnded(pool, closing)),
  };
}

/** Whether so many instances are read one by one instead of by a list. */
function areReadSingly({ inventory, stopped }: WriteDeps, { key, kind }: RegisteredGroup, count: number): boolean {
  const { reads } = inventory;
  // A list of machines of VMs pools does not show it.
  // guard: which instances run is read before one of them is removed
  if (kind === 'scale-set' && stopped.ruleOf(key)?.kind === 'stops') return false;
  const most = reads.listWaitMs(key) > 0 ? READ_EACH_AT_MOST : reads.singleReadsPerList(key);
  return count <= Math.min(READ_EACH_AT_MOST, most, reads.singleReadsLeft(key, { toDelete: true }));
}

/** Waits until so many instances can be read. To be called without the lock: increases must not wait for a list. */
async function untilReadable(
  deps: WriteDeps,
  { group, count }: { readonly group: RegisteredGroup; readonly count: number },
  signal: AbortSignal,
): Promise<void> {
  const waitMs = areReadSingly(deps, group, count) ? 0 : deps.inventory.reads.listWaitMs(group.key);
  if (waitMs > 0) await deps.clock.sleep(waitMs, signal);
}

interface InstancesToRead {
  readonly group: RegisteredGroup;
  readonly keys: readonly InstanceKey[];
}

async function readFreshly(deps: WriteDeps, { group, keys }: InstancesToRead, signal: AbortSignal): Promise<void> {
  const { inventory } = deps;
  const areKnown = keys.every((key) => inventory.instances.get(key) !== undefined);
  const areSingle = areKnown && areReadSingly(deps, group, keys.length);
  const isRead = areSingle && (await readEach(deps, { group, keys }, signal));
  if (!isRead) await inventory.reads.want({ what: 'instances', group: group.key }).served(signal);
}

/** False: Azure throttles reads of single instances. Lists have a limit of their own. */
export async function readEach({ inventory }: WriteDeps, { group, keys }: InstancesToRead, signal: AbortSignal): Promise<boolean> {
  try {
    const read = { what: 'instance', group: group.key, toDelete: true } as const;
    await Promise.all(keys.map((key) => inventory.reads.want({ ...read, key }).served(signal)));
    return true;
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind !== 'throttled') throw thrown;
    return false;
  }
}

/** AKS deletes machines of the pool by name. `count`: of the machines that are to be read. */
export function vmsPoolBackend(deps: WriteDeps, group: RegisteredGroup, count: number): DeleteBackend {
  const { inventory, closing } = deps;
  const { vmsPools } = inventory;
  const readInstances = (keys: readonly InstanceKey[], signal: AbortSignal): Promise<void> => readFreshly(deps, { group, keys }, signal);
  const poolName = (): string => vmsPools.sizes.get(group.key)?.value.pool ?? '';
  return {
    whenItsTurn: async (work, signal) => {
      await untilReadable(deps, { group, count }, signal);
      return whenPoolIsFree(deps, { poolKey: poolKeyOf(group.key) }, work, signal);
    },
    readFresh: async (keys, signal) => {
      await Promise.all([inventory.reads.want({ what: 'size', group: group.key }).served(signal), readInstances(keys, signal)]);
    },
    refusal: () => blockAgainstChange('lock', inputOfRows(group, { size: vmsPools.sizes.get(group.key)?.value })),
    readSize: () => {
      const view = vmsPools.sizes.view(group.key);
      return Promise.resolve(view?.low === undefined ? undefined : { low: view.low, confirmed: view.confirmed });
    },
    isForced: () => false,
    resource: poolName,
    beginSizeMutation: (count) => vmsPools.sizes.beginMutation({ kind: 'remove', key: group.key, count }),
    instead: undefined,
    post: (pool, { instances, beforeSend }, signal) => {
      const names = instances.map(({ value }) => value.instanceId);
      return postToPool(deps, { pool, poolKey: poolKeyOf(group.key), names, beforeSend }, signal);
    },
    nextBatch: async (batch, refusal, signal) => {
      if (batch.retried || (refusal.kind !== 'bug' && refusal.kind !== 'not-found')) return undefined;
      // AKS refuses a whole batch because of one unknown machine, and does not name it.
      await readInstances(keysOf(batch), signal);
      const instances = batch.instances.flatMap(({ key }) => inventory.instances.get(key) ?? []);
      return instances.length === batch.instances.length ? undefined : { ...batch, instances, retried: true };
    },
    resendsPreempted: false,
    readAfterEnd: readInstances,
    stateNow: (signal) => poolState(deps, poolName(), signal),
    noteEnded: () => vmsPools.operationEnded(group.key, closing),
  };
}

async function postToScaleSet(
  deps: WriteDeps,
  set: string,
  { instances, force, beforeSend }: SentBatch,
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const instanceIds = instances.map(({ value }) => value.instanceId);
  let answer: WriteAnswer | undefined;
  await untilScaleSetWritable(deps, foldName(set), signal);
  await deps.calls.run({ operation: 'deleteInstances', resource: set, beforeSend }, signal, async () => {
    const poller = deps.clients.compute.virtualMachineScaleSets.deleteInstances(
      deps.options.nodeResourceGroup,
      set,
      { instanceIds },
      {
        forceDeletion: force,
        onResponse: (raw) => {
          answer ??= readWriteAnswer(raw, deps.clock.now());
        },
      },
    );
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

function keysOf({ instances }: Batch): readonly InstanceKey[] {
  return instances.map(({ value }) => value.ref.key);
}

function machineNames({ instances }: Batch): readonly string[] {
  return instances.map(({ value }) => value.machineName);
}

interface PoolDeletion extends Pick<SentBatch, 'beforeSend'> {
  readonly pool: string;
  readonly poolKey: string;
  readonly names: readonly string[];
}

/** Makes AKS delete machines by name. The pool is held until the end of the operation is noted. */
async function postToPool(
  deps: WriteDeps,
  { pool, poolKey, names: machineNames, beforeSend }: PoolDeletion,
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const { operationUrl, retryAfterMs } = await postDeleteMachines(deps, pool, { machineNames, beforeSend }, signal);
  deps.inventory.vmsPools.operationBegan(poolKey);
  return { operationUrl, retryAfterMs, etag: undefined, capacity: undefined };
}

/** Isolated sizes, by Azure's documentation, whose names lack the letter `i`. Folded. */
const ISOLATED_UNMARKED: ReadonlySet<string> = new Set(['standard_f72s_v2', 'standard_m128ms']);

/**
 * Whether the scale set takes a forced delete. Azure refuses it for instances that have a physical host to themselves. If the
 * set is undefined (not read), force is tried: a refusal leads to a delete without it.
 */
export function allowsForce(set: ScaleSetRow | undefined): boolean {
  return set === undefined || (!set.dedicatedHost && !isIsolated(set.vmSize));
}

function isIsolated(vmSize: string): boolean {
  return ISOLATED_UNMARKED.has(vmSize.toLowerCase()) || parseVmSize(vmSize).features.includes('i');
}

/** Increases the capacity of a scale set by a sparse PUT, conditional on the entity tag of what was read. */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { RowView } from '../../cache/table/row.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { IncreaseRequest, UnansweredIncrease } from '../../domain/ports/cloud.ts';
import { defined } from '../../lib/defined.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { ScaleSetReading } from '../inventory/single-reads.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { busy, checkRequest, increaseSize, type IncreaseBackend, type SizeRead } from './increase.ts';
import { scaleSetState } from './resource-state.ts';
import { assertNotLower, NO_ANSWER, readWriteAnswer, stockHints, zoneLookup, type WriteAnswer, type WriteDeps } from './write-context.ts';

/** See the port. */
export function increaseScaleSet(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  return increaseSize(deps, group, { backend: scaleSetIncrease(deps, group), request }, signal);
}

/** A scale set as it was read for a write. */
export interface ReadScaleSet extends SizeRead {
  readonly set: ScaleSetRow;
  /** The tag of that state; undefined: Azure returned none. */
  readonly etag: string | undefined;
  /** The capacity in the row, if no other change of ours is in progress. */
  readonly undisturbed: number | undefined;
}

export function scaleSetIncrease(deps: WriteDeps, group: RegisteredGroup): IncreaseBackend<ReadScaleSet> {
  const { inventory, ownWrites, options } = deps;
  const conditionOf = ({ etag }: ReadScaleSet): string | undefined => (options.enableVmssEtag ? etag : undefined);
  return {
    lockKey: group.key,
    sizes: inventory.scaleSets,
    // AKS has begun to bring its count in step since the write was chosen: it would set the capacity back.
    // guard: an increase that waited for the lock sees that AKS is at work
    heldReason: () => (inventory.facts.isWrittenThroughAks(group) ? { code: 'written-through-aks' } : undefined),
    read: (signal) => readWithTag(deps, group, signal),
    checkIncrease: (request, read) => checkCapacity(deps, group, request) ?? checkWritable(deps, group, read),
    resourceOf: ({ set }) => set.name,
    unanswered: undefined,
    put: async (to, read, signal) => {
      const write = { set: read.set, to, etag: conditionOf(read), shown: read.shown };
      const { operationUrl, retryAfterMs, etag, capacity, correlationId } = await putCapacity(deps, write, signal);
      return { operationUrl, retryAfterMs, correlationId, acceptance: { etag, expect: capacity, modelled: capacity === to } };
    },
    noteAccepted: (request, read, { acceptance }) =>
      ownWrites.increases.recordWritten(group.key, {
        read: read.undisturbed,
        from: request.from,
        to: request.to,
        // A number that still counts instances being deleted proves nothing about the part that is ours.
        condition: read.shown === request.from ? conditionOf(read) : undefined,
        etag: acceptance.etag,
        capacity: acceptance.expect,
      }),
    hintsOf: ({ set }) => stockHints(set, zoneLookup(inventory, group.key)),
    // The size itself shows what was written.
    isUntouched: () => Promise.resolve(true),
    readShown: async (signal) => shownIn(await inventory.reads.readScaleSet(group.key, signal)),
    stateNow: (signal) => scaleSetState(deps, group, signal),
    noteEnded: () => Promise.resolve(),
  };
}

/** The capacity that a read showed; undefined: none. */
export function shownIn(reading: ScaleSetReading | undefined): number | undefined {
  return reading === undefined || reading.set.unreadable !== undefined ? undefined : reading.set.capacity;
}

/**
 * The scale set with an entity tag to be conditional on. A known tag goes with the capacity that our increases lead to: an accepted
 * deletion drops it. Without one, a GET is sent, and the write is based on what that GET shows. With conditional writes disabled a
 * GET always comes first: that keeps the time short in which another writer may come between the read and the write.
 */
async function readWithTag({ inventory, options }: WriteDeps, group: RegisteredGroup, signal: AbortSignal): Promise<ReadScaleSet> {
  const view = inventory.scaleSets.view(group.key);
  if (view?.row.etag !== undefined && options.enableVmssEtag)
    return { set: view.row.value, etag: view.row.etag, shown: view.target, undisturbed: undisturbed(view) };
  const reading = await inventory.reads.readScaleSet(group.key, signal);
  if (reading === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
  return { ...reading, shown: shownIn(reading), undisturbed: undisturbed(inventory.scaleSets.view(group.key)) };
}

function undisturbed(view: RowView<ScaleSetRow> | undefined): number | undefined {
  return view?.inFlight === 0 ? view.base : undefined;
}

/** The guards over a capacity, for writes of the set and through AKS. undefined: nothing against the increase. */
export function checkCapacity(deps: WriteDeps, group: RegisteredGroup, request: IncreaseRequest): AnsweredIncrease | undefined {
  const view = deps.inventory.scaleSets.view(group.key);
  const isReadable = view !== undefined && view.row.value.unreadable === undefined;
  const refusal = checkRequest(group, request, isReadable ? view.target : undefined);
  if (refusal !== undefined) return refusal;
  const { alive, failed } = countMembers(deps, group.key);
  // A capacity below the listed instances is a wrong number or an old list, and new instances may not be listed yet. Increasing
  // such a number may lower the true one, and its entity tag does not protect against that.
  // guard: no capacity below the number of listed instances is written
  if (request.to >= alive + failed && request.from >= alive) return undefined;
  deps.inventory.reads.want({ what: 'size', group: group.key });
  deps.inventory.reads.want({ what: 'instances', group: group.key });
  const listed = `it has ${alive + failed} listed instances`;
  const reason = `${listed}, and setting the capacity from ${request.from} to ${request.to} could remove some of them`;
  return { kind: 'refused', group: group.id, reason };
}

/** Failed instances may no longer count in the capacity: a scale set that rolls back still lists them. */
function countMembers({ inventory }: WriteDeps, key: string): { readonly alive: number; readonly failed: number } {
  const staying = [...inventory.instances.scope(key).values()].filter(
    ({ key: instance, value }) => value.state !== 'deleting' && inventory.instances.removalOf(instance) === 'none',
  );
  const failed = staying.filter(({ value }) => value.state === 'failed').length;
  return { alive: staying.length - failed, failed };
}

/** Whether the set itself takes a conditional write now. undefined: it does. */
function checkWritable(
  { inventory, ownWrites, options, clock }: WriteDeps,
  group: RegisteredGroup,
  { etag }: ReadScaleSet,
): AnsweredIncrease | undefined {
  const held = ownWrites.increaseHeldReason(group.key, clock.monotonic());
  if (held !== undefined) return busy(group, describeBlock(held));
  if (!options.enableVmssEtag || etag !== undefined) return undefined;
  return { kind: 'refused', group: group.id, reason: describeBlock(inventory.facts.noteUntagged(group)) };
}

export interface CapacityPut {
  readonly set: ScaleSetRow;
  readonly to: number;
  /** undefined: conditional writes are off. */
  readonly etag: string | undefined;
  /** The capacity just read; undefined: unknown. `give-back`: it was proved that the number removes no instance. */
  readonly shown: number | 'give-back' | undefined;
}

/** The one request that moves a capacity. It sends only what the change needs, so that it overwrites nothing that others set. */
export async function putCapacity(deps: WriteDeps, { set, to, etag, shown }: CapacityPut, signal: AbortSignal): Promise<WriteAnswer> {
  const body = {
    location: set.location,
    sku: { name: set.vmSize, capacity: to, ...defined({ tier: set.tier }) },
    ...defined({ extendedLocation: set.extendedLocation }),
  };
  // guard: every capacity write passes the last guard
  if (shown !== 'give-back') assertNotLower(set.name, to, shown);
  let answer: WriteAnswer | undefined;
  await deps.calls.run({ operation: 'putScaleSet', resource: set.name }, signal, async () => {
    const poller = deps.clients.compute.virtualMachineScaleSets.createOrUpdate(deps.options.nodeResourceGroup, set.name, body, {
      // guard: a capacity write is conditional
      ...defined({ ifMatch: etag }),
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

/** Increases the capacity of a scale set by a sparse PUT, conditional on the entity tag of what was read. */
import type { RowView } from '../../cache/table/row.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { defined } from '../../lib/defined.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { checkRequest, increaseSize, type IncreaseBackend } from './increase.ts';
import { assertNotLower, NO_ANSWER, readWriteAnswer, stockHints, zoneLookup, type WriteAnswer, type WriteDeps } from './write-context.ts';

type View = RowView<ScaleSetRow>;

/** See the port. */
export function increaseScaleSet(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return increaseSize(deps, group, { backend: scaleSetBackend(deps, group), request }, signal);
}

function scaleSetBackend(deps: WriteDeps, group: RegisteredGroup): IncreaseBackend<View> {
  const { inventory, ownWrites, options } = deps;
  const conditionOf = ({ row }: View): string | undefined => (options.enableVmssEtag ? row.etag : undefined);
  return {
    lockKey: group.key,
    sizes: inventory.scaleSets,
    heldReason: () => undefined,
    read: (signal) => readWithTag(deps, group, signal),
    checkIncrease: (request, view) => checkCapacity(deps, group, request, view) ?? checkWritable(deps, group, { view, to: request.to }),
    resourceOf: ({ row }) => row.value.name,
    put: async (to, view, signal) => {
      const { operationUrl, retryAfterMs, etag, capacity } = await putCapacity(
        deps,
        { set: view.row.value, to, etag: conditionOf(view) },
        signal,
      );
      return { operationUrl, retryAfterMs, acceptance: { etag, expect: capacity, modelled: capacity === to } };
    },
    noteAccepted: (request, view, { acceptance }) =>
      ownWrites.increases.recordWritten(group.key, {
        read: view.inFlight === 0 ? view.base : undefined,
        from: request.from,
        to: request.to,
        condition: conditionOf(view),
        etag: acceptance.etag,
        capacity: acceptance.expect,
      }),
    hintsOf: ({ row }) => stockHints(row.value, zoneLookup(inventory, group.key)),
    // The rows themselves show what was written.
    isUntouched: () => Promise.resolve(true),
    refresh: (signal) => inventory.refreshScaleSet(group.key, signal),
    noteEnded: () => Promise.resolve(),
  };
}

/**
 * The row with an entity tag to be conditional on; reads the set if none is known. With conditional writes disabled it always
 * reads: that keeps the time short in which another writer may come between the read and the write.
 */
async function readWithTag({ inventory, options }: WriteDeps, group: RegisteredGroup, signal: AbortSignal): Promise<View> {
  const view = inventory.scaleSets.view(group.key);
  if (view?.row.etag !== undefined && options.enableVmssEtag) return view;
  await inventory.refreshScaleSet(group.key, signal);
  const read = inventory.scaleSets.view(group.key);
  if (read === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
  return read;
}

/** The guards over a capacity, for writes of the set and through AKS. undefined: nothing against the increase. */
export function checkCapacity(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  view: View | undefined,
): IncreaseOutcome | undefined {
  const isReadable = view !== undefined && view.row.value.unreadable === undefined;
  const refusal = checkRequest(group, request, isReadable ? view.target : undefined);
  if (refusal !== undefined) return refusal;
  const { alive, failed } = countMembers(deps, group.key);
  // A capacity below the listed instances is a wrong number or an old list, and new instances may not be listed yet. Increasing
  // such a number may lower the true one, and its entity tag does not protect against that.
  if (request.to >= alive + failed && request.from >= alive) return undefined;
  deps.inventory.requestScaleSet(group.key);
  deps.inventory.requestInstanceList(group.key);
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
  { view: { row }, to }: { readonly view: View; readonly to: number },
): IncreaseOutcome | undefined {
  const held = ownWrites.tokens.increaseHeldReason(group.key, clock.monotonic());
  if (held !== undefined) return { kind: 'refused', group: group.id, reason: held };
  const { capacity } = row.value;
  if (to < capacity) {
    inventory.requestScaleSet(group.key);
    const reason = `Azure still shows capacity ${capacity}, as after a deletion; a capacity of ${to} could remove other instances`;
    return { kind: 'refused', group: group.id, reason };
  }
  if (!options.enableVmssEtag || row.etag !== undefined) return undefined;
  return { kind: 'refused', group: group.id, reason: inventory.facts.noteUntagged(group) };
}

export interface CapacityPut {
  readonly set: ScaleSetRow;
  readonly to: number;
  /** undefined: conditional writes are off. */
  readonly etag: string | undefined;
  /** Lowers the capacity by what Azure accepted and never filled. */
  readonly isGiveBack?: true;
}

/** The one request that moves a capacity. It sends only what the change needs, so that it overwrites nothing that others set. */
export async function putCapacity(deps: WriteDeps, { set, to, etag, isGiveBack }: CapacityPut, signal: AbortSignal): Promise<WriteAnswer> {
  const body = {
    location: set.location,
    sku: { name: set.vmSize, capacity: to, ...defined({ tier: set.tier }) },
    ...defined({ extendedLocation: set.extendedLocation }),
  };
  if (isGiveBack !== true) assertNotLower(set.name, to, set.capacity);
  let answer: WriteAnswer | undefined;
  await deps.calls.run({ operation: 'putScaleSet', resource: set.name }, signal, async () => {
    // Charged when the request leaves: a call that is held back has used up nothing.
    deps.ownWrites.tokens.noteWrite(foldName(set.name), deps.clock.monotonic());
    const poller = deps.clients.compute.virtualMachineScaleSets.createOrUpdate(deps.options.nodeResourceGroup, set.name, body, {
      ...defined({ ifMatch: etag }),
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

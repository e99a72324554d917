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
import { NO_ANSWER, readWriteAnswer, stockHints, zoneFinder, type WriteAnswer, type WriteParts } from './write-context.ts';

type View = RowView<ScaleSetRow>;

/** See the port. */
export function increaseScaleSet(
  parts: WriteParts,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return increaseSize(parts, group, { backend: scaleSetBackend(parts, group), request }, signal);
}

function scaleSetBackend(parts: WriteParts, group: RegisteredGroup): IncreaseBackend<View> {
  const { store, options } = parts;
  const conditionOf = ({ row }: View): string | undefined => (options.enableVmssEtag ? row.etag : undefined);
  return {
    lockKey: group.key,
    sizes: store.scaleSets,
    heldBecause: () => undefined,
    read: (signal) => readWithTag(parts, group, signal),
    checkIncrease: (request, view) => checkCapacity(parts, group, request, view) ?? checkWritable(parts, group, view),
    resourceOf: ({ row }) => row.value.name,
    put: async (to, view, signal) => {
      const { operationUrl, retryAfterMs, etag, capacity } = await putCapacity(
        parts,
        { set: view.row.value, to, etag: conditionOf(view) },
        signal,
      );
      return { operationUrl, retryAfterMs, acceptance: { etag, expect: capacity, modelled: capacity === to } };
    },
    noteAccepted: (request, view, { acceptance }) =>
      store.raises.written(group.key, {
        read: view.inFlight === 0 ? view.base : undefined,
        from: request.from,
        to: request.to,
        condition: conditionOf(view),
        etag: acceptance.etag,
        capacity: acceptance.expect,
      }),
    hintsOf: ({ row }) => stockHints(row.value, zoneFinder(store, group.key)),
    refresh: (signal) => store.refreshSet(group.key, signal),
    noteEnded: () => Promise.resolve(),
  };
}

/**
 * The row with an entity tag to be conditional on; reads the set if none is known. With conditional writes disabled it always
 * reads: that keeps the time short in which another writer may come between the read and the write.
 */
async function readWithTag({ store, options }: WriteParts, group: RegisteredGroup, signal: AbortSignal): Promise<View> {
  const view = store.scaleSets.view(group.key);
  if (view?.row.etag !== undefined && options.enableVmssEtag) return view;
  await store.refreshSet(group.key, signal);
  const read = store.scaleSets.view(group.key);
  if (read === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
  return read;
}

/** The guards over a capacity, whoever writes it. undefined: nothing against the increase. */
export function checkCapacity(
  parts: WriteParts,
  group: RegisteredGroup,
  request: IncreaseRequest,
  view: View | undefined,
): IncreaseOutcome | undefined {
  const isReadable = view !== undefined && view.row.value.unreadable === undefined;
  const refusal = checkRequest(group, request, isReadable ? view.target : undefined);
  if (refusal !== undefined) return refusal;
  const { alive, failed } = countMembers(parts, group.key);
  // A capacity below what lives there is a wrong number or an old list, and machines asked for a moment ago are in no list
  // yet: raising such a number may still be lowering the true one, and the tag that came with it is no protection.
  if (request.to >= alive + failed && request.from >= alive) return undefined;
  parts.store.setDue(group.key);
  parts.store.instancesDue(group.key);
  const listed = `${alive + failed} machines are listed in it`;
  const reason = `${listed}, a capacity of ${request.to} over ${request.from} would remove some, or may`;
  return { kind: 'refused', group: group.id, reason };
}

/** Failed machines may have left the capacity already: a set that rolls back lists them all the same. */
function countMembers({ store }: WriteParts, key: string): { readonly alive: number; readonly failed: number } {
  const staying = [...store.instances.scope(key).values()].filter(
    ({ key: instance, value }) => value.state !== 'deleting' && store.instances.removalOf(instance) === 'none',
  );
  const failed = staying.filter(({ value }) => value.state === 'failed').length;
  return { alive: staying.length - failed, failed };
}

/** Whether the set itself takes a conditional write now. undefined: it does. */
function checkWritable({ store, options, clock }: WriteParts, group: RegisteredGroup, { row }: View): IncreaseOutcome | undefined {
  const held = store.writes.growthHeldBecause(group.key, clock.monotonic());
  if (held !== undefined) return { kind: 'refused', group: group.id, reason: held };
  if (!options.enableVmssEtag || row.etag !== undefined) return undefined;
  return { kind: 'refused', group: group.id, reason: store.facts.noteUntagged(group) };
}

export interface CapacityPut {
  readonly set: ScaleSetRow;
  readonly to: number;
  /** undefined: conditional writes are off. */
  readonly etag: string | undefined;
}

/** The one request that moves a capacity. Only what the change needs is sent: anything more would write over what others set meanwhile. */
export async function putCapacity(parts: WriteParts, { set, to, etag }: CapacityPut, signal: AbortSignal): Promise<WriteAnswer> {
  const body = {
    location: set.location,
    sku: { name: set.vmSize, capacity: to, ...defined({ tier: set.tier }) },
    ...defined({ extendedLocation: set.extendedLocation }),
  };
  let answer: WriteAnswer | undefined;
  parts.store.writes.note(foldName(set.name), parts.clock.monotonic());
  await parts.calls.run({ operation: 'putScaleSet', resource: set.name }, signal, async () => {
    const poller = parts.clients.compute.virtualMachineScaleSets.createOrUpdate(parts.options.nodeResourceGroup, set.name, body, {
      ...defined({ ifMatch: etag }),
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, parts.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

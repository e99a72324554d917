/** The one request that moves a capacity: a sparse PUT, conditional when a tag is given. Judges nothing. */
import { foldName } from '../arm/resource-ids.ts';
import { readWriteAnswer, type WriteAnswer, type WriteParts } from './write-context.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { defined } from '../../lib/defined.ts';

export interface CapacityPut {
  readonly set: ScaleSetRow;
  readonly to: number;
  /** undefined: conditional writes are off. */
  readonly etag: string | undefined;
}

/** Only what the change needs is sent: anything more would write over what others set meanwhile. */
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
  return answer ?? { operationUrl: undefined, retryAfterMs: undefined, etag: undefined, capacity: undefined };
}

/** What goes wrong in Azure and on nodes by a load: lack of stock, refused writes, VMs that fail. Must not know pods. */
import type { World } from '../../simulator/world.ts';
import type { LoadEvent, RefusalCause, Scenario } from '../loads/load.ts';
import { azureZone } from './scenario-world.ts';

/** More than any scenario needs. */
const UNLIMITED = 1_000_000;
/** A node counts as not ready this long after its kubelet's last report. */
const SILENCE_MS = 40_000;
/** The writes that make a pool larger: of its scale set, or of the pool itself. */
const GROWING_WRITES = ['**/virtualMachineScaleSets/*', '**/agentPools/*'] as const;

const REFUSALS: Readonly<Record<RefusalCause, { readonly status: number; readonly code: string; readonly message: string }>> = {
  quota: {
    status: 409,
    code: 'OperationNotAllowed',
    message:
      'Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Submit a request for Quota increase.',
  },
  throttled: {
    status: 429,
    code: 'TooManyRequests',
    message: 'The server rejected the request because too many requests have been received.',
  },
};

export type AzureFault = Extract<LoadEvent, { readonly kind: 'stock' | 'failure' | 'refusal' | 'node-failure' }>;
type EventOf<Kind extends AzureFault['kind']> = Extract<AzureFault, { readonly kind: Kind }>;

export class AzureFaults {
  readonly #world: World;
  readonly #scenario: Scenario;
  #count = 0;

  constructor(world: World, scenario: Scenario) {
    this.#world = world;
    this.#scenario = scenario;
  }

  /** Those with a duration end by themselves. @returns what is wrong with it, or undefined. */
  apply(event: AzureFault): string | undefined {
    const { control } = this.#world.arm;
    switch (event.kind) {
      case 'stock':
        return this.#setStock(event);
      case 'failure':
        control.addFault({
          id: this.#nextId(),
          match: { pool: event.pool, times: event.count },
          effect: { kind: 'birth', how: event.how },
        });
        return undefined;
      case 'refusal':
        return this.#refuse(event);
      case 'node-failure':
        return control.raise({ hang: { pool: event.pool, ...(event.forMs === undefined ? {} : { forMs: event.forMs + SILENCE_MS }) } });
    }
  }

  #nextId(): string {
    return `load-${++this.#count}`;
  }

  #setStock(event: EventOf<'stock'>): undefined {
    const { control } = this.#world.arm;
    for (const zone of this.#zonesOf(event)) control.setStock(event.vmSize, zone, event.count ?? UNLIMITED, event.priority);
  }

  /** Zone `0` is regional. */
  #zonesOf({ vmSize, zone }: EventOf<'stock'>): Iterable<string> {
    const pools = this.#scenario.pools.filter((pool) => pool.vmSize.toLowerCase() === vmSize.toLowerCase());
    return new Set((zone === undefined ? ['0', ...pools.flatMap(({ zones = [] }) => zones)] : [zone]).map(azureZone));
  }

  #refuse({ pool, why, forMs }: EventOf<'refusal'>): undefined {
    const { arm, clock } = this.#world;
    const { status, code, message } = REFUSALS[why];
    for (const pathGlob of GROWING_WRITES) {
      const id = this.#nextId();
      const effect = { kind: 'answer', status, body: { error: { code, message } } } as const;
      arm.control.addFault({ id, match: { method: 'PUT', pathGlob, pool }, effect });
      clock.after(forMs, () => arm.control.removeFault(id));
    }
  }
}

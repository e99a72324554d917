/** Maps instance rows to domain Instances. Unchanged ones stay the same objects. Remembers when each was first seen. */
import type { Removal, Row } from '../../cache/table/row.ts';
import type { Table } from '../../cache/table/table.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { Instance } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import { providerIdOf } from '../arm/resource-ids.ts';
import { classifyInstanceFailure } from '../arm/errors.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { compareBy } from '../../lib/comparison.ts';

interface Entry {
  readonly row: Row<InstanceRow>;
  readonly removal: Removal;
  readonly registered: boolean;
  readonly instance: Instance;
}

interface Page {
  readonly version: number;
  readonly ownership: Ownership;
  readonly instances: readonly Instance[];
}

/** A bootstrap fails within minutes. Later errors come from another run of the extension. */
const BOOTSTRAP_MS = 60 * 60_000;

export class InstanceMapper {
  readonly #table: Table<InstanceRow>;
  readonly #firstSeen = new Map<string, { readonly vmId: string; readonly atMs: number }>();
  /** The `vmId` of each instance that has been a node. */
  readonly #joined = new Map<string, string>();
  #entries = new Map<string, Entry>();
  readonly #pages = new Map<string, Page>();
  readonly #serials = new WeakMap<object, number>();
  #nextSerial = 1;

  constructor(table: Table<InstanceRow>) {
    this.#table = table;
    table.subscribe((event) => {
      if (event.kind !== 'changed') return;
      if (event.after === undefined) {
        this.#firstSeen.delete(event.key);
        this.#joined.delete(event.key);
        this.#entries.delete(event.key);
      } else this.#recordFirstSeen(event.key, event.after.value.vmId);
    });
  }

  /** Returns the same array while no instance of the group changed, was marked for removal, or became a node. */
  instancesOf(group: string, ownership: Ownership): readonly Instance[] {
    const page = this.#pages.get(group);
    const version = this.#table.version;
    if (page !== undefined && page.version === version && page.ownership === ownership) return page.instances;
    const fresh = [...this.#table.scope(group).values()].map((row) => this.#instance(row, ownership));
    fresh.sort(compareBy((item) => item.key));
    const same =
      page !== undefined && page.instances.length === fresh.length && fresh.every((each, index) => each === page.instances[index]);
    const instances = same ? page.instances : fresh;
    this.#pages.set(group, { version, ownership, instances });
    return instances;
  }

  /** A number that is unique to the row object. */
  serialOf(row: object): number {
    const known = this.#serials.get(row);
    if (known !== undefined) return known;
    this.#nextSerial += 1;
    this.#serials.set(row, this.#nextSerial);
    return this.#nextSerial;
  }

  #instance(row: Row<InstanceRow>, ownership: Ownership): Instance {
    const removal = this.#table.removalOf(row.key);
    const node = ownership.nodeOfInstance.get(row.key as InstanceKey);
    const registered = node !== undefined;
    const entry = this.#entries.get(row.key);
    if (entry?.row === row && entry.removal === removal && entry.registered === registered) return entry.instance;
    const instance = this.#compose(row, removal, node);
    this.#entries.set(row.key, { row, removal, registered, instance });
    return instance;
  }

  #compose(row: Row<InstanceRow>, removal: Removal, node: Node | undefined): Instance {
    const { ref, state, zone, failure, instanceId, vmId, createdAtMs, protectedFrom } = row.value;
    if (node !== undefined) this.#joined.set(row.key, vmId);
    const bootstrap = state === 'deleting' || !this.#isBootstrapping(row) ? undefined : row.value.bootstrapError;
    const error = failure ?? (bootstrap === undefined ? undefined : classifyInstanceFailure('VMExtensionProvisioningError', bootstrap));
    return {
      key: ref.key,
      // In the node's spelling if it has a node, so that people find it.
      providerId: node?.providerId ?? providerIdOf(ref),
      instanceId,
      state: removal === 'under-way' ? 'deleting' : bootstrap === undefined ? state : 'failed',
      zone,
      error,
      firstSeenMs: this.#firstSeen.get(row.key)?.atMs ?? this.#table.seen(row.key)?.atMs ?? 0,
      createdAtMs,
      startedAtMs: undefined,
      protectedFrom,
      ...namesOf(node === undefined ? row.value : HAS_NODE),
    };
  }

  /**
   * A bootstrap error makes an instance failed only if it is new and never was a node. One that was a node is judged by its
   * node; without its node, like any instance without one.
   */
  #isBootstrapping({ key, value: { vmId, createdAtMs } }: Row<InstanceRow>): boolean {
    if (this.#joined.has(key) && this.#joined.get(key) === vmId) return false;
    const seenAtMs = this.#table.seen(key)?.atMs;
    return createdAtMs === undefined || seenAtMs === undefined || seenAtMs - createdAtMs < BOOTSTRAP_MS;
  }

  #recordFirstSeen(key: string, vmId: string): void {
    const known = this.#firstSeen.get(key);
    // A number that was reused belongs to another instance.
    if (known !== undefined && (known.vmId === vmId || known.vmId === '')) return;
    const atMs = this.#table.seen(key)?.atMs;
    if (atMs !== undefined) this.#firstSeen.set(key, { vmId, atMs });
  }
}

const HAS_NODE = { machineName: undefined, vmId: '' };

/** What distinguishes an instance without a node from others. */
function namesOf({
  machineName,
  vmId,
}: Pick<InstanceRow, 'vmId'> & { readonly machineName: string | undefined }): Pick<Instance, 'hostName' | 'uid'> {
  return { hostName: machineName, uid: vmId === '' ? undefined : vmId };
}

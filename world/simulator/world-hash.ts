/**
 * A hash over everything that happens in a world: requests to Azure, changes that Azure makes itself, changes of nodes and pods.
 * Two runs of one seed have the same hash, and the first instant in which two runs differ can be found. Must not know who sends
 * requests.
 */
import { createHash } from 'node:crypto';
import { defined } from '../../src/lib/defined.ts';
import type { JournalEntry } from './arm/http/journal.ts';
import type { NodeObject, PodObject } from './cluster/store/objects.ts';
import type { StoreChange } from './cluster/store/store.ts';
import { keyOf } from './cluster/store/store.ts';

/** Receives what happened in one instant, sorted. */
export type InstantListener = (atMs: number, lines: readonly string[]) => void;

/** The lines of one instant are sorted: in which order they arrive is up to the network, and nothing may depend on it. */
export class WorldHash {
  readonly #hash = createHash('sha256');
  readonly #onInstant: InstantListener | undefined;
  #atMs = Number.NaN;
  #lines: string[] = [];

  constructor(onInstant?: InstantListener) {
    this.#onInstant = onInstant;
  }

  /** `atMs` never falls. */
  add(atMs: number, line: string): void {
    if (atMs !== this.#atMs) this.#endInstant();
    this.#atMs = atMs;
    this.#lines.push(line);
  }

  /** Hexadecimal. The instant that is under way counts as ended. */
  digest(): string {
    this.#endInstant();
    return this.#hash.copy().digest('hex');
  }

  #endInstant(): void {
    if (this.#lines.length === 0) return;
    const lines = this.#lines.sort();
    this.#lines = [];
    this.#hash.update(`${this.#atMs}\n${lines.join('\n')}\n`);
    this.#onInstant?.(this.#atMs, lines);
  }
}

/** A request or an event of Azure, without what follows the order of arrival: its sequence number, and the order of VMs in one batch. */
export function lineOfEntry({ seq: _seq, at: _at, machines, ...entry }: JournalEntry): string {
  return JSON.stringify({ ...entry, ...defined({ machines: machines?.toSorted() }) });
}

/** A change of a node or a pod: where it runs, and what keeps others away. undefined: another kind. */
export function lineOfChange({ type, storage, object }: StoreChange): string | undefined {
  if (storage === 'pods') {
    const { spec, status, metadata } = object as PodObject;
    return `${type} pod ${keyOf(object)} ${spec.nodeName ?? ''} ${status.phase ?? ''} ${metadata.deletionTimestamp ?? ''}`;
  }
  if (storage !== 'nodes') return undefined;
  const { spec, status } = object as NodeObject;
  const ready = status.conditions?.find((condition) => condition.type === 'Ready')?.status ?? '';
  return `${type} node ${keyOf(object)} ${ready} ${spec.unschedulable === true} ${JSON.stringify(spec.taints ?? [])}`;
}

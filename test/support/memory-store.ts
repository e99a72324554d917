/** A whole store in memory for processes of one test: texts, hints and who shares, in virtual time. Hints are looked at every five seconds. */
import type { ConnectedStore } from '../../src/cli/connect/shared-texts.ts';
import type { SharingCluster } from '../../src/domain/ports/shared-clusters.ts';
import { MemoryHintServer } from './memory-hints.ts';
import { MemoryTextServer } from './memory-shared-text.ts';

const LOOK_EVERY_MS = 5_000;

/** The part of a simulated clock that the store needs. */
interface StoreClock {
  now(): number;
  after(ms: number, action: () => void): () => void;
}

export class MemoryStore {
  readonly texts: { readonly skus: MemoryTextServer; readonly usage: MemoryTextServer; readonly prices: MemoryTextServer };
  readonly hints: MemoryHintServer;
  readonly #clock: StoreClock;
  readonly #clusters = new Map<string, Omit<SharingCluster, 'atMs'>>();

  constructor(clock: StoreClock) {
    this.#clock = clock;
    const text = (): MemoryTextServer => new MemoryTextServer(() => clock.now());
    this.texts = { skus: text(), usage: text(), prices: text() };
    this.hints = new MemoryHintServer(() => clock.now());
    this.#look();
  }

  /** The store as one process sees it. */
  of(cluster: string): ConnectedStore {
    const { skus, usage, prices } = this.texts;
    const identity = `${cluster}/one`;
    this.#clusters.set(cluster, { cluster, process: 'one', version: 'test' });
    return {
      texts: { skus: skus.of(identity), usage: usage.of(identity), prices: prices.of(identity) },
      hints: this.hints.of(identity),
      clusters: {
        present: () =>
          [...this.#clusters.values()].map((each) => ({
            ...each,
            atMs: this.#clock.now(),
            ...(each.cluster === cluster ? { isThis: true } : {}),
          })),
      },
      trouble: () => (skus.isAway ? 'it is away' : undefined),
      inFlight: () => 0,
      close: () => void this.#clusters.delete(cluster),
    };
  }

  #look(): void {
    this.hints.look();
    this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }
}

/**
 * What this process knows of VM sizes: the catalogue in use, and which of its sizes Azure has shown to this process. A size that another
 * process published is used if its name shows the same numbers; otherwise, and before it keeps a group from growing, this process reads
 * the list itself.
 */
import type { Clock } from '../../lib/clock.ts';
import { knownSize } from './known-sizes.ts';
import { findSku, renewCatalog, unavailableReason, type Sku, type SkuCatalog } from './sku-catalog.ts';

/** If Azure cannot be read, it is not asked in each loop. */
const ASK_EVERY_MS = 10 * 60_000;

export class SizeKnowledge {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #requestRead: () => void;
  /** As Azure last showed each size to this process, by name in lower case. */
  readonly #shownByAzure = new Map<string, Sku>();
  #catalog: SkuCatalog | undefined;
  #isDoubted = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  /** `requestRead`: requests a read of the list; it is expected to begin soon. */
  constructor(clock: Pick<Clock, 'monotonic'>, requestRead: () => void) {
    this.#clock = clock;
    this.#requestRead = requestRead;
  }

  /** undefined: never read. */
  get catalog(): SkuCatalog | undefined {
    return this.#catalog;
  }

  /** Whether a shared size matters now, so that the next read must be this process's own. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  keep(catalog: SkuCatalog): void {
    this.#catalog = renewCatalog(this.#catalog, catalog);
    if (catalog.isShared === true) return;
    this.#isDoubted = false;
    for (const [name, sku] of this.#catalog.byName) this.#shownByAzure.set(name, sku);
  }

  /** undefined: unknown, or only another process says so and its name does not. What Azure has shown to this process counts before either. */
  find(vmSize: string): Sku | undefined {
    const sku = findSku(this.#catalog, vmSize);
    if (sku === undefined || this.#isShown(sku)) return sku;
    const shown = this.#shownByAzure.get(sku.name.toLowerCase());
    // guard: a size of another process is checked before it is used
    // guard: what Azure has shown to this process of a size counts more than the word of another
    if (shown === undefined) return hasNumbersOfName(sku) ? sku : this.#doubted();
    this.#doubted();
    return shown;
  }

  /** Why Azure offers no instance of the size there. A reason that Azure has not given to this process does not count. */
  unavailableReason(sku: Sku | undefined, zones: readonly string[], priority: 'Regular' | 'Spot'): string | undefined {
    const reason = unavailableReason(sku, zones, priority);
    // guard: only what Azure said to this process keeps a size from growing
    return reason === undefined || sku === undefined || this.#isShown(sku) ? reason : this.#doubted();
  }

  #isShown(sku: Sku): boolean {
    // guard: a store that lies about sizes keeps no group from growing
    return this.#catalog?.isShared !== true || sku.isKnownByName === true || this.#shownByAzure.get(sku.name.toLowerCase()) === sku;
  }

  #doubted(): undefined {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#askedAtMs < ASK_EVERY_MS) return;
    this.#askedAtMs = nowMs;
    this.#isDoubted = true;
    this.#requestRead();
  }
}

function hasNumbersOfName({ name, vcpus, memoryBytes, gpus }: Sku): boolean {
  const known = knownSize(name);
  return known?.vcpus === vcpus && known.memoryBytes === memoryBytes && known.gpus === gpus;
}

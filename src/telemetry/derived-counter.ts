/** Counters whose values are read from other counters at scrape time, so that nothing is counted twice. */
import { Counter, type Registry, Summary, type LabelValues } from 'prom-client';

export type Labels = Readonly<Record<string, string | number | undefined>>;

/** A counter to read from. */
interface Counted {
  get(): Promise<{ values: readonly { readonly value: number; readonly labels: Labels }[] }>;
}

export interface Source {
  readonly from: Counted;
  /** Maps the labels of a row that was read; undefined if the row does not count here. */
  readonly as: (labels: Labels) => Labels | undefined;
}

export interface DerivedCounter {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly sources: readonly Source[];
  /** Series that exist at 0 from the start. Otherwise Prometheus `increase()` would miss the first count. */
  readonly fromStart?: readonly Labels[];
}

/** Creates and registers the counter. */
export function derivedCounter({ name, help, labelNames = [], sources, fromStart = [] }: DerivedCounter, registry: Registry): Counter {
  return new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const rows = await totalsOf(sources, fromStart);
      this.reset();
      for (const { labels, total } of rows) this.inc(labels, total);
    },
  });
}

interface Total {
  readonly labels: Record<string, string | number>;
  readonly total: number;
}

async function totalsOf(sources: readonly Source[], fromStart: readonly Labels[]): Promise<readonly Total[]> {
  const totals = new Map<string, Total>();
  const add = (wanted: Labels, value: number): void => {
    const labels = Object.fromEntries(
      Object.entries(wanted).flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
    );
    const key = JSON.stringify(
      Object.keys(labels)
        .toSorted()
        .map((name) => [name, labels[name]]),
    );
    totals.set(key, { labels, total: (totals.get(key)?.total ?? 0) + value });
  };
  for (const labels of fromStart) add(labels, 0);
  for (const { from, as } of sources) {
    for (const { value, labels } of (await from.get()).values) {
      const wanted = as(labels);
      // A row of zero creates no series.
      if (wanted !== undefined && value !== 0) add(wanted, value);
    }
  }
  return [...totals.values()];
}

interface MeansOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** Publishes only sum and count: two series per mean, where a histogram would have fifteen. A series can start at 0. */
export class Means<Label extends string> extends Summary<Label> {
  readonly #name: string;
  readonly #labelNames: readonly Label[];
  readonly #begun = new Map<string, LabelValues<Label>>();

  constructor({ name, help, labelNames }: MeansOptions<Label>, registry: Registry) {
    super({ name, help, labelNames: [...labelNames], percentiles: [], registers: [registry] });
    this.#name = name;
    this.#labelNames = labelNames;
  }

  /** Publishes the series as 0 until the first observation. */
  begin(labels: LabelValues<Label>): void {
    this.#begun.set(this.#keyOf(labels), labels);
  }

  override async get(): Promise<Awaited<ReturnType<Summary<Label>['get']>>> {
    const published = await super.get();
    const observed = new Set(published.values.map(({ labels }) => this.#keyOf(labels)));
    const zeros = [...this.#begun].flatMap(([key, labels]) =>
      observed.has(key) ? [] : ['sum', 'count'].map((part) => ({ metricName: `${this.#name}_${part}`, labels, value: 0 })),
    );
    return { ...published, values: [...published.values, ...zeros] };
  }

  #keyOf(labels: LabelValues<Label>): string {
    return JSON.stringify(this.#labelNames.map((name) => labels[name]));
  }
}

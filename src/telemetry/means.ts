import { Summary, type LabelValues, type Registry } from 'prom-client';

export interface MeansOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** Sum and count alone: a mean for two series, where a histogram would be fifteen. A series can begin at 0. */
export class Means<Label extends string> extends Summary<Label> {
  readonly #name: string;
  readonly #labelNames: readonly Label[];
  readonly #begun = new Map<string, LabelValues<Label>>();

  constructor({ name, help, labelNames }: MeansOptions<Label>, registry: Registry) {
    super({ name, help, labelNames: [...labelNames], percentiles: [], registers: [registry] });
    this.#name = name;
    this.#labelNames = labelNames;
  }

  /** Tells the series as 0 until something is observed. */
  begin(labels: LabelValues<Label>): void {
    this.#begun.set(this.#keyOf(labels), labels);
  }

  override async get(): Promise<Awaited<ReturnType<Summary<Label>['get']>>> {
    const told = await super.get();
    const observed = new Set(told.values.map(({ labels }) => this.#keyOf(labels)));
    const zeros = [...this.#begun].flatMap(([key, labels]) =>
      observed.has(key) ? [] : ['sum', 'count'].map((part) => ({ metricName: `${this.#name}_${part}`, labels, value: 0 })),
    );
    return { ...told, values: [...told.values, ...zeros] };
  }

  #keyOf(labels: LabelValues<Label>): string {
    return JSON.stringify(this.#labelNames.map((name) => labels[name]));
  }
}

/** The rows of the benches with a large world, and the file that keeps them. */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { BenchRow } from '../row.ts';
import type { LongestTurn } from './world-orders.ts';

/** `bench/big-NODES.json` or `bench/drain-NODES.json`, from which a table of the docs is made. */
export interface BigReport {
  readonly nodes: number;
  readonly pods: number;
  readonly measuredOn: string;
  readonly processor: string;
  readonly node: string;
  /** What a reader must know of this measurement. */
  readonly note?: string;
  /** `null`: it was not done in time. */
  readonly rows: readonly { readonly name: string; readonly unit: string; readonly value: number | null }[];
}

export type AddRow = (name: string, unit: BenchRow['unit'], value: number | readonly number[], note?: string) => void;

/** Rows as they are measured. Each is also printed at once. */
export class BigRows {
  readonly rows: BenchRow[] = [];
  readonly #bench: string;
  readonly #size: Pick<BigReport, 'nodes' | 'pods'>;

  constructor(bench: string, size: Pick<BigReport, 'nodes' | 'pods'>) {
    this.#bench = bench;
    this.#size = { nodes: size.nodes, pods: size.pods };
  }

  readonly add: AddRow = (name, unit, value, note = '') => {
    const samples = typeof value === 'number' ? [value] : value;
    const { nodes, pods } = this.#size;
    this.rows.push({ name: `${this.#bench}, ${nodes} nodes, ${pods} pods: ${name}`, unit, samples, note });
    process.stderr.write(`  ${name}: ${samples.map((sample) => sample.toPrecision(4)).join(' ')} ${unit}\n`);
  };

  readonly addTurn = (name: string, { wallMs, cpuMs }: LongestTurn): void => {
    this.add(name, 'ms', wallMs, 'time of day');
    this.add(`${name}, CPU`, 'ms', cpuMs, 'of the main thread; may be another turn than the one above');
  };

  /** Writes `bench/BENCH-NODES.json`. */
  keep(): void {
    const report: BigReport = {
      measuredOn: new Date().toISOString().slice(0, 10),
      processor: cpus()[0]?.model ?? 'unknown processor',
      node: process.version,
      ...this.#size,
      note: `The heap has the limit that V8 takes within the memory limit of the chart${this.#size.nodes > 5_000 ? ', as many times as large as the cluster' : ''}`,
      rows: this.rows.map(({ name, unit, samples: [value = Number.NaN] }) => ({ name: name.slice(name.indexOf(': ') + 2), unit, value })),
    };
    const file = join(import.meta.dirname, '..', `${this.#bench}-${this.#size.nodes}.json`);
    writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  }
}

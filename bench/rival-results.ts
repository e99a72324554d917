/** The results of upstream's benchmarks, from the output of `go test -bench`. */
import { readFileSync } from 'node:fs';
import { AutoscalerError } from '../src/lib/errors.ts';

const NANOSECONDS = 1e6;
/** `BenchmarkName-8   3   412345678 ns/op   1234 B/op   56 allocs/op`; with one processor the name has no number at its end. */
const RESULT = /^Benchmark(\w+?)(?:-\d+)?\s+\d+\s+(\d+(?:\.\d+)?) ns\/op(?=\s|$)/gm;

/** Milliseconds per operation by the benchmark's name without `Benchmark`, the least of several runs. Other lines are skipped. */
export function readRivals(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [, name = '', nanoseconds] of text.matchAll(RESULT)) {
    found.set(name, Math.min(found.get(name) ?? Number.POSITIVE_INFINITY, Number(nanoseconds) / NANOSECONDS));
  }
  return found;
}

/** As `readRivals`. @throws AutoscalerError `config` if the file has no result of a benchmark in `wanted`. */
export function readRivalFile(path: string, wanted: readonly string[]): ReadonlyMap<string, number> {
  const found = readRivals(textOf(path));
  if (wanted.some((name) => found.has(name))) return found;
  const lines = found.size === 0 ? 'no result of any benchmark' : `results of ${[...found.keys()].join(', ')} only`;
  throw new AutoscalerError(
    { kind: 'config' },
    `${path} has ${lines}. It must be the output of \`go test -bench\`, with lines such as ` +
      `"Benchmark${wanted[0] ?? ''}-8  3  412345678 ns/op", of at least one of ${wanted.join(', ')}.`,
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AutoscalerError(
      { kind: 'config' },
      `The results in ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { cause },
    );
  }
}

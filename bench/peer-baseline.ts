/** The stored results of the peer workloads. Counts of operations do not depend on the machine, so a test compares them; times do. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { PeerResult } from './peer-worlds.ts';

export interface PeerBaseline extends PeerResult {
  /** Milliseconds, the least of five runs on the machine that wrote the file. Nothing fails on it. */
  readonly minMs: number;
}

const FILE = new URL('./peer-baseline.json', import.meta.url);

export function readPeerBaseline(): Readonly<Record<string, PeerBaseline>> {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, PeerBaseline>>;
}

export function writePeerBaseline(results: Readonly<Record<string, PeerBaseline>>): void {
  writeFileSync(FILE, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** A count below this share of the stored one would hide the next growth. */
const LEAST_SHARE = 0.8;
const REWRITE = 'If that is meant, `npm run bench -- peer --write-baseline` stores the present results.';

/** A sentence for each count that must not stay as it is: it grew, fell far below the stored one, or the result is another. */
export function complaintsAbout(name: string, result: PeerResult, stored: PeerResult | undefined): readonly string[] {
  if (stored === undefined) return [`${name}: nothing is stored for it. ${REWRITE}`];
  return countsOf(result, stored).flatMap(([what, count, known]) => {
    const verdict = verdictOn(what, count, known);
    return verdict === undefined ? [] : [`${name}: ${what} ${count}, stored ${known}: ${verdict}. ${REWRITE}`];
  });
}

function verdictOn(what: string, count: number, known: number): string | undefined {
  if (what === 'nodes') return count === known ? undefined : 'the plan is another';
  if (count > known) return 'the plan takes more operations';
  return count < LEAST_SHARE * known ? 'the plan takes far fewer operations, so the stored number is to be lowered' : undefined;
}

/** A sentence for each count that differs from the stored one, or one that none does; then the stored time. */
export function compareWithBaseline(result: PeerResult, stored: PeerBaseline | undefined): string {
  if (stored === undefined) return 'nothing is stored for it';
  const differing = countsOf(result, stored).filter(([, count, known]) => count !== known);
  const sentence =
    differing.length === 0 ? 'counts as stored' : differing.map(([name, count, known]) => `${name} ${count}, stored ${known}`).join(', ');
  return `${sentence}; stored time ${stored.minMs} ms`;
}

/** Name, count and stored count. */
function countsOf({ nodes, operations }: PeerResult, stored: PeerResult): readonly (readonly [string, number, number])[] {
  const counts = Object.entries(operations).map(
    ([name, count]) => [name, count, stored.operations[name as keyof PeerResult['operations']] ?? 0] as const,
  );
  return [['nodes', nodes, stored.nodes], ...counts];
}

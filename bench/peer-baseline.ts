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

/** A sentence for each count that differs from the stored one, or one that none does; then the stored time. */
export function compareWithBaseline({ nodes, operations }: PeerResult, stored: PeerBaseline | undefined): string {
  if (stored === undefined) return 'nothing is stored for it';
  const counts: readonly (readonly [string, number, number])[] = [
    ['nodes', nodes, stored.nodes],
    ...Object.entries(operations).map(
      ([name, count]) => [name, count, stored.operations[name as keyof PeerResult['operations']] ?? 0] as const,
    ),
  ];
  const differing = counts.filter(([, count, known]) => count !== known);
  const sentence =
    differing.length === 0 ? 'counts as stored' : differing.map(([name, count, known]) => `${name} ${count}, stored ${known}`).join(', ');
  return `${sentence}; stored time ${stored.minMs} ms`;
}

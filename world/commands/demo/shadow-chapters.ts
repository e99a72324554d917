/**
 * The shadow demo: an imitation of AKS's own autoscaler scales the world, a dry run decides beside it, and `report` compares the two. Its
 * times are the world's own, which runs faster than the clock.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBatch, createShop, forEachShop, scale, type Chapter } from './chapters.ts';
import type { Account } from './summary.ts';
import type { WorldState } from './world-watcher.ts';

export const SHADOW_CHAPTERS: readonly Chapter[] = [
  {
    title: '30 pods with local data arrive: the AKS autoscaler chooses a pool at random, the dry run decides beside it',
    expectation: 'all 30 pods are bound, and the dry run wrote nothing',
    timeoutSeconds: 40,
    begin: (client) => forEachShop((shop) => createShop(client, shop, { hasLocalData: true })),
    isOver: (state) => state.boundByApp.get('shop') === 30 && state.pending === 0,
  },
  {
    title: 'A batch for pools compute and reserve; compute is out of capacity in Azure',
    expectation: 'the batch runs on the pool with capacity',
    timeoutSeconds: 60,
    begin: (client) => createBatch(client),
    isOver: (state) => state.boundByApp.get('batch') === 8,
  },
  {
    title: 'The load falls: the AKS autoscaler keeps nodes with local data, the dry run would remove them',
    expectation: 'the dry run would have removed a node that the AKS autoscaler keeps, and the batch pools are empty',
    timeoutSeconds: 120,
    begin: async (client) => {
      await forEachShop((shop) => scale(client, shop, 1));
      await scale(client, 'batch', 0);
    },
    isOver: (state, withheld) =>
      ['compute', 'reserve'].every((pool) => target(state, pool) === 0) &&
      withheld.some(({ kind, subject }) => kind === 'delete-instances' && /^aks-(general|memory)-/.test(subject)),
  },
];

function target(state: WorldState, pool: string): number {
  return state.pools.find((candidate) => candidate.name === pool)?.target ?? 0;
}

export interface ShadowSummary {
  readonly ok: boolean;
  readonly shadow: true;
  readonly durationSeconds: number;
  /** Write requests of the daemon to Azure, from the simulator's journal. */
  readonly armWrites: number;
  readonly violations: Account['violations'];
  readonly unmet: readonly string[];
}

export function summarizeShadow(account: Account): ShadowSummary {
  const armWrites = account.calls.filter(({ method }) => method !== 'GET').length;
  return {
    ok: armWrites === 0 && account.violations.length === 0 && account.unmet.length === 0,
    shadow: true,
    durationSeconds: Math.round((account.endedMs - account.startedMs) / 10) / 100,
    armWrites,
    violations: account.violations,
    unmet: account.unmet,
  };
}

export function shadowLines(summary: ShadowSummary): readonly string[] {
  return [
    '',
    'What happened, from the simulated world',
    `  writes of the dry run to Azure   ${summary.armWrites} in ${summary.durationSeconds} s`,
    ...summary.violations.map(({ rule, subject, detail }) => `  VIOLATION   ${rule} on ${subject}: ${detail}`),
    ...summary.unmet.map((expectation) => `  NOT SEEN    ${expectation}`),
    summary.ok ? '  Passed: nothing was written.' : '  FAILED: see above.',
  ];
}

interface RecordedLine {
  readonly atMs: number;
}

/** Spans of time and money that grow with the speed of the world. */
const SPANS: ReadonlySet<string> = new Set(['forMs', 'waitedMs', 'longestMs', 'cost']);

/** Writes the record in the world's own time: from its end backwards, each span is `speed` times as long. @returns the folder. */
export async function recordInWorldTime(recordDir: string, dir: string, speed: number): Promise<string> {
  const names = (await readdir(recordDir)).filter((name) => name.startsWith('shadow-')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(recordDir, name), 'utf8')));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => line !== '')).map((line) => JSON.parse(line) as RecordedLine);
  const endMs = Math.max(...lines.map(({ atMs }) => atMs));
  const inWorldTime = (key: string, value: unknown): unknown => {
    if (key === 'atMs' || key === 'dueMs') return endMs - (endMs - Number(value)) * speed;
    return SPANS.has(key) ? Number(value) * speed : value;
  };
  const stretched = lines.map((line) =>
    Object.fromEntries(Object.entries<unknown>({ ...line }).map(([key, value]) => [key, inWorldTime(key, value)])),
  );
  const target = join(dir, 'record-in-world-time');
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'shadow-record.jsonl'), stretched.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return target;
}

/**
 * The demo of a dry run: what is wished for is told by the daemon, and that nothing was done is told by the world. Pure but
 * for the chapters' beginnings.
 */
import { forEachShop, makeShop, scale, type Chapter } from './chapters.ts';
import type { Account } from './summary.ts';
import type { WorldState } from './world-watcher.ts';
import type { Wish } from './world-client.ts';

export const DRY_CHAPTERS: readonly Chapter[] = [
  {
    title: 'A burst of 30 pods: nodes are wished for on two pools, and none is asked for',
    promise: 'the daemon would have grown two pools, and their sizes are what they were',
    patienceSeconds: 15,
    begin: (client) => forEachShop((shop) => makeShop(client, shop)),
    isOver: (state, wishes) =>
      ['general', 'memory'].every((pool) => wants(wishes, 'increase', pool)) &&
      target(state, 'general') === 1 &&
      target(state, 'memory') === 0,
  },
  {
    title: 'Somebody scales "memory" to 3 by hand, then the load falls: nodes would be removed, and stay',
    promise: 'the daemon would have deleted machines of "memory", and all three are there',
    patienceSeconds: 45,
    begin: async (client) => {
      await client.control('POST', '/_emu/events', { foreignScale: { pool: 'memory', to: 3 } });
      await forEachShop((shop) => scale(client, shop, 0));
    },
    isOver: (state, wishes) => wants(wishes, 'delete-instances', 'memory') && target(state, 'memory') === 3,
  },
];

export interface DryRunSummary {
  readonly ok: boolean;
  readonly dryRun: true;
  readonly durationSeconds: number;
  /** Requests of the daemon that would change something in Azure, as the emulator's journal has them. */
  readonly armWrites: number;
  /** Nodes that carried a mark of the daemon, and pods that left a node because of it. */
  readonly nodesMarked: number;
  readonly podsEvicted: number;
  readonly armReads: number;
  readonly wishes: readonly Wish[];
  readonly violations: Account['violations'];
  readonly unmet: readonly string[];
}

export function summarizeDryRun(account: Account, state: WorldState, wishes: readonly Wish[]): DryRunSummary {
  const armWrites = account.calls.filter(({ method }) => method !== 'GET').length;
  const untouched = armWrites === 0 && state.marked === 0 && account.evictions.length === 0;
  return {
    ok: untouched && account.violations.length === 0 && account.unmet.length === 0,
    dryRun: true,
    durationSeconds: Math.round((account.endedMs - account.startedMs) / 10) / 100,
    armWrites,
    nodesMarked: state.marked,
    podsEvicted: account.evictions.length,
    armReads: account.calls.length - armWrites,
    wishes: wishes.filter(({ kind }) => kind !== 'event'),
    violations: account.violations,
    unmet: account.unmet,
  };
}

export function dryRunLines(summary: DryRunSummary): readonly string[] {
  return [
    '',
    'What would have been done, by the record of the daemon',
    ...summary.wishes.map(({ kind, subject, detail, times }) => `  ${kind.padEnd(16)}  ${subject}: ${short(detail)} (${times} ×)`),
    'What was done, as the simulated world wrote it down',
    `  writes to Azure   ${summary.armWrites}; reads ${summary.armReads} in ${summary.durationSeconds} s`,
    `  nodes marked      ${summary.nodesMarked}`,
    `  pods evicted      ${summary.podsEvicted}`,
    ...summary.violations.map(({ rule, subject, detail }) => `  VIOLATION         ${rule} on ${subject}: ${detail}`),
    ...summary.unmet.map((promise) => `  NOT SEEN          ${promise}`),
    summary.ok ? '  Nothing was changed, as it should be.' : '  Something is not as it should be.',
  ];
}

/** Machines by the last part of their keys. */
function short(detail: string): string {
  return detail
    .split(', ')
    .map((part) => part.split('|').at(-1) ?? part)
    .join(', ');
}

function wants(wishes: readonly Wish[], kind: string, pool: string): boolean {
  return wishes.some((wish) => wish.kind === kind && wish.subject.startsWith(`aks-${pool}-`));
}

function target(state: WorldState, pool: string): number {
  return state.pools.find((candidate) => candidate.name === pool)?.target ?? 0;
}

/** The dry-run demo: the daemon lists the writes that it withheld, and the world shows that nothing was written. */
import { forEachShop, createShop, scale, type Chapter } from './chapters.ts';
import type { Account } from './summary.ts';
import type { WorldState } from './world-watcher.ts';
import type { WithheldWrite } from './world-client.ts';

export const DRY_CHAPTERS: readonly Chapter[] = [
  {
    title: '30 pods arrive: the daemon would increase two pools, and writes nothing',
    expectation: 'the daemon would have increased two pools, and their sizes are unchanged',
    timeoutSeconds: 15,
    begin: (client) => forEachShop((shop) => createShop(client, shop)),
    isOver: (state, withheld) =>
      ['general', 'memory'].every((pool) => isWithheld(withheld, 'increase', pool)) &&
      target(state, 'general') === 1 &&
      target(state, 'memory') === 0,
  },
  {
    title: 'An operator scales pool memory to 3, then the load falls: the daemon would remove nodes, and removes none',
    expectation: 'the daemon would have deleted instances of memory, and all three still exist',
    timeoutSeconds: 45,
    begin: async (client) => {
      await client.control('POST', '/_emu/events', { foreignScale: { pool: 'memory', to: 3 } });
      await forEachShop((shop) => scale(client, shop, 0));
    },
    isOver: (state, withheld) => isWithheld(withheld, 'delete-instances', 'memory') && target(state, 'memory') === 3,
  },
];

export interface DryRunSummary {
  readonly ok: boolean;
  readonly dryRun: true;
  readonly durationSeconds: number;
  /** Write requests of the daemon to Azure, from the simulator's journal. */
  readonly armWrites: number;
  /** Nodes with a taint of the daemon. */
  readonly nodesMarked: number;
  readonly podsEvicted: number;
  readonly armReads: number;
  readonly wishes: readonly WithheldWrite[];
  readonly violations: Account['violations'];
  readonly unmet: readonly string[];
}

export function summarizeDryRun(account: Account, state: WorldState, withheld: readonly WithheldWrite[]): DryRunSummary {
  const armWrites = account.calls.filter(({ method }) => method !== 'GET').length;
  const untouched = armWrites === 0 && state.tainted === 0 && account.evictions.length === 0;
  return {
    ok: untouched && account.violations.length === 0 && account.unmet.length === 0,
    dryRun: true,
    durationSeconds: Math.round((account.endedMs - account.startedMs) / 10) / 100,
    armWrites,
    nodesMarked: state.tainted,
    podsEvicted: account.evictions.length,
    armReads: account.calls.length - armWrites,
    wishes: withheld.filter(({ kind }) => kind !== 'event'),
    violations: account.violations,
    unmet: account.unmet,
  };
}

export function dryRunLines(summary: DryRunSummary): readonly string[] {
  return [
    '',
    'Withheld writes, from the daemon (/debug/withheld)',
    ...summary.wishes.map(({ kind, subject, detail, times }) => `  ${kind.padEnd(16)}  ${subject}: ${shortKeys(detail)} (${times} ×)`),
    'What happened, from the simulated world',
    `  writes to Azure   ${summary.armWrites}; reads ${summary.armReads} in ${summary.durationSeconds} s`,
    `  nodes tainted     ${summary.nodesMarked}`,
    `  pods evicted      ${summary.podsEvicted}`,
    ...summary.violations.map(({ rule, subject, detail }) => `  VIOLATION         ${rule} on ${subject}: ${detail}`),
    ...summary.unmet.map((expectation) => `  NOT SEEN          ${expectation}`),
    summary.ok ? '  Passed: nothing was written.' : '  FAILED: see above.',
  ];
}

/** Shortens instance keys to their last part. */
function shortKeys(detail: string): string {
  return detail
    .split(', ')
    .map((part) => part.split('|').at(-1) ?? part)
    .join(', ');
}

function isWithheld(withheld: readonly WithheldWrite[], kind: string, pool: string): boolean {
  return withheld.some((write) => write.kind === kind && write.subject.startsWith(`aks-${pool}-`));
}

function target(state: WorldState, pool: string): number {
  return state.pools.find((candidate) => candidate.name === pool)?.target ?? 0;
}

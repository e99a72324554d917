import { describe, expect, it } from 'vitest';
import { decisionOf } from '../../../commands/demo/log-lines.ts';
import { DRY_CHAPTERS, dryRunLines, summarizeDryRun } from '../../../commands/demo/dry-run-chapters.ts';
import type { Account, ArmCall } from '../../../commands/demo/summary.ts';
import type { WorldState } from '../../../commands/demo/world-watcher.ts';

const read: ArmCall = {
  seq: 1,
  atMs: 0,
  method: 'GET',
  route: '/virtualMachineScaleSets',
  status: 200,
  pool: undefined,
  capacityBefore: undefined,
  capacityAfter: undefined,
  instances: 0,
};
const account = (change: Partial<Account> = {}): Account => ({
  startedMs: 0,
  endedMs: 2_000,
  calls: [read],
  failures: [],
  pods: [],
  evictions: [],
  violations: [],
  replans: 0,
  unmet: [],
  ...change,
});
const state = (change: Partial<WorldState> = {}): WorldState => ({
  pools: [],
  pending: 0,
  bound: 0,
  boundByApp: new Map(),
  conflicts: 0,
  evicted: 0,
  tainted: 0,
  violations: [],
  ...change,
});
const wish = { kind: 'increase', subject: 'aks-general-12345678-vmss', detail: 'capacity from 1 to 5', times: 3 };

describe('the account of a dry run', () => {
  it('passes if nothing was written, whatever was withheld', () => {
    const summary = summarizeDryRun(account(), state(), [wish]);
    expect(summary).toMatchObject({ ok: true, armWrites: 0, armReads: 1, wishes: [wish] });
    expect(dryRunLines(summary).join('\n')).toContain('capacity from 1 to 5 (3 ×)');
  });

  it.each([
    ['a write to Azure, even one that was refused', account({ calls: [{ ...read, method: 'PUT', status: 412 }] }), state()],
    ['a taint on a node', account(), state({ tainted: 1 })],
    ['an eviction', account({ evictions: [{ pod: 'p', pool: 'general' }] }), state()],
    ['a violation', account({ violations: [{ rule: 'r', subject: 's', detail: 'd' }] }), state()],
    ['a promise that did not come true', account({ unmet: ['p'] }), state()],
  ])('fails after %s', (_, story, seen) => expect(summarizeDryRun(story, seen, [wish]).ok).toBe(false));

  it('a chapter is not over while the pools have changed', () => {
    const pool = { min: 0, max: 5, ready: 0, failed: 0 };
    const wishes = [wish, { ...wish, subject: 'aks-memory-12345678-vmss' }];
    const pools = (general: number) => [
      { ...pool, name: 'general', target: general },
      { ...pool, name: 'memory', target: 0 },
    ];
    expect(DRY_CHAPTERS[0]?.isOver(state({ pools: pools(1) }), wishes)).toBe(true);
    expect(DRY_CHAPTERS[0]?.isOver(state({ pools: pools(5) }), wishes)).toBe(false);
    expect(DRY_CHAPTERS[0]?.isOver(state({ pools: pools(1) }), [])).toBe(false);
  });

  it.each([
    [
      { msg: 'Scale-up withheld by the dry run', nodeGroup: 'aks-general-12345678-vmss', from: 1, to: 5, pods: 20 },
      'general 1 -> 5 (not written)',
    ],
    [{ msg: 'Node removal started', node: 'n1', cause: 'empty', pods: 0, dryRun: true }, 'n1 would be removed'],
    [{ msg: 'Node removal accepted', node: 'n1', dryRun: true }, 'n1 would be deleted'],
  ])('shows withheld writes as such: %j', (facts, sentence) =>
    expect(decisionOf(JSON.stringify({ level: 'info', ...facts }))).toContain(sentence),
  );
});

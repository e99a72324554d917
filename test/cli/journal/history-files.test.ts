import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readHistory } from '../../../src/cli/journal/history-entries.ts';
import { HistoryFiles, readHistoryFiles, type HistoryFilesDeps } from '../../../src/cli/journal/history-files.ts';
import { History } from '../../../src/observers/history/history.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { inSequence } from '../../support/loop-report.ts';
import { aRecord, aReport, GROUP } from '../../observers/history/support.ts';
import { anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';

const HOUR = 3_600_000;
const POLICY = aPolicy();

describe('the history on disk', () => {
  let directory: string;
  let clock: FakeClock;
  let lines: string[];
  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), 'aks-autoscaler-')), 'new');
    clock = new FakeClock(START_MS);
    lines = [];
  });
  afterEach(() => rmSync(join(directory, '..'), { recursive: true }));

  const files = (change: Partial<HistoryFilesDeps> = {}): HistoryFiles =>
    new HistoryFiles({ directory, clock, log: createLog('info', { write: (line) => void lines.push(line) }), ...change });
  const contents = (): string[] => readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  const aChange = (afterMs: number) => ({
    kind: 'change' as const,
    change: { atMs: START_MS + afterMs, group: GROUP, from: 1, to: 2, actor: 'aks' as const, why: 'x', outcome: 'observed' as const },
  });

  async function process(startedAtMs: number) {
    const written = files();
    const history = new History({ startedAtMs, policy: () => POLICY, write: (entries) => written.append(entries) });
    history.restore((await readHistory(directory)).entries);
    return { history, written };
  }

  it('keeps two records of one directory apart, and a record of days only as long as it says', async () => {
    const DAY = 24 * HOUR;
    const shadow = files({ name: 'shadow', limits: { fileMs: DAY, keptMs: 3 * DAY } });
    const history = files();
    for (let day = 0; day < 6; day++) {
      shadow.append([{ day }]);
      history.append([{ day }]);
      await shadow.settled();
      await history.settled();
      await clock.advance(DAY);
    }
    expect((await readHistoryFiles(directory, 'shadow')).entries).toEqual([{ day: 2 }, { day: 3 }, { day: 4 }, { day: 5 }]);
    expect((await readHistoryFiles(directory)).entries).toHaveLength(6);
    expect(readdirSync(directory).filter((name) => name.startsWith('history-'))).toHaveLength(1);
  });

  it('is the same in the next process', async () => {
    const pod = aPod({ name: 'web' });
    const first = await process(START_MS - HOUR);
    const node = aNode({ name: 'a-1', createdAtMs: START_MS + 1, readiness: { ready: true, sinceMs: START_MS + 2, reason: '' } });
    const instances = [anInstance({ node: 'a-1', firstSeenMs: START_MS + 1 })];
    const next = inSequence();
    first.history.observe(next(aReport({ pods: [pod], records: [aRecord([pod])] })));
    first.history.observe(
      next(aReport({ afterMs: 10, instances, nodes: [node], pods: [{ ...pod, nodeName: 'a-1', unschedulable: undefined }] })),
    );
    await first.written.settled();
    const second = await process(START_MS + HOUR);
    for (const read of ['changes', 'decisions'] as const)
      expect(second.history[read]({ limit: 9 })).toEqual(first.history[read]({ limit: 9 }));
    expect(second.history.scaleUps()).toEqual(first.history.scaleUps());
    expect(second.history.durations()).toEqual(first.history.durations());
    expect(second.history.sizes(GROUP, 0)).toEqual(first.history.sizes(GROUP, 0));
    expect(second.history.changes({})).toHaveLength(1);
    expect(second.history.sinceMs).toBe(START_MS - HOUR);
    const id = second.history.decisions({ limit: 1 })[0]?.id ?? '';
    expect(second.history.decision(id)?.document).toMatchObject({ kind: 'decision', id });
  });

  it('goes back one day only', async () => {
    const written = files();
    written.append([aChange(-HOUR), aChange(0)]);
    await written.settled();
    const { history } = await process(START_MS + 24 * HOUR - 1);
    expect(history.changes({}).map(({ atMs }) => atMs)).toEqual([START_MS]);
    expect(history.sinceMs).toBe(START_MS - 1);
  });

  it('a second entry about a change replaces the first', async () => {
    const written = files();
    const { change } = aChange(0);
    written.append([
      { kind: 'change', change: { ...change, actor: 'another-writer' } },
      { kind: 'change', change },
    ]);
    await written.settled();
    const { history } = await process(START_MS + HOUR);
    expect(history.changes({}).map(({ actor }) => actor)).toEqual(['aks']);
  });

  it('skips lines that are cut off, edited, or of another version', async () => {
    const written = files();
    written.append([aChange(0)]);
    await written.settled();
    const [text = ''] = contents();
    writeFileSync(
      join(directory, 'history-2020.jsonl'),
      `${text.slice(0, 20)}\n${text}{"kind":"other"}\n{"kind":"change","change":{"atMs":"x"}}\n`,
    );
    writeFileSync(join(directory, 'other.txt'), 'not ours');
    const read = await readHistory(directory);
    expect([read.entries.length, read.skippedLines]).toEqual([2, 3]);
  });

  it('is bounded in size: the oldest files are deleted', async () => {
    const written = files({ limits: { fileBytes: 1_000, totalBytes: 3_000, waitingBytes: 10_000 } });
    for (let at = 0; at < 60; at++) {
      await clock.advance(1_000);
      written.append([aChange(at)]);
      await written.settled();
    }
    const names = readdirSync(directory);
    const total = names.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
    expect(total).toBeLessThan(3_500);
    expect(names.length).toBeGreaterThan(1);
    const { entries } = await readHistory(directory);
    expect(entries.at(-1)).toEqual(aChange(59));
  });

  it('a directory that cannot be written is one warning in ten minutes, and no failure', async () => {
    const blocked = join(directory, '..', 'file');
    writeFileSync(blocked, '');
    const written = files({ directory: blocked });
    for (let at = 0; at < 3; at++) {
      written.append([aChange(at)]);
      await written.settled();
    }
    expect(lines.filter((line) => line.includes('History could not be written'))).toHaveLength(1);
    await clock.advance(600_000);
    written.append([aChange(0)]);
    await written.settled();
    expect(lines).toHaveLength(2);
  });

  it('goes on after the directory was deleted', async () => {
    const written = files();
    for (const at of [0, 1, 2]) {
      written.append([aChange(at)]);
      await written.settled();
      if (at === 0) rmSync(directory, { recursive: true });
      await clock.advance(1_000);
    }
    const { entries } = await readHistory(directory);
    expect(entries).toEqual([aChange(2)]);
  });

  it('drops what a slow disk has no room for', async () => {
    const written = files({ limits: { fileBytes: 1e6, totalBytes: 2e6, waitingBytes: 200 } });
    written.append([aChange(0), aChange(1), aChange(2)]);
    await written.settled();
    expect((await readHistory(directory)).entries).toEqual([aChange(0)]);
    expect(lines[0]).toContain('the disk is slow');
  });

  it('nothing is there before the first process', async () =>
    expect(await readHistory(directory)).toEqual({ entries: [], skippedLines: 0 }));
});

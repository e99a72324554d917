import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileJournal } from '../../../src/cli/journal/file-journal.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { readDump } from '../../../src/loop/replay/dump.ts';
import { replayDump } from '../../../src/loop/replay/replay.ts';
import { aStage } from '../../loop/support.ts';
import { aGroup, aPod, resourceNames } from '../../support/builders.ts';
import { silentLog } from '../../support/silent-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('the journal on disk', () => {
  let dir: string;
  beforeEach(() => {
    dir = temporaryFolder();
  });

  async function recordsOf(pods: readonly ReturnType<typeof aPod>[]) {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods });
    await stage.runOnce();
    return stage.records;
  }

  it('keeps a decision that changes something, so that it can be replayed', async () => {
    const journal = fileJournal({ directory: join(dir, 'new'), names: resourceNames, log: silentLog() });
    for (const record of await recordsOf([aPod({ cpu: '1' })])) journal.record(record);
    const [file, ...rest] = readdirSync(join(dir, 'new'));
    expect(rest).toEqual([]);
    const names = new ResourceNames();
    expect(replayDump(readDump(readFileSync(join(dir, 'new', file ?? ''), 'utf8'), names), names).equal).toBe(true);
  });

  it('keeps nothing of an idle loop', async () => {
    const journal = fileJournal({ directory: dir, names: resourceNames, log: silentLog() });
    for (const record of await recordsOf([])) journal.record(record);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('a pod that can never be helped is kept once, not once per loop in place of everything else', async () => {
    const journal = fileJournal({ directory: dir, names: resourceNames, log: silentLog() });
    const [record] = await recordsOf([aPod({ name: 'huge', cpu: '900' })]);
    if (record === undefined) throw new Error('nothing was planned');
    for (let loop = 0; loop < 5; loop++) journal.record(record);
    expect(readdirSync(dir)).toHaveLength(1);
    const [more] = await recordsOf([aPod({ name: 'huge', cpu: '900' }), aPod({ name: 'huger', cpu: '901' })]);
    if (more !== undefined) journal.record(more);
    expect(readdirSync(dir)).toHaveLength(2);
    journal.record(record);
    expect(readdirSync(dir)).toHaveLength(3);
  });

  it('never throws: a folder that cannot be made is only logged', async () => {
    writeFileSync(join(dir, 'file'), '');
    const journal = fileJournal({ directory: join(dir, 'file', 'below'), names: resourceNames, log: silentLog() });
    const records = await recordsOf([aPod({ cpu: '1' })]);
    expect(() => records.forEach((record) => journal.record(record))).not.toThrow();
  });
});

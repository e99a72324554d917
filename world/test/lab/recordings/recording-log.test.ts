import { appendFile, type FileHandle, open, readdir, readFile, truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readRecording } from '../../../lab/loads/recording-file.ts';
import type { RecordingLine } from '../../../lab/loads/recording-lines.ts';
import { type OpenFile, RecordingLog } from '../../../lab/recordings/recording-log.ts';
import { SMALL, START_MS } from './observations.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const HEADER = { name: 'live', startMs: START_MS, currency: 'USD' };
const WORKLOAD: RecordingLine = { kind: 'workload', workload: { id: 'w1', kind: 'Job', namespace: 'shop', name: 'sums', pod: SMALL } };

function run(seconds: number): RecordingLine {
  return { kind: 'run', atMs: seconds * 1_000, workload: 'w1', runMs: 5_000 };
}

const inFolder = folderOfFile();

async function timesIn(path: string): Promise<readonly number[]> {
  return (await readRecording(path)).scenario.events.map(({ atMs }) => atMs / 1_000);
}

describe.each(['jsonl', 'jsonl.gz'])('a recording that is being written as %s', (ending) => {
  it('can be read after each flush, in order of time', async () => {
    const path = inFolder(`open.${ending}`);
    const log = await RecordingLog.create(path, HEADER);
    log.append([WORKLOAD, run(9)]);
    await log.flush();
    log.append([run(4)]);
    await log.flush();
    log.append([run(1)]);
    expect(await timesIn(path)).toEqual([4, 9]);
    await log.close();
  });

  it('is in order of time on the disk after its end, and nothing is left beside it', async () => {
    const path = inFolder(`ended.${ending}`);
    const log = await RecordingLog.create(path, HEADER);
    log.append([run(9), WORKLOAD]);
    await log.flush();
    log.append([run(4), { kind: 'start-pool', pool: { name: 'p', vmSize: 'S', count: 1, min: 0, max: 3 } }, { kind: 'end', atMs: 20_000 }]);
    await log.finish();
    const { scenario, isComplete } = await readRecording(path);
    expect({ ...scenario, events: scenario.events.length }).toMatchObject({ ...HEADER, durationMs: 20_000, events: 2 });
    expect(isComplete).toBe(true);
    expect(await timesIn(path)).toEqual([4, 9]);
    expect((await readdir(inFolder())).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('goes on after its process was killed in the middle of a line', async () => {
    const path = inFolder(`killed.${ending}`);
    const log = await RecordingLog.create(path, HEADER);
    log.append([WORKLOAD, run(3)]);
    await log.flush();
    log.append([run(5)]);
    await log.flush();
    await log.close();
    await truncate(path, (await readFile(path)).length - 20);
    expect(await timesIn(path)).toEqual([3]);
    const next = await RecordingLog.continue(path, HEADER);
    next.append([run(8)]);
    await next.flush();
    expect(await timesIn(path)).toEqual([3, 8]);
    await next.close();
  });
});

describe('a recording that cannot be written', () => {
  it('does not replace a file', async () => {
    const path = inFolder('precious.jsonl');
    await appendFile(path, 'x');
    await expect(RecordingLog.create(path, HEADER)).rejects.toThrow(`The recording ${path} cannot be written: the file exists (EEXIST).`);
    expect(await readFile(path, 'utf8')).toBe('x');
  });

  it('names a folder that does not exist', async () => {
    await expect(RecordingLog.create(inFolder('absent', 'x.gz'), HEADER)).rejects.toThrow('its folder does not exist (ENOENT)');
  });

  it('names a full disk, leaves no part of a line, and writes what waits when there is room again', async () => {
    const path = inFolder('full.jsonl');
    let room = 400;
    const log = await RecordingLog.create(path, HEADER, async () => withRoom(await open(path, 'wx'), () => room));
    log.append([WORKLOAD, run(1), run(2), run(3), run(4)]);
    await expect(log.flush()).rejects.toThrow(`The recording ${path} cannot be written: the disk is full (ENOSPC).`);
    expect((await readFile(path, 'utf8')).endsWith('}\n')).toBe(true);
    expect(await timesIn(path)).toEqual([]);
    room = 10_000;
    await log.flush();
    expect(await timesIn(path)).toEqual([1, 2, 3, 4]);
    await log.close();
  });
});

/** A file on a disk that takes so many bytes of it. */
function withRoom(file: FileHandle, room: () => number): OpenFile {
  return {
    datasync: () => file.datasync(),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
    write: (data, offset, length, position) => {
      const fitting = Math.min(length, room() - position);
      if (fitting <= 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return file.write(data, offset, fitting, position);
    },
  };
}

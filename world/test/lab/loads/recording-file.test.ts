import { readFile, truncate, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { LoadContainer, LoadEvent, LoadPod, LoadPool, Workload } from '../../../lab/loads/load.ts';
import { createRecording, readRecording } from '../../../lab/loads/recording-file.ts';
import type { RecordingLine } from '../../../lab/loads/recording-lines.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const HEADER = { name: 'shop', startMs: 1_760_000_000_000, currency: 'USD' };
const FIRST = JSON.stringify({ format: 'aks-autoscaler-load', version: 1, ...HEADER });
const POOL: LoadPool = { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 9, pricePerHour: 0.23 };
const CONTAINER: LoadContainer = { requests: { cpu: '500m', memory: '1Gi' } };
const POD: LoadPod = { containers: [CONTAINER], tolerations: [{ operator: 'Exists' }] };
const WEB: Workload = {
  id: 'w1',
  name: 'web',
  namespace: 'shop',
  kind: 'Deployment',
  pod: POD,
  budget: { maxUnavailable: '50%' },
};
const EVENTS: readonly LoadEvent[] = [
  { kind: 'replicas', atMs: 0, workload: 'w1', count: 3 },
  { kind: 'run', atMs: 5_000, workload: 'w1', runMs: 60_000, count: 2 },
  { kind: 'stock', atMs: 6_000, vmSize: 'Standard_D4s_v5', zone: '1', count: 0 },
  { kind: 'stock', atMs: 7_000, vmSize: 'Standard_D4s_v5', count: null },
  { kind: 'pool', atMs: 7_000, pool: { ...POOL, name: 'new' } },
  { kind: 'spot-eviction', atMs: 8_000, pool: 'new', count: 2 },
];
const LINES: readonly RecordingLine[] = [
  { kind: 'start-pool', pool: POOL },
  { kind: 'workload', workload: WEB },
  ...EVENTS,
  { kind: 'end', atMs: 90_000 },
];

const inFolder = folderOfFile();

async function written(name: string, lines: readonly RecordingLine[] = LINES): Promise<string> {
  const path = inFolder(name);
  const recording = await createRecording(path, HEADER);
  for (const line of lines) await recording.write(line);
  await recording.close();
  return path;
}

async function fileOf(name: string, lines: readonly (string | object)[]): Promise<string> {
  const path = inFolder(name);
  await writeFile(path, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return path;
}

describe('a recording', () => {
  it.each(['plain.jsonl', 'small.jsonl.gz'])('%s is read as it was written', async (name) => {
    const { scenario, isComplete, gaps } = await readRecording(await written(name));
    expect(gaps).toEqual([]);
    expect(scenario).toEqual({ ...HEADER, durationMs: 90_000, pools: [POOL], workloads: [WEB], events: EVENTS });
    expect(isComplete).toBe(true);
  });

  it('is compressed by its name', async () => {
    expect(gunzipSync(await readFile(await written('by-name.gz'))).toString()).toContain('"aks-autoscaler-load"');
    expect((await readFile(await written('by-name.jsonl'))).toString()).toContain('"aks-autoscaler-load"');
  });

  it.each(['killed.jsonl', 'killed.jsonl.gz'])('%s ends with the last whole line if its writer was killed', async (name) => {
    const path = inFolder(name);
    const recording = await createRecording(path, HEADER);
    for (const line of LINES.slice(0, 4)) await recording.write(line);
    await recording.flush();
    for (const line of LINES.slice(4)) await recording.write(line);
    await recording.close();
    const { length } = await readFile(path);
    await truncate(path, length - 20);
    const { scenario, isComplete } = await readRecording(path);
    expect(isComplete).toBe(false);
    expect(scenario.events.slice(0, 2)).toEqual(EVENTS.slice(0, 2));
    expect(scenario.durationMs).toBeLessThan(90_000);
  });

  it.each<[what: string, lines: readonly (string | object)[], says: string]>([
    ['an empty file', [], 'is empty'],
    ['another file', [{ kind: 'List' }], 'is not a recording of a load'],
    ['text', ['pools:'], 'is not a recording of a load'],
    [
      'a version of the future',
      [{ format: 'aks-autoscaler-load', version: 2, ...HEADER }],
      'has version 2 of the format; this program reads version 1',
    ],
    ['an unknown kind', [FIRST, { kind: 'weather', atMs: 1 }, LINES[0]!], 'has an invalid line 2: it is invalid: kind'],
    ['a broken line in the middle', [FIRST, '{"kind":"rep', LINES[0]!], 'has an invalid line 2: it is not JSON'],
    ['a wrong number', [FIRST, { kind: 'start-pool', pool: { ...POOL, max: -1 } }, LINES[1]!], 'line 2: it is invalid: pool.max'],
    ['an unknown field', [FIRST, { kind: 'end', atMs: 1, secret: 'x' }, LINES[0]!], 'it is invalid: Unrecognized key'],
    ['an unknown workload', [FIRST, EVENTS[0]!, LINES[0]!], 'names the workload w1, which no line above it describes'],
    ['an unknown pool', [FIRST, EVENTS[5]!, LINES[0]!], 'names the pool new, which no line above it describes'],
    [
      'disorder',
      [FIRST, LINES[1]!, { ...EVENTS[0]!, atMs: 9 }, { ...EVENTS[0]!, atMs: 8 }, LINES[0]!],
      'line 4: it is at 8 ms, before the line above it',
    ],
    ['a workload twice', [FIRST, LINES[1]!, LINES[1]!, LINES[0]!], 'describes w1 a second time'],
    ['a line after the end', [FIRST, { kind: 'end', atMs: 1 }, LINES[0]!, LINES[1]!], 'line 3: it follows the end'],
  ])('refuses %s', async (what, lines, says) => {
    const path = await fileOf(`${what}.jsonl`, lines);
    await expect(readRecording(path)).rejects.toThrow(says);
  });

  it('is in order of time, if it was being written', async () => {
    const open = JSON.stringify({ ...JSON.parse(FIRST), isOpen: true });
    const events = [EVENTS[2], EVENTS[1], EVENTS[0]];
    const { scenario, isComplete } = await readRecording(
      await fileOf('open.jsonl', [open, LINES[0]!, LINES[1]!, ...events.map((event) => event!)]),
    );
    expect(scenario.events).toEqual(EVENTS.slice(0, 3));
    expect(scenario.durationMs).toBe(6_000);
    expect(isComplete).toBe(false);
  });

  it('has the times that nothing was seen of', async () => {
    const path = await fileOf('gap.jsonl', [FIRST, { kind: 'gap', atMs: 5_000, untilMs: 8_000 }, { kind: 'end', atMs: 9_000 }]);
    const { scenario, gaps } = await readRecording(path);
    expect(gaps).toEqual([{ fromMs: 5_000, untilMs: 8_000 }]);
    expect(scenario.events).toEqual([]);
  });

  it('refuses a line without an end', async () => {
    const path = await fileOf('long.jsonl', [FIRST, 'x'.repeat(2 ** 20 + 1)]);
    await expect(readRecording(path)).rejects.toThrow('has a line of more than 1 MiB');
  });

  it('refuses what gzip cannot read, and a file that is absent', async () => {
    await expect(readRecording(await fileOf('text.gz', ['text']))).rejects.toThrow('cannot be read: incorrect header check');
    await expect(readRecording(inFolder('absent.gz'))).rejects.toThrow('cannot be read: ENOENT');
  });

  it('reports that it cannot be written', async () => {
    await expect(createRecording(inFolder('absent', 'file'), HEADER)).rejects.toThrow('ENOENT');
  });
});

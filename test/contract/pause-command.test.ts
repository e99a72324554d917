/** `pause` and `resume` against the simulated API server, with nothing but a kubeconfig. */
import { describe, expect, it } from 'vitest';
import { projectPauses } from '../../src/kubernetes/projection/pauses.ts';
import { aMachine } from '../../world/test/simulator/cluster/stage.ts';
import { setConnectedStage, type ConnectedStage } from '../kubernetes/connected-stage.ts';
import { START_MS } from '../support/builders.ts';
import { runCommand } from '../support/run-command.ts';

const HOUR = 3_600_000;
const clock = { now: () => START_MS + 123, sleep: () => Promise.resolve() };
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

interface ConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

async function stage() {
  const set = await setConnectedStage([aMachine('usr-1')]);
  const run = (text: string, ...more: readonly string[]) =>
    runCommand([...text.split(' '), ...more, '--kubeconfig', set.kubeconfigPath], { env: { USER: 'ann' }, clock });
  return { set, run };
}
const dataOf = ({ cluster }: ConnectedStage, name = 'aks-autoscaler-pause', namespace = 'kube-system') =>
  (cluster.store.get('configmaps', namespace, name) as ConfigMap | undefined)?.data;

describe('pause', () => {
  it('creates the ConfigMap with one entry, which the daemon reads as it was meant, and prints it', async () => {
    const { set, run } = await stage();
    const { code, out, err } = await run('pause gpu --for 2h --direction scale-down --reason', 'move of the database');
    expect([code, err]).toEqual([0, '']);
    const until = at(START_MS + 1_000 + 2 * HOUR);
    expect(dataOf(set)).toEqual({ gpu: `until=${until} direction=scale-down by=ann reason=move of the database` });
    expect(out).toBe(`Paused now:\n  gpu: no removals until ${until} (2.0 h from now) by ann: move of the database\n`);
    expect(projectPauses(dataOf(set) ?? {}).pauses).toEqual([
      { pool: 'gpu', direction: 'scale-down', untilMs: Date.parse(until), by: 'ann', reason: 'move of the database', problem: undefined },
    ]);
  });

  it('of two people at once loses neither, and a second one of the same pool takes its place', async () => {
    const { set, run } = await stage();
    await Promise.all([
      run('pause gpu --for 2h'),
      run('pause cpu --for 2h'),
      run('pause mixed/Standard_D4s_v5 --for 2h'),
      run('pause --for 1h'),
    ]);
    expect(Object.keys(dataOf(set) ?? {}).sort()).toEqual(['_cluster', 'cpu', 'gpu', 'mixed.Standard_D4s_v5']);
    await run('pause gpu --for 1d --by bob');
    expect(dataOf(set)?.['gpu']).toBe(`until=${at(START_MS + 1_000 + 24 * HOUR)} direction=both by=bob`);
    expect(Object.keys(dataOf(set) ?? {})).toHaveLength(4);
  });

  it('means the same pool in any letter case, as the daemon does', async () => {
    const { set, run } = await stage();
    await run('pause mixed/standard_d4s_v5 --for 8h');
    await run('pause mixed/Standard_D4s_v5 --for 1h');
    expect(dataOf(set)).toEqual({ 'mixed.Standard_D4s_v5': expect.stringContaining(`until=${at(START_MS + 1_000 + HOUR)}`) });
    expect((await run('resume MIXED.standard_D4s_v5')).out).toBe('No pause is set.\n');
  });

  it('lists what is paused, what cannot be read, and not what is over; labels and other entries stay', async () => {
    const { set, run } = await stage();
    const data = { old: `until=${at(START_MS)}`, odd: 'for=2h', half: `until=${at(START_MS + HOUR)} direction=up` };
    const metadata = { name: 'aks-autoscaler-pause', namespace: 'kube-system', labels: { team: 'a' } };
    set.cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    const { out } = await run('pause --list');
    expect(out.split('\n').slice(0, 3)).toEqual([
      'Paused now:',
      `  half: no increases and no removals until ${at(START_MS + HOUR)} (60 min from now) [direction is "up"; it must be scale-up, scale-down or both]`,
      '  odd: no removals until the entry is corrected or removed, since it has no "until="',
    ]);
    expect(JSON.parse((await run('pause --list --json')).out)).toMatchObject({
      pauses: [{ pool: 'half', direction: 'both', until: at(START_MS + HOUR) }],
      unreadable: [{ pool: 'odd', problem: 'it has no "until="' }],
    });
    await run('pause gpu --for 30m');
    expect(dataOf(set)).toMatchObject(data);
    expect(set.cluster.store.get('configmaps', 'kube-system', 'aks-autoscaler-pause')?.metadata.labels).toEqual({ team: 'a' });
  });

  it('goes where the autoscaler of another name runs', async () => {
    const { set, run } = await stage();
    await run('pause gpu --for 30m --namespace default --lease-name second');
    expect(Object.keys(dataOf(set, 'second-pause', 'default') ?? {})).toEqual(['gpu']);
  });

  it.each([
    ['pause gpu', 'pause needs --for, such as --for 2h: a pause ends by itself.'],
    ['pause gpu --for 15d', '--for is "15d"; it must be a span from 1s to 14d, such as 30m, 2h or 1d.'],
    ['pause gpu --for 0', '--for is "0"; it must be a span from 1s to 14d, such as 30m, 2h or 1d.'],
    ['pause gpu --for soon', '--for is "soon"; it must be a span from 1s to 14d, such as 30m, 2h or 1d.'],
    ['pause gpu --for 2h --direction up', '--direction is "up"; it must be scale-up, scale-down or both.'],
    ['pause gpu cpu --for 2h', 'pause takes one POOL; run it once for each.'],
    ['pause _cluster --for 2h', '"_cluster" is not the name of a pool.'],
    ['pause gpu --list', '--list shows every pause and takes neither POOL nor --for.'],
    ['pause --until x', "Unknown option '--until'; see pause --help."],
    ['resume gpu --all', 'resume takes one POOL, or --all.'],
  ])('%s is wrong use', async (text, sentence) => {
    const { set, run } = await stage();
    expect(await run(text)).toEqual({ code: 2, out: '', err: `${sentence}\n` });
    expect(dataOf(set)).toBeUndefined();
  });

  it('without the right says which one is missing', async () => {
    const { set, run } = await stage();
    set.cluster.control.failNext(10, 403, { resource: 'configmaps' });
    const { code, err } = await run('pause gpu --for 2h');
    expect(code).toBe(1);
    expect(err).toContain('You have no right to read the ConfigMap kube-system/aks-autoscaler-pause. A Role grants it:');
  });
});

describe('resume', () => {
  it('ends the pause that it names, and no other; --all ends all', async () => {
    const { set, run } = await stage();
    for (const pool of ['gpu ', 'all ', '']) await run(`pause ${pool}--for 2h`);
    expect((await run('resume gpu')).out).toContain('every pool: no increases and no removals');
    expect(Object.keys(dataOf(set) ?? {}).sort()).toEqual(['_cluster', 'all']);
    await run('resume all');
    expect(Object.keys(dataOf(set) ?? {})).toEqual(['_cluster']);
    await run('pause gpu --for 2h');
    await run('resume');
    expect(Object.keys(dataOf(set) ?? {})).toEqual(['gpu']);
    expect(await run('resume --all')).toEqual({ code: 0, out: 'No pause is set.\n', err: '' });
    expect(dataOf(set) ?? {}).toEqual({});
  });

  it('of what is not paused is no failure and creates nothing', async () => {
    const { set, run } = await stage();
    for (const text of ['resume', 'resume gpu', 'resume --all']) expect((await run(text)).out).toBe('No pause is set.\n');
    expect(JSON.parse((await run('resume --json')).out)).toEqual({ pauses: [], unreadable: [] });
    expect(dataOf(set)).toBeUndefined();
  });
});

it.each(['pause', 'resume'])('%s has a help text', async (command) => {
  const { code, out } = await runCommand([command, '--help']);
  expect(code).toBe(0);
  expect(out).toContain('Usage:');
});

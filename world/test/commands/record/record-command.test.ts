/** The command against a simulated cluster: what it writes is compared with what was asked of the cluster. */
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { RECORD_RULES, RECORD_STATUS_RULES } from '../../../commands/record/record-access.ts';
import type { Scenario } from '../../../lab/loads/load.ts';
import { readRecording } from '../../../lab/loads/recording-file.ts';
import { aPool, budget, deployment, MINUTE, worldOf } from '../../../../test/scenarios/support.ts';
import { clientEnvironment } from '../../../lab/client-files.ts';
import { clockOf } from '../../../lab/process-clock.ts';
import { run } from '../../../commands/record/record-command.ts';
import { aTerminal, RecordedWorld } from './recorded-world.ts';

let worlds: RecordedWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
  worlds = [];
});

async function aWorld(change: Parameters<typeof worldOf>[1] = {}): Promise<RecordedWorld> {
  const world = await RecordedWorld.start(worldOf([aPool({ name: 'general', count: 3, labels: { tier: 'web' } })], change));
  worlds.push(world);
  await world.advance(2 * MINUTE);
  return world;
}

/** `minutes name=count`, without the workloads that AKS brings. */
function replicas({ workloads, events }: Scenario): readonly string[] {
  const names = new Map(workloads.filter(({ namespace }) => namespace !== 'kube-system').map(({ id, name }) => [id, name]));
  return events.flatMap((event) =>
    event.kind === 'replicas' && names.has(event.workload)
      ? [`${Math.round(event.atMs / MINUTE)} ${names.get(event.workload) ?? ''}=${event.count}`]
      : [],
  );
}

describe('record', () => {
  it('writes the load of a live cluster until SIGTERM, with its pools, budgets and daemons', async () => {
    const world = await aWorld();
    const { cluster } = world.world;
    cluster.apply(budget('web', 1));
    cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '500m' }));
    await world.advance(MINUTE);
    const recording = await world.record('load.jsonl');
    await world.advance(5 * MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 5, cpu: '500m' }));
    await world.advance(5 * MINUTE);
    const [victim] = cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === 'web');
    if (victim !== undefined) cluster.evict(victim);
    cluster.control.dropWatches();
    await world.advance(10 * MINUTE);
    cluster.remove(deployment({ name: 'web', replicas: 5, cpu: '500m' }));
    await world.advance(5 * MINUTE);
    expect(await recording.stop()).toBe(0);
    const { scenario, isComplete, gaps } = await readRecording(world.file('load.jsonl'));
    expect(replicas(scenario)).toEqual(['0 web=3', '5 web=5', '20 web=0']);
    expect({ isComplete, gaps }).toEqual({ isComplete: true, gaps: [] });
    expect(scenario.durationMs).toBe(25 * MINUTE);
    expect(scenario.pools).toMatchObject([
      {
        name: 'general',
        kind: 'vmss-uniform',
        vmSize: 'Standard_D4s_v5',
        count: 3,
        mode: 'User',
        priority: 'Regular',
        labels: { tier: 'web' },
      },
      { name: 'system', count: 1, mode: 'System', taints: ['CriticalAddonsOnly=true:NoSchedule'] },
    ]);
    expect(scenario.workloads.find(({ name }) => name === 'web')).toMatchObject({
      kind: 'Deployment',
      budget: { maxUnavailable: 1 },
      pod: { labels: { app: 'web' }, containers: [{ requests: { cpu: '500m', memory: '256Mi' } }] },
    });
    expect(scenario.workloads.filter(({ kind }) => kind === 'DaemonSet').map(({ name }) => name)).toEqual(['kube-proxy']);
    expect(await readFile(world.file('load.jsonl'), 'utf8')).not.toMatch(/app:1|image/);
    expect(scenario.events.find(({ kind }) => kind === 'replicas')?.atMs).toBe(0);
    expect(recording.out()).toMatch(/load\.jsonl: 25 min, 3 workloads, 0 runs/);
    expect(recording.err()).toBe(
      'Nothing says the minimum and maximum of general, system: lab run will need them by --limits.\nRecording. Ctrl-C or SIGTERM ends it.\n',
    );
  });

  it('marks a time in which the API server was away, and goes on', async () => {
    const world = await aWorld();
    const { cluster } = world.world;
    cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '100m' }));
    await world.advance(MINUTE);
    const recording = await world.record('load.jsonl');
    await world.advance(5 * MINUTE);
    cluster.control.pause();
    await world.advance(10 * MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '100m' }));
    cluster.control.resume();
    await world.advance(5 * MINUTE);
    await recording.stop();
    const { scenario, gaps } = await readRecording(world.file('load.jsonl'));
    expect(gaps).toHaveLength(1);
    expect(gaps[0]?.fromMs).toBeGreaterThan(3 * MINUTE);
    expect(gaps[0]?.fromMs).toBeLessThanOrEqual(6 * MINUTE);
    expect(gaps[0]?.untilMs).toBeGreaterThanOrEqual(15 * MINUTE);
    expect(replicas(scenario)).toEqual(['0 web=2', '15 web=4']);
  });

  it('makes only the calls that its role allows, and reads', async () => {
    const world = await aWorld();
    const recording = await world.record('load.jsonl');
    world.world.cluster.control.compact();
    world.world.cluster.control.dropWatches();
    await world.advance(MINUTE);
    await recording.stop();
    const rules = [...RECORD_RULES, ...RECORD_STATUS_RULES];
    const allowed = new Set(
      rules.flatMap(({ resources, verbs }) => verbs.flatMap((verb) => resources.map((resource) => `${verb} ${resource}`))),
    );
    const calls = new Set(world.world.cluster.journal().flatMap(({ verb, resource }) => (resource === '' ? [] : [`${verb} ${resource}`])));
    expect([...calls].filter((call) => !allowed.has(call))).toEqual([]);
    expect(new Set([...calls].map((call) => call.split(' ')[1]))).toEqual(
      new Set(rules.flatMap(({ resources }) => resources as readonly string[])),
    );
  });

  it('reads limits of pools from Azure with the settings of the daemon, and reads them again', async () => {
    const world = await aWorld();
    const { control } = world.world.arm;
    const terminal = aTerminal(clientEnvironment(world.dir, world.world));
    const discovery = '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true';
    const prices = ['--retail-prices', `--retail-prices-endpoint=${world.world.arm.url}/api/retail/prices`];
    const argv = [
      '--out',
      world.file('load.jsonl'),
      '--azure',
      '--kubeconfig',
      world.file('kubeconfig'),
      discovery,
      '--hash-names',
      ...prices,
    ];
    const ended = run(argv, terminal, clockOf(world.clock));
    await world.until(() => terminal.said().includes('Recording.'), ended);
    control.raise({ retag: { pool: 'general', tags: { min: '2', max: '7' } } });
    await world.advance(61 * MINUTE);
    // Azure's client needs real time.
    await world.until(() => readFileSync(world.file('load.jsonl'), 'utf8').includes('"kind":"pool"'), ended, 1_000);
    terminal.signal();
    expect(await ended).toBe(0);
    const { scenario } = await readRecording(world.file('load.jsonl'));
    const general = scenario.pools.find(({ mode }) => mode !== 'System');
    expect(scenario.pools).toHaveLength(2);
    expect(general).toMatchObject({
      kind: 'vmss-uniform',
      count: 3,
      min: 0,
      max: 10,
      mode: 'User',
      size: { vcpus: 4, memoryGiB: 16 },
      priority: 'Regular',
    });
    expect(scenario.events.filter(({ kind }) => kind === 'pool')).toMatchObject([{ pool: { name: general?.name, min: 2, max: 7 } }]);
    expect(scenario.workloads.map(({ name }) => name).toSorted()).toEqual(['coredns', 'kube-proxy']);
  });

  it('does not wait for a price list that is read by default and cannot be reached', async () => {
    const world = await aWorld();
    const { control, url } = world.world.arm;
    control.addFault({ id: 'list', match: { pathGlob: '/api/retail/prices' }, effect: { kind: 'answer', status: 503 } });
    const terminal = aTerminal(clientEnvironment(world.dir, world.world));
    const settings = [
      '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
      `--retail-prices-endpoint=${url}/api/retail/prices`,
    ];
    const startMs = world.clock.now();
    const argv = ['--out', world.file('load.jsonl'), '--azure', '--kubeconfig', world.file('kubeconfig'), ...settings];
    const ended = run(argv, terminal, clockOf(world.clock));
    await world.until(() => terminal.said().includes('Recording.'), ended);
    expect(world.clock.now() - startMs).toBeLessThan(30_000);
    terminal.signal();
    expect(await ended).toBe(0);
  });

  it('ends by itself after --for, compressed by its name', async () => {
    const world = await aWorld();
    const recording = await world.record('load.jsonl.gz', ['--for', '10m']);
    await world.advance(11 * MINUTE);
    expect(await recording.ended).toBe(0);
    const { scenario, isComplete } = await readRecording(world.file('load.jsonl.gz'));
    expect(isComplete).toBe(true);
    expect(scenario.durationMs).toBeGreaterThanOrEqual(10 * MINUTE);
  });

  it('counts pods where it may not read controllers, and says so', async () => {
    const world = await aWorld({
      forbidden: ['list deployments', 'watch deployments', 'list poddisruptionbudgets', 'watch poddisruptionbudgets'],
    });
    const { cluster } = world.world;
    cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '100m' }));
    await world.advance(MINUTE);
    const recording = await world.record('load.jsonl');
    await world.advance(5 * MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 6, cpu: '100m' }));
    await world.advance(5 * MINUTE);
    for (const pod of cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === 'web')) cluster.evict(pod);
    await world.advance(10 * MINUTE);
    await recording.stop();
    const { scenario } = await readRecording(world.file('load.jsonl'));
    expect(replicas(scenario)).toEqual(['0 web=3', '5 web=6']);
    expect(recording.err()).toContain('Without the right to list and watch deployments, poddisruptionbudgets: the number of pods is taken');
  });

  it('says in the recording what it could not see', async () => {
    const world = await aWorld({ forbidden: ['list events', 'watch events', 'list configmaps', 'watch configmaps'] });
    const recording = await world.record('load.jsonl');
    await recording.stop();
    const { notes, scenario } = await readRecording(world.file('load.jsonl'));
    expect(recording.err()).toContain(
      'Without the right to list and watch events, configmaps: what Azure refuses is not recorded; limits of pools are not known.',
    );
    expect(notes).toEqual([
      'What Azure refused (stock, quotas, throttling) is not in the recording: events could not be read.',
      'Azure was not read: VMs that never became nodes are not in the recording.',
    ]);
    expect(scenario.pools.map(({ limitsUnknown }) => limitsUnknown)).toEqual([true, true]);
  });

  it('goes on with the file of a process that was killed, and marks what it did not see', async () => {
    const world = await aWorld();
    const { cluster } = world.world;
    for (const name of ['web', 'old', 'same']) cluster.apply(deployment({ name, replicas: 2, cpu: '100m' }));
    await world.advance(MINUTE);
    const path = world.file('load.jsonl');
    const first = await world.record('load.jsonl', ['--hash-names']);
    await world.advance(2 * MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '100m' }));
    await world.advance(3 * MINUTE);
    const killed = await readFile(path);
    const secret = await readFile(`${path}.secret`);
    await first.stop();
    await writeFile(path, killed);
    await writeFile(`${path}.secret`, secret);
    await world.advance(20 * MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '100m' }));
    cluster.remove(deployment({ name: 'old', replicas: 2, cpu: '100m' }));
    await world.advance(MINUTE);
    const second = await world.record('load.jsonl', ['--hash-names']);
    await world.advance(5 * MINUTE);
    await second.stop();
    expect(await readdir(world.dir)).not.toContain('load.jsonl.secret');
    const ended = await readFile(path);
    const { scenario, gaps, isComplete } = await readRecording(path);
    expect(isComplete).toBe(true);
    const [gap] = gaps;
    expect(gap?.untilMs).toBe(26 * MINUTE);
    expect(gap?.fromMs).toBeLessThan(6 * MINUTE);
    const [old, same, web] = scenario.workloads
      .filter(({ pod }) => pod.containers[0]?.requests?.['memory'] === '256Mi')
      .map(({ name }) => name);
    const shown = replicas(scenario).map((text) =>
      text
        .replace(web ?? '', 'web')
        .replace(old ?? '', 'old')
        .replace(same ?? '', 'same'),
    );
    expect(shown.toSorted()).toEqual(['0 old=2', '0 same=2', '0 web=2', '2 web=3', '26 old=0', '26 web=4']);
    const again = (flags: readonly string[]) =>
      run(['--out', path, '--kubeconfig', world.file('kubeconfig'), ...flags], aTerminal(), clockOf(world.clock));
    await expect(again(['--hash-names'])).rejects.toThrow('holds a recording that has ended; name another file.');
    await writeFile(path, killed);
    await expect(again(['--hash-names'])).rejects.toThrow('or the secret of its hashes');
    await writeFile(`${path}.secret`, secret);
    await expect(again([])).rejects.toThrow('has hashed names; to go on with it, add --hash-names.');
    expect(ended.toString()).not.toMatch(/"web"|"old"|general|default-/);
  });

  it.each([
    { what: 'no file', argv: ['--kubeconfig', 'x'], says: '--out is missing' },
    { what: 'a span that is none', argv: ['--out', 'x', '--for', 'week'], says: '--for is "week"; it must be a span such as 12h or 7d.' },
    { what: 'an unknown option', argv: ['--out', 'x', '--fast'], says: "Unknown option '--fast'; see record --help." },
    {
      what: 'a kubeconfig that is absent',
      argv: ['--out', 'x', '--kubeconfig', '/absent'],
      says: 'The kubeconfig "/absent" cannot be read',
    },
  ])('refuses $what in one sentence', async ({ argv, says }) => {
    const { dispatch } = await import('../../../../src/cli/dispatch.ts');
    const terminal = aTerminal();
    const code = await dispatch(['record', ...argv], terminal);
    expect(terminal.said()).toContain(says);
    expect(code).toBe(2);
  });
});

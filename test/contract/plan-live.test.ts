/** `plan --live` against the simulated cluster and Azure, over HTTPS with the real clients: the daemon's answer, and no write. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { aPool, bound, deployment, MINUTE, pending, worldOf } from '../scenarios/support.ts';
import { runCommand } from '../support/run-command.ts';
import { clientEnvironment, writeClientFiles } from '../../world/lab/client-files.ts';
import { VirtualRun } from '../support/virtual-world.ts';
import { systemClock } from '../../src/cli/process/process.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { writeMemory } from '../../src/loop/memory/memory-text.ts';
import { emptyLoopState } from '../../src/planning/state/loop-state.ts';
import { aBackoff } from '../support/state.ts';

let run: VirtualRun | undefined;
let dir: string | undefined;
afterEach(async () => {
  await run?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true });
  run = dir = undefined;
});

/** A world at rest without a daemon in it, and what the command needs to reach it. */
async function prepared() {
  const started = await VirtualRun.start({
    spec: worldOf([
      aPool({ name: 'full', max: 1 }),
      aPool({ name: 'gpu', vmSize: 'Standard_NC4as_T4_v3', count: 0, max: 2 }),
      aPool({ name: 'open', count: 0 }),
    ]),
  });
  run = started;
  const { world } = started;
  dir = await mkdtemp(join(tmpdir(), 'plan-live-'));
  await writeClientFiles(dir, world);
  const env = clientEnvironment(dir, world);
  await started.advance(MINUTE);
  await started.stopDaemon();
  const settings = [`--kubeconfig=${join(dir, 'kubeconfig')}`, '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'];
  const plan = (...argv: readonly string[]) => runCommand(['plan', '--live', ...settings, ...argv], { env });
  const explain = (...argv: readonly string[]) => runCommand(['explain', ...argv, ...settings], { env });
  const writes = () => [
    ...world.arm.control.journal().filter(({ method, path }) => method !== 'GET' && !path.includes('/oauth2/')),
    ...world.cluster.journal().filter(({ method }) => method !== 'GET'),
  ];
  return { world, plan, explain, writes, run: started, dir };
}

describe('explain without a leader', () => {
  it('computes the answer from the live cluster, and says first what it lacks', async () => {
    const { world, explain, writes, run: here } = await prepared();
    world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '99' }));
    await here.advance(MINUTE);
    const pod = world.cluster.store.pendingPods()[0]?.metadata.name ?? '';
    const before = writes().length;
    const saved = await explain('pod', pod);
    expect(saved).toMatchObject({ code: 0, err: expect.stringContaining('No replica leads: the Lease kube-system/aks-autoscaler') });
    expect(saved.out).toMatch(
      /^Without the daemon's memory: no history; back-offs and idle timers are those saved at [^.]+ ago\.\nPending for /,
    );
    expect(saved.out).toMatch(/needs 99 CPU[\s\S]+\nComputed from the cluster and Azure as they are now\.\n$/);

    world.cluster.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'aks-autoscaler-memory', namespace: 'kube-system' } });
    const unknown = await explain('pod', `default/${pod}`, '--json');
    expect(JSON.parse(unknown.out)).toMatchObject({
      kind: 'pod',
      verdict: 'impossible',
      lacks: "Without the daemon's memory: back-offs, idle timers and the history are unknown.",
    });
    expect(unknown.out).toContain(`az aks nodepool add -g ${world.spec.clusterResourceGroup} --cluster-name ${world.spec.clusterName} `);
    expect(await explain('node', 'none')).toMatchObject({ code: 3, err: expect.stringMatching(/\nnode none not found\n$/) });
    expect(writes().length).toBe(before);
  });
});

describe('plan --live', () => {
  it('says in the first line what it cannot know', async () => {
    const { plan, world } = await prepared();
    // The daemon that ran before saved its memory.
    world.cluster.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'aks-autoscaler-memory', namespace: 'kube-system' } });
    expect((await plan()).out.split('\n')[0]).toMatch(/^Without the daemon's memory: its back-offs and idle timers are unknown here/);
  });

  it('uses the back-offs that the leader saved', async () => {
    const { world, plan, run: here } = await prepared();
    const open = nodeGroupId(world.arm.control.state().sets.find(({ pool }) => pool === 'open')?.name ?? '');
    world.cluster.apply(deployment({ name: 'wide', replicas: 3, cpu: '3' }));
    await here.advance(MINUTE);
    const nowMs = systemClock.now();
    const backoff = aBackoff({ untilMs: nowMs + 10 * MINUTE, durationMs: 10 * MINUTE, lastFailureMs: nowMs, cause: 'AllocationFailed' });
    const { text } = writeMemory({ ...emptyLoopState(nowMs), backoffs: new Map([[open, backoff]]) }, nowMs);
    const metadata = { name: 'aks-autoscaler-memory', namespace: 'kube-system' };
    world.cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'memory.json': text } });
    const { code, out } = await plan();
    expect(code).toBe(0);
    expect(out).not.toContain("Without the daemon's memory");
    expect(out).toMatch(/with the back-offs and timers that\s+the leader\s+saved at \d/);
    expect(out).toContain('AllocationFailed');
  });

  it('says what the daemon then does, the same twice, and writes nothing to either side', async () => {
    const { world, plan, writes, run: here } = await prepared();
    world.cluster.apply(deployment({ name: 'wide', replicas: 4, cpu: '3' }));
    world.cluster.apply(deployment({ name: 'huge', replicas: 1, cpu: '99' }));
    await here.advance(MINUTE);
    const before = writes().length;
    const state = () =>
      JSON.stringify([
        world.arm.control.state().sets,
        ...['nodes', 'pods', 'leases', 'configmaps', 'events'].map((kind) => world.cluster.store.list(kind)),
      ]);
    const kept = state();

    const first = await plan('--json');
    expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' });
    const second = await plan('--json');
    expect(writes().length).toBe(before);
    expect(state()).toBe(kept);

    const answer = JSON.parse(first.out);
    const repacking = { ...answer.repacking, at: expect.any(String) };
    expect(JSON.parse(second.out)).toEqual({ ...answer, asOf: { ...answer.asOf, time: expect.any(String) }, repacking });
    const [increase, ...others] = answer.scaleUp.increases;
    expect(others).toEqual([]);
    expect(increase.group).toContain('open');
    expect([increase.from, increase.to]).toEqual([0, pending(here) - 1]);
    expect(answer.scaleUp.helpless.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['impossible']);
    const { clusterResourceGroup, clusterName } = world.spec;
    expect(first.out).toContain(`az aks nodepool add -g ${clusterResourceGroup} --cluster-name ${clusterName} -n NEW_POOL `);

    await here.startDaemon();
    await here.until('bound', () => bound(here, 'wide') === 4, 15 * MINUTE);
    const sizes = world.arm.control.state().sets.map(({ pool, capacity }) => [pool, capacity]);
    expect(Object.fromEntries(sizes)).toMatchObject({ open: increase.to, full: 1, gpu: 0 });
    // The journals would have told.
    expect(writes().length).toBeGreaterThan(before);
  });

  it('takes what-if questions, prints a table, and keeps settings and its own options apart', async () => {
    const { world, plan, writes, dir: folder } = await prepared();
    const pods = { apiVersion: 'v1', kind: 'List', items: [deployment({ name: 'more', replicas: 2, cpu: '3' })] };
    await writeFile(join(folder, 'more.json'), JSON.stringify(pods));
    const before = writes().length;
    const full = world.arm.control.state().sets.find(({ pool }) => pool === 'full')?.name ?? '';
    const { code, out, err } = await plan(
      '--add-pods',
      join(folder, 'more.json'),
      `--set-max=${full}=9`,
      '--expander',
      'least-nodes',
      '--max-nodes-total=0',
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('INCREASE');
    expect(writes().length).toBe(before);
  });

  it('a side that cannot be read is one sentence, not an empty plan', async () => {
    const { world, plan } = await prepared();
    world.arm.control.addFault({ id: 'x', match: { pathGlob: '**/virtualMachineScaleSets' }, effect: { kind: 'answer', status: 403 } });
    const { code, out, err } = await plan('--json');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^.+\n$/);
  });
});

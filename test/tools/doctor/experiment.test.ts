/** What `doctor --experiment` measures, and that it deletes nothing that it did not make. */
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { newInstanceOf, noteSize, type Growth } from '../../../src/tools/doctor/azure/experiment-watch.ts';
import { systemClock, type SignalSource } from '../../../src/cli/process/process.ts';
import { defined } from '../../../src/lib/defined.ts';
import { maskText } from '../../../src/tools/doctor/experiment-report.ts';
import type { Fault } from '../../../world/simulator/arm/state/fault-rules.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../../world/lab/client-files.ts';
import type { PoolSpec, WorldSpec } from '../../../world/simulator/base/world-spec.ts';
import { realSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../world/simulator/world.ts';
import { aPool, worldOf } from '../../scenarios/support.ts';
import { runCommand } from '../../support/run-command.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** As fast as the world. */
const SPEED = 1_000;
const CLOCK = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / SPEED, signal) };

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

async function begin(pool: Partial<PoolSpec> = {}, change: Partial<WorldSpec> = {}): Promise<World> {
  world = await startWorld({
    spec: worldOf([aPool({ name: 'general', count: 2, max: 4, ...pool })], change),
    clock: realSimClock(SPEED),
    client: CLIENT,
    token: 'a-token',
  });
  return world;
}

interface Report {
  readonly ok: boolean;
  readonly requests: { readonly writes: number };
  readonly facts: readonly { readonly id: string; readonly seen: string }[];
  readonly refused?: string;
  readonly failure?: string;
  readonly removed?: boolean;
  readonly left?: string;
}

interface Experiment {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly report: Report;
}

async function experiment(of: World, argv: readonly string[] = ['--yes'], signals?: SignalSource): Promise<Experiment> {
  const dir = temporaryFolder();
  await writeClientFiles(dir, of);
  const env = { ...clientEnvironment(dir, of), KUBECONFIG: join(dir, 'kubeconfig') };
  const flags = ['--experiment', 'general', '--json', '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'];
  const { code, out, err } = await runCommand(['doctor', ...flags, ...argv], { env, clock: CLOCK, ...defined({ signals }) });
  const report = out.startsWith('{') ? (JSON.parse(out) as Report) : { ok: false, requests: { writes: -1 }, facts: [] };
  return { code, out, err, report };
}

const writesOf = ({ arm }: World) =>
  arm.control.journal().filter(({ method, principal }) => principal === CLIENT.clientId && !['GET', 'EVENT'].includes(method));
const removalsOf = (of: World) => writesOf(of).filter(({ method, path }) => method === 'POST' && /delete/i.test(path));
/** The size of the pool. */
const sizeOf = ({ arm }: World): number => {
  const { sets, agentPools } = arm.control.state();
  return sets.find(({ pool }) => pool === 'general')?.capacity ?? agentPools.find(({ name }) => name === 'general')?.size ?? -1;
};

describe('doctor --experiment', () => {
  it.each([
    ['vmss-uniform', 'scale set'],
    ['vms-pool', 'VirtualMachines'],
  ] as const)('adds one node to a pool of kind %s, measures, and deletes it again', async (kind, type) => {
    const of = await begin({ kind });
    const { code, out, err, report } = await experiment(of);
    expect([code, report.failure, report.removed]).toEqual([0, undefined, true]);
    // For a process that is killed: the report itself has no such names.
    expect(err).toMatch(/delete the newest one:\n {2}az .* INSTANCE\n$/);
    expect(report).toMatchObject({ ok: true, pool: { name: 'general', type, vmSize: 'Standard_D4s_v5' } });
    const seen = new Map(report.facts.map((fact) => [fact.id, fact.seen]));
    expect(seen.get('tag-wrong')).toMatch(/^HTTP 412 PreconditionFailed/i);
    expect(seen.get('growth-answer')).toMatch(/^HTTP 20\d/);
    expect(seen.get('old-tag')).toMatch(/^HTTP 4(?:09|12)/);
    expect(seen.get('growth-operation')).toMatch(/end Succeeded/);
    expect(seen.get('deletion')).toMatch(/size 2 \(2 before\), instance gone, entity tag moved$/);
    expect(removalsOf(of)).toHaveLength(1);
    expect(sizeOf(of)).toBe(2);
    const { subscriptionId, nodeResourceGroup, clusterResourceGroup } = of.spec;
    for (const secret of [subscriptionId, nodeResourceGroup, clusterResourceGroup, CLIENT.clientSecret]) expect(out).not.toContain(secret);
    for (const { seen: text } of report.facts) expect(text.length).toBeLessThanOrEqual(300);
  });

  it('without --yes says what it would do and what that costs, and writes nothing', async () => {
    const of = await begin();
    const { code, out } = await experiment(of, []);
    expect(code).toBe(0);
    expect(out).toContain('aks-autoscaler doctor --experiment general --yes');
    expect(out).toContain('Cost: one Standard_D4s_v5');
    expect(writesOf(of)).toEqual([]);
  });

  it.each<[string, Partial<PoolSpec>, RegExp]>([
    ['a pool at its maximum', { count: 4 }, /at its maximum, 4 of 4 nodes/],
    ["a pool of AKS's own autoscaler", { managedAutoscaler: true }, /own autoscaler/],
    ['a pool that is not there', { name: 'other' }, /no agent pool general/],
  ])('refuses %s', async (_, pool, reason) => {
    const of = await begin(pool);
    const { code, report } = await experiment(of);
    expect(report.refused).toMatch(reason);
    expect([code, report.requests.writes]).toEqual([1, 0]);
    expect(writesOf(of)).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ['a stopped pool', { powerState: { code: 'Stopped' } }, /is stopped/],
    ['a pool in an operation', { provisioningState: 'Upgrading' }, /operation of AKS.*Upgrading/],
    ['a pool without an entity tag', { eTag: undefined }, /no entity tag/],
    ['a pool whose count is not its size', { count: 1 }, /AKS counts 1 nodes and the scale set has 2/],
  ])('refuses %s', async (_, change, reason) => {
    const of = await begin();
    const properties = {
      type: 'VirtualMachineScaleSets',
      count: 2,
      provisioningState: 'Succeeded',
      eTag: 'a-tag',
      mode: 'User',
      ...change,
    };
    const body = JSON.parse(JSON.stringify({ name: 'general', properties })) as Record<string, string>;
    of.arm.control.addFault({
      id: 'pool',
      match: { method: 'GET', pathGlob: '**/agentPools/general' },
      effect: { kind: 'answer', status: 200, body },
    });
    const { code, report } = await experiment(of);
    expect(report.refused).toMatch(reason);
    expect(code).toBe(1);
    expect(writesOf(of)).toEqual([]);
  });

  it.each<[string, Fault]>([
    [
      'a read fails while the node comes',
      {
        id: 'f',
        match: { method: 'GET', pathGlob: '**/virtualMachines', nth: 5 },
        effect: { kind: 'answer', status: 500, body: { error: { code: 'InternalServerError', message: 'Oops.' } } },
      },
    ],
    [
      'the first deletion is refused',
      {
        id: 'f',
        match: { method: 'POST', pathGlob: '**/delete', times: 1 },
        effect: { kind: 'answer', status: 409, body: { error: { code: 'OperationNotAllowed', message: 'Busy.' } } },
      },
    ],
    [
      'the answer to the deletion is lost',
      { id: 'f', match: { method: 'POST', pathGlob: '**/delete', times: 1 }, effect: { kind: 'reset', afterEffect: true } },
    ],
    [
      'the deletion is lost',
      { id: 'f', match: { method: 'POST', pathGlob: '**/delete', times: 1 }, effect: { kind: 'reset', afterEffect: false } },
    ],
  ])('deletes its node although %s', async (_, fault) => {
    const of = await begin();
    of.arm.control.addFault(fault);
    const { report } = await experiment(of);
    expect(report.removed).toBe(true);
    expect(sizeOf(of)).toBe(2);
  });

  it('deletes nothing and prints the command if the answer to its write was lost', async () => {
    const of = await begin();
    of.arm.control.addFault({
      id: 'lost',
      match: { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*', nth: 1 },
      effect: { kind: 'reset', afterEffect: true },
    });
    const { code, err, out, report } = await experiment(of);
    expect(report).toMatchObject({ ok: false, removed: false, left: expect.stringContaining('no usable response') as unknown });
    expect(code).toBe(1);
    expect(err).toMatch(/az vmss delete-instances -g \S+ -n \S+ --instance-ids \d+\n/);
    expect(out).not.toContain('vmss delete-instances');
    expect(removalsOf(of)).toEqual([]);
  });

  it('has nothing to delete if its write never had an effect', async () => {
    const of = await begin();
    of.arm.control.addFault({
      id: 'lost',
      match: { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*', nth: 1 },
      effect: { kind: 'reset', afterEffect: false },
    });
    const { code, report } = await experiment(of);
    expect([code, report.removed, sizeOf(of)]).toEqual([1, true, 2]);
    expect(removalsOf(of)).toEqual([]);
  });

  it('leaves nothing behind if Azure has no stock', async () => {
    const of = await begin({}, { stock: { 'Standard_D4s_v5/0': 0 } });
    const { report } = await experiment(of);
    expect(report.facts.find(({ id }) => id === 'growth-operation')?.seen).toMatch(/end Failed/);
    expect([report.removed, sizeOf(of)]).toEqual([true, 2]);
  });

  it('deletes nothing if another writer adds a node meanwhile', async () => {
    const of = await begin();
    of.arm.control.addFault({
      id: 'other',
      match: { method: 'GET', pathGlob: '**/virtualMachines', nth: 5 },
      effect: { kind: 'racing-writer', delta: 1 },
    });
    const { code, report } = await experiment(of);
    expect(code).toBe(1);
    expect(report.left).toMatch(/2 instances are new|another writer is at work/);
    expect(removalsOf(of)).toEqual([]);
    expect(sizeOf(of)).toBe(4);
  });

  it('stops at a signal, and deletes its node all the same', async () => {
    const of = await begin();
    const listeners: (() => void)[] = [];
    const signals = { on: (_: string, listener: () => void) => listeners.push(listener), off: () => undefined, exit: () => undefined };
    const unsubscribe = of.arm.control.onEntry(({ method, path, status }) => {
      if (method === 'PUT' && path.includes('/virtualMachineScaleSets/') && status === 200) listeners[0]?.();
    });
    const { code, report } = await experiment(of, ['--yes'], signals);
    unsubscribe();
    expect([code, report.failure, report.removed]).toEqual([1, 'stopped by a signal', true]);
    expect(sizeOf(of)).toBe(2);
  });

  it('adds no node to a pool of type VirtualMachines if a wrong tag is taken', async () => {
    const of = await begin({ kind: 'vms-pool' });
    of.arm.control.addFault({
      id: 'tag',
      match: { method: 'PUT', pathGlob: '**/agentPools/general', nth: 1 },
      effect: { kind: 'answer', status: 200, body: {} },
    });
    const { code, report } = await experiment(of);
    expect([code, report.failure, report.removed]).toEqual([1, 'AKS took a wrong entity tag; nothing more is written.', undefined]);
    expect(writesOf(of)).toHaveLength(1);
  });

  it('writes no pool whose size another writer changed', async () => {
    const of = await begin();
    const unsubscribe = of.arm.control.onEntry(({ method, path }) => {
      if (method === 'PUT' && path.endsWith('/agentPools/general')) of.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    });
    const { report } = await experiment(of);
    unsubscribe();
    expect(report.failure).toBe('Another writer changed the size of the pool; nothing more is written.');
    expect(writesOf(of)).toHaveLength(1);
  });

  it('repeats no write of a size that is another one meanwhile', async () => {
    const of = await begin();
    const unsubscribe = of.arm.control.onEntry(({ method, path, status }) => {
      if (method === 'PUT' && path.includes('/virtualMachineScaleSets/') && status === 200)
        of.arm.control.raise({ foreignScale: { pool: 'general', to: 4 } });
    });
    const { report } = await experiment(of);
    unsubscribe();
    expect(report.facts.find(({ id }) => id === 'old-tag')?.seen).toBe('not sent: the size is 4');
    expect(writesOf(of).filter(({ path }) => path.includes('/virtualMachineScaleSets/'))).toHaveLength(1);
    expect([report.removed, sizeOf(of)]).toEqual([false, 4]);
  });

  it('sends its token to no other host that Azure names', async () => {
    const of = await begin();
    of.arm.control.addFault({
      id: 'page',
      match: { method: 'GET', pathGlob: '**/agentPools' },
      effect: { kind: 'answer', status: 200, body: { value: [], nextLink: 'https://elsewhere.example/next' } },
    });
    const { code, err } = await experiment(of);
    expect(code).toBe(1);
    expect(err).toContain('its address is on https://elsewhere.example');
    expect(writesOf(of)).toEqual([]);
  });

  it('needs a name, and --yes needs the experiment', async () => {
    expect((await runCommand(['doctor', '--experiment', '--yes'])).code).toBe(2);
    expect((await runCommand(['doctor', '--yes'])).code).toBe(2);
  });
});

describe('the instance that the experiment made', () => {
  const instance = (key: string) => ({ key, name: key, state: 'Succeeded' });
  const growth: Growth = { from: 2, before: new Set(['a', 'b']), accepted: true, reached: true, disturbed: false };
  const kindOf = (keys: string, size: number, change: Partial<Growth> = {}): string =>
    newInstanceOf({ ...growth, ...change }, keys.split('').map(instance), size).kind;

  it('is the one that was not there before', () => expect([kindOf('abc', 3), kindOf('ab', 3)]).toEqual(['own', 'none']));
  it('is not known if several are new', () => expect(kindOf('abcd', 3)).toBe('unclear'));
  it('is not known if another writer changed the size', () =>
    expect([kindOf('abc', 4), kindOf('abc', 3, { disturbed: true })]).toEqual(['unclear', 'unclear']));
  it('is not known if the size went back and came again', () => {
    const seen: Growth = { ...growth, reached: false };
    for (const size of [2, 3, 2, 3]) noteSize(seen, size);
    expect(newInstanceOf(seen, ['a', 'b', 'c'].map(instance), 3).kind).toBe('unclear');
  });
  it('is not known if Azure did not accept the write', () => expect(kindOf('abc', 3, { accepted: false })).toBe('unclear'));
});

describe('a text of a report', () => {
  it('has no ids, addresses or names, and at most 300 characters', () => {
    const id = '11111111-2222-3333-4444-555555555555';
    const text = `Pool general of shop in /subscriptions/${id}/resourceGroups/rg (${id}), aks-general-123-vmss00000a, see https://x.example/?s=1 now`;
    expect(maskText(text, ['shop'])).toBe('Pool general of <name> in <resource> (<id>), <instance>, see <address> now');
    expect(maskText('x '.repeat(400), []).length).toBeLessThanOrEqual(300);
  });
});

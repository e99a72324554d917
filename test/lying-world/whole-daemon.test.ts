/**
 * Lies that last, against the whole daemon in virtual time. What must hold of each: loops go on and health answers, pods of another pool
 * get their nodes, no running pod is moved, no instance is deleted and no capacity is lowered. When the lie ends, the pool grows again
 * for its pods. `holds` judges what only the guard against this lie gives: other guards would hide its loss.
 */
import { withTexts, type ShownGroup } from '../support/builders.ts';
import { describe, expect, it } from 'vitest';
import { defined } from '../../src/lib/defined.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { FaultEffect } from '../../world/simulator/arm/state/fault-rules.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from '../scenarios/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';

/** The list of scale sets, and each alone. */
const SETS = '**/virtualMachineScaleSets**';
const INSTANCES = '**/virtualMachineScaleSets/aks-lied-*/virtualMachines';
const TEN_YEARS_MS = 315_360_000_000;

const answer = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}): FaultEffect => ({
  kind: 'answer',
  status,
  body: JSON.parse(JSON.stringify(body)) as never,
  headers,
});
const busy = (headers: Readonly<Record<string, string>>): FaultEffect =>
  answer({ error: { code: 'TooManyRequests', message: 'm' } }, 429, headers);

/** What is seen at the end of the lie. */
interface Seen {
  readonly world: VirtualRun;
  readonly lied: ShownGroup;
  readonly good: ShownGroup;
  readonly log: string;
  /** When each answer was given that was a lie, milliseconds since the epoch. */
  readonly liedAtMs: readonly number[];
}

interface Row {
  readonly pathGlob: string;
  /** If absent, it lies each time. */
  readonly times?: number;
  /** Nodes of the pool, each with a pod that fills it. Default: 2. */
  readonly nodes?: number;
  readonly effect: FaultEffect | ((world: VirtualRun) => FaultEffect);
  /** How long it lasts, minutes. */
  readonly minutes: number;
  /** How long it may take afterwards until the pool grows, minutes. Default: 10. */
  readonly recovery?: number;
  /** The pool also grows while the lie lasts. */
  readonly grows?: true;
  readonly holds: (seen: Seen) => void | Promise<void>;
}

const instanceIds = ({ instances }: NodeGroup): readonly string[] | undefined => instances?.map(({ instanceId }) => instanceId);

/** An empty page is legal, and so is its link; these lead from one to the other and back. */
function twoEmptyPages({ world }: VirtualRun): FaultEffect {
  const [set] = world.arm.control.state().sets.filter(({ pool }) => pool === 'lied');
  const { path = '' } = world.arm.control.journal().find((entry) => entry.path.endsWith(`/${set?.name}/virtualMachines`)) ?? {};
  return answer({ value: [], nextLink: `${world.arm.url}${path}?api-version=2024-11-01&$skiptoken=again` });
}

const onPool = (name: string, pool: string, replicas: number, cpu: string) =>
  deployment({ name, replicas, cpu, spec: { nodeSelector: { 'kubernetes.azure.com/agentpool': pool } } });

const ROWS: Readonly<Record<string, Row>> = {
  'every capacity reads as 1e9': {
    pathGlob: SETS,
    effect: { kind: 'capacity-reads-as', value: 1e9, of: 'aks-lied-' },
    minutes: 4,
    holds: ({ lied }) => expect(lied.frozen).toContain('Azure returned the capacity 1000000000 '),
  },
  'every capacity reads as -0.5': {
    pathGlob: SETS,
    effect: { kind: 'capacity-reads-as', value: -0.5, of: 'aks-lied-' },
    minutes: 4,
    holds: ({ lied }) => expect(lied.frozen).toContain('Azure returned the capacity -0.5 '),
  },
  'an empty list of instances is returned once for a full set': {
    pathGlob: INSTANCES,
    effect: { kind: 'empty-list' },
    times: 1,
    nodes: 6,
    minutes: 5.5,
    // The list was doubted and read again. Of five or fewer instances it would have been believed.
    holds: ({ lied, log, liedAtMs }) => {
      expect(liedAtMs).toHaveLength(1);
      expect(instanceIds(lied)).toHaveLength(6);
      expect(log).not.toContain('Node has no instance');
    },
  },
  "the pool's instances are none": {
    pathGlob: INSTANCES,
    effect: { kind: 'empty-list' },
    minutes: 25,
    grows: true,
    holds: ({ world, lied }) => {
      expect(lied.target).toMatchObject({ known: true, value: 2 });
      const groups = [...(world.reports.at(-1)?.observation?.cloud.groupOfNode.values() ?? [])];
      expect(groups.filter((id) => id === lied.id)).toHaveLength(2);
    },
  },
  "the pool's instances lead in a circle": {
    pathGlob: INSTANCES,
    effect: { kind: 'endless-pages' },
    minutes: 25,
    // Two pages of each list are read, and lists that fail are repeated less and less often.
    holds: ({ log, lied, liedAtMs }) => {
      expect(log).toContain('returned a page that has only items of earlier pages');
      expect(instanceIds(lied)).toEqual(['0', '1']);
      expect(liedAtMs.length).toBeLessThanOrEqual(20);
    },
  },
  "the pool's instances are empty pages that lead in a circle": {
    pathGlob: INSTANCES,
    effect: twoEmptyPages,
    minutes: 12,
    holds: ({ log, lied, liedAtMs }) => {
      expect(log).toContain('returned a link to a page that was already read');
      expect(instanceIds(lied)).toEqual(['0', '1']);
      expect(liedAtMs.length).toBeLessThanOrEqual(20);
    },
  },
  "the pool's instances lack ids and views": {
    pathGlob: INSTANCES,
    effect: { kind: 'bare-items' },
    minutes: 25,
    grows: true,
    // The rest of the list is used.
    holds: ({ log, lied }) => {
      expect(log).toContain('or without a valid id; they are skipped');
      expect(instanceIds(lied)).toEqual(['1']);
    },
  },
  'every list is as it was before the pools grew': {
    pathGlob: '**/virtualMachineScaleSets',
    effect: { kind: 'stale-list' },
    minutes: 4,
    // By now the list is believed, but no write is made from it.
    holds: async ({ world, good }) => {
      expect(good.target).toMatchObject({ known: true, value: 2 });
      world.world.cluster.apply(onPool('again', 'good', 1, '2500m'));
      await world.until('the other pool grew once more', () => bound(world, 'again') === 1, 10 * MINUTE);
      expect(capacity(world, 'good')).toBe(5);
    },
  },
  'agent pools are HTML': {
    pathGlob: '**/agentPools',
    effect: { kind: 'answer', status: 200, body: '<html>' },
    minutes: 4,
    holds: ({ log, lied }) => {
      expect(log).toContain('Azure returned something else than a list of agent pools');
      expect(lied.agentPool).toMatchObject({ name: 'lied', count: 2 });
    },
  },
  'agent pools are null, numbers and nested wrongly': {
    pathGlob: '**/agentPools',
    effect: answer({
      value: [
        null,
        5,
        'x',
        { name: 7 },
        { name: 'lied', properties: { count: '1e9', nodeTaints: 5, nodeLabels: 'x', availabilityZones: 3 } },
        { name: 'good', properties: { count: 3, nodeLabels: { tier: 'read' }, provisioningState: 'Succeeded' } },
      ],
    }),
    minutes: 4,
    holds: ({ lied, good }) => {
      expect(lied.frozen).toBe('its agent pool is in state Unreadable');
      expect(good).toMatchObject({ frozen: undefined, agentPool: { name: 'good', count: 3, labels: { tier: 'read' } } });
    },
  },
  'usages are negative': {
    pathGlob: '**/usages',
    effect: answer({
      value: [
        { name: { value: 'cores' }, currentValue: -5, limit: 1e308 },
        { name: { value: 'standardDSv5Family' }, currentValue: 28, limit: 400 },
      ],
    }),
    minutes: 6,
    holds: ({ world }) => {
      const quotas = world.reports.at(-1)?.observation?.cloud.quotas;
      expect(quotas).toMatchObject([{ name: 'standarddsv5family', used: 28, limit: 400 }]);
    },
  },
  'every read says Retry-After of a year': {
    pathGlob: INSTANCES,
    effect: busy({ 'retry-after': '31536000' }),
    minutes: 4,
    // The next list is read in an hour, not in a year.
    holds: async ({ world, liedAtMs }) => {
      const shown = (await (await fetch(`${world.daemon.url ?? ''}/debug/agents`)).json()) as readonly {
        id: string;
        heldUntilMs?: number;
      }[];
      const { heldUntilMs = 0 } = shown.find(({ id }) => id.startsWith('instances/aks-lied-')) ?? {};
      expect(liedAtMs.map((atMs) => Math.round((heldUntilMs - atMs) / MINUTE))).toEqual([60]);
    },
  },
  'every Date is ten years old, and Retry-After by it': {
    pathGlob: INSTANCES,
    effect: ({ clock }) => {
      const oldMs = clock.now() - TEN_YEARS_MS;
      return busy({ date: new Date(oldMs).toUTCString(), 'retry-after': new Date(oldMs + 200 * SECOND).toUTCString() });
    },
    minutes: 12,
    // By any other clock these are ten years ago.
    holds: ({ liedAtMs: [first = 0, second = 0] }) => {
      expect(second - first).toBeGreaterThanOrEqual(200 * SECOND);
      expect(second - first).toBeLessThanOrEqual(6 * MINUTE);
    },
  },
};

function groupOf(world: VirtualRun, pool: string): ShownGroup {
  const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes(`-${pool}-`));
  if (group === undefined) throw new Error(`the pool ${pool} is not a node group`);
  return withTexts(group);
}

describe('the whole daemon', () => {
  it.each(Object.entries(ROWS))('while %s', async (_name, row) => {
    const { pathGlob, times, effect, minutes, nodes = 2, recovery = 10, grows, holds } = row;
    const pools = [aPool({ name: 'good', count: 2, max: 5 }), aPool({ name: 'lied', count: nodes })];
    const lines: string[] = [];
    const flags = ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=30s', '--scan-interval=30s'];
    const world = await startedWorld({ spec: worldOf(pools), flags, onLog: (line) => void lines.push(line), reportsKept: 5 });
    const { cluster, arm } = world.world;
    cluster.apply(onPool('kept', 'lied', nodes, '2500m'));
    await world.until('the pods of the pool run', () => bound(world, 'kept') === nodes, 2 * MINUTE);
    const uids = (): readonly unknown[] =>
      cluster.store
        .boundPods()
        .filter(({ metadata }) => metadata.labels?.['app'] === 'kept')
        .map(({ metadata }) => metadata.uid)
        .sort();
    const before = uids();
    const liedAtMs: number[] = [];
    arm.control.onEntry(({ faultId, at }) => (faultId === 'lie' ? liedAtMs.push(at) : undefined));
    const lie = typeof effect === 'function' ? effect(world) : effect;
    arm.control.addFault({ id: 'lie', match: { method: 'GET', pathGlob, ...defined({ times }) }, effect: lie });
    cluster.apply(onPool('more', 'good', 4, '2500m'));
    await world.until('the other pool grew', () => bound(world, 'more') === 4, 10 * MINUTE);
    await world.advance(minutes * MINUTE);
    expect((await fetch(`${world.daemon.url ?? ''}/healthz`)).status).toBe(200);
    expect(world.reports.slice(-3).map(({ outcome }) => outcome)).not.toContain('failed');
    expect(uids()).toEqual(before);
    expect(capacity(world, 'lied')).toBe(nodes);
    await holds({ world, lied: groupOf(world, 'lied'), good: groupOf(world, 'good'), log: lines.join('\n'), liedAtMs });
    if (grows === true) {
      cluster.apply(onPool('during', 'lied', 1, '2500m'));
      await world.until('the pool grew during the lie', () => bound(world, 'during') === 1, 10 * MINUTE);
      await world.advance(5 * MINUTE);
      expect(capacity(world, 'lied')).toBe(nodes + 1);
    }
    arm.control.removeFault('lie');
    cluster.apply(onPool('later', 'lied', 1, '2500m'));
    await world.until('the pool grew after the lie', () => bound(world, 'later') === 1, recovery * MINUTE);
    expect(capacity(world, 'lied')).toBe(nodes + (grows === true ? 2 : 1));
    expect(uids()).toEqual(before);
    expect(world.writes().filter(({ route }) => /delete/i.test(route))).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});

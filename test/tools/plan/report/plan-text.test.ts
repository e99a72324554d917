/** What a person reads of a plan: the answer first, then tables that fit on a screen and lose no pod. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCommand, type CommandWorld } from '../../../support/run-command.ts';
import { listOf, nodeJson, podJson } from '../support.ts';

type Json = Readonly<Record<string, unknown>>;

const ask = (cluster: string, pools: unknown, argv: readonly string[] = [], world: CommandWorld = {}) =>
  runCommand(['plan', '--cluster=c', '--pools=p', ...argv], { ...world, files: { c: cluster, p: JSON.stringify(pools), ...world.files } });

const owned = (name: string, namespace: string, owner: string) => ({
  metadata: {
    namespace,
    name,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${owner}-6d4cf56db6`, uid: owner, controller: true }],
  },
});
const pool = (name: string, more: Json = {}) => ({ name, vmSize: 'Standard_D4s_v5', min: 0, max: 20, price: 0.2, ...more });
const seen = (node: Json): Json => ({
  ...node,
  status: { ...(node['status'] as Json), conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-22T03:14:20Z' }] },
});

const SMALL = listOf(
  seen(nodeJson('n-0', 'general')),
  nodeJson('n-1', 'general'),
  nodeJson('n-2', 'spare'),
  podJson('a', '3500m', { on: 'n-0' }),
  podJson('b', '3500m', { on: 'n-1' }),
  podJson('c', '500m', { on: 'n-2', metadata: { labels: {} } }),
  podJson('d', '3', { on: 'n-3' }),
  nodeJson('n-3', 'spare'),
  ...['w-0', 'w-1', 'w-2'].map((name) =>
    podJson(name, '3', { ...owned(name, 'checkout', 'web'), spec: { nodeSelector: { kind: 'work' } } }),
  ),
  podJson('big', '9', { metadata: { ownerReferences: [] } }),
  podJson('fits', '300m', { metadata: { ownerReferences: [] } }),
);
const SMALL_POOLS = [
  pool('general', { labels: { kind: 'work' } }),
  pool('nvme', { vmSize: 'Standard_D8s_v5', price: 0.5, labels: { kind: 'work' } }),
  pool('spare', { max: 2 }),
];

describe('a small cluster', () => {
  it('is one screen', async () => {
    expect(await ask(SMALL, SMALL_POOLS)).toEqual({
      code: 0,
      err: '',
      out: `+3 nodes in 1 pool, 1 pod fits on present or upcoming nodes, 1 pod stays pending, then 1 node
removed; costs 0.40/h more.
As of 2026-11-22 03:14:20 UTC, the newest time in the file. It has no PodDisruptionBudgets: no
removal is promised.

INCREASE   NODES  PODS  SCORE  PER HOUR  FOR
general   2 -> 5     3   1.90     +0.60  checkout/web 3
Chosen by price; its score is the price for the work, the lowest wins. Lost: nvme 3.13.

FITS ON         PODS  FOR
1 present node     1  default/fits 1

PENDING      PODS  WHY                                                FIX THAT WORKS
default/big     1  general: needs 9 CPU, the node offers 4; 2 oth...  lower the CPU request from 9
                                                                      to 7.82

POOLS WITHOUT INCREASE    NODES  WHY
spare                    2 of 2  at the maximum
nvme                    0 of 20  not chosen by price,least-waste

REMOVE  POOL   WHY             PODS TO MOVE  PER HOUR
n-2     spare  requested 13 %             1     -0.20
An increase and a removal exclude each other in one loop: removals follow 10 min later.

UNREMOVABLE       NODES  CORES   GIB  PER HOUR  FOR EXAMPLE
NotUnderutilized      3   12.0  48.0      0.60  n-0

Note: The file contains no ReplicaSet; owners of pods on the nodes to remove are assumed to exist.
`,
    });
  });
});

/** The nodes of the example: what fits on them, and where. */
function exampleNode(name: string, pool: string, zone: number, labels: Json = {}): Json {
  const location = { 'topology.kubernetes.io/region': 'westeurope', 'topology.kubernetes.io/zone': `westeurope-${zone}` };
  return seen(nodeJson(name, pool, { labels: { ...location, ...labels }, allocatable: { cpu: '3860m', memory: '13Gi' } }));
}

it('the example of the documentation is a real run', async () => {
  const many = (count: number, namespace: string, cpu: string, part: { readonly nodes?: readonly string[]; readonly spec?: Json }) =>
    Array.from({ length: count }, (_, at) => {
      const on = part.nodes?.[at];
      return podJson(`${namespace}-${at}`, cpu, {
        ...owned(`${namespace}-${at}`, namespace, 'web'),
        ...(on === undefined ? {} : { on }),
        spec: part.spec ?? {},
      });
    });
  const general = [0, 1, 2, 3].map((at) => `aks-general-31774203-vmss00000${at}`);
  const memory = [0, 1, 2].map((at) => `aks-mem-31774204-vmss00000${at}`);
  const cluster = listOf(
    ...general.map((name, at) => exampleNode(name, 'general', 1 + (at % 3))),
    ...memory.map((name) => exampleNode(name, 'mem', 1, { class: 'memory' })),
    ...many(3, 'payments', '3', { nodes: general }),
    podJson('cache-0', '500m', { ...owned('cache-0', 'payments', 'cache'), on: general[3] ?? '' }),
    ...many(3, 'db', '3500m', { nodes: memory }),
    ...many(14, 'checkout', '900m', {}),
    ...Array.from({ length: 5 }, (_, at) =>
      podJson(`nb-${at}`, '2', { ...owned(`nb-${at}`, 'analytics', 'notebook'), spec: { nodeSelector: { class: 'memory' } } }),
    ),
  );
  const pools = [
    { name: 'general', vmSize: 'Standard_D4s_v5', min: 1, max: 20, price: 0.23 },
    { name: 'large', vmSize: 'Standard_D16s_v5', min: 0, max: 10, price: 0.92 },
    { name: 'mem', vmSize: 'Standard_E4s_v5', min: 0, max: 3, price: 0.3, labels: { class: 'memory' } },
  ];
  const { out } = await ask(cluster, pools);
  expect(readFileSync('world/docs/on-a-laptop.md', 'utf8')).toContain(`\n\`\`\`\n${out}\`\`\`\n`);
});

const TABLES = ['INCREASE', 'FITS ON', 'PENDING'];

/** The sum of the column PODS of the tables of pods. */
function podsIn(out: string): number {
  const tables = out.split('\n\n').filter((section) => TABLES.some((head) => section.startsWith(head)));
  const cells = tables.flatMap((section) => {
    const [head = '', ...rows] = section.split('\n');
    const end = head.indexOf('PODS') + 'PODS'.length;
    return rows.map((row) => / {2}([\d ]+)$/.exec(row.slice(0, end))?.[1]?.replaceAll(' ', '') ?? '');
  });
  return cells.reduce((sum, cell) => sum + Number(cell), 0);
}

const COUNTS = z.object({
  summary: z.object({
    text: z.string(),
    podsHelped: z.number(),
    podsFitting: z.number(),
    podsPending: z.number(),
    podsIgnored: z.number(),
  }),
});

describe('pods', () => {
  it('are all named or counted, whatever the cluster', async () => {
    const aPod = fc.record({
      cpu: fc.constantFrom('100m', '1', '3', '6', '12', '70'),
      owner: fc.constantFrom('web', 'api', 'job', 'x', 'y', 'z', 'u', 'v', 'w', 'alone'),
      team: fc.constantFrom('', 'a', 'b', 'none'),
      isGated: fc.boolean(),
    });
    const aPool = fc.record({ max: fc.nat(4), targetSize: fc.nat(2), team: fc.constantFrom('a', 'b'), size: fc.constantFrom('4', '8') });
    await fc.assert(
      fc.asyncProperty(
        fc.array(aPod, { maxLength: 60 }),
        fc.array(aPool, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (pods, pools, all) => {
          const objects = pods.map(({ cpu, owner, team, isGated }, at) =>
            podJson(`p-${at}`, cpu, {
              ...(owner === 'alone' ? { metadata: { ownerReferences: [] } } : owned(`p-${at}`, 'default', owner)),
              spec: { ...(team === '' ? {} : { nodeSelector: { team } }), ...(isGated ? { schedulingGates: [{ name: 'g' }] } : {}) },
            }),
          );
          const specs = pools.map(({ max, targetSize, team, size }, at) =>
            pool(`p${at}`, { max, targetSize, labels: { team }, vmSize: `Standard_D${size}s_v5`, zones: [`${1 + (at % 3)}`] }),
          );
          const cluster = listOf(nodeJson('n-0', 'p0'), ...objects);
          const { out } = await ask(cluster, specs, all ? ['--all'] : []);
          const { summary } = COUNTS.parse(JSON.parse((await ask(cluster, specs, ['--json'])).out));
          expect(summary.podsHelped + summary.podsFitting + summary.podsPending + summary.podsIgnored).toBe(pods.length);
          expect(podsIn(out)).toBe(pods.length);
          expect(out.replaceAll('\n', ' ').startsWith(summary.text)).toBe(true);
        },
      ),
      { numRuns: 40, seed: 3 },
    );
  });
});

describe('a hundred pools', () => {
  const teams = Array.from({ length: 34 }, (_, at) => `team${String.fromCodePoint(97 + (at % 26))}${at < 26 ? '' : 'x'}`);
  const pools = teams
    .flatMap((team) =>
      [1, 2, 3].map((zone) => pool(`${team}d4z${zone}`, { max: team === 'teamc' ? 1 : 30, labels: { team }, zones: [`${zone}`] })),
    )
    .slice(0, 100);
  const nodes = pools.map(({ name }, at) => nodeJson(`aks-${name}-12345678-vmss00000${at % 10}`, name));
  const busy = nodes.map((node, at) => podJson(`busy-${at}`, '3500m', { on: (node['metadata'] as { readonly name: string }).name }));
  const pending = teams.flatMap((team, at) =>
    Array.from({ length: 3 + at }, (_, index) =>
      podJson(`${team}-${index}`, at % 3 === 1 ? `${5 + at}` : '3', {
        ...owned(`${team}-${index}`, team, 'web'),
        spec: { nodeSelector: { team } },
      }),
    ),
  );
  const cluster = listOf(...nodes, ...busy, ...pending);

  it('fit on a screen of 50 lines and 100 columns, and no pod is lost', async () => {
    const { out, code } = await ask(cluster, pools);
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(50);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(podsIn(out)).toBe(pending.length);
    expect(out).toMatch(/^teamcd4z1\.\.3 +3 of 3 +at the maximum$/m);
    expect(out).toMatch(/ others .*names: --all/);
  });

  it('--all names every pool and pod class, and cuts nothing', async () => {
    const { out } = await ask(cluster, pools, ['--all']);
    expect(out).not.toMatch(/\.\.\.|names: --all/);
    for (const team of teams) expect(out).toContain(`${team}/web`);
    expect(podsIn(out)).toBe(pending.length);
  });

  it('pools that exist once per zone share the row of their increase, when pods are spread over them', async () => {
    const { out } = await ask(
      listOf(...Array.from({ length: 9 }, (_, at) => podJson(`w-${at}`, '3'))),
      [1, 2, 3].map((zone) => pool(`webd4z${zone}`, { zones: [`westeurope-${zone}`] })),
      ['--config=f'],
      {
        files: { f: 'scaleUp: {balanceSimilarGroups: true}' },
      },
    );
    expect(out).toMatch(/^webd4z1\.\.3 +0 -> 9 +9 .*default\/web 9$/m);
  });
});

describe('what the plan assumes', () => {
  const pods = listOf(podJson('w', '1'));
  const mounting = (name: string, claim: object) => podJson(name, '1', { spec: { volumes: [{ name: 'v', ...claim }] } });
  const term = { topologyKey: 'zone', namespaceSelector: { matchLabels: { a: 'b' } } };
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  const daemon = podJson('d', '100m', {
    on: 'n-0',
    metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }] },
  });
  it.each<[string, string, readonly string[], string]>([
    [
      'the newest time in the file',
      listOf(podJson('w', '1'), seen(nodeJson('n', 'a'))),
      [],
      'As of 2026-11-22 03:14:20 UTC, the newest time in the file.',
    ],
    ['a time of the user', pods, ['--now=2026-11-21T10:00:00Z'], 'As of 2026-11-21 10:00:00 UTC, as given with --now.'],
    [
      'no time at all',
      listOf({ kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [] } }),
      [],
      'As of an unknown time: the newest time in the file has none.',
    ],
    ['nodes are missing', listOf(podJson('w', '1', { on: 'n-0' })), [], 'It has no Nodes: 1 pod on nodes is not counted.'],
    ['budgets are missing', SMALL, [], 'It has no PodDisruptionBudgets: no removal is promised.'],
    [
      'claims are missing',
      listOf(mounting('w', { persistentVolumeClaim: { claimName: 'c' } })),
      [],
      'It has no PersistentVolumeClaims: 1 pod with claims cannot be placed.',
    ],
    [
      'namespaces are missing',
      listOf(podJson('w', '1', { spec: { affinity } })),
      [],
      'It has no Namespaces: rules of 1 pod that select namespaces by label match none.',
    ],
    [
      'priority classes are missing',
      listOf(podJson('w', '1', { spec: { priorityClassName: 'high' } })),
      [],
      'It has no PriorityClasses: 1 pod that names one count as priority 0.',
    ],
    [
      'DaemonSets are missing',
      listOf(nodeJson('n-0', 'general'), daemon),
      [],
      'It has no DaemonSets: new nodes run the DaemonSet pods of a present node of their pool.',
    ],
  ])('%s', async (_, cluster, argv, sentence) => {
    const { out, err } = await ask(cluster, SMALL_POOLS, argv);
    expect(err).toBe('');
    expect(out.replaceAll('\n', ' ')).toContain(sentence);
  });

  it('nothing is said about kinds that do not matter, or that the file has', async () => {
    const budget = { kind: 'PodDisruptionBudget', metadata: { name: 'b', namespace: 'default' }, spec: {} };
    const { items } = JSON.parse(SMALL) as { readonly items: readonly Json[] };
    expect((await ask(listOf(...items, budget), SMALL_POOLS)).out).not.toContain('It has no');
    expect((await ask(pods, SMALL_POOLS)).out).not.toContain('It has no');
  });
});

describe('the terminal', () => {
  const world = { columns: 140, env: {} };
  it('gives tables its width, and colours to the answer, limits, and fixes', async () => {
    const { out } = await ask(SMALL, SMALL_POOLS, [], world);
    const [first = ''] = out.split('\n');
    expect(first.startsWith('\u001B[1m+3 nodes in 1 pool')).toBe(true);
    expect(first.length).toBeGreaterThan(100);
    expect(out).toContain('\u001B[32mlower the CPU request');
    expect(out).toContain('\u001B[31mgeneral: needs 9 CPU');
  });

  it.each<[string, CommandWorld]>([
    ['NO_COLOR is set', { ...world, env: { NO_COLOR: '1' } }],
    ['the terminal has none', { ...world, env: { TERM: 'dumb' } }],
    ['the output is a pipe', {}],
  ])('no colours if %s', async (_, world) => {
    expect((await ask(SMALL, SMALL_POOLS, [], world)).out).not.toContain('\u001B');
  });

  it('an empty NO_COLOR changes nothing', async () => {
    expect((await ask(SMALL, SMALL_POOLS, [], { ...world, env: { NO_COLOR: '' } })).out).toContain('\u001B[1m');
  });

  it('a narrow terminal cuts reasons, and never a number, a pool or a pod', async () => {
    const { out } = await ask(SMALL, SMALL_POOLS, [], { columns: 70, env: { NO_COLOR: '1' } });
    expect(out).toMatch(/^default\/big +1 +general: needs 9 CPU\S*/m);
  });
});

describe('--fail-on-pending', () => {
  it.each<[string, string, number]>([
    ['pods stay pending', SMALL, 1],
    ['every pod gets a node', listOf(podJson('w', '1')), 0],
    ['no pod is pending', listOf(nodeJson('n', 'general')), 0],
  ])('%s', async (_, cluster, code) => {
    expect((await ask(cluster, SMALL_POOLS, ['--fail-on-pending'])).code).toBe(code);
    expect((await ask(cluster, SMALL_POOLS, ['--fail-on-pending', '--json'])).code).toBe(code);
    expect((await ask(cluster, SMALL_POOLS)).code).toBe(0);
  });
});

it('increases and removals that exclude each other are said to, with the configured delay', async () => {
  const said = async (config: string) =>
    (await ask(SMALL, SMALL_POOLS, ['--config=f'], { files: { f: config } })).out.replaceAll('\n', ' ');
  const sentence = 'An increase and a removal exclude each other in one loop: removals follow';
  expect(await said('{}')).toContain(`${sentence} 10 min later.`);
  expect(await said('scaleDown: {delayAfterAdd: 0s}')).toContain(`${sentence} in the next loop.`);
  expect(await said('scaleDown: {delaysPerGroup: true}')).toContain(`${sentence} in the next loop, and 10 min later in pools that grow.`);
});

it('reads the standard input, and compressed files', async () => {
  const { gzipSync } = await import('node:zlib');
  const argv = ['plan', '--cluster=-', '--pools=p'];
  const files = { p: JSON.stringify(SMALL_POOLS) };
  const plain = await runCommand(argv, { files, bytes: { '-': Buffer.from(SMALL) } });
  expect(plain.out).toBe((await ask(SMALL, SMALL_POOLS)).out);
  expect(await runCommand(argv, { files, bytes: { '-': gzipSync(SMALL) } })).toEqual(plain);
});

describe('what a person should know before', () => {
  const bare = (name: string) => podJson(name, '500m', { on: 'n-0', metadata: { name, namespace: 'shop', ownerReferences: [] } });
  const room = seen(nodeJson('r-0', 'room'));
  const pools = [pool('general'), pool('room', { min: 1 })];

  it('stands below the fixes, with the place of each step', async () => {
    const { out } = await ask(listOf(seen(nodeJson('n-0', 'general')), room, bare('pet')), pools);
    expect(out).toContain(
      'Before you run pod shop/pet as a Deployment, StatefulSet or Job:\n- pod shop/pet, once the other runs: what the pod holds in memory and on its node is lost.\n',
    );
  });

  it('is in --json with the command that it is about', async () => {
    const { out } = await ask(listOf(seen(nodeJson('n-0', 'general')), room, bare('pet')), pools, ['--json']);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      '"command": "kubectl -n shop delete pod pet", "warning": "what the pod holds in memory and on its node is lost"',
    );
  });

  it('a name cannot command the terminal', async () => {
    const { out } = await ask(listOf(seen(nodeJson('n-0', 'general')), room, bare('pet\u001B]0;title\u0007')), pools);
    expect(out).toContain('shop/pet\\u001b]0;title\\u0007');
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});

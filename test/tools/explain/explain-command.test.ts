/** `explain` on files and dumps, as a person reads it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { NOTHING_DECIDED, type LoopRecord } from '../../../src/domain/ports/records.ts';
import { dumpRecord } from '../../../src/loop/replay/dump.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { aCluster, aGroup, aNode, anInstance, anObservation, aPod, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { runCommand } from '../../support/run-command.ts';
import { listOf, nodeJson, podJson } from '../plan/support.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HistoryFiles } from '../../../src/cli/journal/history-files.ts';
import { History } from '../../../src/observers/history/history.ts';
import { aRecord, aReport } from '../../observers/history/support.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { aBackoff, anAcceptedIncrease, aState } from '../../support/state.ts';

const POOLS = `
- {name: gpua100, vmSize: Standard_D4s_v5, min: 0, max: 1, price: 2.5}
- {name: small, vmSize: Standard_D2s_v5, min: 0, max: 5, price: 0.1, taints: ['team=data:NoSchedule']}
- {name: tiny, vmSize: Standard_D2s_v5, min: 0, max: 5, price: 0.1, taints: ['team=data:NoSchedule']}
`;
const busy = [nodeJson('g-0', 'gpua100'), podJson('vit', '3', { on: 'g-0' })];
const training = ['t-0', 't-1', 't-2'].map((name) =>
  podJson(name, '3', { metadata: { ownerReferences: [{ kind: 'Job', name: 'train', uid: 'j', controller: true }] } }),
);
const FILES = { 'c.json': listOf(...busy, ...training), 'p.yaml': POOLS };
const SOURCE = ['--cluster', 'c.json', '--pools', 'p.yaml', '--now', '2026-11-21T08:24:00Z'];

const explain = (argv: readonly string[], files: Readonly<Record<string, string>> = FILES) => runCommand(['explain', ...argv], { files });

describe('explain on files', () => {
  it('pod: the answer, the fix with its proof, every pool, the source', async () => {
    expect(await explain(['pod', 'default/t-0', ...SOURCE])).toEqual({
      code: 0,
      err: '',
      out: `Without the daemon's memory: back-offs and idle timers are unknown.
Pending for 24 min: gpua100 fits and is at its maximum (1 of 1 nodes).
Fix that works: raise the maximum of gpua100 from 1 to 4. Places 3 of 3 pods with 3 more nodes,
+7.50 per hour.
  In the place that sets the maximum: nodeGroups of the configuration, --nodes, or the tag max

POOL         FITS  OBSTACLES
gpua100      yes   at its maximum (1 of 1 nodes)
small, tiny  no    taint team=data:NoSchedule is not tolerated; needs 3 CPU, the node offers 1.9

Unschedulable  08:00:00, 24 min ago, with 2 equal pods of Job default/train
From c.json, as of 2026-11-21 08:24:00 UTC.
`,
    });
  });

  it('colours the answer, the fix and the source on a terminal, and cuts names so that their end stays', async () => {
    const long = { 'c.json': FILES['c.json'], 'p.yaml': POOLS.replaceAll('tiny', `${'a'.repeat(40)}vmss00000c`) };
    const onTerminal = (columns: number, ...argv: readonly string[]) =>
      runCommand(['explain', 'pod', 'default/t-0', ...SOURCE, ...argv], { files: long, columns });
    const { out } = await onTerminal(60);
    expect(out).toContain(
      '\u001B[1mPending for 24 min: gpua100 fits and is at its maximum (1 of\u001B[22m\n\u001B[1m1 nodes).\u001B[22m\n',
    );
    expect(out).toContain('\u001B[32mFix that works:\u001B[39m raise the maximum');
    expect(out).toContain('\u001B[2mFrom c.json, as of 2026-11-21 08:24:00 UTC.\u001B[22m\n');
    expect(out).toMatch(/\na+\.\.\.ss00000c and 1 other {2}no /);
    const plain = out.split('\u001B[').map((part) => part.replace(/^\d+m/, ''));
    const widths = plain
      .join('')
      .split('\n')
      .map(({ length }) => length);
    expect(Math.max(...widths.slice(0, 4))).toBeLessThanOrEqual(60);
    expect((await onTerminal(60, '--color=never')).out).not.toContain('\u001B');
    expect((await onTerminal(60, '--all')).out).toContain('a'.repeat(40));
    expect((await explain(['pod', 'default/t-0', ...SOURCE, '--color=always'])).out).toContain('\u001B[1m');
  });

  it('a name without a namespace is in the default one', async () => {
    expect((await explain(['pod', 't-0', ...SOURCE])).out).toContain('gpua100 fits');
  });

  it('node: what blocks it, how much is requested, and when it is checked next', async () => {
    const { code, out } = await explain(['node', 'g-0', ...SOURCE]);
    expect(code).toBe(0);
    expect(out).toContain('Not removed: utilization 75 %, above the threshold of 50 % (NotUnderutilized).\n');
    expect(out).toContain('Pool        gpua100, Standard_D4s_v5, 2.50 per hour\n');
    expect(out).toContain('Requested   75 % of CPU, 6 % of memory; 75 % decides; a candidate below 50 %\n');
  });

  it('pool: limits, counts, and why it cannot grow', async () => {
    const { code, out } = await explain(['pool', 'GPUA100', ...SOURCE]);
    expect(code).toBe(0);
    expect(out).toContain('\nCannot grow: at its maximum (1 of 1 nodes).\n');
    expect(out).toContain('min 0  ready 1  not ready 0  upcoming 0  target 1  max 1\n');
    expect(out).toContain('Counts        agree: Azure 1, AKS unknown, nodes 1\n');
    expect(out).toContain('Pending pods  0 get a node of it, 3 would fit but it cannot grow\n');
  });

  it('decision: which option lost, and by which rule', async () => {
    const pools = '- {name: wide, vmSize: Standard_D16s_v5, min: 0, max: 5}\n- {name: fit, vmSize: Standard_D4s_v5, min: 0, max: 5}\n';
    const { out } = await explain(['decision', ...SOURCE], { 'c.json': listOf(podJson('web', '3')), 'p.yaml': pools });
    expect(out).toMatch(/Plan: fit 0 -> 1 \(1 pod\); nothing removed\./);
    expect(out).toMatch(/fit +1 +1 +0\.\d+ +chosen/);
    expect(out).toMatch(/wide +1 +1 +0\.\d+ +lost on least-waste/);
  });

  it('pod: the nearest pool of the answer is the one that the fix makes grow', async () => {
    const pools =
      "- {name: a, vmSize: Standard_D2s_v5, min: 0, max: 5}\n- {name: b, vmSize: Standard_D8s_v5, min: 0, max: 5, taints: ['x=y:NoSchedule']}\n";
    const { out } = await explain(['pod', 'default/web', ...SOURCE], { 'c.json': listOf(podJson('web', '6')), 'p.yaml': pools });
    expect(out).toContain(
      ': none of 2 pools fits, nearest b: taint x=y:NoSchedule is not tolerated.\nFix that works: tolerate the taint x=y:NoSchedule.',
    );
  });

  it('--json has the same sentence and the numbers beside it', async () => {
    const { out } = await explain(['pod', 'default/t-0', '--json', ...SOURCE]);
    expect(JSON.parse(out)).toMatchObject({
      kind: 'pod',
      verdict: 'blocked-by-max',
      sentence: 'Pending for 24 min: gpua100 fits and is at its maximum (1 of 1 nodes).',
      equalPods: 2,
      advice: {
        fix: { changes: [{ kind: 'raise-maximum', group: 'gpua100', from: 1, to: 4 }], proof: { pods: 3, of: 3, nodes: 3, perHour: 7.5 } },
      },
      pools: [
        { pools: ['gpua100'], fits: true },
        { pools: ['small', 'tiny'], fits: false },
      ],
    });
  });

  it.each<[string, readonly string[], string]>([
    ['a pod', ['pod', 'default/t-9'], 'pod default/t-9 not found; did you mean default/t-0?\n'],
    ['a node', ['node', 'elsewhere'], 'node elsewhere not found\n'],
    ['a pool', ['pool', 'smal'], 'pool smal not found; did you mean small?\n'],
  ])('says with code 3 that there is no such thing: %s', async (_what, argv, err) => {
    expect(await explain([...argv, ...SOURCE])).toEqual({ code: 3, out: '', err });
  });

  it.each<[string, readonly string[], RegExp]>([
    ['no subject', [], /explain needs one of pod, node, pool, decision/],
    ['no name', ['pod', ...SOURCE], /explain pod needs NAMESPACE\/NAME/],
    ['two names', ['node', 'a', 'b', ...SOURCE], /explain node takes one name, not 2/],
    ['half of a source', ['pod', 'a/b', '--cluster', 'c.json'], /--cluster FILE and --pools FILE belong together/],
    ['to watch files', ['pod', 'a/b', ...SOURCE, '--watch'], /--watch asks a running daemon/],
    ['an address that is none', ['pod', 'a/b', '--url', 'ftp://x'], /--url is "ftp:\/\/x"; it must be an address such as/],
    ['a port that is none', ['pod', 'a/b', '--port', 'http'], /--port is "http"; it must be a whole number from 1 to 65535/],
    ['an unknown option', ['pod', 'a/b', '--speed'], /^--speed is not a known flag/],
    ['an unknown option beside files', ['pod', 'a/b', ...SOURCE, '--speed'], /Unknown option '--speed'/],
    ['a word for colours that is none', ['pod', 'a/b', ...SOURCE, '--color=blue'], /--color is "blue"; it must be always, auto, never/],
  ])('refuses %s with one sentence', async (_what, argv, sentence) => {
    const { code, out, err } = await explain(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(sentence);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});

describe('explain on a dump', () => {
  const MINUTE = 60_000;
  const nodes = [aNode({ name: 'n-0' })];
  const groups = [
    aGroup({ id: 'resting', target: 0, vmSize: 'Standard_F16s_v2' }),
    aGroup({
      id: 'n',
      target: 1,
      maxSize: 1,
      instances: undefined,
      template: aTemplate({ cpu: '4', taints: [{ key: 'a', value: '', effect: 'NoSchedule' }] }),
    }),
  ];
  const waiting = aPod({ name: 'web', cpu: '3', unschedulable: { sinceMs: START_MS - 24 * MINUTE, message: '' } });
  const observation = anObservation(groups, aCluster({ nodes, pods: [waiting, aPod({ name: 'old', nodeName: 'n-0', cpu: '3' })] }));
  const backoff = aBackoff({
    untilMs: START_MS + 4 * MINUTE,
    durationMs: 5 * MINUTE,
    lastFailureMs: START_MS - MINUTE,
    cause: 'AllocationFailed',
    message: 'No capacity in zone 2.',
    correlationId: '5f0c2a8e',
  });
  const stockout = {
    scope: { vmSize: 'Standard_F16s_v2', priority: 'Regular' as const },
    code: 'AllocationFailed',
    sinceMs: START_MS - 10 * MINUTE,
    untilMs: START_MS + 4 * MINUTE,
  };
  const state = aState({ backoffs: new Map([[nodeGroupId('resting'), backoff]]), stockouts: [stockout] });
  const policy = aPolicy({ scaleUp: { enforceMinSize: false } });
  const record: LoopRecord = {
    ...NOTHING_DECIDED,
    observation,
    stateBefore: state,
    scaleUp: [planScaleUp({ ...FIRST_PLAN, observation, state, policy, names: resourceNames })],
    scaleDown: undefined,
    policy,
  };
  const files = { 'd.json': dumpRecord(record, resourceNames) };

  it('pod: says what it waits for, until when, and what Azure said', async () => {
    const { code, out, err } = await explain(['pod', 'default/web', '--dump', 'd.json'], files);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`Pending for 24 min: resting fits and backs off until 00:04:00, in 4 min: Azure has had no capacity
for Standard_F16s_v2 since 2026-11-20 23:50:00.
No change is needed: resting is tried again at 00:04:00, in 4 min.

POOL     FITS  OBSTACLES
resting  yes   in backoff after failed scale-up (AllocationFailed)
n        no    taint a:NoSchedule is not tolerated; at its maximum (1 of 1 nodes)

Unschedulable  2026-11-20 23:36:00, 24 min ago, a pod of ReplicaSet default/web
Next try       00:04:00, in 4 min: resting; it backs off 5 min, then 10 min
Azure          AllocationFailed, correlation id 5f0c2a8e: No capacity in zone 2.
From d.json, loop 1 at 2026-11-21 00:00:00 UTC.
`);
  });

  it.each([
    { stopped: 0, expected: undefined },
    {
      stopped: 1,
      expected: '1 instance is deallocated and counts in target and max; Azure bills the disks, and the autoscaler does not start it',
    },
    {
      stopped: 2,
      expected: '2 instances are deallocated and count in target and max; Azure bills the disks, and the autoscaler does not start them',
    },
  ])('pool: $stopped deallocated instances', async ({ stopped, expected }) => {
    const names = ['n-0', 'n-1', 'n-2'];
    const instances = names.map((node, index) => anInstance({ node, state: index < stopped ? 'deallocated' : 'running' }));
    const group = aGroup({ id: 'n', target: 3, instances });
    const observation = anObservation([group], aCluster({ nodes: names.map((name) => aNode({ name })) }));
    const dump = { 'd.json': dumpRecord({ ...record, observation }, resourceNames) };
    const shown = (await explain(['pool', 'n', '--dump', 'd.json'], dump)).out.replaceAll(/\s+/g, ' ');
    expect(/ Stopped (.*?) Counts /.exec(shown)?.[1]).toBe(expected);
    const { stopped: counted } = JSON.parse((await explain(['pool', 'n', '--dump', 'd.json', '--json'], dump)).out) as { stopped?: number };
    expect(counted).toBe(stopped === 0 ? undefined : stopped);
  });

  it('pool: one count that is known agrees with nothing', async () => {
    const real = anObservation(
      [aGroup({ id: 'n', target: { known: false, reason: 'never read' } })],
      aCluster({ nodes: [aNode({ name: 'n-0' })], pods: [waiting] }),
    );
    const dump = { 'd.json': dumpRecord({ ...record, observation: real }, resourceNames) };
    const { out } = await explain(['pool', 'n', '--dump', 'd.json'], dump);
    expect(out).toMatch(/Counts +are not comparable: Azure unknown, AKS unknown, nodes \d\n/);
  });

  it('pool: whether the counts agree, what was requested before, and how the template differs from real nodes', async () => {
    const accepted = new Map([
      [
        nodeGroupId('n'),
        [
          anAcceptedIncrease({
            acceptedAtMs: START_MS - 9 * MINUTE,
            joinedAtMs: START_MS - 5 * MINUTE,
            pods: [{ uids: [waiting.uid] }],
          }),
        ],
      ],
    ]);
    const real = anObservation(
      [aGroup({ id: 'n', target: 3, agentPool: { name: 'n', count: 3 }, template: aTemplate({ cpu: '4', memory: '18Gi' }) })],
      aCluster({ nodes: ['n-0', 'n-1'].map((name) => aNode({ name, cpu: '3900m' })), pods: [waiting] }),
    );
    const changed = { ...record, observation: real, stateBefore: { ...state, increases: accepted, knowsAccepted: true } };
    const dump = { 'd.json': dumpRecord(changed, resourceNames) };
    const pool = (await explain(['pool', 'n', '--dump', 'd.json'], dump)).out;
    expect(pool).toContain(
      'ready 2  not ready 0  upcoming 0  target 3  max 10\nNever joined  1 instance has no node for longer than one may take\n',
    );
    expect(pool).toContain('Counts        differ: Azure 3, AKS 3, nodes 2\n');
    const before =
      '2026-11-20 23:51:00, 9 min ago: n +1, joined since 2026-11-20 23:55:00, 5 min ago; 1\n              of its pods is still pending\n';
    expect(pool).toContain(`Before        ${before}`);
    expect(pool).toMatch(
      /Template +from Azure, no node was seen yet: 4 CPU, 18 GiB memory allocatable\. The smallest real\n +node has 0\.1 CPU less and 2 GiB memory less\n/,
    );
    expect((await explain(['pod', 'default/web', '--dump', 'd.json'], dump)).out).toMatch(
      /Before +2026-11-20 23:51:00, 9 min ago: n \+1, joined since/,
    );
  });

  it('a pod that runs is said to', async () => {
    expect((await explain(['pod', 'default/old', '--dump', 'd.json'], files)).out).toContain('Runs on node n-0.\n');
  });
});

describe('explain on the folder of the history', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'explain-'));
    const written = new HistoryFiles({ directory: dir, clock: new FakeClock(START_MS), log: silentLog() });
    const dumpOf = (): string => `/dumps/${'a-directory-with-a-long-name-'.repeat(4)}/decision-1.json`;
    const history = new History({ startedAtMs: START_MS, policy: () => aPolicy(), write: (entries) => written.append(entries), dumpOf });
    history.observe(aReport({ records: [aRecord([aPod({ name: 'web' })])] }));
    await written.settled();
  });
  afterAll(() => rm(dir, { recursive: true }));

  it.each(['20261121-000000-1', 'last'])('prints the decision %s', async (id) => {
    const { code, out } = await explain(['decision', id, '--history', dir]);
    expect(code).toBe(0);
    expect(out).toMatch(/^a 1 -> 2 for 1 pod of default\/web\.\n\nINCREASE/);
    // A command to copy is never wrapped.
    expect(out).toMatch(/\n {4}aks-autoscaler replay \/dumps\/\S+decision-1\.json\n/);
    const json = (await explain(['decision', id, '--history', dir, '--json'])).out;
    expect(JSON.parse(json)).toMatchObject({
      kind: 'decision',
      id: '20261121-000000-1',
      increases: [{ podCount: 1, outcome: 'accepted' }],
    });
  });

  it('has no other decision, and no pods', async () => {
    expect(await explain(['decision', 'x', '--history', dir])).toEqual({
      code: 3,
      out: '',
      err: `decision x not found in ${dir}; it has 1\n`,
    });
    expect((await explain(['pod', 'a/b', '--history', dir])).err).toContain('--history has decisions only');
  });
});

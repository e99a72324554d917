/** What the page paints first, from whole loops. */
import type { RepackEstimate } from '../../src/domain/repack.ts';
import { describe, expect, it } from 'vitest';
import { overviewOf } from '../../src/api/documents/overview.ts';
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import { matchesPool } from '../../src/api/documents/pools.ts';
import { defined } from '../../src/lib/defined.ts';
import { obstaclesOf } from '../../src/api/documents/pending-classes.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { aGroup, anInstance, aNode, aPod, START_MS } from '../support/builders.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aPolicy } from '../support/policy.ts';
import { documentInput } from './support.ts';

const web = (count: number, cpu: string, name = 'web') =>
  Array.from({ length: count }, (_, at) =>
    aPod({
      name: `${name}-6d9c7-${at}`,
      namespace: 'checkout',
      cpu,
      shape: { namespace: 'checkout', cpu, labels: { 'pod-template-hash': '6d9c7' } },
      controller: { kind: 'ReplicaSet', name: `${name}-6d9c7`, uid: `rs-${name}` },
    }),
  );

const full = () => aGroup({ id: 'full', minSize: 0, maxSize: 1, target: 1, instances: [anInstance({ node: 'f1' })] });
const busy = () => [aNode({ name: 'f1' }), aPod({ name: 'there', cpu: '3500m', nodeName: 'f1' })] as const;

describe('the overview', () => {
  it('is calm without pending pods', async () => {
    const group = aGroup({ id: 'a', target: 1, instances: [anInstance({ node: 'n1' })] });
    const overview = overviewOf(await documentInput({ groups: [group], nodes: [aNode({ name: 'n1' })] }));
    expect(overview).toMatchObject({
      act: { allowed: 'yes', exceptions: [] },
      nodes: { total: 1, ready: 1, unready: 0, upcoming: 0 },
      pending: { total: 0, byNeed: { change: 0, azure: 0, coming: 0, ignored: 0 }, classes: 0 },
      classes: [],
      pools: [{ name: 'a', ready: 1, state: 'at-rest' }],
    });
    expect(overview).not.toHaveProperty('cost');
    expect(overview).not.toHaveProperty('pricesUnreachableSince');
    expect(overview.pending).not.toHaveProperty('oldestNeedingChangeSince');
  });

  it('groups equal pods by their workload, and sorts what needs a change first', async () => {
    const [node, pod] = busy();
    const input = await documentInput({
      groups: [full(), aGroup({ id: 'grows', target: 0, template: undefined })],
      nodes: [node],
      pods: [pod, ...web(3, '3'), ...web(2, '64', 'huge')],
    });
    const { pending, classes } = overviewOf(input);
    expect(classes.map(({ owner, ownerKind, pods, verdict, need, sample }) => ({ owner, ownerKind, pods, verdict, need, sample }))).toEqual(
      [
        { owner: 'web', ownerKind: 'Deployment', pods: 3, verdict: 'blocked-by-max', need: 'change', sample: 'checkout/web-6d9c7-0' },
        { owner: 'huge', ownerKind: 'Deployment', pods: 2, verdict: 'impossible', need: 'change', sample: 'checkout/huge-6d9c7-0' },
      ],
    );
    expect(pending).toMatchObject({
      total: 5,
      byNeed: { change: 5, azure: 0, coming: 0, ignored: 0 },
      byVerdict: { 'blocked-by-max': 3, impossible: 2 },
    });
    expect(Date.parse(pending.oldestNeedingChangeSince ?? '')).toBe(START_MS - 30_000);
  });

  it('says the decisive numbers, and a fix only with what its simulation showed', async () => {
    const [node, pod] = busy();
    const { classes } = overviewOf(
      await documentInput({ groups: [full()], nodes: [node], pods: [pod, ...web(3, '3'), ...web(2, '64', 'huge')] }),
    );
    const [waits, huge] = classes;
    expect(waits).toMatchObject({
      sentence: expect.stringMatching(/^full fits.*at its maximum.*1 of 1 nodes/),
      requests: '3 CPU, 128 MiB memory',
      decisive: { pool: 'full', rule: 'max-size' },
      fix: { proved: true, text: 'raise the maximum of full from 1 to 4', simulated: { pods: 3, of: 3, nodes: 3 } },
    });
    expect(huge?.decisive).toMatchObject({ pool: 'full', rule: 'insufficient-resource', needs: 64_000, resource: 'cpu' });
    for (const { fix } of classes) if (fix?.proved === false) expect(fix).not.toHaveProperty('simulated');
  });

  it('shows at most eight classes of a verdict, and counts the others', async () => {
    const [node, pod] = busy();
    const many = Array.from({ length: 11 }, (_, at) => web(at + 1, `${20 + at}`, `w${at}`)).flat();
    const { classes, pending } = overviewOf(await documentInput({ groups: [full()], nodes: [node], pods: [pod, ...many] }));
    expect(classes.map(({ pods }) => pods)).toEqual([11, 10, 9, 8, 7, 6, 5, 4]);
    expect(pending).toMatchObject({ total: 66, classes: 11, hidden: { impossible: { classes: 3, pods: 6 } } });
  });

  it('says since when a pool backs off and what Azure said, and follows an increase', async () => {
    const input = await documentInput({ groups: [aGroup({ id: 'a', target: 0 })], pods: web(2, '3') });
    expect(overviewOf(input)).toMatchObject({
      pending: { byNeed: { coming: 2 } },
      classes: [{ verdict: 'helped', need: 'coming', pods: 2 }],
      onTheWay: [{ pool: 'a', from: 0, pods: 2 }],
      lastChange: { pool: 'a', from: 0 },
      pools: [{ name: 'a', state: 'increasing' }],
    });
    const failed = await documentInput({
      groups: [aGroup({ id: 'a', target: 0 })],
      pods: web(2, '3'),
      loops: 2,
      prepare: ({ cloud }) => {
        cloud.onIncrease = () => ({
          kind: 'failed',
          group: nodeGroupId('a'),
          error: new AutoscalerError({ kind: 'out-of-capacity', scope: { vmSize: 'standard_d4s_v5' } }, 'No stock, password=hunter2.', {
            code: 'AllocationFailed',
          }),
        });
      },
    });
    const { pools, classes, act } = overviewOf(failed);
    expect(pools[0]?.state).toMatch(/backing-off|out-of-capacity/);
    expect(classes[0]).toMatchObject({ verdict: 'blocked-by-backoff', need: 'azure' });
    expect(Date.parse(classes[0]?.retryAt ?? '')).toBeGreaterThan(START_MS);
    expect(act.exceptions).toMatchObject([{ pool: 'a' }]);
  });

  it.each([
    ['a dry run', { replica: { dryRun: true } }, 'dry-run'],
    ['a leader', { replica: { dryRun: false } }, 'yes'],
  ] as const)('%s is allowed to act: %s', async (_what, { replica }, allowed) => {
    const input = await documentInput({ groups: [aGroup({ id: 'a', target: 0 })] });
    expect(overviewOf({ ...input, replica: { ...input.replica, ...replica } }).act.allowed).toBe(allowed);
  });

  it('says why it may not act', async () => {
    const nodes = Array.from({ length: 10 }, (_, at) =>
      aNode({ name: `n${at}`, readiness: { ready: at < 5, sinceMs: START_MS - 3_500_000, reason: '' } }),
    );
    const group = aGroup({ id: 'a', target: 10, instances: nodes.map(({ name }) => anInstance({ node: name })) });
    expect(overviewOf(await documentInput({ groups: [group], nodes })).act).toMatchObject({
      allowed: 'no',
      because: '5 of 10 nodes are not ready',
    });
  });

  it.each([
    ['no price', {}, undefined],
    ['every price', { standard_d4s_v5: 0.2 }, { perHour: 0.2, upcomingPerHour: 0, discounted: false, unpriced: [] }],
    ['the price of another size', { standard_d8s_v5: 0.4 }, undefined],
  ] as const)('with %s shows no money that is unknown', async (_what, prices, cost) => {
    const group = aGroup({ id: 'a', target: 1, vmSize: 'Standard_D4s_v5', instances: [anInstance({ node: 'n1' })] });
    const overview = overviewOf(
      await documentInput({ groups: [group], nodes: [aNode({ name: 'n1' })], policy: aPolicy({ scaleUp: { prices } }) }),
    );
    expect(overview.cost).toEqual(cost);
  });

  it('counts paid nodes as free, and names those that are idle', async () => {
    const group = aGroup({ id: 'a', target: 1, vmSize: 'Standard_D4s_v5', instances: [anInstance({ node: 'n1' })] });
    const costWith = async (count: number, prices = { standard_d4s_v5: 0.2 }) => {
      const policy = aPolicy({ scaleUp: { prices, paidNodes: [{ size: 'standard_d4s_v5', count }] } });
      const { cost, pools } = overviewOf(await documentInput({ groups: [group], nodes: [aNode({ name: 'n1' })], policy }));
      return { cost, paid: pools[0]?.paid };
    };
    expect(await costWith(3)).toMatchObject({
      cost: { perHour: 0, paid: [{ vmSize: 'standard_d4s_v5', count: 3, running: 1, idle: 2, idlePerHour: 0.4 }] },
      paid: 1,
    });
  });

  it('says since when the price list is not reachable', async () => {
    const listPrices = { table: {}, remarks: [], onlyShown: true, unreachableSinceMs: START_MS } as const;
    const overview = overviewOf(await documentInput({ groups: [aGroup({ id: 'a' })], policy: aPolicy({ scaleUp: { listPrices } }) }));
    expect(overview.pricesUnreachableSince).toBe(new Date(START_MS).toISOString());
  });

  it('counts all nodes: wasted ones, and the others', async () => {
    const idle = aGroup({ id: 'idle', minSize: 1, target: 1, instances: [anInstance({ node: 'n1' })] });
    const used = aGroup({ id: 'used', minSize: 0, target: 1, instances: [anInstance({ node: 'n2' })] });
    const { waste } = overviewOf(
      await documentInput({
        groups: [idle, used],
        nodes: [aNode({ name: 'n1' }), aNode({ name: 'n2' })],
        pods: [aPod({ name: 'there', cpu: '3500m', nodeName: 'n2' })],
        policy: aPolicy({ scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } }),
        loops: 2,
      }),
    );
    expect(waste).toMatchObject({
      totalNodes: 2,
      otherNodes: 1,
      nodes: 1,
      rows: [{ title: 'Pool is at its minimum', nodes: 1, cores: 4 }],
    });
  });
});

describe('repacking', () => {
  const group = aGroup({ id: 'a', target: 1, instances: [anInstance({ node: 'n1' })] });
  const saved = { nodes: 12, cpuMillis: 48_000, perHour: 2.857 };
  const repackEstimate: RepackEstimate = { atMs: START_MS, nodes: 41, needed: 29, saved, sets: [], blockers: [], cutShort: false };

  it('is shown with what it would save before it is on, and with what it did once it is', async () => {
    const input = await documentInput({ groups: [group], nodes: [aNode({ name: 'n1' })] });
    expect(overviewOf(input)).not.toHaveProperty('repacking');
    const sets = [
      { remove: [{ node: 'n1', group: group.id, condition: undefined }], add: undefined, saved, pods: 3, disruption: 3, score: 30 },
    ];
    const found = { ...repackEstimate, sets };
    expect(overviewOf({ ...input, repackEstimate: found }).repacking).toMatchObject({
      text: '41 nodes, 29 would do: 480 a week less',
      sets: [{ text: 'n1 goes: 480 a week less, 3 pods move, score 30' }],
      on: [],
    });
    const on = { ...input, policy: { ...input.policy, repack: { ...input.policy.repack, enabled: true } } };
    expect(overviewOf(on).repacking).toEqual({ sets: [], blockers: [], on: ['a'], running: [] });
  });
});

describe('what keeps nodes', () => {
  it('comes with the fix that was simulated, and what it frees', async () => {
    const group = aGroup({ id: 'a', minSize: 1, target: 1, instances: [anInstance({ node: 'n1' })] });
    const input = await documentInput({
      groups: [group],
      nodes: [aNode({ name: 'n1' })],
      policy: aPolicy({ scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } }),
      loops: 2,
    });
    const steps = [{ where: 'the tag min of the pool', command: 'az tag update', warning: 'other tags are lost' }];
    const proof = { nodes: 1, groups: [group.id], cores: 4, memoryGib: 15.96, perHour: 0.2 };
    const fix = { changes: [], steps, text: 'lower the minimum of a from 1 to 0', proof };
    const waste = (fixes: DocumentInput['wasteFixes']) => overviewOf({ ...input, ...defined({ wasteFixes: fixes }) }).waste;
    const [reason = ''] = waste(undefined)?.rows.map((row) => row.reason) ?? [];
    expect(waste(undefined)?.rows[0]).not.toHaveProperty('fix');
    expect(waste(new Map([[`${reason} `, fix]]))?.rows[0]?.fix).toEqual({
      text: 'lower the minimum of a from 1 to 0',
      frees: { nodes: 1, cores: 4, memoryGib: 16, perHour: 0.2 },
      steps,
    });
  });
});

describe('a pool', () => {
  it('has the labels that people gave it, and is found by them', async () => {
    const labelled = aGroup({ id: 'a', target: 0, agentPool: { name: 'a', labels: { team: 'web' } } });
    const { pools } = overviewOf(await documentInput({ groups: [labelled, aGroup({ id: 'b', target: 0 })] }));
    expect(pools.map(({ labels }) => labels)).toEqual([{ team: 'web' }, undefined]);
    expect(pools.filter((pool) => matchesPool(pool, 'team=web')).map(({ name }) => name)).toEqual(['a']);
  });
});

describe('the obstacles of a class', () => {
  it('name every pool, and those with the same obstacles share a row', async () => {
    const input = await documentInput({ groups: ['a', 'b', 'c'].map((id) => aGroup({ id, target: 0 })), pods: web(1, '64') });
    const id = overviewOf(input).classes[0]?.id ?? '';
    expect(obstaclesOf(input, id)).toMatchObject({ id, rows: [{ pools: ['a', 'b', 'c'], fits: false }] });
    expect(obstaclesOf(input, 'gone')).toBeUndefined();
  });
});

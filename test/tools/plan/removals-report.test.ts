/** What `plan` says of nodes that go and stay, beyond their names. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { ScaleDownPlan } from '../../../src/domain/plan.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';
import { explainNodes } from '../../../src/planning/explain/unremovable-nodes.ts';
import { reportRemovals } from '../../../src/tools/plan/report/removals-report.ts';
import { aScaleDownPlan, ORDINARY } from '../../support/loop-report.ts';
import { dumpRecord } from '../../../src/loop/replay/dump.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, anObservation, aNode, aPod, aTemplate, keyOf, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { listOf, nodeJson, plan, planAnswer, podJson, type Files } from './support.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { NOTHING_DECIDED } from '../../../src/domain/ports/records.ts';
import { aState } from '../../support/state.ts';

const POOLS = '- {name: general, vmSize: Standard_D4s_v5, min: 1, max: 9, price: 0.2}\n';
const PREFIX = 'cluster-autoscaler.kubernetes.io/';
const asked = (files: Files, ...argv: readonly string[]) =>
  planAnswer(['--cluster=c.json', '--pools=p.yaml', ...argv], { 'p.yaml': POOLS, ...files });

const nodes = (count: number) => Array.from({ length: count }, (_, index) => nodeJson(`n-${index}`, 'general'));
const busy = podJson('busy', '3500m', { on: 'n-0' });
const ownerOf = (kind: string, name: string, apiVersion?: string) => ({
  ownerReferences: [{ kind, name, uid: `${kind}/${name}`, controller: true, ...(apiVersion === undefined ? {} : { apiVersion }) }],
});
const ofKind = (kind: string, name: string, spec: object = {}) => ({ kind, metadata: { name, namespace: 'default' }, spec });

describe('why nodes stay, in full', () => {
  it('names the pod that blocks, when the node is looked at again, and adds up cores, GiB and money', async () => {
    const pet = podJson('pet', '1', { on: 'n-2', metadata: { ownerReferences: [] } });
    const files = { 'c.json': listOf(...nodes(3), busy, pet) };
    const { scaleDown, explained } = await asked(files, '--now=2026-11-21T10:00:00Z');
    expect(scaleDown.removals).toMatchObject([{ node: 'n-1' }]);
    expect(explained.nodes).toEqual([
      {
        node: 'n-0',
        group: 'general',
        verdict: 'stays',
        reason: 'NotUnderutilized',
        detail: 'utilization 87.5 %, above the threshold of 50 %',
        utilization: 0.875,
      },
      { node: 'n-1', group: 'general', verdict: 'goes', utilization: 0 },
      {
        node: 'n-2',
        group: 'general',
        verdict: 'stays',
        reason: 'BlockedByPod',
        blocker: { pod: 'default/pet', reason: 'NotReplicated', detail: 'no controller' },
        looksAgainAt: '2026-11-21T10:05:00.000Z',
        utilization: 0.25,
      },
    ]);
    const one = { nodes: 1, cores: 4, memoryGib: 16, perHour: 0.2 };
    expect(explained.totals).toEqual([
      { reason: 'BlockedByPod', blockedBy: 'NotReplicated', ...one, wastedPerHour: 0.15, examples: ['n-2'] },
      { reason: 'NotUnderutilized', ...one, wastedPerHour: 0.025, examples: ['n-0'] },
    ]);
    const argv = ['--cluster=c.json', '--pools=p.yaml', '--now=2026-11-21T10:00:00Z'];
    const all = await plan([...argv, '--all'], { 'p.yaml': POOLS, ...files });
    expect(all.out).toMatch(/n-2 +BlockedByPod +default\/pet: NotReplicated \(no controller\) +2026-11-21 10:05:00\n/);
    const { out } = await plan(argv, { 'p.yaml': POOLS, ...files });
    expect(out).toMatch(/BlockedByPod: NotReplicated +1 +4\.0 +16\.0 +0\.20 +n-2\n/);
    const roomy = { 'c.json': listOf(...nodes(3), podJson('busy', '2500m', { on: 'n-0' }), pet) };
    const { explained: fixed } = await asked(roomy, '--now=2026-11-21T10:00:00Z');
    expect(fixed.totals[0]).toMatchObject({
      blockedBy: 'NotReplicated',
      fix: { text: 'run pod default/pet as a Deployment, StatefulSet or Job', proof: { nodes: 1, perHour: 0.2 } },
    });
    const { out: table } = await plan([...argv], { 'p.yaml': POOLS, ...roomy });
    expect(table.replaceAll(/\s+/g, ' ')).toMatch(/NotReplicated .* run pod default\/pet as a .*: Frees 1 node; saves 0\.20 per hour/);
  });

  it('a fix that would free a node promises nothing if the file has no budgets', async () => {
    const pet = podJson('pet', '1', { on: 'n-1', metadata: { ownerReferences: [] } });
    const files = { 'c.json': listOf(...nodes(2), podJson('busy', '2500m', { on: 'n-0' }), pet), 'p.yaml': POOLS };
    const { out } = await plan(['--cluster=c.json', '--pools=p.yaml', '--now=2026-11-21T10:00:00Z'], files);
    expect(out).toMatch(/run pod default\/pet as a/);
    expect(out).toMatch(/no\s+removal\s+is\s+promised/);
  });

  it('says which budget of the plan is spent', async () => {
    const moved = [1, 2].map((index) => podJson(`p-${index}`, '1', { on: `n-${index}` }));
    const { scaleDown } = await asked({ 'c.json': listOf(...nodes(4), busy, ...moved, podJson('q', '2500m', { on: 'n-3' })) });
    expect(scaleDown.removals).toMatchObject([{ node: 'n-1' }]);
    expect(scaleDown.unremovable.find(({ node }) => node === 'n-2')?.detail).not.toMatch(/in use/);
  });

  it('a cluster that is too sick to touch: every node is named with that', async () => {
    const ill = nodes(6).map((node) => ({
      ...node,
      status: { ...(node['status'] as object), conditions: [{ type: 'Ready', status: 'Unknown' }] },
    }));
    const { scaleDown } = await asked({ 'c.json': listOf(...ill) }, '--now=2026-11-21T10:00:00Z');
    expect(scaleDown.removals).toEqual([]);
    expect(scaleDown.unremovable).toHaveLength(6);
    expect(scaleDown.unremovable[0]).toEqual({
      node: 'n-0',
      reason: 'Inhibited',
      detail: 'too many nodes are unready: 6 of 6 nodes are not ready',
    });
  });

  it('a dumped decision says since when, and what blocked a node that is not looked at again yet', async () => {
    const observation = anObservation(
      [aGroup({ id: 'g', target: 2, template: aTemplate({}) })],
      aCluster({ nodes: [aNode({ name: 'g-0' }), aNode({ name: 'g-1' })], pods: [aPod({ nodeName: 'g-1', cpu: '1' })] }),
    );
    const blocker = { pod: 'default/pet', reason: 'NotReplicated' as const, detail: 'no controller' };
    const state = aState({
      unneededSince: new Map([['g-0', START_MS - 60_000]]),
      unremovable: new Map([['g-1', { reason: 'BlockedByPod' as const, untilMs: START_MS + 60_000, blocker, detail: undefined }]]),
    });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const input = { observation, state, policy: aPolicy(), names: resourceNames };
    const scaleDown = planScaleDown({ ...REMOVALS_ALONE, ...input, snapshot, scaleUpPlanned: false });
    const record = { ...NOTHING_DECIDED, observation, stateBefore: state, scaleUp: [], scaleDown, policy: input.policy };
    const { explained, scaleDown: said } = await planAnswer(['--dump=d.json'], { 'd.json': dumpRecord(record, resourceNames) });
    const at = (ms: number) => new Date(START_MS + ms).toISOString();
    expect(explained.nodes).toMatchObject([
      { node: 'g-0', reason: 'NotUnneededLongEnough', unneededSince: at(-60_000), looksAgainAt: at(540_000) },
      { node: 'g-1', reason: 'RecentlyUnremovable', blocker, looksAgainAt: at(60_000) },
    ]);
    expect(said.unremovable[1]?.detail).toBe('BlockedByPod in an earlier check: default/pet: NotReplicated (no controller)');
  });
});

describe('controllers in the file', () => {
  const one = (kind: string, apiVersion?: string) => podJson('mine', '200m', { on: 'n-1', metadata: ownerOf(kind, 'own', apiVersion) });
  const other = (kind: string) => ofKind(kind, 'another', { replicas: 1 });

  it.each([
    { name: 'a ReplicaSet that is there', kind: 'ReplicaSet', objects: [ofKind('ReplicaSet', 'own', { replicas: 2 })], blocked: undefined },
    { name: 'a ReplicaSet that is not', kind: 'ReplicaSet', objects: [other('ReplicaSet')], blocked: 'ControllerNotFound' },
    {
      name: 'one of another namespace',
      kind: 'ReplicaSet',
      objects: [{ ...ofKind('ReplicaSet', 'own'), metadata: { name: 'own', namespace: 'x' } }],
      blocked: 'ControllerNotFound',
    },
    { name: 'a StatefulSet that is not', kind: 'StatefulSet', objects: [other('StatefulSet')], blocked: 'ControllerNotFound' },
    { name: 'a Job that is not', kind: 'Job', objects: [other('Job')], blocked: 'ControllerNotFound' },
    {
      name: 'a ReplicationController that is not',
      kind: 'ReplicationController',
      objects: [other('ReplicationController')],
      blocked: 'ControllerNotFound',
    },
    { name: 'a DaemonSet that is not', kind: 'DaemonSet', objects: [other('DaemonSet')], blocked: 'ControllerNotFound' },
    { name: 'a DaemonSet that is there', kind: 'DaemonSet', objects: [ofKind('DaemonSet', 'own')], blocked: undefined },
    { name: 'a kind that the file does not hold', kind: 'ReplicaSet', objects: [], blocked: undefined },
    { name: 'DaemonSets, which the file does not hold', kind: 'DaemonSet', objects: [], blocked: undefined },
    {
      name: "another API's StatefulSet",
      kind: 'StatefulSet',
      objects: [other('StatefulSet')],
      apiVersion: 'apps.kruise.io/v1beta1',
      blocked: undefined,
    },
    {
      name: "another API's DaemonSet",
      kind: 'DaemonSet',
      objects: [other('DaemonSet')],
      apiVersion: 'apps.kruise.io/v1alpha1',
      blocked: undefined,
    },
  ])('$name: $blocked', async ({ kind, objects, apiVersion, blocked }) => {
    const { scaleDown, notes } = await asked({ 'c.json': listOf(...nodes(2), busy, one(kind, apiVersion), ...objects) });
    const kept = scaleDown.unremovable.find(({ node }) => node === 'n-1');
    if (blocked === undefined)
      expect({ removals: scaleDown.removals, kept }).toMatchObject({ removals: [{ node: 'n-1' }], kept: undefined });
    else expect(kept).toMatchObject({ reason: 'BlockedByPod', detail: expect.stringContaining(blocked) });
    const assumed = (notes ?? []).some((note) => note.includes(kind) && note.includes('assumed to exist'));
    expect(assumed).toBe(objects.length === 0);
  });

  it.each([
    { replicas: 1, blocked: true },
    { replicas: 2, blocked: false },
  ])('a ReplicaSet of $replicas where drains ask for 2: blocks $blocked', async ({ replicas, blocked }) => {
    const objects = [...nodes(2), busy, one('ReplicaSet'), ofKind('ReplicaSet', 'own', { replicas }), ofKind('ReplicaSet', 'web')];
    const { scaleDown } = await asked({ 'c.json': listOf(...objects), 'k.yaml': 'scaleDown: {minReplicaCount: 2}\n' }, '--config=k.yaml');
    expect(scaleDown.unremovable.find(({ node }) => node === 'n-1')?.detail.includes('MinReplicasReached') ?? false).toBe(blocked);
  });
});

describe('the time of a file', () => {
  it('is the newest that its objects speak of: a heartbeat as well as a birth', async () => {
    const beating = nodes(2).map((node) => {
      const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-21T09:30:00Z' };
      return { ...node, status: { ...(node['status'] as object), conditions: [condition] } };
    });
    const system = podJson('dns', '100m', { on: 'n-1', metadata: { namespace: 'kube-system' } });
    expect((await asked({ 'c.json': listOf(...beating, busy, system) })).scaleDown.removals).toMatchObject([{ node: 'n-1' }]);
    const { scaleDown } = await asked({ 'c.json': listOf(...nodes(2), busy, system) });
    expect(scaleDown.unremovable[1]?.detail).toContain('UnmovableKubeSystemPod');
    expect(scaleDown.removals).toEqual([]);
  });

  it('annotations count to the letter', async () => {
    const said = (value: string) => podJson('p', '200m', { on: 'n-1', metadata: { annotations: { [`${PREFIX}safe-to-evict`]: value } } });
    for (const value of ['False', '0', 'no', '', ' false']) {
      const { scaleDown } = await asked({ 'c.json': listOf(...nodes(2), busy, said(value)) });
      expect({ value, removals: scaleDown.removals }).toMatchObject({ value, removals: [{ node: 'n-1' }] });
    }
    expect((await asked({ 'c.json': listOf(...nodes(2), busy, said('false')) })).scaleDown.removals).toEqual([]);
  });
});

it('a sick node that is reimaged is said to be, and saves nothing', () => {
  const node = 'g-0';
  const whole = { ...ORDINARY, pods: [], unneededSinceMs: START_MS, utilization: 0 } as const;
  const removal = { ...whole, group: nodeGroupId('g'), node, instance: keyOf(node) };
  const removals = [{ ...removal, cause: 'sick', condition: 'XIDErrors=True', reimages: true }] as const;
  const observation = anObservation([aGroup({ id: 'g', target: 1 })], aCluster({ nodes: [aNode({ name: node })] }));
  const prices = { ...NO_PRICES, prices: { standard_d4s_v5: 0.2 } };
  const report = (plan: ScaleDownPlan) => reportRemovals(plan, observation, prices).removals[0];
  expect(report(aScaleDownPlan({ removals }))).toMatchObject({ cause: 'sick', condition: 'XIDErrors=True', reimages: true });
  expect(report(aScaleDownPlan({ removals }))).not.toHaveProperty('perHour');
  expect(report(aScaleDownPlan({ removals: [{ ...removal, cause: 'sick' }] }))).toHaveProperty('perHour');
  const [explained] = explainNodes(aScaleDownPlan({ removals }), observation);
  expect(explained?.sentence).toMatch(/^to be reimaged: sick, XIDErrors=True/);
});

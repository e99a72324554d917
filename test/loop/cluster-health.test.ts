import { describe, expect, it } from 'vitest';
import type { Node } from '../../src/domain/node.ts';
import type { ClusterPolicy } from '../../src/domain/policy.ts';
import { describeNodeGroupEvents } from '../../src/observers/events/node-group-events.ts';
import { describeStatus } from '../../src/observers/status/status-document.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage } from './support.ts';

const MINUTE = 60_000;
const unready = { ready: false, sinceMs: START_MS - MINUTE, reason: 'Ready=Unknown: NodeStatusUnknown' };

/** Nodes of the group `a`, of which the first are not ready; all have had their time to start unless told. */
function nodes(count: number, sick: number, createdAtMs = START_MS - 60 * MINUTE): readonly Node[] {
  return Array.from({ length: count }, (_, index) =>
    aNode({ name: `a-${index}`, createdAtMs, ...(index < sick ? { readiness: unready } : {}) }),
  );
}

interface Scene {
  readonly nodes: readonly Node[];
  readonly cluster?: Partial<ClusterPolicy>;
}

/** One loop after another that found the same nodes idle; a pod waits that only a new node of `b` can take. */
async function loopOver(scene: Scene) {
  const policy = {
    ...aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: MINUTE, unreadyForMs: MINUTE, delayAfterAddMs: 0 } }),
    ...(scene.cluster === undefined ? {} : { cluster: { ...aPolicy().cluster, ...scene.cluster } }),
  };
  const groups = [
    aGroup({ id: 'a', target: scene.nodes.length, instances: scene.nodes.map(({ name }) => anInstance({ node: name })) }),
    aGroup({ id: 'b', target: 0, template: aTemplate({ cpu: '8', memory: '32Gi' }) }),
  ];
  const stage = aStage({ groups, nodes: scene.nodes, policy });
  await stage.runOnce();
  await stage.clock.advance(2 * MINUTE);
  stage.cluster.addPending(aPod({ name: 'web', cpu: '5' }));
  const report = await stage.runOnce();
  const told = describeNodeGroupEvents(report, { policy, namespace: 'kube-system', startedAtMs: START_MS - 11 * MINUTE }).map(
    ({ reason, message }) => `${reason}: ${message}`,
  );
  const { observation, state, scaleDown } = report;
  const status =
    observation === undefined ? undefined : describeStatus({ observation, state, scaleDown, policy, before: new Map() }).document;
  return { stage, report, told, status };
}

describe('the health of the cluster decides whether anything is scaled', () => {
  it('four of ten nodes unready are less than 45 %: both directions go on', async () => {
    const { stage, report, told, status } = await loopOver({ nodes: nodes(10, 4) });
    expect(stage.cloud.increases.map(({ group }) => group)).toEqual(['b']);
    expect(report.scaleDown?.unneeded.size).toBeGreaterThan(0);
    expect(told).toEqual([]);
    expect(status).toMatchObject({ clusterWide: { health: { status: 'Healthy' } } });
  });

  it('five of ten are too many: reported, timers dropped, nothing scaled, and the loop succeeds', async () => {
    const { stage, report, told, status } = await loopOver({ nodes: nodes(10, 5) });
    expect(told).toEqual(['ClusterUnhealthy: Cluster is unhealthy: 5 of 10 nodes are not ready']);
    expect(report).toMatchObject({ outcome: 'completed', failures: [], scaleDown: { removals: [] } });
    expect(report.state.unneededSince.size).toBe(0);
    expect(stage.cloud.increases).toEqual([]);
    expect(stage.cloud.deletes).toEqual([]);
    expect(status).toMatchObject({
      autoscalerStatus: 'Running',
      message: 'does not act: 5 of 10 nodes are not ready',
      clusterWide: { health: { status: 'Unhealthy' } },
    });
    const [verdict] = report.rounds[0]?.plan.verdicts.values() ?? [];
    expect(verdict).toEqual({ kind: 'waiting', detail: '5 of 10 nodes are not ready' });
  });

  it('timers that ran before are forgotten, too', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 10, instances: nodes(10, 0).map(({ name }) => anInstance({ node: name })) })],
      nodes: nodes(10, 0),
    });
    await stage.runOnce();
    expect(stage.loop.state.unneededSince.size).toBeGreaterThan(0);
    for (const node of nodes(10, 5)) stage.cluster.nodes.set(node.name, node);
    await stage.runOnce();
    expect(stage.loop.state.unneededSince.size).toBe(0);
  });

  it('both limits are settings', async () => {
    const { stage, told } = await loopOver({ nodes: nodes(10, 5), cluster: { maxUnreadyShare: 0.5 } });
    expect(told).toEqual([]);
    expect(stage.cloud.increases).toHaveLength(1);
    const strict = await loopOver({ nodes: nodes(2, 2), cluster: { okUnreadyNodes: 1 } });
    expect(strict.told).toEqual(['ClusterUnhealthy: Cluster is unhealthy: 2 of 2 nodes are not ready']);
  });

  it('a cluster of two, both unready, is healthy still: so few are not counted', async () => {
    const { stage, told, status } = await loopOver({ nodes: nodes(2, 2) });
    expect(stage.cloud.increases.map(({ group }) => group)).toEqual(['b']);
    expect(told).toEqual([]);
    expect(status).toMatchObject({ clusterWide: { health: { status: 'Healthy' } } });
  });

  it.each([
    { name: 'ten nodes that are all starting', createdAtMs: START_MS - 10 * MINUTE, increases: 1 },
    { name: 'the same after fifteen minutes', createdAtMs: START_MS - 16 * MINUTE, increases: 0 },
  ])('$name', async ({ createdAtMs, increases }) => {
    const { stage, told } = await loopOver({ nodes: nodes(10, 10, createdAtMs) });
    expect(stage.cloud.increases).toHaveLength(increases);
    expect(told).toHaveLength(1 - increases);
  });

  it.each([
    { name: 'no node', present: nodes(0, 0), message: 'Cluster has no nodes' },
    { name: 'no ready node', present: nodes(2, 2), message: 'Cluster has no ready nodes' },
  ])('scale-up-from-zero=false and $name: Initializing, reported, and nothing else', async ({ present, message }) => {
    const { stage, report, told, status } = await loopOver({ nodes: present, cluster: { scaleUpFromZero: false } });
    expect(status).toEqual({ time: expect.any(String), autoscalerStatus: 'Initializing', message });
    expect(told).toEqual([`ClusterUnhealthy: ${message}`]);
    expect(report).toMatchObject({ outcome: 'completed', failures: [] });
    expect(report.state.unneededSince.size).toBe(0);
    const others = stage.cluster.events.filter(({ reason }) => reason !== 'ClusterUnhealthy');
    expect([stage.cloud.increases, stage.cloud.deletes, others]).toEqual([[], [], []]);
  });

  it('by default a cluster without a node grows', async () => {
    const { stage, told } = await loopOver({ nodes: [] });
    expect(stage.cloud.increases).not.toEqual([]);
    expect(told).toEqual([]);
  });
});

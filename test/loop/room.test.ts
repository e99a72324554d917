/** Room that is made on a node, over whole loops: what came to nothing is forgotten soon, and is tried elsewhere. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { Policy } from '../../src/domain/policy.ts';
import { DEFAULT_REPACK } from '../../src/domain/repack.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS } from '../support/builders.ts';
import { settle } from '../support/fake-clock.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage } from './support.ts';

const MINUTE = 60_000;
const FULL = 'a-0';

/** A pod of a DaemonSet waits for the full node; the other node has `other` CPU. */
function aFullNode(other: string, pools: readonly NodeGroup[] = [], change: Partial<Policy> = {}) {
  const fields = [{ key: 'metadata.name', operator: 'In' as const, values: [FULL] }];
  const agent = aPod({
    name: 'agent',
    daemonSet: true,
    controller: { kind: 'DaemonSet', name: 'agent', uid: 'd' },
    unschedulable: { sinceMs: START_MS - 2 * MINUTE, message: '' },
    shape: { cpu: '1', nodeAffinity: [{ expressions: [], fields }] },
  });
  const web = aPod({ name: 'web', nodeName: FULL, cpu: '4', createdAtMs: START_MS - 120 * MINUTE });
  const names = [FULL, 'a-1'];
  const group = aGroup({ id: 'a', target: 2, maxSize: 2, minSize: 2, instances: names.map((node) => anInstance({ node })) });
  return aStage({
    groups: [group, ...pools],
    nodes: [aNode({ name: FULL, cpu: '4' }), aNode({ name: 'a-1', cpu: other })],
    pods: [agent, web],
    policy: { ...aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { makeRoom: true } }), ...change },
  });
}

describe('room that came to nothing', () => {
  it('is made a minute later, and its hour begins then', async () => {
    const stage = aFullNode('4');
    stage.cluster.onCall = (what) => {
      if (what === 'readFresh') throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'the API server is down');
    };
    await stage.runOnce();
    await settle();
    stage.cluster.onCall = () => undefined;
    await stage.clock.advance(10_000);
    const { state } = await stage.runOnce();
    const { closure, why } = state.repacks.rooms.get(FULL) ?? {};
    expect([closure, why]).toEqual([
      undefined,
      expect.stringContaining('no pod was moved: the API server is down; it is tried again from'),
    ]);
    expect(stage.cluster.evicted).toEqual([]);
    await stage.clock.advance(MINUTE);
    await stage.runOnce();
    await settle();
    expect(stage.cluster.evicted.map(({ pod }) => pod)).toEqual(['web']);
    await stage.clock.advance(MINUTE);
    const after = await stage.runOnce();
    expect(after.state.repacks.rooms.get(FULL)?.closure?.untilMs).toBe(stage.clock.now() - MINUTE + 60 * MINUTE);
  });

  it('a pod that moved holds its new node where repacking is on', async () => {
    const stage = aFullNode('4', [], { repack: { ...DEFAULT_REPACK, enabled: true } });
    await stage.runOnce();
    await settle();
    await stage.clock.advance(10_000);
    const { state } = await stage.runOnce();
    expect(state.repacks.moved).toEqual([{ owner: expect.any(String) as unknown, pods: 1, atMs: START_MS }]);
  });

  it('is requested from the next pool once the first one has no node', async () => {
    const pool = (id: string): NodeGroup => aGroup({ id, target: 0, maxSize: 1, template: aTemplate({ cpu: '8', memory: '32Gi' }) });
    const stage = aFullNode('1', [pool('b'), pool('c')]);
    const error = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'no answer');
    stage.cloud.onIncrease = ({ group }) => (group === 'b' ? { kind: 'failed', group: nodeGroupId('b'), error } : undefined);
    const { state } = await stage.runOnce();
    expect(state.repacks.rooms.get(FULL)).toMatchObject({
      closure: undefined,
      added: undefined,
      why: expect.stringContaining('no answer'),
    });
    await stage.clock.advance(10_000);
    const { state: then } = await stage.runOnce();
    expect(stage.cloud.increases.map(({ group }) => group)).toEqual(['b', 'c']);
    expect(then.repacks.rooms.get(FULL)?.added).toBe('c');
  });
});

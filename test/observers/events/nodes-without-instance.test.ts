import { describe, expect, it } from 'vitest';
import { nodesWithoutInstance } from '../../../src/observers/events/nodes-without-instance.ts';
import { aGroup, aNode, START_MS } from '../../support/builders.ts';
import { aStage } from '../../loop/support.ts';

const MINUTE = 60_000;
const JOINED = START_MS - 60 * MINUTE;

/** What is told of a node of group `a` when it is looked at after so many minutes each time. */
async function told(
  minutes: readonly number[],
  change: { readonly machine?: boolean; readonly listedAtMs?: number; readonly deleted?: boolean } = {},
) {
  const node = aNode({ name: 'a-0', createdAtMs: JOINED, ...(change.deleted === true ? { deletionAtMs: START_MS } : {}) });
  const group = { ...aGroup({ id: 'a', target: 1 }), instancesObservedAtMs: change.listedAtMs ?? START_MS };
  const stage = aStage({ groups: [group], nodes: [node] });
  const report = await stage.runOnce();
  const listen = nodesWithoutInstance(stage.cluster, stage.deps.log);
  for (const minute of minutes) {
    const { observation } = report;
    if (observation === undefined) throw new Error('observed nothing');
    const instanceOfNode = change.machine === true ? observation.cloud.instanceOfNode : new Map();
    const cloud = { ...observation.cloud, groups: [group], instanceOfNode };
    listen({ ...report, observation: { ...observation, cloud, nowMs: START_MS + minute * MINUTE } });
  }
  return stage.cluster.events.filter(({ reason }) => reason === 'NodeWithoutMachine');
}

describe('a node whose machine is gone', () => {
  it('is reported once, when the time of the cloud controller is over', async () => {
    expect(await told([0, 4])).toEqual([]);
    const events = await told([0, 4, 5, 6, 60]);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: 'Warning', subject: { kind: 'Node', name: 'a-0' } });
    expect(events[0]?.message).toContain('kubectl delete node a-0');
  });

  it.each([
    ['it has its machine', { machine: true }],
    ['the list is older than the node', { listedAtMs: JOINED - 1 }],
    ['somebody has deleted it', { deleted: true }],
  ])('is not reported when %s', async (_name, change) => {
    expect(await told([0, 10], change)).toEqual([]);
  });
});

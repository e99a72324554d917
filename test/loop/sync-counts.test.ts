/** The groups in which something goes on are left out when counts of the cloud are brought in step. */
import { describe, expect, it } from 'vitest';
import { dryRunDeps } from '../../src/loop/dry-run/dry-run-ports.ts';
import { WithheldWrites } from '../../src/loop/dry-run/withheld-writes.ts';
import { aGroup, aNode, aPod } from '../support/builders.ts';
import { settle } from '../support/fake-clock.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage, observedLoop } from './support.ts';

const GROUPS = [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0, maxSize: 0, minSize: 0 })];

describe('a turn in which counts are brought in step', () => {
  it('comes once in each loop, and at rest no group is busy', async () => {
    const stage = aStage({ groups: GROUPS });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.cloud.busyGroups).toEqual([[], []]);
  });

  it('leaves out groups that were increased in this loop, and as long as their nodes have not come', async () => {
    const stage = aStage({ groups: GROUPS, pods: [aPod({ name: 'web', cpu: '1200m' })] });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.cloud.busyGroups).toEqual([['a'], ['a']]);
  });

  it('leaves out groups whose nodes are leaving', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: 20_000, delayAfterAddMs: 0 } });
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })];
    const pods = [aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' })];
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 2 })], nodes, pods, policy });
    stage.cloud.onTurn = () => new Promise<void>(() => undefined);
    for (let loop = 0; loop < 5; loop++) {
      await stage.runOnce();
      await stage.clock.advance(10_000);
      await settle();
    }
    expect(stage.cloud.deletes).toEqual([]);
    expect(stage.cloud.busyGroups.at(0)).toEqual([]);
    expect(stage.cloud.busyGroups.at(-1)).toEqual(['a']);
  });

  it('does not come in a dry run', async () => {
    const stage = aStage({ groups: GROUPS });
    await observedLoop(dryRunDeps(stage.deps, new WithheldWrites(stage.deps))).runOnce('manual', stage.stop.signal);
    expect(stage.cloud.busyGroups).toEqual([]);
  });
});

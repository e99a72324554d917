import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { PLAIN_DELETE } from '../../../src/domain/ports/cloud.ts';
import { WithheldWrites } from '../../../src/loop/dry-run/withheld-writes.ts';
import { dryRunDeps } from '../../../src/loop/dry-run/dry-run-ports.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { aGroup, anInstance, aNode, aPod, keyOf } from '../../support/builders.ts';
import { settle } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage, observedLoop, valueOf, type StageOptions } from '../support.ts';

const MINUTE = 60_000;

/** The stage of the other loop tests, with the loop in a dry run. */
function aDryStage(options: StageOptions) {
  const stage = aStage(options);
  const lines: { readonly level: string; readonly msg: string; readonly [fact: string]: unknown }[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }, stage.clock, { dryRun: true });
  const deps = { ...stage.deps, log };
  const writes = new WithheldWrites(deps);
  const loop = observedLoop(dryRunDeps(deps, writes));
  return { ...stage, lines, writes, loop, runOnce: () => loop.runOnce('manual', stage.stop.signal) };
}

describe('a dry run', () => {
  it('wishes for nodes once, however many loops want them, and asks for none', async () => {
    const pods = Array.from({ length: 6 }, (_, index) => aPod({ name: `web-${index}`, cpu: '1200m', memory: '1Gi' }));
    const stage = aDryStage({ groups: [aGroup({ id: 'a', target: 0 })], pods });
    for (let loop = 0; loop < 30; loop++) {
      const report = await stage.runOnce();
      expect(report.outcome).toBe('completed');
      expect(report.rounds.map(({ increases }) => increases.map(({ outcome }) => outcome.kind))).toEqual([['withheld']]);
      await stage.clock.advance(10_000);
    }
    expect(stage.cloud.increases).toEqual([]);
    expect(stage.cluster.events).toEqual([]);
    const wishes = stage.writes.list().filter(({ kind }) => kind === 'increase');
    expect(wishes.map(({ subject, detail, times }) => [subject, detail, times])).toEqual([['a', 'capacity from 0 to 2', 30]]);
    expect(stage.lines.map(({ msg }) => msg)).toEqual(['Write withheld by the dry run', 'Scale-up withheld by the dry run']);
    expect(stage.lines.every((line) => line['dryRun'] === true)).toBe(true);
    expect(stage.lines[1]).toMatchObject({ nodeGroup: 'a', from: 0, to: 2, pods: 6, cause: 'pods' });
    expect(await valueOf(stage.metrics.dryRun.withheld, { kind: 'increase' })).toBe(30);
  });

  it('a wish that changes is news', async () => {
    const pods = [aPod({ name: 'web-0', cpu: '1200m' })];
    const stage = aDryStage({ groups: [aGroup({ id: 'a', target: 0 })], pods });
    await stage.runOnce();
    for (let index = 1; index < 6; index++) stage.cluster.addPending(aPod({ name: `web-${index}`, cpu: '1200m' }));
    await stage.runOnce();
    expect(stage.lines.filter(({ msg }) => msg === 'Scale-up withheld by the dry run').map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });

  it('follows a removal to its end: mark, eviction and deletion are on record, and the cluster is as it was', async () => {
    const policy = aPolicy({
      scaleUp: { enforceMinSize: false },
      scaleDown: { unneededForMs: MINUTE, delayAfterAddMs: 0, softTaintBudget: 10 },
    });
    const nodes = ['n1', 'n2'].map((name) => aNode({ name }));
    const pods = [aPod({ name: 'web', cpu: '100m', nodeName: 'n1' }), aPod({ name: 'full', cpu: '2500m', nodeName: 'n2' })];
    const group = aGroup({ id: 'a', target: 2, instances: nodes.map(({ name }) => anInstance({ node: name })) });
    const stage = aDryStage({ groups: [group], nodes, pods, policy });
    const before = JSON.stringify([...stage.cluster.nodes]);
    for (let loop = 0; loop < 60; loop++) {
      await stage.runOnce();
      await stage.clock.advance(10_000);
      await settle();
    }
    expect(stage.cloud.deletes).toEqual([]);
    expect(stage.cluster.evicted).toEqual([]);
    expect(JSON.stringify([...stage.cluster.nodes])).toBe(before);
    const wished = stage.writes.list().map(({ kind, subject }) => `${kind} ${subject}`);
    expect(wished).toContain('taint n1');
    expect(wished).toContain('evict default/web');
    expect(wished).toContain('delete-instances a');
    expect(wished.filter((wish) => wish.startsWith('evict'))).toEqual(['evict default/web']);
    expect(stage.lines.filter(({ msg }) => msg === 'Node removal started')).toHaveLength(1);
    // Nothing was done: counters of acts stay where they are.
    expect(await valueOf(stage.metrics.scaleDown.nodes)).toBe(0);
    expect(await valueOf(stage.metrics.scaleDown.evictions)).toBe(0);
    expect(await valueOf(stage.metrics.scaleDown.unneeded)).toBeGreaterThanOrEqual(0);
  });
});

it.each([
  { reimages: false, kind: 'delete-instances' },
  { reimages: true, kind: 'reimage-instance' },
] as const)('a request with reimages $reimages is withheld as $kind', async ({ reimages, kind }) => {
  const stage = aStage({ groups: [aGroup({ id: 'a', target: 1 })], nodes: [] });
  const writes = new WithheldWrites(stage.deps);
  const { cloud } = dryRunDeps(stage.deps, writes);
  const request = { ...PLAIN_DELETE, group: nodeGroupId('a'), instances: [keyOf('a-0')], allowBelowMin: false, reimages };
  await cloud.deleteInstances(request, stage.stop.signal);
  expect(writes.list().map((write) => [write.kind, write.subject, write.detail])).toEqual([[kind, 'a', keyOf('a-0')]]);
  expect(stage.cloud.deletes).toEqual([]);
});

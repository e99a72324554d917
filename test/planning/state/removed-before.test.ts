import { describe, expect, it } from 'vitest';
import type { ClusterView } from '../../../src/domain/observation.ts';
import { TO_BE_DELETED_TAINT, type Taint } from '../../../src/domain/taints.ts';
import { removalsBeforeRestart } from '../../../src/planning/state/after-restart.ts';
import { aCluster, aGroup, aNode, keyOf, START_MS } from '../../support/builders.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';

const MINUTE = 60_000;
const rules = (maxRemovalsPerWindow: number) => ({ maxRemovalsPerWindow, removalWindowMs: 10 * MINUTE });
const mark = (value: string): Taint => ({ key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' });
const secondsBefore = (minutes: number): string => String((START_MS - minutes * MINUTE) / 1000);

function seen(marks: readonly (string | undefined)[]) {
  const nodes = marks.map((value, index) => aNode({ name: `g-${index}`, taints: value === undefined ? [] : [mark(value)] }));
  const cluster: ClusterView = aCluster({ nodes });
  const cloud = new FakeCloud([aGroup({ id: 'g', target: nodes.length })]).observe(cluster, START_MS);
  return { loopId: 1, nowMs: START_MS, cluster, cloud };
}

describe('what an earlier process removed', () => {
  it('is half a window if nothing is known, and never more than the number of nodes', () => {
    expect(removalsBeforeRestart(seen([undefined, undefined, undefined]), rules(4))).toEqual([START_MS, START_MS]);
    expect(removalsBeforeRestart(seen([undefined, undefined, undefined]), rules(1_000_000_000))).toHaveLength(3);
    expect(removalsBeforeRestart(seen([undefined]), rules(1))).toEqual([]);
  });

  it('is counted from deletion taints that are no older than the window, at their time', () => {
    const observation = seen([secondsBefore(9), secondsBefore(11), secondsBefore(2), undefined]);
    expect(removalsBeforeRestart(observation, rules(4))).toEqual([START_MS - 9 * MINUTE, START_MS - 2 * MINUTE]);
  });

  it('may be more than half: then all of it counts, a mark that cannot be read or lies ahead as of now', () => {
    const observation = seen([secondsBefore(1), 'soon', secondsBefore(-60)]);
    expect(removalsBeforeRestart(observation, rules(4))).toEqual([START_MS - MINUTE, START_MS, START_MS]);
  });

  it('counts machines that are going, each once', () => {
    const observation = seen([secondsBefore(1), undefined, undefined]);
    const going = new Set([keyOf('g-0'), keyOf('g-1')]);
    const groups = observation.cloud.groups.map((group) => ({
      ...group,
      instances: (group.instances ?? []).map((each) => (going.has(each.key) ? { ...each, state: 'deleting' as const } : each)),
    }));
    expect(removalsBeforeRestart({ ...observation, cloud: { ...observation.cloud, groups } }, rules(2))).toEqual([
      START_MS - MINUTE,
      START_MS,
    ]);
  });
});

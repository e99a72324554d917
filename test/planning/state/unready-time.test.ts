import { describe, expect, it } from 'vitest';
import { unreadyForMsOf } from '../../../src/planning/state/node-counts.ts';
import { aCloud, aCluster, aGroup, anInstance, aNode, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';

const MINUTE = 60_000;
const announced = { noticedAtMs: START_MS - 90_000, deadlineMs: START_MS - 60_000, notice: 'PreemptScheduled' };

describe('how long a node that is not ready is kept', () => {
  it.each([
    { name: 'any: the usual time', state: 'running' as const, expected: 20 * MINUTE },
    { name: 'evicted and deallocated, a minute', preemption: announced, state: 'deallocated' as const, expected: MINUTE },
    { name: 'deallocated by somebody: the usual time', state: 'deallocated' as const, expected: 20 * MINUTE },
    { name: 'announced, and spared: the usual time', preemption: announced, state: 'running' as const, expected: 20 * MINUTE },
    {
      name: 'announced for later: the usual time',
      preemption: { ...announced, deadlineMs: START_MS + 1 },
      state: 'deallocated' as const,
      expected: 20 * MINUTE,
    },
    { name: 'never longer than the usual time', preemption: announced, state: 'deallocated' as const, own: 30_000, expected: 30_000 },
  ])('$name', ({ preemption, state, own, expected }) => {
    const node = aNode({ name: 'a-0', ...(preemption === undefined ? {} : { preemption }) });
    const instance = anInstance({ node: 'a-0', state });
    const group = { ...aGroup({ id: 'a', target: 1 }), instances: [instance], options: own === undefined ? {} : { unreadyForMs: own } };
    const cluster = aCluster({ nodes: [node] });
    const cloud = { ...aCloud([group], cluster), instanceOfNode: new Map([[node.name, keyOf('a-0')]]) };
    expect(unreadyForMsOf(node, group, { cloud, nowMs: START_MS }, aPolicy())).toBe(expected);
  });
});

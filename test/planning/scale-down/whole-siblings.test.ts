/** Of a group that is of use only as a whole, one failed: which nodes that have just joined go with it. */
import { expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import { NOT_READY_TAINT } from '../../../src/domain/taints.ts';
import { anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { MINUTE, plan, pool } from './world.ts';

const closed = [{ key: NOT_READY_TAINT, value: '', effect: 'NoSchedule' }] as const;
const unready = { ready: false, sinceMs: START_MS - MINUTE, reason: 'NotReady' };

it.each<{ readonly name: string; readonly joined: Partial<Node>; readonly pods?: true; readonly going: readonly string[] }>([
  {
    name: 'takes no pods yet',
    joined: { readiness: unready, taints: closed, createdAtMs: START_MS - MINUTE },
    going: ['p-0', 'p-1', 'p-2'],
  },
  { name: 'is ready', joined: { createdAtMs: START_MS - MINUTE }, going: ['p-1', 'p-2'] },
  {
    name: 'is not ready, and open to pods all the same',
    joined: { readiness: unready, createdAtMs: START_MS - MINUTE },
    going: ['p-1', 'p-2'],
  },
  {
    name: 'was ready long ago',
    joined: { readiness: unready, taints: closed, createdAtMs: START_MS - 60 * MINUTE },
    going: ['p-1', 'p-2'],
  },
  {
    name: 'takes no pods any more, and has one',
    joined: { readiness: unready, taints: closed, createdAtMs: START_MS - MINUTE },
    pods: true,
    going: ['p-2'],
  },
])('with one that failed goes what is on its way; the one that joined $name', ({ joined, pods, going }) => {
  const group = pool('p', 3, {
    maxSize: 3,
    options: { zeroOrMax: true },
    instances: [
      anInstance({ node: 'p-0' }),
      anInstance({ node: 'p-1', state: 'creating', firstSeenMs: START_MS - MINUTE }),
      anInstance({ node: 'p-2', state: 'failed' }),
    ],
  });
  const result = plan({
    groups: [group],
    nodes: [aNode({ name: 'p-0', ...joined })],
    pods: pods === undefined ? [] : [aPod({ name: 'a', nodeName: 'p-0', cpu: '1' })],
  });
  expect(result.instanceRemovals.map(({ instance }) => instance)).toEqual(going.map((node) => anInstance({ node }).key));
});

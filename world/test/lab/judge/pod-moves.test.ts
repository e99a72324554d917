import { expect, it } from 'vitest';
import type { PodObject } from '../../../simulator/cluster/store/objects.ts';
import { PodMoves } from '../../../lab/judge/pod-moves.ts';

const MINUTE = 60_000;

function pod(name: string, nodeName?: string): PodObject {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }];
  const metadata = {
    name,
    namespace: 'default',
    uid: name,
    resourceVersion: '1',
    creationTimestamp: '2026-01-05T00:00:00Z',
    ownerReferences,
  };
  const spec = nodeName === undefined ? { containers: [] } : { containers: [], nodeName };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Pending' } };
}

it.each([
  { what: 'again within the hour', taken: [], secondMs: 59 * MINUTE, twice: 1 },
  { what: 'again after an hour', taken: [], secondMs: 60 * MINUTE, twice: 0 },
  { what: 'once, and then Azure takes its Spot node', taken: ['second'], secondMs: 20 * MINUTE, twice: 0 },
  { what: 'once, after Azure had taken its Spot node', taken: ['first'], secondMs: 20 * MINUTE, twice: 0 },
])('a pod is moved: $what', ({ taken, secondMs, twice }) => {
  const moves = new PodMoves();
  const bound = (name: string, node: string): void => {
    moves.record({ type: 'ADDED', object: pod(name) });
    moves.record({ type: 'MODIFIED', object: pod(name, node) });
  };
  bound('a', 'first');
  for (const node of taken) moves.notePreemption(node);
  moves.noteEviction('default', 'a', 0);
  moves.record({ type: 'DELETED', object: pod('a', 'first') });
  bound('b', 'second');
  moves.noteEviction('default', 'b', secondMs);
  expect(moves.twice).toBe(twice);
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOT_WATCHED } from '../../src/domain/observation.ts';
import type { ObjectJson } from '../../src/kubernetes/api/core-json.ts';
import { ReflectedCluster } from '../../src/kubernetes/views/cluster-tables.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';
import { roomWith, toyReasons } from './both-sides.ts';
import { mounting, peopleOf, storageOf, storageStory, type StorageStory } from './random-storage.ts';
import { casesOf } from '../support/property-runs.ts';

function judge(given: StorageStory) {
  const stored = storageOf(given);
  const { nodes, residents } = peopleOf(given);
  const pending = mounting(
    'p',
    given.pending.filter((name) => name !== 'private'),
  );
  const names = new ResourceNames();
  const planner = new ReflectedCluster(names);
  const put = (resource: string, object: unknown): void =>
    planner
      .sources()
      .find((source) => source.resource === resource)
      ?.table.put(JSON.parse(JSON.stringify(object)) as ObjectJson);
  for (const each of nodes) put('nodes', each);
  for (const each of [...residents, pending]) put('pods', each);
  for (const [key, object] of stored) put(key.slice(0, key.indexOf(' ')), object);
  const view = { ...NOT_WATCHED, ...planner.views(), stalenessMs: 0 };
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(view);
  const [pod] = view.pendingPods;
  if (pod === undefined) throw new Error('the pod is not pending');
  const room = roomWith(nodes, residents, stored);
  return room.nodes.map((seat) => ({
    node: seat.node.metadata.name,
    ours: snapshot.check(pod, seat.node.metadata.name),
    toys: toyReasons(pending, seat, room),
  }));
}

describe('the planner and the toy scheduler about volumes', () => {
  it('agree on every node of random storage', () => {
    const seen = { fits: 0, refused: 0 };
    fc.assert(
      fc.property(storageStory, (given) => {
        const wrong = judge(given).filter(({ ours, toys }) => {
          seen[toys.length === 0 ? 'fits' : 'refused'] += 1;
          return (ours.length === 0) !== (toys.length === 0);
        });
        expect(wrong).toEqual([]);
      }),
      casesOf(4, 1000),
    );
    expect(Math.min(seen.fits, seen.refused)).toBeGreaterThan(330);
  });
});

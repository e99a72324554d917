/** A node that a pod of a StatefulSet will need is not removed while that pod terminates elsewhere. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { aNode, aPod, keyOf, START_MS, type NodeOptions } from '../../support/builders.ts';
import { keptReasons, MINUTE, names, nodes, plan, pool, removed, sinceMinutes } from './world.ts';

const stateful = { kind: 'StatefulSet', name: 'db', uid: 'sts' };
const replicated = { kind: 'ReplicaSet', name: 'web', uid: 'rs' };
/** A pod that terminates on `p-0`, and that only `p-1` could take. */
const ending = (controller: typeof stateful) =>
  aPod({ name: 'db-0', nodeName: 'p-0', cpu: '3', controller, deletionAtMs: START_MS + 10_000, terminationGraceMs: MINUTE });

describe('the only node for the successor of a terminating pod', () => {
  const unneededSince = sinceMinutes(30, ['p-1']);
  const deleting = new Map([['p-0', { group: nodeGroupId('p'), instance: keyOf('p-0'), sinceMs: START_MS - MINUTE, sentAtMs: undefined }]]);
  const cases: readonly {
    readonly name: string;
    readonly of: typeof stateful;
    readonly node?: NodeOptions;
    readonly ours?: boolean;
    readonly goes: readonly string[];
  }[] = [
    { name: 'of a StatefulSet on a node that we drain, stays', of: stateful, ours: true, goes: [] },
    { name: 'of a StatefulSet on a node that a person drains, stays', of: stateful, node: { unschedulable: true }, goes: [] },
    { name: 'of a ReplicaSet, which is counted where it waits, is removed', of: replicated, ours: true, goes: ['p-1'] },
  ];
  it.each(cases)('$name', ({ of, node = {}, ours = false, goes }) => {
    const result = plan({
      groups: [pool('p', 2)],
      nodes: [aNode({ name: 'p-0', cpu: '4', memory: '16Gi', ...node }), ...nodes('p-1')],
      pods: [ending(of)],
      state: { unneededSince, deleting: ours ? deleting : new Map() },
    });
    expect(removed(result)).toEqual(goes);
    if (goes.length === 0) expect(keptReasons(result)['p-1']).toBe('NoPlaceToMovePods');
  });

  it('is removed if a further node can take the pod', () => {
    const result = plan({
      groups: [pool('p', 3)],
      nodes: nodes(...names(3)),
      pods: [ending(stateful)],
      state: { unneededSince: sinceMinutes(30, ['p-1', 'p-2']), deleting },
    });
    expect(removed(result)).toHaveLength(1);
  });
});

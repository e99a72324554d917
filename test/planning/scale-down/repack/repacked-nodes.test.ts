import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import { NOTHING_REPACKED, type RunningRepack } from '../../../../src/domain/repack.ts';
import { aPod, START_MS } from '../../../support/builders.ts';
import { keptReasons, MINUTE, nodes, plan, pool, removed, type World } from '../world.ts';

const P = nodeGroupId('p');
const HOUR = 60 * MINUTE;

function repack(stage: RunningRepack['stage']): RunningRepack {
  return {
    set: {
      remove: [{ node: 'p-0', group: P, condition: undefined }],
      add: { group: P, nodes: 1 },
      saved: { nodes: 0, cpuMillis: 0, perHour: 0.1 },
      pods: 1,
      disruption: 1,
      score: 10,
    },
    stage,
    sinceMs: START_MS - HOUR,
    stageSinceMs: START_MS - HOUR,
    before: ['p-0', 'p-1'],
  };
}

const worldWith = (stage: RunningRepack['stage'] | undefined, createdAtMs = START_MS - 2 * HOUR): World => ({
  groups: [pool('p', 3)],
  nodes: nodes('p-0', 'p-1', 'p-2'),
  pods: [
    aPod({ name: 'moves', nodeName: 'p-0', cpu: '3', memory: '1Gi', createdAtMs }),
    aPod({ name: 'stays', nodeName: 'p-1', cpu: '3', memory: '1Gi', createdAtMs }),
  ],
  state: {
    unneededSince: new Map([['p-2', START_MS - HOUR]]),
    repacks: stage === undefined ? NOTHING_REPACKED : { ...NOTHING_REPACKED, running: [repack(stage)] },
  },
});

describe('the nodes of a repack', () => {
  it.each([
    { name: 'without one, the used node stays and the empty one goes', stage: undefined, gone: ['p-2'] },
    { name: 'while the new node is awaited, both stay', stage: 'adding' as const, gone: [] },
    { name: 'once the new node is ready, the old one goes at once although it is used', stage: 'draining' as const, gone: ['p-0'] },
  ])('$name', ({ stage, gone }) => {
    expect(removed(plan(worldWith(stage)))).toEqual(gone);
  });

  it('stay if a pod came to them that may have been moved before', () => {
    const result = plan(worldWith('draining', START_MS - 59 * MINUTE));
    expect(removed(result)).toEqual([]);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'RepackInProgress', 'p-2': 'RepackInProgress' });
  });
});

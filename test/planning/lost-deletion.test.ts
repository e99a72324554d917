import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { InstanceState } from '../../src/domain/node-group.ts';
import { reduceObservation, reduceRemovals } from '../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, keyOf, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aState } from '../support/state.ts';

const MINUTE = 60_000;

const REMOVAL = { group: nodeGroupId('g'), node: 'g-0', instance: keyOf('g-0') };

/** What is remembered of a removal that began at the start, so many minutes later. Its deletion was accepted `sentAfter` minutes after the start. */
function remembered(state: InstanceState, minutes: number, sentAfter: number | undefined): boolean {
  const begun = { ...REMOVAL, kind: 'started', pods: [], utilization: 0, empty: false, budgeted: undefined, atMs: START_MS } as const;
  const sent =
    sentAfter === undefined
      ? []
      : [{ ...REMOVAL, kind: 'deleted', drained: true, reimaged: false, atMs: START_MS + sentAfter * MINUTE } as const];
  const { deleting } = reduceRemovals(aState(), [begun, ...sent], START_MS);
  const group = { ...aGroup({ id: 'g', target: 1 }), instances: [anInstance({ node: 'g-0', state })] };
  const cluster = aCluster({ nodes: [aNode({ name: 'g-0' })] });
  const look = anObservation([group], cluster, { nowMs: START_MS + minutes * MINUTE });
  return reduceObservation(aState({ deleting }), look, aPolicy()).deleting.has('g-0');
}

describe('a removal', () => {
  it.each<{ readonly state: InstanceState; readonly minutes: number; readonly sentAfter?: number; readonly kept: boolean }>([
    { state: 'running', minutes: 9, sentAfter: 0, kept: true },
    { state: 'running', minutes: 11, sentAfter: 0, kept: false },
    { state: 'deleting', minutes: 11, sentAfter: 0, kept: true },
    { state: 'deleting', minutes: 120, sentAfter: 0, kept: true },
    { state: 'unknown', minutes: 11, sentAfter: 0, kept: true },
    { state: 'running', minutes: 25, sentAfter: 20, kept: true },
    { state: 'running', minutes: 31, sentAfter: 20, kept: false },
    { state: 'running', minutes: 120, kept: true },
  ])(
    'whose deletion Azure accepted after $sentAfter min: $minutes min after its start, its machine $state: still expected is $kept',
    ({ state, minutes, sentAfter, kept }) => {
      expect(remembered(state, minutes, sentAfter)).toBe(kept);
    },
  );
});

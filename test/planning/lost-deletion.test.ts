import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { InstanceState } from '../../src/domain/node-group.ts';
import { reduceObservation } from '../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, keyOf, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aState } from '../support/state.ts';

const MINUTE = 60_000;

/** What is remembered of a deletion that was accepted at the start, so many minutes later. */
function remembered(state: InstanceState, minutes: number): boolean {
  const deleting = new Map([['g-0', { group: nodeGroupId('g'), instance: keyOf('g-0'), sinceMs: START_MS }]]);
  const group = { ...aGroup({ id: 'g', target: 1 }), instances: [anInstance({ node: 'g-0', state })] };
  const cluster = aCluster({ nodes: [aNode({ name: 'g-0' })] });
  const look = anObservation([group], cluster, { nowMs: START_MS + minutes * MINUTE });
  return reduceObservation(aState({ deleting }), look, aPolicy()).deleting.has('g-0');
}

describe('an accepted deletion', () => {
  it.each<{ readonly state: InstanceState; readonly minutes: number; readonly kept: boolean }>([
    { state: 'running', minutes: 9, kept: true },
    { state: 'running', minutes: 11, kept: false },
    { state: 'deleting', minutes: 11, kept: true },
    { state: 'deleting', minutes: 120, kept: true },
    { state: 'unknown', minutes: 11, kept: true },
  ])('after $minutes min, its machine $state: still expected is $kept', ({ state, minutes, kept }) => {
    expect(remembered(state, minutes)).toBe(kept);
  });
});

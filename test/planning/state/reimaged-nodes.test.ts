import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { InstanceState } from '../../../src/domain/node-group.ts';
import { REIMAGED_ANNOTATION, TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { describeNodeHealth } from '../../../src/planning/explain/answers/node-health.ts';
import { hasReimageTaint, wasReimagedLately } from '../../../src/planning/state/deletions.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const XID = { type: 'XIDErrors', status: 'True', reason: '' };
const RULES = {
  conditions: [{ type: 'XIDErrors', status: 'True', forMs: MINUTE }],
  maximum: 1,
  breakerPercent: 20,
  remedy: 'reimage',
} as const;

interface Shape {
  /** When the deletion taint was written, in minutes. undefined: there is none. */
  readonly tainted?: number | undefined;
  /** When the reimage was sent. */
  readonly reimaged?: number | undefined;
  /** Since when it is ready. undefined: it is not. */
  readonly ready?: number | undefined;
  readonly sick?: boolean;
}

function nodeOf({ tainted = 0, reimaged = 0, ready, sick = false }: Shape): Node {
  const value = String(START_MS / 1000 + tainted * 60);
  return aNode({
    name: 'g-0',
    taints: [{ key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }],
    reimagedAtMs: START_MS + reimaged * MINUTE,
    readiness: { ready: ready !== undefined, sinceMs: START_MS + (ready ?? 0) * MINUTE, reason: '' },
    conditions: sick ? [{ ...XID, sinceMs: START_MS - HOUR }] : [],
  });
}

function look(node: Node, minutes: number, state: InstanceState = 'running') {
  const group = { ...aGroup({ id: 'g', target: 1, options: { sickNodes: RULES } }), instances: [anInstance({ node: 'g-0', state })] };
  return anObservation([group], aCluster({ nodes: [node] }), { nowMs: START_MS + minutes * MINUTE });
}

const leaves = (node: Node, minutes: number, remembered: boolean): boolean => {
  const entry = { group: nodeGroupId('g'), instance: keyOf('g-0'), sinceMs: START_MS, sentAtMs: START_MS };
  const state = aState({ deleting: new Map(remembered ? [['g-0', entry]] : []) });
  return reduceObservation(state, look(node, minutes), aPolicy()).deleting.has('g-0');
};

describe('a node that is being reimaged', () => {
  it.each<Shape & { readonly name: string; readonly minutes: number; readonly awaited: boolean }>([
    { name: 'is not ready', minutes: 3, awaited: true },
    { name: 'is not ready after longer than a deletion may take', minutes: 14, awaited: true },
    { name: 'is not ready when its time to start is over', minutes: 15, awaited: false },
    { name: 'has not gone down yet', ready: -60, sick: true, minutes: 1, awaited: true },
    { name: 'has not gone down yet, and is well', ready: -60, minutes: 1, awaited: true },
    { name: 'is ready, and still shows its condition', ready: 4, sick: true, minutes: 5, awaited: true },
    { name: 'is ready and well', ready: 4, minutes: 5, awaited: false },
    { name: 'was reimaged before, and is now being removed', tainted: 60, ready: -60, minutes: 61, awaited: false },
  ])('$name: awaited is $awaited, also after a restart', ({ minutes, awaited, ...shape }) => {
    expect([leaves(nodeOf(shape), minutes, true), leaves(nodeOf(shape), minutes, false)]).toEqual([awaited, awaited]);
  });

  it('is named as such, with the time that it has left', () => {
    const input = { observation: look(nodeOf({}), 3), state: aState(), policy: aPolicy() };
    expect(describeNodeHealth('g-0', input)).toBe('It is being reimaged for 3 min; if it is not back well in 12 min, it is replaced.');
  });
});

it('a reimage counts for a day, and its taint is the one of the same second', () => {
  const node = nodeOf({});
  expect([wasReimagedLately(node, START_MS + 23 * HOUR), wasReimagedLately(node, START_MS + 24 * HOUR)]).toEqual([true, false]);
  expect([hasReimageTaint(node), hasReimageTaint(nodeOf({ tainted: 1 })), hasReimageTaint(aNode())]).toEqual([true, false, false]);
  expect(REIMAGED_ANNOTATION).toBe('aks-autoscaler/reimaged');
});

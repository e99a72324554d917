/** Which nominations a loop writes and withdraws, from the plan and from what the pods show. */
import { expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { missingNominations } from '../../../src/loop/scale-up/nominate-pods.ts';
import { aCluster, aNode, anObservation, aPod, START_MS, type NodeOptions, type PodOptions } from '../../support/builders.ts';
import { aState } from '../../support/state.ts';

const NODE = 'a-1';
const coming: PodVerdict = { kind: 'fits-upcoming-node', group: nodeGroupId('a'), node: NODE };
const young: NodeOptions = { readiness: { ready: false, sinceMs: START_MS - 5_000, reason: '' } };
const ready = (seconds: number): NodeOptions => ({ readiness: { ready: true, sinceMs: START_MS - seconds * 1_000, reason: '' } });
const there: PodOptions = { nominatedNodeName: NODE };

function missing(
  pod: Pod,
  verdict: PodVerdict | undefined,
  node: NodeOptions,
  others: readonly Pod[] = [],
): readonly (string | undefined)[] {
  const observation = anObservation([], aCluster({ nodes: [aNode({ name: NODE, ...node })], pods: [pod, ...others] }));
  const plan = { verdicts: new Map(verdict === undefined ? [] : [[pod, verdict]]) };
  return missingNominations({ plan, observation, state: aState() }).map((each) => each.node);
}

it.each<readonly [string, PodOptions, PodVerdict | undefined, readonly (string | undefined)[]]>([
  ['a pod that the node is for', {}, coming, [NODE]],
  ['one that was nominated for another node', { nominatedNodeName: 'a-0' }, coming, [NODE]],
  ['one that is nominated already', there, coming, []],
  ['one whose node has not registered', {}, { kind: 'fits-upcoming-node', group: nodeGroupId('a') }, []],
  ['one that fits on a present node', {}, { kind: 'fits-present-node', node: NODE }, []],
  ['one that kube-scheduler has not tried', { unschedulable: undefined }, coming, []],
  ['one of a gang', { shape: { gang: 'pod group train' } }, coming, []],
  ['one that exists in plans alone', { origin: 'expected' }, coming, []],
  ['one that reserves room', { origin: 'buffer' }, coming, []],
  ['one that terminates', { deletionAtMs: START_MS }, coming, []],
  ['one for a node that is not ready, and without a place any more', there, undefined, []],
])('is written for %s', (_what, pod, verdict, expected) => {
  expect(missing(aPod(pod), verdict, young)).toEqual(expected);
});

it.each<readonly [string, NodeOptions, readonly PodOptions[], number]>([
  ['on a node that has long been ready', ready(31), [], 1],
  ['on a node that became ready a moment ago', ready(29), [], 0],
  ['while a pod ends there, which makes room', ready(600), [{ nodeName: NODE, deletionAtMs: START_MS }], 0],
])('is withdrawn from a pod that waits %s: %#', (_what, node, others, withdrawn) => {
  const shown = missing(
    aPod(there),
    undefined,
    node,
    others.map((options) => aPod(options)),
  );
  expect(shown).toEqual(Array.from({ length: withdrawn }, () => undefined));
});

it('a loop writes no more of them than kube-scheduler writes refusals in that time', () => {
  const pods = Array.from({ length: 300 }, () => aPod());
  const observation = anObservation([], aCluster({ nodes: [aNode({ name: NODE, ...young })], pods }));
  const plan = { verdicts: new Map(pods.map((pod) => [pod, coming])) };
  expect(missingNominations({ plan, observation, state: aState() }).length).toBe(200);
});

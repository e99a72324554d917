import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CustomDaemons, customDaemonsIn, isCustomDaemon } from '../../../src/azure/templates/custom-daemons.ts';
import { fromStored, toStored } from '../../../src/azure/templates/node-pods.ts';
import { showsNextNode } from '../../../src/azure/templates/from-node.ts';
import type { CustomDaemon } from '../../../src/domain/node-template.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { CPU } from '../../../src/domain/resources.ts';
import { aCluster, aNode, aPod, resourceNames, START_MS, type NodeOptions, type PodOptions } from '../../support/builders.ts';

const MINUTE = 60_000;
const KRUISE = { kind: 'DaemonSet', name: 'agent', uid: 'k1', apiVersion: 'apps.kruise.io/v1alpha1' };

const agentOn = (nodeName: string, more: PodOptions = {}): Pod =>
  aPod({ namespace: 'kube-system', nodeName, cpu: '1', daemonSet: true, controller: KRUISE, ...more });
const nodeOf = (name: string, more: NodeOptions = {}): Node => aNode({ name, ...more });
const young = { readiness: { ready: true, sinceMs: START_MS - MINUTE + 1, reason: '' } };

interface Look {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly nowMs?: number;
  readonly recorded?: readonly CustomDaemon[];
}

function look(daemons: CustomDaemons, { nodes, pods, nowMs = START_MS, recorded = [] }: Look): readonly CustomDaemon[] {
  const daemonsOn = customDaemonsIn(aCluster({ nodes, pods }));
  daemons.update({ nodes: nodes.filter(showsNextNode), daemonsOn, recorded, nowMs });
  return daemons.known;
}
const namesOf = (found: readonly CustomDaemon[]) => found.map(({ namespace, name }) => `${namespace}/${name}`);

interface Row extends Look {
  readonly name: string;
  readonly found: readonly string[];
}

const TWO = [nodeOf('a'), nodeOf('b')];
const AGENT = ['kube-system/agent'];
const annotated = (name: string, nodeName: string, more: PodOptions = {}) => agentOn(nodeName, { name, controller: undefined, ...more });
/** Before the nodes. */
const EARLIER = { createdAtMs: nodeOf('a').createdAtMs - 1 };
const waitingFor = (node: string): Pod => {
  const fields = [{ key: 'metadata.name', operator: 'In', values: [node] }] as const;
  return { ...agentOn(node, { shape: { nodeAffinity: [{ expressions: [], fields }] } }), nodeName: undefined, phase: 'Pending' };
};

const ROWS: readonly Row[] = [
  { name: 'OpenKruise: on every node', nodes: TWO, pods: [agentOn('a'), agentOn('b')], found: AGENT },
  { name: 'OpenKruise: on one of two nodes', nodes: TWO, pods: [agentOn('a')], found: [] },
  {
    name: 'owners of the same name and another uid',
    nodes: TWO,
    pods: [agentOn('a'), agentOn('b', { controller: { ...KRUISE, uid: 'k2' } })],
    found: [],
  },
  {
    name: 'owners of another API group',
    nodes: TWO,
    pods: [agentOn('a'), agentOn('b', { controller: { ...KRUISE, apiVersion: 'example.com/v1' } })],
    found: [],
  },
  {
    name: 'another version of the same API group',
    nodes: TWO,
    pods: [agentOn('a'), agentOn('b', { controller: { ...KRUISE, apiVersion: 'apps.kruise.io/v1beta1' } })],
    found: AGENT,
  },
  {
    name: 'a cordoned node does not count',
    nodes: [nodeOf('a'), nodeOf('b', { unschedulable: true })],
    pods: [agentOn('a')],
    found: AGENT,
  },
  {
    name: 'an unready node does not count',
    nodes: [nodeOf('a'), nodeOf('b', { readiness: { ready: false, sinceMs: 0, reason: 'x' } })],
    pods: [agentOn('a')],
    found: AGENT,
  },
  { name: 'a node of less than a minute may lack it', nodes: [nodeOf('a'), nodeOf('b', young)], pods: [agentOn('a')], found: AGENT },
  { name: 'a node of less than a minute shows it', nodes: [nodeOf('b', young)], pods: [agentOn('b')], found: AGENT },
  { name: 'a terminating pod is being replaced', nodes: TWO, pods: [agentOn('a'), agentOn('b', { deletionAtMs: 1 })], found: AGENT },
  { name: 'a finished pod is none', nodes: TWO, pods: [agentOn('a'), agentOn('b', { phase: 'Failed' })], found: [] },
  { name: 'a pod that waits for room on its node', nodes: TWO, pods: [agentOn('a'), waitingFor('b')], found: AGENT },
  {
    name: 'annotated pods without an owner, by their names without the node',
    nodes: TWO,
    pods: [annotated('log-a', 'a'), annotated('log-b', 'b')],
    found: ['kube-system/log'],
  },
  {
    name: 'annotated pods without an owner that are older than their nodes: they waited for any',
    nodes: TWO,
    pods: [annotated('log-a', 'a', EARLIER), annotated('log-b', 'b', EARLIER)],
    found: [],
  },
  {
    name: 'OpenKruise: older than nodes that registered again',
    nodes: TWO,
    pods: [agentOn('a', EARLIER), agentOn('b', EARLIER)],
    found: AGENT,
  },
  { name: 'other pods of one owner on every node', nodes: TWO, pods: [aPod({ nodeName: 'a' }), aPod({ nodeName: 'b' })], found: [] },
];

describe('daemon pods that no built-in DaemonSet announces', () => {
  it.each(ROWS)('$name: $found', ({ found, ...world }) => {
    expect(namesOf(look(new CustomDaemons(), world))).toEqual(found);
  });

  it.each<[string, PodOptions, boolean]>([
    ['a DaemonSet of apps', { controller: { ...KRUISE, apiVersion: 'apps/v1' } }, false],
    ['a DaemonSet of an older dump, without its API version', { controller: { kind: 'DaemonSet', name: 'agent', uid: 'k1' } }, false],
    ['a mirror pod', { mirror: true, controller: undefined }, false],
    ['an annotated pod of a ReplicaSet', { controller: { kind: 'ReplicaSet', name: 'r', uid: 'r', apiVersion: 'apps/v1' } }, true],
  ])('%s', (_name, pod, custom) => {
    expect(isCustomDaemon(agentOn('a', pod))).toBe(custom);
  });

  it('count with the largest requests of their pods', () => {
    const [found] = look(new CustomDaemons(), { nodes: TWO, pods: [agentOn('a', { cpu: '1500m' }), agentOn('b')] });
    expect(found?.requests[CPU]).toBe(1500);
  });

  it('stay for a minute when one node has lost its pod, and are dropped after that', () => {
    const daemons = new CustomDaemons();
    look(daemons, { nodes: TWO, pods: [agentOn('a'), agentOn('b')] });
    const later = (afterMs: number) => look(daemons, { nodes: TWO, pods: [agentOn('a')], nowMs: START_MS + afterMs });
    expect([later(10_000), later(MINUTE), later(MINUTE + 1)].map(namesOf)).toEqual([AGENT, AGENT, []]);
  });

  it('are those of the last nodes while there is none, and of the record before this process saw one', () => {
    const daemons = new CustomDaemons();
    const both = look(daemons, { nodes: TWO, pods: [agentOn('a'), agentOn('b')] });
    expect(look(daemons, { nodes: [], pods: [], nowMs: START_MS + 60 * MINUTE })).toBe(both);
    const recorded = both.map((daemon) => fromStored(toStored(daemon, resourceNames), resourceNames));
    expect(namesOf(look(new CustomDaemons(), { nodes: [], pods: [], recorded }))).toEqual(AGENT);
    expect(namesOf(look(new CustomDaemons(), { nodes: [nodeOf('b', young)], pods: [], recorded }))).toEqual(AGENT);
    expect(look(new CustomDaemons(), { nodes: TWO, pods: [], recorded })).toEqual([]);
  });

  it('are found again if their node registers again under its name', () => {
    const daemons = new CustomDaemons();
    const cluster = aCluster({ nodes: [nodeOf('a')], pods: [annotated('log-a', 'a')] });
    const update = (node: Node, nowMs: number) => {
      daemons.update({ nodes: [node], daemonsOn: customDaemonsIn(cluster), recorded: [], nowMs });
      return daemons.known;
    };
    expect(update(nodeOf('a'), START_MS)).toHaveLength(1);
    expect(update(nodeOf('a', { createdAtMs: START_MS }), START_MS + 2 * MINUTE)).toEqual([]);
  });

  it('are those of another look at everything, also where nothing but the time is new', () => {
    const lists = [[], TWO, [nodeOf('a')], [nodeOf('a'), nodeOf('b', { readiness: { ready: true, sinceMs: START_MS, reason: '' } })]].map(
      (nodes) => nodes.filter(showsNextNode),
    );
    const pods = [[agentOn('a'), agentOn('b')], [agentOn('a')], [agentOn('b')], []];
    const clusters = pods.map((each) => aCluster({ nodes: TWO, pods: each }));
    const step = fc.record({
      nodes: fc.constantFrom(...lists),
      cluster: fc.constantFrom(...clusters),
      afterMs: fc.constantFrom(1, 10_000, MINUTE - 1, MINUTE, MINUTE + 1),
      times: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        const [known, again] = [new CustomDaemons(), new CustomDaemons()];
        let nowMs = START_MS;
        for (const { nodes, cluster, afterMs, times } of steps) {
          for (let time = 0; time < times; time++) {
            nowMs += afterMs;
            known.update({ nodes, daemonsOn: customDaemonsIn(cluster), recorded: [], nowMs });
            const daemonsOn = customDaemonsIn({ ...cluster, podsByNode: new Map(cluster.podsByNode) });
            again.update({ nodes: [...nodes], daemonsOn, recorded: [], nowMs });
            expect(known.known).toEqual(again.known);
          }
        }
      }),
      { seed: 27, numRuns: 300 },
    );
  });

  it('are the same array while nothing is new', () => {
    const daemons = new CustomDaemons();
    const first = look(daemons, { nodes: TWO, pods: [agentOn('a'), agentOn('b')] });
    expect(look(daemons, { nodes: TWO, pods: [agentOn('a'), agentOn('b')], nowMs: START_MS + MINUTE })).toBe(first);
  });
});

import { describe, expect, it } from 'vitest';
import { NO_CAPACITY_OBJECTS } from '../../../src/domain/capacity-objects.ts';
import { publishObservation } from '../../../src/observers/metrics/loop-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import {
  aCluster,
  aGroup,
  aNode,
  aPod,
  aPodTemplate,
  aProvisioningRequest,
  aShape,
  anInstance,
  anObservation,
} from '../../support/builders.ts';
import { aCapacityPolicy, aPolicy } from '../../support/policy.ts';
import { aStage, valueOf } from '../../loop/support.ts';
import { aState } from '../../support/state.ts';

describe('sizes of a group', () => {
  const sick = { ready: false, sinceMs: 0, reason: 'down' };
  it.each([
    { name: 'a node that fell ill has joined long ago', unready: true, leaving: false, target: 2, upcoming: 0, ready: 1 },
    { name: 'one of three has not joined', unready: false, leaving: false, target: 3, upcoming: 1, ready: 2 },
    { name: "a machine on its way out fills nobody's place", unready: false, leaving: true, target: 2, upcoming: 1, ready: 2 },
  ])('$name', async ({ unready, leaving, target, upcoming, ready }) => {
    const instances = [anInstance({ node: 'a-0' }), { ...anInstance({ node: 'a-1' }), ...(leaving ? { state: 'deleting' as const } : {}) }];
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1', ...(unready ? { readiness: sick } : {}) })];
    const metrics = createMetrics();
    const observation = anObservation([{ ...aGroup({ id: 'a', target }), instances }], aCluster({ nodes }));

    publishObservation(observation, aState(), metrics);

    const size = (kind: string) => valueOf(metrics.cluster.groupSize, { node_group: 'a', kind });
    expect([await size('upcoming'), await size('ready'), await size('target')]).toEqual([upcoming, ready, target]);
  });
});

it('verdicts of pods stand while a request for capacity has its turn, and go with the pods', async () => {
  const pods = [aPod({ cpu: '99', name: 'huge' }), aPod({ cpu: '98', name: 'vast' })];
  const policy = { ...aPolicy({ scaleUp: { enforceMinSize: false } }), capacity: aCapacityPolicy({ requests: true }) };
  const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods, policy });
  const observe = stage.cluster.observe.bind(stage.cluster);
  const requests = ['one', 'two', 'three', 'four'].map((name) => aProvisioningRequest(name));
  const podTemplates = new Map([['default/big', aPodTemplate('big', aShape({ cpu: '97' }))]]);
  stage.cluster.observe = (nowMs) => ({ ...observe(nowMs), capacity: { ...NO_CAPACITY_OBJECTS, requests, podTemplates } });
  const counted = async (): Promise<readonly unknown[]> => {
    const { rounds } = await stage.runOnce();
    await stage.clock.advance(1000);
    const isTheirs = [...(rounds[0]?.plan.verdicts.keys() ?? [])].some(({ origin }) => origin === 'request');
    const { pods: count, oldestPod } = stage.metrics.cluster;
    const of = async (verdict: string) => [verdict, await valueOf(count, { verdict }), (await valueOf(oldestPod, { verdict })) > 0];
    return [isTheirs ? 'request' : 'pods', await of('impossible'), await of('coming')];
  };
  const judged = [
    ['impossible', 2, true],
    ['coming', 0, false],
  ];
  expect((await counted())[0]).toBe('request');
  expect(await counted()).toEqual(['pods', ...judged]);
  expect(await counted()).toEqual(['request', ...judged]);
  expect(await counted()).toEqual(['pods', ...judged]);
  stage.cluster.pods.clear();
  expect(await counted()).toEqual(['request', ['impossible', 0, false], ['coming', 0, false]]);
});

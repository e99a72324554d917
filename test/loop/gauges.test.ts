import { describe, expect, it } from 'vitest';
import { publishObservation } from '../../src/loop/gauges.ts';
import { emptyLoopState } from '../../src/planning/state.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, START_MS } from '../support/builders.ts';
import { valueOf } from './support.ts';

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

    publishObservation(observation, emptyLoopState(START_MS), metrics);

    const size = (kind: string) => valueOf(metrics.cluster.groupSize, { node_group: 'a', kind });
    expect([await size('upcoming'), await size('ready'), await size('target')]).toEqual([upcoming, ready, target]);
  });
});

import { describe, expect, it } from 'vitest';
import { createObservers } from '../../src/observers/observers.ts';
import { createCompatibleMetrics } from '../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aStage } from '../loop/support.ts';
import { aGroup, aNode, anInstance, aPod, resourceNames } from '../support/builders.ts';
import { aHistory } from '../support/history.ts';
import { aPolicy } from '../support/policy.ts';

const MINUTE = 60_000;
const POLICY = aPolicy({ scaleDown: { delayAfterAddMs: 0, unneededForMs: MINUTE } });

function names(): readonly string[] {
  const metrics = createMetrics();
  const observers = createObservers({
    metrics,
    log: createLog('silent'),
    events: { record: () => undefined, flush: () => Promise.resolve() },
    namespace: 'kube-system',
    names: resourceNames,
    policy: () => POLICY,
    startedAtMs: 0,
    history: aHistory(),
    compatible: createCompatibleMetrics(metrics),
  });
  return observers.map(({ name }) => name);
}

const NODES = [aNode({ name: 'idle' }), aNode({ name: 'busy' })];
const RUNNING = aPod({ name: 'runs', cpu: '3', nodeName: 'busy' });
const PODS = [
  RUNNING,
  ...Array.from({ length: 6 }, (_, index) => aPod({ name: `web-${index}`, cpu: '1200m' })),
  aPod({ name: 'too-big', cpu: '400' }),
];
const GROUPS = [aGroup({ id: 'a', target: 2, instances: [anInstance({ node: 'idle' }), anInstance({ node: 'busy' })] })];

/** A story with a scale-up, pods that no group can take, and a removal; returns every decision and every write. */
async function decisions(without?: string) {
  const stage = aStage({ groups: GROUPS, nodes: NODES, pods: PODS, policy: POLICY, ...(without === undefined ? {} : { without }) });
  const outcomes: string[] = [];
  for (let loop = 0; loop < 12; loop++) {
    if (loop === 3) for (const { uid } of PODS.slice(1)) stage.cluster.pods.delete(uid);
    outcomes.push((await stage.runOnce()).outcome);
    await stage.clock.advance(30_000);
  }
  const { increases, deletes } = stage.cloud;
  return { outcomes, increases, deletes, records: stage.records };
}

describe('observers', () => {
  it('has a name of its own for each', () => {
    expect(new Set(names()).size).toBe(names().length);
    expect(names().length).toBeGreaterThan(10);
  });

  it('removes any of them without changing a decision or a write', async () => {
    const complete = await decisions();
    expect(complete.increases).not.toEqual([]);
    expect(complete.deletes).not.toEqual([]);
    for (const name of names()) expect(await decisions(name), name).toEqual(complete);
  });
});

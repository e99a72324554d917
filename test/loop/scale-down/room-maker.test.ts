/** The last look before pods are moved from a node that stays, and what is evicted then. */
import { expect, it } from 'vitest';
import type { DrainOptions } from '../../../src/domain/node-group.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { NodeRoom } from '../../../src/domain/repack.ts';
import type { VerticalPodAutoscalers } from '../../../src/domain/workloads.ts';
import { defined } from '../../../src/lib/defined.ts';
import { RoomMaker } from '../../../src/loop/scale-down/room-maker.ts';
import { START_MS, aBudget, aGroup, aNode, aPod, podWith, resourceNames } from '../../support/builders.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { FakeCluster, NO_OWNERS } from '../../support/fake-cluster.ts';
import { aPolicy } from '../../support/policy.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { G, SELF } from './removal-stage.ts';

const web = aPod({ name: 'web', nodeName: 'g-0' });
const local = aPod({ name: 'local', nodeName: 'g-0', localVolumes: [{ name: 'scratch', kind: 'emptyDir' }] });
const agent = aPod({ name: 'agent', daemonSet: true });
const db = aPod({ name: 'db', nodeName: 'g-0', resize: { kind: 'deferred', message: '', wanted: resourceNames.parse({ cpu: '2' }) } });
const done = podWith(db, { resize: undefined });

const limits = { cpu: 9_000, memory: 0 };
const sized = {
  cpu: '1',
  containers: { running: [{ name: 'app', requests: { cpu: 1_000, memory: 0 }, limits }], starting: { cpu: 0, memory: 0 } },
};
const large = aPod({
  name: 'large',
  nodeName: 'g-0',
  controller: { kind: 'StatefulSet', name: 'large', uid: 's' },
  shape: sized,
  resize: { kind: 'infeasible', message: '', wanted: resourceNames.parse({ cpu: '6' }) },
});
const settled = podWith(large, { resize: undefined });
const gives = (cpu: number): VerticalPodAutoscalers =>
  new Map([
    [
      'default/StatefulSet/large',
      { namespace: 'default', name: 'v', createdAtMs: 0, target: { kind: 'StatefulSet', name: 'large' }, containers: { app: { cpu } } },
    ],
  ]);

const BEFORE: NodeRoom = { closure: { untilMs: START_MS, durationMs: 1 }, added: undefined, failed: undefined, why: undefined };

interface Setting {
  readonly autoscalers?: VerticalPodAutoscalers;
  readonly moved?: Pod;
  readonly asker?: Pod;
  /** What the API server has on the node. */
  readonly present: readonly Pod[];
  readonly budgets?: readonly ReturnType<typeof aBudget>[];
  /** Settings of the pool. */
  readonly drain?: Partial<DrainOptions>;
}

async function make({ asker = agent, moved = web, present, budgets = [], autoscalers, drain }: Setting) {
  const cluster = new FakeCluster({
    nodes: [aNode({ name: 'g-0' })],
    pods: present,
    disruptionBudgets: budgets,
    ...defined({ verticalPodAutoscalers: autoscalers }),
  });
  const cloud = new FakeCloud([aGroup({ id: 'g', target: 1 })]);
  const base = { clock: new FakeClock(START_MS), log: silentLog(), metrics: createMetrics(), policy: aPolicy(), cloud };
  const maker = new RoomMaker({
    ...base,
    reader: cluster,
    tainter: cluster,
    evictor: cluster,
    events: cluster,
    owners: NO_OWNERS,
    deletionOwner: () => SELF,
  });
  maker.begin({ node: 'g-0', group: G, pods: [moved], asker, drain, before: BEFORE });
  const wasBusy = maker.isBusy;
  maker.begin({ node: 'g-0', group: G, pods: [web], asker, drain, before: BEFORE });
  await settle();
  const { failed, moved: gone } = maker.collect();
  expect(maker.collect()).toEqual({ failed: [], moved: [] });
  return {
    failed,
    gone: gone.map(({ pods }) => pods.map(({ name }) => name)),
    evicted: cluster.evicted.map(({ pod }) => pod),
    busy: [wasBusy, maker.isBusy],
    events: cluster.events,
  };
}

it.each<readonly [string, Setting, readonly string[]]>([
  ['while a pod of a DaemonSet waits', { present: [web, agent] }, ['web']],
  ['not once that pod is gone', { present: [web] }, []],
  ['while a resize is deferred', { asker: db, present: [web, db] }, ['web']],
  ['not once the resize is done', { asker: db, present: [web, done] }, []],
  ['not once the pod runs there', { present: [web, { ...agent, nodeName: 'g-0' }] }, []],
  [
    'for its own new size, if it comes back with it',
    { asker: large, moved: large, present: [large], autoscalers: gives(6_000) },
    ['large'],
  ],
  ['not if it would come back smaller by now', { asker: large, moved: large, present: [large], autoscalers: gives(5_000) }, []],
  ['not if it has its new size', { asker: large, moved: large, present: [settled], autoscalers: gives(6_000) }, []],
  ['not if it is gone', { present: [agent, aPod({ name: 'web', nodeName: 'g-0', uid: 'another' })] }, []],
  [
    'if the drain settings of its pool let it',
    { moved: local, present: [local, agent], drain: { skipNodesWithLocalStorage: false } },
    ['local'],
  ],
  ['not if those of its pool keep it', { moved: local, present: [local, agent], drain: { skipNodesWithLocalStorage: true } }, []],
  ['not if it ends by itself', { present: [agent, { ...web, deletionAtMs: START_MS }] }, []],
  ['not if it is protected by now', { present: [agent, podWith(web, { safeToEvict: 'false' })] }, []],
  ['not if its budget allows none', { present: [web, agent], budgets: [aBudget({ disruptionsAllowed: 0 })] }, []],
])('a pod is moved once %s', async (_what, setting, expected) => {
  const { evicted, busy, events, failed, gone } = await make(setting);
  expect(gone).toEqual(expected.length === 0 ? [] : [expected]);
  // What was remembered of the node comes back.
  expect(failed).toEqual(
    expected.length > 0
      ? []
      : [{ node: 'g-0', before: BEFORE, why: expect.stringMatching(/^no pod was moved: ./) as unknown, waitMs: 60_000 }],
  );
  expect([evicted, busy]).toEqual([expected, [true, false]]);
  const said = events.map(({ reason, subject }) => `${reason} ${subject.name}`);
  expect(said).toEqual(
    expected.length === 0 ? [] : [`MakingRoom ${(setting.asker ?? agent).name}`, `MakingRoom ${(setting.moved ?? web).name}`],
  );
});

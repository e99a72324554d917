/** Which pods are moved from a node that stays, so that a pod that waits for the node has room there. */
import { array, assert, boolean, integer, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockTexts } from '../../../../src/domain/group-blocks.ts';
import { nodeGroupId, podName } from '../../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Node } from '../../../../src/domain/node.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { NOTHING_REPACKED, type NodeRoom } from '../../../../src/domain/repack.ts';
import type { DisruptionBudget, VerticalPodAutoscalers } from '../../../../src/domain/workloads.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { REMOVALS_ALONE, makeScaleDownContext } from '../../../../src/planning/scale-down/plan-context.ts';
import { planRoom, withFailedTry } from '../../../../src/planning/scale-down/room/room.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { START_MS, aBudget, aNode, aPod, aTemplate, keyOf, podWith, resourceNames, type PodOptions } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { MINUTE, observe, pool } from '../world.ts';

const HOUR = 60 * MINUTE;
const OLD = START_MS - 2 * HOUR;
const FULL = 'a-0';

/** A pod of a DaemonSet that waits for the full node. */
const agent = (cpu: string, priority = 0, options: PodOptions = {}): Pod =>
  aPod({
    name: 'agent',
    daemonSet: true,
    controller: { kind: 'DaemonSet', name: 'agent', uid: 'd' },
    unschedulable: { sinceMs: START_MS - 2 * MINUTE, message: '' },
    shape: { cpu, priority, nodeAffinity: [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: [FULL] }] }] },
    ...options,
  });

const on = (node: string, name: string, cpu: string, options: PodOptions = {}): Pod =>
  aPod({ name, nodeName: node, cpu, createdAtMs: OLD, ...options });

/** A running pod whose new size waits. Its shape has that size, as kube-scheduler counts it. */
const deferred = (cpu: string): Pod =>
  on(FULL, 'db', cpu, { resize: { kind: 'deferred', message: '', wanted: resourceNames.parse({ cpu, memory: '128Mi', pods: '1' }) } });

const MEMORY = 128 * 2 ** 20;

/** A running pod of a StatefulSet that waits for a size of this CPU. */
function resized(kind: 'deferred' | 'infeasible', cpu: string, options: PodOptions = {}): Pod {
  const wanted = resourceNames.parse({ cpu, memory: '128Mi', pods: '1' });
  const counted = kind === 'deferred' ? cpu : '1';
  const requests = { cpu: resourceNames.parse({ cpu: counted })[0] ?? 0, memory: MEMORY };
  const limits = { cpu: Number.MAX_SAFE_INTEGER, memory: Number.MAX_SAFE_INTEGER };
  const containers = { running: [{ name: 'app', requests, limits }], starting: { cpu: 0, memory: 0 } };
  const controller = { kind: 'StatefulSet', name: 'db', uid: 's' };
  return on(FULL, 'db', counted, { controller, shape: { cpu: counted, containers }, resize: { kind, message: '', wanted }, ...options });
}

/** Gives it this many millicores when it is created again. */
function autoscaler(cpu: number): VerticalPodAutoscalers {
  const target = { kind: 'StatefulSet', name: 'db' };
  const one = { namespace: 'default', name: 'db', createdAtMs: 0, target, containers: { app: { cpu, memory: MEMORY } } };
  return new Map([['default/StatefulSet/db', one]]);
}

interface World {
  readonly autoscalers?: VerticalPodAutoscalers;
  readonly pods: readonly Pod[];
  /** CPU of the other node. */
  readonly other?: string;
  readonly group?: Partial<NodeGroup> & BlockTexts;
  readonly node?: Partial<Node>;
  readonly budgets?: readonly DisruptionBudget[];
  readonly room?: Partial<NodeRoom>;
  /** On how many other nodes room was made half an hour ago. */
  readonly made?: number;
  readonly on?: boolean;
  readonly scaleDown?: boolean;
  readonly busy?: boolean;
  /** CPU of a pod on a further node, which is being removed. */
  readonly draining?: string;
}

const EMPTY: NodeRoom = { closure: undefined, added: undefined, failed: undefined, why: undefined };

function decide({
  autoscalers,
  pods,
  other = '4',
  group,
  node,
  budgets = [],
  room,
  made = 0,
  on: makeRoom = true,
  scaleDown = true,
  busy = false,
  draining,
}: World) {
  const closed = Array.from({ length: made }, (_, at) => `a-${at + 2}`);
  const nodes = [
    aNode({ name: FULL, cpu: '4', ...node }),
    aNode({ name: 'a-1', cpu: other }),
    ...closed.map((name) => aNode({ name, unschedulable: true })),
    ...(draining === undefined ? [] : [aNode({ name: 'a-9', cpu: '4' })]),
  ];
  const isLeaving = { group: nodeGroupId('a'), instance: keyOf('a-9'), sinceMs: START_MS, sentAtMs: undefined };
  const deleting = new Map(draining === undefined ? [] : [['a-9', isLeaving] as const]);
  const observed = observe({
    groups: [pool('a', nodes.length, { maxSize: nodes.length, ...group }), pool('z', 0, { maxSize: 0 })],
    nodes,
    pods: draining === undefined ? pods : [...pods, on('a-9', 'leaves', draining)],
    budgets,
  });
  const observation =
    autoscalers === undefined ? observed : { ...observed, cluster: { ...observed.cluster, verticalPodAutoscalers: autoscalers } };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const policy = aPolicy({ scaleDown: { makeRoom, enabled: scaleDown } });
  const context = makeScaleDownContext({
    ...REMOVALS_ALONE,
    observation,
    state: aState({ deleting }),
    policy,
    names: resourceNames,
    snapshot,
    inSequence: true,
  });
  const lately = { ...EMPTY, closure: { untilMs: START_MS + HOUR / 2, durationMs: HOUR } };
  const rooms = new Map<string, NodeRoom>(closed.map((name) => [name, lately]));
  if (room !== undefined) rooms.set(FULL, { ...EMPTY, ...room });
  const plan = { unneeded: new Map(), removals: [] };
  const decision = finishAtOnce(planRoom({ context, names: resourceNames, plan, memory: { ...NOTHING_REPACKED, rooms }, busy }));
  const left = nodes.map(({ name }) => snapshot.get(name)?.pods.length);
  return { ...decision, moved: decision.move?.pods.map(podName), said: decision.rooms.get(FULL), left };
}

describe('room on a full node', () => {
  const web = on(FULL, 'web', '1');
  const api = on(FULL, 'api', '3');
  it.each<readonly [string, World, readonly string[]]>([
    ['for a pod of a DaemonSet: the smallest pod that is enough', { pods: [agent('1'), web, api] }, ['default/web']],
    ['for a deferred resize', { pods: [deferred('2500m'), web, on(FULL, 'job', '1')] }, ['default/job']],
    [
      'another pod, if the first has no other place',
      { pods: [agent('1'), on(FULL, 'x', '1', { shape: { cpu: '1', nodeSelector: { k: 'v' } } }), api] },
      ['default/api'],
    ],
    [
      'several pods',
      { pods: [agent('2'), web, on(FULL, 'b', '1'), on(FULL, 'c', '2', { safeToEvict: 'false' })] },
      ['default/b', 'default/web'],
    ],
    [
      'where headroom stands in the way: of the pods that run there, the smallest is enough',
      { pods: [agent('1'), on(FULL, 'web', '500m'), api, on(FULL, 'headroom', '500m', { origin: 'buffer' })] },
      ['default/web'],
    ],
    [
      'that was promised, by the node that came for it',
      { pods: [agent('1'), web, api], room: { closure: { untilMs: START_MS + 1, durationMs: HOUR }, added: pool('a', 0).id } },
      ['default/web'],
    ],
    [
      'again after its time',
      { pods: [agent('1'), web, api], room: { closure: { untilMs: START_MS - 1, durationMs: HOUR } } },
      ['default/web'],
    ],
    [
      'once a try that came to nothing is over',
      { pods: [agent('1'), web, api], room: { failed: { why: 'x', untilMs: START_MS } } },
      ['default/web'],
    ],
    [
      'where the pool alone has it on',
      { pods: [agent('1'), web, api], on: false, group: { options: { makeRoom: true } } },
      ['default/web'],
    ],
  ])('is made %s', (_what, world, expected) => {
    const { moved, increase, left } = decide(world);
    expect([moved, increase]).toEqual([expected, undefined]);
    // The snapshot is as found.
    expect(left[0]).toBe(world.pods.filter(({ nodeName }) => nodeName === FULL).length);
  });

  const away = { pods: [agent('1'), web, api] };
  it.each<readonly [string, World, string | undefined]>([
    ['it is off', { ...away, on: false }, undefined],
    ['nodes are not removed either', { ...away, scaleDown: false }, 'scale-down is disabled'],
    [
      'the last try came to nothing a moment ago',
      { ...away, room: { failed: { why: 'no pod was moved: x', untilMs: START_MS + 1 } } },
      'no pod was moved: x; it is tried again from 20',
    ],
    ['it is off for the pool', { ...away, group: { options: { makeRoom: false } } }, 'no room is made in pool a'],
    ['no other node has room, and no pool may grow', { ...away, other: '500m' }, 'would find no place'],
    [
      'the pods are young',
      { pods: [agent('1'), { ...web, createdAtMs: START_MS - 59 * MINUTE }, { ...api, createdAtMs: START_MS }] },
      'younger than',
    ],
    ['the pods are of a higher priority', { pods: [agent('1', -1), web, api] }, 'of a higher priority'],
    ['the place is needed by a pod of a node that is being removed', { ...away, draining: '3500m' }, 'would find no place'],
    ['a budget allows none', { ...away, budgets: [aBudget({ disruptionsAllowed: 0 })] }, 'no pod there may be moved'],
    ['its group is paused', { ...away, group: { removalsHeld: 'a pause of ann' } }, 'a pause of ann'],
    ['pods of another node move', { ...away, busy: true }, 'another node are being moved'],
    ['a pod is ending there', { pods: [...away.pods, on(FULL, 'end', '100m', { deletionAtMs: START_MS })] }, 'is ending'],
    ['it was made an hour ago', { ...away, room: { closure: { untilMs: START_MS + 1, durationMs: HOUR } } }, 'none is before'],
    ['it was made on five nodes within an hour', { ...away, made: 5 }, 'room was made on 5 nodes within an hour, of 5'],
    [
      'the pod waits for a moment only',
      { pods: [agent('1', 0, { unschedulable: { sinceMs: START_MS - 59_000, message: '' } }), web, api] },
      undefined,
    ],
    [
      'the resize can never be',
      {
        pods: [podWith(deferred('2500m'), { resize: { kind: 'infeasible', message: '', wanted: resourceNames.parse({ cpu: '9' }) } }), web],
      },
      'its node can never hold that size, and what a replacement would request is not known (cluster.verticalPodAutoscalers is off)',
    ],
    ['the node is not ready', { ...away, node: { readiness: { ready: false, sinceMs: START_MS, reason: '' } } }, 'not ready'],
  ])('is not made if %s', (_what, world, why) => {
    const { move, increase, said } = decide(world);
    expect([move, increase]).toEqual([undefined, undefined]);
    if (why === undefined) expect(said?.why).toBeUndefined();
    else expect(said?.why).toContain(why);
  });
});

describe('what is remembered of room', () => {
  const away = { pods: [agent('1'), on(FULL, 'web', '1'), on(FULL, 'api', '3')] };
  it('a try that came to nothing closes the node for a minute alone, and uses nothing of the hour', () => {
    const before = { closure: { untilMs: START_MS - 1, durationMs: HOUR }, added: undefined };
    const { move, rooms } = decide({ ...away, room: before });
    if (move === undefined) throw new Error('no move');
    const { rooms: after } = withFailedTry({ ...NOTHING_REPACKED, rooms }, { ...move, why: 'x', waitMs: MINUTE }, START_MS);
    expect(after.get(FULL)).toEqual({ ...before, failed: { why: 'x', untilMs: START_MS + MINUTE }, why: 'x' });
  });

  it('is not said any more once it is off', () => {
    const { said } = decide({ ...away, on: false, room: { closure: { untilMs: START_MS + 1, durationMs: HOUR }, why: 'a pod moves' } });
    expect([said?.closure?.durationMs, said?.why]).toEqual([HOUR, undefined]);
  });
});

describe('a pod that waits for its new size', () => {
  const [web, fixed] = [on(FULL, 'web', '1'), on(FULL, 'web', '1', { safeToEvict: 'false' })];
  const six = { pods: [resized('deferred', '6'), web], other: '8', autoscalers: autoscaler(6_000) };
  it.each<readonly [string, World, string]>([
    ['if its node is too small, whatever its kubelet calls that', six, 'db'],
    ['if its kubelet cannot make it', { ...six, pods: [resized('infeasible', '2'), web], autoscalers: autoscaler(2_000) }, 'db'],
    ['if no others may', { pods: [resized('deferred', '3500m'), fixed], autoscalers: autoscaler(3_500) }, 'db'],
    ['unless others are enough: one of them does', { pods: [resized('deferred', '3500m'), web], autoscalers: autoscaler(3_500) }, 'web'],
  ])('moves itself %s', (_what, world, name) => {
    const { moved, increase, said } = decide(world);
    expect([moved, increase, said?.why]).toEqual([[`default/${name}`], undefined, `pod default/${name} moves to another node`]);
  });

  it.each<readonly [string, World, string]>([
    ['comes back smaller', { ...six, autoscalers: autoscaler(5_999) }, 'no VerticalPodAutoscaler gives a replacement that size'],
    ['may not move', { ...six, pods: [resized('deferred', '6', { safeToEvict: 'false' }), web] }, 'it may not be moved'],
    [
      'is young',
      { ...six, pods: [resized('deferred', '6', { createdAtMs: START_MS - 59 * MINUTE }), web] },
      'it runs for less than 60 min',
    ],
    ['has no place', { ...six, other: '5' }, 'no other node has room for that size'],
    ['is in a pool where that is off', { ...six, group: { options: { makeRoom: false } } }, 'no room is made in pool a'],
  ])('stays if it %s', (_what, world, why) => {
    const { move, increase, said } = decide(world);
    expect([move, increase]).toEqual([undefined, undefined]);
    expect(said?.why).toContain(why);
  });

  it('moves once a node that holds it came, which is requested first', () => {
    const { move, increase: asked } = decide({ ...six, other: '5', group: { maxSize: 3, template: aTemplate({ cpu: '8' }) } });
    expect([move, asked?.increase.to, asked?.increase.cause]).toEqual([undefined, 3, 'make-room']);
  });
});

describe('room for which no present node has places', () => {
  const web = on(FULL, 'web', '1');
  const api = on(FULL, 'api', '3', { safeToEvict: 'false' });
  const growing = { pods: [agent('1'), web, api], other: '500m', group: { maxSize: 3, template: aTemplate({ cpu: '4' }) } };

  it('is made once a new node came, which is requested first and once', () => {
    const first = decide(growing);
    expect([first.move, first.increase]).toEqual([
      undefined,
      {
        increase: { group: 'a', from: 2, to: 3, version: expect.anything() as unknown, pods: [], cause: 'make-room' },
        asked: { node: FULL, before: EMPTY },
      },
    ]);
    expect(first.said).toEqual({
      closure: { untilMs: START_MS + HOUR, durationMs: HOUR },
      added: 'a',
      failed: undefined,
      why: 'a node for its pods is being requested',
    });
    const { why: _why, ...room } = first.said ?? EMPTY;
    const waits = decide({ ...growing, room });
    expect([waits.move, waits.increase]).toEqual([undefined, undefined]);
    const came = decide({ ...growing, other: '4', room });
    expect([came.moved, came.said?.added, came.said?.closure]).toEqual([['default/web'], undefined, room.closure]);
  });

  it('is requested for a longer time later', () => {
    const again = decide({ ...growing, room: { closure: { untilMs: START_MS, durationMs: HOUR }, added: pool('a', 0).id } });
    expect(again.said?.closure?.durationMs).toBe(2 * HOUR);
  });

  it('is not requested if the new node would not hold the pod either', () => {
    expect(decide({ ...growing, group: { maxSize: 3, template: aTemplate({ cpu: '900m' }) } }).increase).toBeUndefined();
  });
});

it('no pod is moved without a place, while it is young, or twice within an hour, and the one that waits fits then', () => {
  const size = integer({ min: 1, max: 12 });
  const somePod = record({ size, young: boolean(), safe: boolean(), priority: integer({ min: -1, max: 1 }) });
  const cpuOf = (quarters: number): string => `${quarters * 250}m`;
  const check = property(
    array(somePod, { maxLength: 8 }),
    size,
    integer({ min: 0, max: 16 }),
    option(integer({ min: -2, max: 2 })),
    (pods, needs, room, closed) => {
      const present = pods.map(({ size: cpu, young, safe, priority }, at) =>
        on(FULL, `p${at}`, cpuOf(cpu), {
          shape: { cpu: cpuOf(cpu), priority },
          ...(young ? { createdAtMs: START_MS - MINUTE } : {}),
          ...(safe ? {} : { safeToEvict: 'false' as const }),
        }),
      );
      const used = pods.reduce((sum, one) => sum + one.size, 0);
      if (used > 16) return;
      const closure = closed === null ? undefined : { untilMs: START_MS + closed * MINUTE, durationMs: HOUR };
      const { move, said } = decide({ pods: [agent(cpuOf(needs)), ...present], other: cpuOf(room), room: { closure } });
      if (move === undefined) return;
      expect(closed === null || closed <= 0).toBe(true);
      const moved = move.pods.map((pod) => pods[present.indexOf(pod)]);
      expect(moved.every((one) => one !== undefined && !one.young && one.safe && one.priority <= 0)).toBe(true);
      const freed = moved.reduce((sum, one) => sum + (one?.size ?? 0), 0);
      expect([freed <= room, used - freed + needs <= 16, used + needs > 16]).toEqual([true, true, true]);
      expect(said?.closure?.untilMs).toBeGreaterThanOrEqual(START_MS + HOUR);
    },
  );
  assert(check, { numRuns: 200 });
});

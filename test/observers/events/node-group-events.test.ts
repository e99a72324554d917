import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../../src/domain/ids.ts';
import type { RemovalOutcome } from '../../../src/domain/outcome.ts';
import type { CloudEvent } from '../../../src/domain/observation.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Instance } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import type { SkipReason } from '../../../src/domain/reasons.ts';
import { failedInstances } from '../../../src/observers/events/failed-instances.ts';
import { describeNodeGroupEvents } from '../../../src/observers/events/node-group-events.ts';
import { aCloud, aCluster, aGroup, aNode, anInstance, START_MS } from '../../support/builders.ts';
import { aLoopReport, aScaleUpPlan } from '../../support/loop-report.ts';
import { aPolicy } from '../../support/policy.ts';
import { aBackoff, aState } from '../../support/state.ts';

const A = nodeGroupId('a');
const key = instanceKey('sub|rg|vmss|a|1');
const unready = { ready: false, sinceMs: START_MS, reason: 'KubeletNotReady' };

interface Scene {
  readonly nodes?: readonly Node[];
  readonly events?: readonly CloudEvent[];
  readonly state?: Partial<LoopState>;
  readonly removed?: readonly RemovalOutcome[];
  readonly skipped?: readonly SkipReason[];
  readonly policy?: Partial<Policy>;
  /** How long the process runs. */
  readonly upMs?: number;
}

function told({
  nodes = [aNode({ name: 'a-0' })],
  events = [],
  state = {},
  removed = [],
  skipped = [],
  policy = {},
  upMs = 3_600_000,
}: Scene): readonly string[] {
  const cluster = aCluster({ nodes });
  const cloud = aCloud([aGroup({ id: 'a' })], cluster, { events });
  const plan = aScaleUpPlan({ skipped: skipped.map((reason) => ({ group: A, reason })) });
  const report = aLoopReport({
    observation: { loopId: 1, nowMs: START_MS, cluster, cloud },
    rounds: [{ plan, increases: [] }],
    removed,
    state: aState(state),
  });
  const rules = { ...aPolicy({ scaleUp: { maxNodesTotal: 5 } }), ...policy };
  return describeNodeGroupEvents(report, { policy: rules, namespace: 'kube-system', startedAtMs: START_MS - upMs }).map(
    ({ subject, type, reason, message }) => {
      expect(subject).toEqual({ kind: 'ConfigMap', namespace: 'kube-system', name: 'cluster-autoscaler-status' });
      return `${type} ${reason}: ${message}`;
    },
  );
}

const notFromZero = { cluster: { ...aPolicy().cluster, scaleUpFromZero: false } };
const sick = Array.from({ length: 5 }, (_, index) => aNode({ name: `n-${index}`, readiness: index === 0 ? aNode().readiness : unready }));
const late: CloudEvent = {
  kind: 'increase-failed',
  group: A,
  requested: 4,
  error: { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: 'No stock.' },
  atMs: START_MS,
};
const instances = { kind: 'instances', group: A, instances: [key], cause: 'failed', atMs: START_MS } as const;
const deleted = { kind: 'deleted', group: A, node: 'a-0', instance: key, drained: true, reimaged: false, atMs: START_MS } as const;
const uncounted = { empty: false, budgeted: undefined, atMs: START_MS } as const;
const begun = { kind: 'started', group: A, node: 'a-0', instance: key, pods: [], utilization: 0, ...uncounted } as const;
const timedOut = (atMs: number) => ({
  backoffs: new Map([[A, aBackoff({ untilMs: START_MS + 1, durationMs: 1, lastFailureMs: atMs, cause: 'timeout' })]]),
});

describe('events about groups and the cluster', () => {
  it.each([
    ['an idle loop', {}, []],
    [
      'a pool that appears, and one that is gone',
      {
        events: [
          { kind: 'group-appeared', group: A, atMs: START_MS },
          { kind: 'group-vanished', group: nodeGroupId('b'), because: 'Azure no longer lists it', atMs: START_MS },
        ],
      },
      [
        'Normal NodeGroupAppeared: Node group a appeared (min: 0, max: 10)',
        'Normal NodeGroupVanished: Node group b disappeared: Azure no longer lists it',
      ],
    ],
    [
      'a late failure of a deletion',
      { events: [{ kind: 'delete-failed', group: A, instances: [key], message: 'OperationPreempted: no.', atMs: START_MS }] },
      ['Warning ScaleDownFailed: Deletion of 1 instances of a failed after Azure had accepted it: OperationPreempted: no.'],
    ],
    [
      'a late failure of a reimage',
      { events: [{ kind: 'delete-failed', group: A, instances: [key], message: 'no.', remain: true, atMs: START_MS }] },
      ['Warning ScaleDownFailed: Deallocation or reimage of 1 instances of a failed after Azure had accepted it: no.'],
    ],
    ['a sick node that is reimaged', { removed: [{ ...deleted, reimaged: true }] }, ['Normal NodeReimaged: Sick node a-0 is reimaged']],
    ['nodes that never joined', { state: timedOut(START_MS) }, ['Warning ScaleUpTimedOut: Nodes of a did not join the cluster in time']],
    ['nodes that did not join earlier', { state: timedOut(START_MS - 1) }, []],
    [
      'a removal that begins, of a node with pods',
      { removed: [{ ...begun, pods: ['default/web-1', 'default/web-2'], utilization: 0.41666 }] },
      ['Normal ScaleDown: Scale-down: removing node a-0, utilization: 0.417, pods to reschedule: default/web-1,default/web-2'],
    ],
    ['a removal that begins, of an empty node', { removed: [begun] }, ['Normal ScaleDownEmpty: Scale-down: removing empty node a-0']],
    ['a node that was drained and deleted', { removed: [deleted] }, ['Normal ScaleDown: Scale-down: node a-0 removed with drain']],
    [
      'an empty node that was deleted',
      { removed: [{ ...deleted, drained: false }] },
      ['Normal ScaleDownEmpty: Scale-down: empty node a-0 removed'],
    ],
    [
      'cleared instances',
      { removed: [{ ...instances, accepted: true, message: '' }] },
      ['Normal DeleteUnregistered: Deleting 1 instances of a that never registered as nodes (ids 1)'],
    ],
    [
      'instances that stay',
      { removed: [{ ...instances, accepted: false, message: 'Azure is ill' }] },
      ['Warning DeleteUnregisteredFailed: 1 instances of a that never registered as nodes (ids 1) could not be deleted: Azure is ill'],
    ],
    [
      'the limit of nodes',
      { skipped: [{ kind: 'cluster-limit', limit: 'nodes', value: 5, used: 5, needs: 1 }] },
      ['Warning MaxNodesTotalReached: Max total nodes in cluster reached: 5'],
    ],
    ['another limit', { skipped: [{ kind: 'cluster-limit', limit: 'cores', value: 5, used: 4, needs: 4 }] }, []],
    ['no nodes, which may grow from zero', { nodes: [] }, []],
    ['no nodes', { nodes: [], policy: notFromZero }, ['Warning ClusterUnhealthy: Cluster has no nodes']],
    [
      'no ready node',
      { nodes: [aNode({ readiness: unready })], policy: notFromZero },
      ['Warning ClusterUnhealthy: Cluster has no ready nodes'],
    ],
    ['no ready node, in the first ten minutes', { nodes: [aNode({ readiness: unready })], policy: notFromZero, upMs: 600_000 }, []],
    ['no nodes, in the first ten minutes', { nodes: [], policy: notFromZero, upMs: 0 }, ['Warning ClusterUnhealthy: Cluster has no nodes']],
    [
      'a sick cluster, in the first ten minutes',
      { nodes: sick, upMs: 0 },
      ['Warning ClusterUnhealthy: Cluster is unhealthy: 4 of 5 nodes are not ready'],
    ],
    ['a sick cluster', { nodes: sick }, ['Warning ClusterUnhealthy: Cluster is unhealthy: 4 of 5 nodes are not ready']],
  ] satisfies readonly (readonly [string, Scene, readonly string[]])[])('%s', (_what, scene, events) => {
    expect(told(scene)).toEqual(events);
  });
});

describe('machines that failed before they became nodes', () => {
  const failed = (node: string, kind: 'out-of-capacity' | 'unavailable', message: string): Instance => {
    const detail = kind === 'unavailable' ? ({ kind, effect: 'none' } as const) : ({ kind, scope: {} } as const);
    const code = kind === 'unavailable' ? 'VMExtensionProvisioningError' : 'AllocationFailed';
    return anInstance({ node, state: 'failed', error: { detail, code, message } });
  };
  const look = (instances: readonly Instance[], nodes: readonly Node[] = []) => {
    const events: string[] = [];
    const tell = failedInstances(
      { record: ({ type, reason, message }) => void events.push(`${type} ${reason}: ${message}`) },
      'kube-system',
    );
    let nowMs = START_MS;
    return {
      events,
      see: (machines: readonly Instance[] = instances, told: readonly CloudEvent[] = [], laterMs = 10_000) => {
        nowMs += laterMs;
        const cluster = aCluster({ nodes });
        const cloud = aCloud([aGroup({ id: 'a', target: machines.length, instances: machines })], cluster, { events: told });
        tell(aLoopReport({ observation: { loopId: 1, nowMs, cluster, cloud } }));
      },
    };
  };

  it('are reported once, by class and code, and their messages once each', () => {
    const { see, events } = look([]);
    see([]);
    const machines = [
      failed('a-0', 'out-of-capacity', 'No stock.'),
      failed('a-1', 'out-of-capacity', 'No stock.'),
      failed('a-2', 'unavailable', 'exit status=50'),
    ];
    see(machines);
    expect(events).toEqual([
      'Warning ScaleUpFailed: Failed adding 2 nodes to group a due to OutOfResource.AllocationFailed; source errors: No stock.',
      'Warning ScaleUpFailed: Failed adding 1 nodes to group a due to Other.VMExtensionProvisioningError; source errors: exit status=50',
    ]);
    see(machines);
    expect(events).toHaveLength(2);
    see([...machines, failed('a-3', 'out-of-capacity', 'None.')]);
    expect(events[2]).toContain('Failed adding 1 nodes to group a');
  });

  it('reports a failed operation if none of its instances was reported, and not the instances of a reported one', () => {
    const machines = [failed('a-0', 'out-of-capacity', 'No stock.')];
    const four = 'Warning ScaleUpFailed: Failed adding 4 nodes to group a due to OutOfResource.AllocationFailed; source errors: No stock.';
    const bootstrap = { detail: { kind: 'unavailable', effect: 'none' }, code: 'VMExtensionProvisioningError', message: 'exit.' } as const;
    const other = look([]);
    other.see([], [{ ...late, error: bootstrap }]);
    expect(other.events[0]).toContain(' due to Other.VMExtensionProvisioningError; source errors: exit.');
    const operationFirst = look([]);
    operationFirst.see([], [late]);
    operationFirst.see(machines);
    expect(operationFirst.events).toEqual([four]);
    const machinesFirst = look([]);
    machinesFirst.see([]);
    machinesFirst.see(machines);
    machinesFirst.see([], [late]);
    expect(machinesFirst.events).toEqual([four.replace('4', '1')]);
    machinesFirst.see([], [late], 300_000);
    expect(machinesFirst.events).toHaveLength(2);
  });

  it('reports three of many messages', () => {
    const { see, events } = look([]);
    see([]);
    see([1, 2, 3, 4].map((number) => failed(`a-${number}`, 'out-of-capacity', `m${number}`)));
    expect(events[0]).toMatch(/; source errors: m1; m2; m3 \.\.\.$/);
  });

  it('are old news to a process that begins, and no news of nodes that did come', () => {
    const old = [failed('a-0', 'out-of-capacity', 'No stock.')];
    const first = look(old);
    first.see();
    first.see();
    expect(first.events).toEqual([]);
    const came = look([], [aNode({ name: 'a-0' })]);
    came.see();
    came.see(old);
    expect(came.events).toEqual([]);
  });
});

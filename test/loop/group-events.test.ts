import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../src/domain/ids.ts';
import type { RemovalOutcome } from '../../src/domain/outcome.ts';
import type { CloudEvent } from '../../src/domain/observation.ts';
import type { LoopState } from '../../src/domain/loop-state.ts';
import type { Node } from '../../src/domain/node.ts';
import type { Policy } from '../../src/domain/policy.ts';
import type { SkipReason } from '../../src/domain/reasons.ts';
import { groupEvents } from '../../src/loop/group-events.ts';
import type { LoopReport } from '../../src/loop/report.ts';
import { emptyLoopState } from '../../src/planning/state.ts';
import { aCloud, aCluster, aGroup, aNode, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';

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
}

function told({
  nodes = [aNode({ name: 'a-0' })],
  events = [],
  state = {},
  removed = [],
  skipped = [],
  policy = {},
}: Scene): readonly string[] {
  const cluster = aCluster({ nodes });
  const cloud = aCloud([aGroup({ id: 'a' })], cluster, { events });
  const plan = { increases: [], skipped: skipped.map((reason) => ({ group: A, reason })), verdicts: new Map(), options: [], summary: '' };
  const report: LoopReport = {
    loopId: 1,
    trigger: 'scan',
    startedAtMs: START_MS,
    durationMs: 1,
    observation: { loopId: 1, nowMs: START_MS, cluster, cloud },
    rounds: [{ plan, increases: [] }],
    scaleDown: undefined,
    unsettled: false,
    removed,
    stepMs: {},
    failures: [],
    outcome: 'completed',
    state: { ...emptyLoopState(START_MS), ...state },
  };
  const rules = { ...aPolicy({ scaleUp: { maxNodesTotal: 5 } }), ...policy };
  return groupEvents(report, rules, 'kube-system').map(({ subject, type, reason, message }) => {
    expect(subject).toEqual({ kind: 'ConfigMap', namespace: 'kube-system', name: 'cluster-autoscaler-status' });
    return `${type} ${reason}: ${message}`;
  });
}

const notFromZero = { cluster: { scaleUpFromZero: false } };
const sick = Array.from({ length: 5 }, (_, index) => aNode({ name: `n-${index}`, readiness: index === 0 ? aNode().readiness : unready }));
const late: CloudEvent = {
  kind: 'increase-failed',
  group: A,
  requested: 4,
  error: { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: 'No stock.' },
  atMs: START_MS,
};
const instances = { kind: 'instances', group: A, instances: [key], cause: 'failed', atMs: START_MS } as const;
const deleted = { kind: 'deleted', group: A, node: 'a-0', instance: key, drained: true, atMs: START_MS } as const;
const begun = { kind: 'started', group: A, node: 'a-0', instance: key, pods: [], utilization: 0, atMs: START_MS } as const;
const timedOut = (atMs: number) => ({
  backoffs: new Map([[A, { untilMs: START_MS + 1, durationMs: 1, lastFailureMs: atMs, cause: 'timeout' }]]),
});

describe('events about groups and the cluster', () => {
  it.each([
    ['an idle loop', {}, []],
    [
      'a pool that appears, and one that is gone',
      {
        events: [
          { kind: 'group-appeared', group: A, atMs: START_MS },
          { kind: 'group-vanished', group: nodeGroupId('b'), atMs: START_MS },
        ],
      },
      [
        'Normal NodeGroupAppeared: a is a node group from now on (min: 0, max: 10)',
        'Normal NodeGroupVanished: b is no node group any more',
      ],
    ],
    [
      'a late failure',
      { events: [late] },
      ['Warning ScaleUpFailed: Failed adding 4 nodes to group a due to OutOfResource.AllocationFailed; source errors: No stock.'],
    ],
    [
      'a late failure of a deletion',
      { events: [{ kind: 'delete-failed', group: A, instances: [key], message: 'OperationPreempted: no.', atMs: START_MS }] },
      ['Warning ScaleDownFailed: 1 machines of a stay, their deletion failed after it was accepted: OperationPreempted: no.'],
    ],
    ['nodes that never joined', { state: timedOut(START_MS) }, ['Warning ScaleUpTimedOut: Nodes of a did not join the cluster in time']],
    ['nodes that did not join earlier', { state: timedOut(START_MS - 1) }, []],
    [
      'a late failure that is not for want of capacity',
      {
        events: [
          {
            ...late,
            error: { detail: { kind: 'unavailable', effect: 'unknown' }, code: 'VMExtensionProvisioningError', message: 'vmssCSE failed.' },
          },
        ],
      },
      ['Warning ScaleUpFailed: Failed adding 4 nodes to group a due to Other.VMExtensionProvisioningError; source errors: vmssCSE failed.'],
    ],
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
      ['Normal DeleteUnregistered: Deleting 1 machines of a that are no nodes (instances 1)'],
    ],
    [
      'instances that stay',
      { removed: [{ ...instances, accepted: false, message: 'Azure is ill' }] },
      ['Warning DeleteUnregisteredFailed: 1 machines of a that are no nodes (instances 1) could not be deleted: Azure is ill'],
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
    ['a sick cluster', { nodes: sick }, ['Warning ClusterUnhealthy: Cluster is unhealthy: 4 of 5 nodes are not ready']],
  ] satisfies readonly (readonly [string, Scene, readonly string[]])[])('%s', (_what, scene, events) => {
    expect(told(scene)).toEqual(events);
  });
});

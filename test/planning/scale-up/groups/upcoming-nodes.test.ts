import { NO_VOLUME_RULES } from '../../../../src/domain/volumes.ts';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { Instance } from '../../../../src/domain/node-group.ts';
import { RESOURCE_NOT_READY, type Node } from '../../../../src/domain/node.ts';
import { findUpcomingNodes, indexUpcomingNodes } from '../../../../src/planning/scale-up/groups/upcoming-nodes.ts';
import {
  aCluster,
  aGroup,
  aNode,
  anInstance,
  anObservation,
  aPod,
  aTemplate,
  START_MS,
  type GroupOptions,
} from '../../../support/builders.ts';
import { aPolicy, growth, planFor, verdictOf } from '../world.ts';
import { aBackoff, aState, type StateParts } from '../../../support/state.ts';

const YOUNG = START_MS - 60_000;
const starting = (name: string, rest: Partial<Node> = {}) =>
  aNode({ name, createdAtMs: YOUNG, readiness: { ready: false, sinceMs: YOUNG, reason: 'starting' }, ...rest });
const instance = (node: string, rest: Partial<Instance> = {}) => anInstance({ node, firstSeenMs: YOUNG, state: 'creating', ...rest });
const A = nodeGroupId('a');
const live = new Map([[A, { group: A, nodes: 2, requestedAtMs: YOUNG, expectedByMs: START_MS + 1 }]]);
const expired = new Map([[A, { group: A, nodes: 2, requestedAtMs: YOUNG, expectedByMs: START_MS }]]);
const backoffs = new Map([[A, aBackoff({ untilMs: START_MS + 1, durationMs: 1, lastFailureMs: 0, cause: 'quota' })]]);
const deleting = new Map([['a-0', { group: A, instance: instance('a-0').key, sinceMs: YOUNG, sentAtMs: undefined }]]);

function count(group: GroupOptions, nodes: readonly Node[] = [], state: StateParts = {}): number {
  const observation = anObservation([aGroup({ id: 'a', ...group })], aCluster({ nodes }));
  const [only] = observation.cloud.groups;
  const index = indexUpcomingNodes({ observation, state: aState(state), policy: aPolicy() });
  const { unregistered, unready } = findUpcomingNodes(only!, index);
  return unregistered.length + unready.length;
}

describe('upcoming nodes', () => {
  it.each<[string, number, number]>([
    ['creating', count({ target: 1, instances: [instance('a-0')] }), 1],
    ['creating, in the memory of nobody', count({ target: 5, instances: [0, 1, 2, 3, 4].map((n) => instance(`a-${n}`)) }), 5],
    ['running, not registered', count({ target: 1, instances: [instance('a-0', { state: 'running' })] }), 1],
    ['failed', count({ target: 1, instances: [instance('a-0', { state: 'failed' })] }), 0],
    ['deallocated', count({ target: 1, instances: [instance('a-0', { state: 'deallocated' })] }), 0],
    ['deleting', count({ target: 0, instances: [instance('a-0', { state: 'deleting' })] }), 0],
    [
      'being deleted by us, not yet listed so',
      count({ target: 1, instances: [instance('a-0', { state: 'running' })] }, [], { deleting }),
      0,
    ],
    ['too old to believe in', count({ target: 1, instances: [instance('a-0', { firstSeenMs: START_MS - 900_000 })] }), 0],
    ['older than the group allows', count({ target: 1, instances: [instance('a-0')], options: { maxProvisionMs: 60_000 } }), 0],
    ['registered and ready', count({ target: 1, instances: [instance('a-0')] }, [aNode({ name: 'a-0' })]), 0],
    ['registered, young and not ready', count({ target: 1, instances: [instance('a-0')] }, [starting('a-0')]), 1],
    [
      'registered, old and not ready',
      count({ target: 1, instances: [instance('a-0')] }, [starting('a-0', { createdAtMs: START_MS - 900_000 })]),
      0,
    ],
    [
      'registered, not ready, in a group whose nodes take longer to start',
      count({ target: 1, instances: [instance('a-0')], options: { maxStartupMs: 1_800_000 } }, [
        starting('a-0', { createdAtMs: START_MS - 900_000 }),
      ]),
      1,
    ],
    ['registered, young, cordoned', count({ target: 1, instances: [instance('a-0')] }, [starting('a-0', { unschedulable: true })]), 0],
    ['registered, young, stopped', count({ target: 1, instances: [instance('a-0', { state: 'deallocated' })] }, [starting('a-0')]), 0],
    ['registered, young, suspended', count({ target: 1, instances: [instance('a-0')] }, [starting('a-0', { suspended: true })]), 0],
    ['a gap that we asked for', count({ target: 2, instances: [] }, [], { awaited: live }), 2],
    ['a gap that nobody remembers', count({ target: 2, instances: [] }), 0],
    ['a gap that should be filled by now', count({ target: 2, instances: [] }, [], { awaited: expired }), 0],
    ['a gap of a group in backoff', count({ target: 2, instances: [] }, [], { awaited: live, backoffs }), 0],
    ['a gap partly listed', count({ target: 3, instances: [instance('a-0'), instance('a-1')] }, [], { awaited: live }), 3],
    [
      'a gap behind an instance on its way out',
      count({ target: 2, instances: [instance('a-0', { state: 'deleting' })] }, [], { awaited: live }),
      2,
    ],
  ])('%s', (_, upcoming, expected) => {
    expect(upcoming).toBe(expected);
  });
});

describe('pods and nodes to come', () => {
  it('pods that fit nodes to come ask for nothing more; the next one does', () => {
    const group = aGroup({ id: 'a', target: 2, instances: [instance('a-0'), instance('a-1')] });
    const all = [aPod({ name: 'p1', cpu: '4' }), aPod({ name: 'p2', cpu: '4' }), aPod({ name: 'p3', cpu: '4' })];
    const plan = planFor({ groups: [group], pods: all });
    expect(all.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['fits-upcoming-node', 'fits-upcoming-node', 'triggered']);
    expect(growth(plan)).toEqual(['a 2->3']);
  });

  it('a node that is not ready yet counts as the node it will be, with the pods it has', () => {
    const group = aGroup({ id: 'a', target: 1, instances: [instance('a-0')] });
    const node = starting('a-0', { taints: [{ key: 'node.kubernetes.io/not-ready', value: '', effect: 'NoSchedule' }] });
    const world = { groups: [group], nodes: [node] };
    const pod = aPod({ cpu: '3' });
    expect(verdictOf(planFor({ ...world, pods: [pod] }), pod)).toEqual({ kind: 'fits-upcoming-node', group: 'a' });
    const taken = aPod({ cpu: '2', nodeName: 'a-0' });
    expect(growth(planFor({ ...world, pods: [pod, taken] }))).toEqual(['a 1->2']);
  });

  it('a node that waits for its devices is one to come, and no second one is asked for', () => {
    const lacking = (createdAtMs: number) =>
      aNode({ name: 'a-0', createdAtMs, readiness: { ready: false, sinceMs: createdAtMs, reason: RESOURCE_NOT_READY } });
    const group = aGroup({
      id: 'a',
      target: 1,
      instances: [instance('a-0', { state: 'running' })],
      template: aTemplate({ resources: { 'nvidia.com/gpu': '1' } }),
    });
    const pod = aPod({ cpu: '1', shape: { resources: { 'nvidia.com/gpu': '1' } } });
    const young = planFor({ groups: [group], nodes: [lacking(YOUNG)], pods: [pod] });
    expect([verdictOf(young, pod), growth(young)]).toEqual([{ kind: 'fits-upcoming-node', group: 'a' }, []]);
    const late = planFor({ groups: [group], nodes: [lacking(START_MS - 901_000)], pods: [pod] });
    expect(growth(late)).toEqual(['a 1->2']);
  });

  it('present nodes are filled before those to come', () => {
    const group = aGroup({ id: 'a', target: 2, instances: [instance('a-0'), instance('a-9')] });
    const plan = planFor({ groups: [group], nodes: [aNode({ name: 'a-0', cpu: '2' })], pods: [aPod({ cpu: '1' }), aPod({ cpu: '1' })] });
    expect([...plan.verdicts.values()].map((verdict) => verdict.kind)).toEqual(['fits-present-node', 'fits-present-node']);
  });

  it('a node to come whose zone is not known yet serves a pod of any of the zones, once', () => {
    const zone = (name: string) => aPod({ cpu: '1', shape: { cpu: '1', nodeSelector: { 'topology.kubernetes.io/zone': name } } });
    const group = aGroup({ id: 'a', target: 1, template: aTemplate({ zones: ['we-1', 'we-2'] }), instances: [instance('a-0')] });
    const one = planFor({ groups: [group], pods: [zone('we-2')] });
    expect(one.increases).toEqual([]);
    expect(growth(planFor({ groups: [group], pods: [zone('we-2'), zone('we-1')] }))).toEqual(['a 1->2']);
    const known = { ...group, instances: [instance('a-0', { zone: '1' })] };
    expect(growth(planFor({ groups: [known], pods: [zone('we-2')] }))).toEqual(['a 1->2']);
  });

  it('nodes to come count against the limit of nodes', () => {
    const group = aGroup({ id: 'a', target: 2, instances: [instance('a-0'), instance('a-1')] });
    const pods = [1, 2, 3, 4].map(() => aPod({ cpu: '4' }));
    expect(growth(planFor({ groups: [group], pods, policy: { maxNodesTotal: 3 } }))).toEqual(['a 2->3']);
  });
});

describe('a node that is ready before its disk driver is', () => {
  const ZONE = 'topology.disk.csi.azure.com/zone';
  const place = { kind: 'reachable', terms: [{ expressions: [{ key: ZONE, operator: 'In', values: ['we-1'] }], fields: [] }] } as const;
  const db = aPod({
    name: 'db',
    claims: [{ name: 'data', ephemeral: undefined }],
    shape: { volumes: { ...NO_VOLUME_RULES, places: [place] } },
  });
  const world = (createdAtMs: number, labels: Readonly<Record<string, string>> = {}) => ({
    groups: [aGroup({ id: 'a', target: 1, template: aTemplate({ labels: { [ZONE]: 'we-1' } }) })],
    nodes: [aNode({ name: 'a-0', createdAtMs, labels, readiness: { ready: true, sinceMs: createdAtMs, reason: '' } })],
    pods: [db],
  });

  it('is waited for: a disk that will fit there orders no other node', () => {
    const plan = planFor(world(YOUNG));
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, db)).toEqual({ kind: 'fits-upcoming-node', group: A });
  });

  it('is not waited for when the driver is there, nor for ever', () => {
    expect(verdictOf(planFor(world(YOUNG, { [ZONE]: 'we-1' })), db)).toEqual({ kind: 'fits-present-node', node: 'a-0' });
    expect(growth(planFor(world(START_MS - 3_600_000)))).toEqual(['a 1->2']);
  });
});

describe('a node that is ready before a CSI driver that must be there', () => {
  const DRIVER = 'disk.csi.azure.com';
  const db = aPod({ name: 'db', cpu: '1', shape: { volumes: { ...NO_VOLUME_RULES, drivers: [DRIVER] } } });
  const web = aPod({ name: 'web', cpu: '1' });
  const world = (pod: typeof db, ageMs: number, node: Partial<Node> = { missingDrivers: [DRIVER] }) => ({
    groups: [aGroup({ id: 'a', target: 1 })],
    nodes: [aNode({ name: 'a-0', createdAtMs: START_MS - ageMs, ...node })],
    pods: [pod],
  });

  it('is waited for by pods that need the driver', () => {
    const plan = planFor(world(db, 120_000));
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, db)).toEqual({ kind: 'fits-upcoming-node', group: A });
  });

  it('says nothing of the drivers that the next node gets', () => {
    const large = aPod({ name: 'large', cpu: '3500m', shape: { volumes: db.shape.volumes } });
    expect(growth(planFor({ ...world(db, 120_000), pods: [db, large] }))).toEqual(['a 1->2']);
  });

  it('takes other pods at once, and every pod once the driver is there', () => {
    const here = { kind: 'fits-present-node', node: 'a-0' };
    expect([verdictOf(planFor(world(web, 120_000)), web), verdictOf(planFor(world(db, 120_000, {})), db)]).toEqual([here, here]);
  });

  it('is the evidence that the driver does not come, when it has had its time', () => {
    const plan = planFor(world(db, 3_600_000));
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, db)).toMatchObject({ kind: 'helpless' });
    expect(growth(planFor({ ...world(web, 3_600_000), pods: [web, aPod({ name: 'large', cpu: '3500m' })] }))).toEqual(['a 1->2']);
  });
});

describe('a node that is ready while an agent has yet to take its taint off', () => {
  const KEY = 'example.com/agent-not-ready';
  const taints = [{ key: KEY, value: '', effect: 'NoSchedule' }] as const;
  const pod = aPod({ cpu: '1' });
  const world = (createdAtMs: number, startupTaints?: readonly string[]) => ({
    groups: [aGroup({ id: 'a', target: 1, template: { ...aTemplate(), ...(startupTaints === undefined ? {} : { startupTaints }) } })],
    nodes: [aNode({ name: 'a-0', createdAtMs, taints })],
    pods: [pod],
  });

  it('is waited for when nodes of the group were seen to lose that taint', () => {
    const plan = planFor(world(YOUNG, [KEY]));
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, pod)).toEqual({ kind: 'fits-upcoming-node', group: A });
  });

  it.each([
    ['a taint that nobody was seen to lose', world(YOUNG)],
    ['another taint', world(YOUNG, ['example.com/other'])],
    ['a node that has had its time', world(START_MS - 3_600_000, [KEY])],
  ])('is not waited for: %s', (_name, input) => {
    expect(growth(planFor(input))).toEqual(['a 1->2']);
  });
});

/** `plan --dump` answers with the very decision that the daemon took, at whatever moment it was dumped. */
import { describe, expect, it } from 'vitest';
import { NO_CAPACITY_OBJECTS } from '../../../src/domain/capacity-objects.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { podName } from '../../../src/domain/ids.ts';
import { dumpRecord } from '../../../src/loop/replay/dump.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { NOTHING_DECIDED, type LoopRecord } from '../../../src/domain/ports/records.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aStage } from '../../loop/support.ts';
import {
  START_MS,
  aCluster,
  aGroup,
  aNode,
  aPod,
  aPodTemplate,
  aProvisioningRequest,
  aShape,
  anInstance,
  anObservation,
  resourceNames,
} from '../../support/builders.ts';
import { aCapacityPolicy, aPolicy } from '../../support/policy.ts';
import { plan } from './support.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { aState } from '../../support/state.ts';

const quick = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } });

interface Said {
  readonly scaleUp: { readonly increases: readonly unknown[] };
  readonly scaleDown: { readonly removals: readonly { readonly node: string }[] };
  readonly notes?: readonly string[];
}

async function asked(record: LoopRecord, ...argv: readonly string[]): Promise<Said> {
  const { code, out, err } = await plan(['--dump=d.json', '--json', ...argv], { 'd.json': dumpRecord(record, resourceNames) });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as Said;
}

async function expectSame(record: LoopRecord): Promise<void> {
  const said = await asked(record);
  const [scaleUp] = record.scaleUp;
  const increases = (scaleUp?.increases ?? []).map(({ group, from, to, pods }) => ({ group, from, to, pods: pods.map(podName).sort() }));
  if (scaleUp !== undefined) expect(said.scaleUp.increases).toEqual(increases);
  if (record.scaleDown === undefined) return;
  expect(said.scaleDown.removals.map(({ node }) => node)).toEqual(record.scaleDown.removals.map(({ node }) => node).sort());
}

const downs = (records: readonly LoopRecord[]) => records.filter(({ scaleDown }) => scaleDown !== undefined);

describe('plan --dump', () => {
  it('stops where the recorded loop ran out of time, unless the input is changed', async () => {
    const tight = { ...groupTemplate(), allocatable: resourceNames.parse({ cpu: '1', memory: '1Gi', pods: '9' }) };
    const groups = [aGroup({ id: 'roomy', target: 0 }), aGroup({ id: 'tight', target: 0, template: tight })];
    const cluster = aCluster({ pods: [aPod({ name: 'web', cpu: '900m', memory: '900Mi' })] });
    for (const [loopId, first] of [
      [1, 'tight'],
      [2, 'roomy'],
    ] as const) {
      const observation = { ...anObservation(groups, cluster), loopId };
      const input = { ...FIRST_PLAN, observation, state: aState(), policy: quick, names: resourceNames };
      const scaleUp = planScaleUp({ ...input, isLate: (made) => made >= 1 });
      expect(scaleUp).toMatchObject({ cutShortAfter: 1, increases: [{ group: first }] });
      const record = { ...NOTHING_DECIDED, observation, stateBefore: aState(), scaleUp: [scaleUp], scaleDown: undefined, policy: quick };
      await expectSame(record);
      expect((await asked(record, '--set-max=roomy=7')).scaleUp.increases).toMatchObject([{ group: 'roomy' }]);
    }
  });

  it('of a loop that grew removes nothing, and neither does the answer', async () => {
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })];
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 2 })], nodes, pods: [aPod({ name: 'wide', cpu: '99' })], policy: quick });
    await stage.runOnce();
    stage.cluster.addPending(aPod({ name: 'web', cpu: '3', shape: { nodeSelector: { only: 'b' } } }));
    stage.cloud.groups.set(aGroup({ id: 'b' }).id, aGroup({ id: 'b', target: 0, template: groupTemplate({ only: 'b' }) }));
    await stage.clock.advance(1_000);
    await stage.runOnce();
    const grown = downs(stage.records).find(({ scaleUpPlanned }) => scaleUpPlanned === true);
    if (grown === undefined) throw new Error('nothing grew');
    expect(grown.scaleDown?.unneeded.size).toBe(2);
    await expectSame(grown);
    expect((await asked(grown)).notes).toContain('Nothing is removed: nodes are being added in this loop.');
  });

  it('of a loop whose growth failed knows that nothing may go', async () => {
    const observation = anObservation(
      [aGroup({ id: 'a', target: 2 })],
      aCluster({ nodes: [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })] }),
    );
    const state = aState({ unneededSince: new Map(['a-0', 'a-1'].map((name) => [name, START_MS - 1e7] as const)) });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const scaleDown = planScaleDown({
      ...REMOVALS_ALONE,
      observation,
      state,
      policy: quick,
      names: resourceNames,
      snapshot,
      scaleUpPlanned: 'unknown',
    });
    await expectSame({
      ...NOTHING_DECIDED,
      observation,
      stateBefore: state,
      scaleUp: [],
      scaleDown,
      policy: quick,
      scaleUpPlanned: 'unknown',
    });
  });

  it('of a second plan of one loop leaves out what the first one had tried', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })],
      pods: [aPod({ name: 'web' })],
      policy: quick,
    });
    stage.cloud.onIncrease = ({ group }) =>
      group === 'a'
        ? {
            kind: 'failed',
            group,
            error: new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'none left', { code: 'AllocationFailed' }),
          }
        : undefined;
    await stage.runOnce();
    const ups = stage.records.filter(({ scaleUp }) => scaleUp.length > 0);
    expect(ups.map(({ excluded }) => excluded)).toEqual([[], ['a']]);
    for (const record of ups) await expectSame(record);
  });

  it('of a turn of a request is about what the request asks for', async () => {
    const podTemplates = new Map([['default/big', aPodTemplate('big', aShape({ cpu: '3' }))]]);
    const request = aProvisioningRequest('train', { podSets: [{ podTemplate: 'big', count: 2 }] });
    const capacity = { ...NO_CAPACITY_OBJECTS, requests: [request], podTemplates };
    const observation = anObservation([aGroup({ id: 'a', target: 0 })], { ...aCluster(), capacity });
    const policy = { ...quick, capacity: aCapacityPolicy({ requests: true }) };
    const turn = { uid: request.ref.uid, granted: [] };
    const scaleUp = planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy, names: resourceNames, request: turn });
    expect(scaleUp.increases).toMatchObject([{ to: 2 }]);
    await expectSame({
      ...NOTHING_DECIDED,
      observation,
      stateBefore: aState(),
      scaleUp: [scaleUp],
      scaleDown: undefined,
      policy,
      request: turn,
    });
  });

  it('reports deletions of instances without a node', async () => {
    const lost = anInstance({ node: 'a-1', state: 'running', firstSeenMs: START_MS - 3_600_000 });
    const stuck = anInstance({ node: 'a-2', state: 'failed', firstSeenMs: START_MS - 3_600_000 });
    const groups = [aGroup({ id: 'a', target: 3, instances: [anInstance({ node: 'a-0' }), lost, stuck] })];
    const observation = anObservation(groups, aCluster({ nodes: [aNode({ name: 'a-0' })] }));
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = aState({ unregisteredSince: new Map([[lost.key, lost.firstSeenMs]]) });
    const scaleDown = planScaleDown({
      ...REMOVALS_ALONE,
      observation,
      state,
      policy: quick,
      names: resourceNames,
      snapshot,
      scaleUpPlanned: false,
    });
    expect(scaleDown.instanceRemovals).toHaveLength(2);
    const record = { ...NOTHING_DECIDED, observation, stateBefore: state, scaleUp: [], scaleDown, policy: quick, scaleUpPlanned: false };
    expect((await asked(record)).notes).toEqual([
      'Instances of pool a that failed are deleted: 1.',
      'Instances of pool a that never registered as nodes are deleted: 1.',
    ]);
  });
});

function groupTemplate(labels: Readonly<Record<string, string>> = {}) {
  const { template } = aGroup({ id: 'any' });
  if (template === undefined) throw new Error('a group of the builders has a template');
  return { ...template, labels: { ...template.labels, ...labels } };
}

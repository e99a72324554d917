import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTHING_PLANNED } from '../../../src/domain/plan.ts';
import { NO_BLOCKS } from '../../../src/domain/group-blocks.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { BrokenPromise } from '../../../src/domain/loop-state.ts';
import type { NodeTemplate } from '../../../src/domain/node-template.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { NO_VOLUME_RULES } from '../../../src/domain/volumes.ts';
import { dumpRecord, plainPlan, readDump } from '../../../src/loop/replay/dump.ts';
import { replayDump } from '../../../src/loop/replay/replay.ts';
import { templateHash } from '../../../src/planning/promises/broken-promise.ts';
import { podClass } from '../../../src/planning/state/increases/pods-of-increases.ts';
import { type LoopRecord, NOTHING_DECIDED } from '../../../src/domain/ports/records.ts';
import { NO_SCHEDULES } from '../../../src/domain/schedule-rules.ts';
import { aBudget, aGroup, aNode, anInstance, aPod, aShape, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy, FIRST_POLICY } from '../../support/policy.ts';
import { aStage } from '../support.ts';
import { aState } from '../../support/state.ts';

/** A process of another day: it has met other extended resources first, so its indexes differ. */
function otherProcess(): ResourceNames {
  const names = new ResourceNames();
  names.indexOf('example.com/never-seen-here');
  return names;
}

function replayed(record: LoopRecord) {
  const names = otherProcess();
  return replayDump(readDump(dumpRecord(record, resourceNames), names), names);
}

type Stage = ReturnType<typeof aStage>;

/** The first record that the stage has of this kind. */
function recordIn({ records }: Stage, isWanted: (record: LoopRecord) => boolean): LoopRecord {
  const found = records.find(isWanted);
  if (found === undefined) throw new Error('no such decision was recorded');
  return found;
}
const upIn = (stage: Stage) => recordIn(stage, ({ scaleUp }) => scaleUp.length > 0);
const downIn = (stage: Stage) => recordIn(stage, ({ scaleDown }) => scaleDown !== undefined);

describe('a dumped decision', () => {
  it('of a scale-up with extended resources comes out the same in another process', async () => {
    const gpu = { resources: { 'nvidia.com/gpu': '1' } };
    const groups = [aGroup({ id: 'cpu', target: 0 }), aGroup({ id: 'gpu', target: 0, template: aTemplate(gpu) })];
    const stage = aStage({ groups, pods: [aPod({ name: 'train', shape: gpu }), aPod({ name: 'web' }), aPod({ name: 'huge', cpu: '99' })] });
    await stage.runOnce();
    const up = upIn(stage);
    const result = replayed(up);
    expect(result.equal).toBe(true);
    expect(result.scaleUp?.increases.length).toBeGreaterThan(0);
    expect(plainPlan(result.scaleUp ?? NOTHING_PLANNED)).toEqual(plainPlan(up.scaleUp[0] ?? NOTHING_PLANNED));
  });

  it('from a learned template comes out the same, and says where each part of it was known from', async () => {
    const shape = aShape({ cpu: '100m' });
    const daemonRequests = new Map([['kube-system/agent', resourceNames.parse({ cpu: '3' })]]);
    const origins = { labels: {}, taints: {}, capacity: {}, allocatable: { cpu: 'learned' } } as const;
    const template = { ...aTemplate(), source: 'learned', origins, daemonRequests } as const;
    const daemonSets = [{ namespace: 'kube-system', name: 'agent', uid: 'ds', shape }];
    const pods = [aPod({ name: 'web', cpu: '900m' }), aPod({ name: 'other', cpu: '900m' })];
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0, template })], pods, daemonSets });
    await stage.runOnce();
    const up = upIn(stage);
    expect(up.scaleUp[0]?.increases).toMatchObject([{ to: 2 }]);
    expect(replayed(up).equal).toBe(true);
    const { observation } = readDump(dumpRecord(up, resourceNames), resourceNames);
    expect(observation.cloud.groups[0]?.template).toMatchObject({ source: 'learned', origins });
  });

  it.each([
    { when: 'is corrected', hash: (template: NodeTemplate): string => templateHash(template), sizes: [] },
    { when: 'is tried again', hash: (): string => 'another', sizes: [1] },
  ])('with a template that a node disproved comes out the same while it $when', async ({ hash, sizes }) => {
    const template = aTemplate();
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0, template })],
      pods: [1, 2].map((at) => aPod({ name: `web-${at}`, cpu: '3200m' })),
    });
    const [pod] = [...stage.cluster.observe(START_MS).pendingPods];
    const promise: BrokenPromise = {
      difference: { node: 'a-0', resources: [{ resource: 'cpu', promised: 4000, offered: 3000 }], labels: [], taints: [], ports: [] },
      nodes: ['a-0'],
      template: hash(template),
      model: 'standard_d4s_v5 Regular',
      classes: pod === undefined ? [] : [podClass(pod.shape)],
      sinceMs: START_MS - 60_000,
      untilMs: START_MS + 60_000,
      reportedAtMs: undefined,
    };
    stage.loop.recall({ ...aState({ broken: new Map([[nodeGroupId('a'), promise]]) }), savedAtMs: START_MS });
    await stage.runOnce();
    const up = upIn(stage);
    expect(up.scaleUp[0]?.increases.map(({ to }) => to)).toEqual(sizes);
    expect(replayed(up).equal).toBe(true);
  });

  it('that was cut for want of time comes out the same, cut at the same place', async () => {
    const groups = ['a', 'b', 'c'].map((id) => aGroup({ id, target: 0 }));
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxPlanningMs: 0 } });
    const stage = aStage({ groups, pods: [aPod({ name: 'web' })], policy });
    await stage.runOnce();
    const up = upIn(stage);
    expect(up.scaleUp[0]?.cutShortAfter).toBe(1);
    expect(replayed(up).equal).toBe(true);
  });

  it('with pods of a share on regular nodes, a zone that is down and announced evictions comes out the same', async () => {
    const spotLabel = { 'kubernetes.azure.com/scalesetpriority': 'spot' };
    const zone = (id: string) => ({ 'topology.kubernetes.io/zone': `r-${id}` });
    const zonal = (id: string) =>
      aGroup({ id, target: 2, zones: [`r-${id}`], template: aTemplate({ zones: [`r-${id}`], labels: zone(id) }) });
    const spot = { ...aGroup({ id: 'spot', target: 1, template: aTemplate({ labels: spotLabel }) }), priority: 'Spot' as const };
    const broken = { readiness: { ready: false, sinceMs: START_MS - 3_600_000, reason: 'NotReady' }, createdAtMs: START_MS - 7_200_000 };
    const preemption = { noticedAtMs: START_MS, deadlineMs: START_MS + 30_000, notice: 'PreemptScheduled' };
    const minOnDemand = { percent: 50, text: '50%' };
    const base = aPolicy({
      scaleUp: { spotEvictionWave: 1, balanceSimilarGroups: true },
      scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 },
    });
    const stage = aStage({
      groups: [zonal('1'), zonal('2'), spot],
      nodes: [
        ...['1-0', '1-1'].map((name) => aNode({ name, labels: zone('1'), ...broken })),
        ...['2-0', '2-1'].map((name) => aNode({ name, labels: zone('2') })),
        aNode({ name: 'spot-0', labels: spotLabel, preemption }),
      ],
      pods: [
        aPod({ cpu: '3500m', minOnDemand }),
        aPod({ cpu: '3500m', minOnDemand }),
        aPod({ nodeName: '2-0', cpu: '3500m', minOnDemand }),
      ],
      policy: { ...base, cluster: { ...base.cluster, avoidDownZones: true } },
    });
    await stage.runOnce();
    const [up, down] = [upIn(stage), downIn(stage)];
    const text = dumpRecord(up, resourceNames);
    for (const part of ['regularOnly', 'is down: 2 of its 2 nodes', 'SpotEvictions']) expect(text).toContain(part);
    expect([replayed(up).equal, replayed(down).equal]).toEqual([true, true]);
  });

  it('with pods that come back larger comes out the same', async () => {
    const limits = { cpu: Number.MAX_SAFE_INTEGER, memory: Number.MAX_SAFE_INTEGER };
    const running = [{ name: 'app', requests: { cpu: 1_000, memory: 0 }, limits }];
    const shape = { cpu: '1', containers: { running, starting: { cpu: 0, memory: 0 } } };
    const controller = { kind: 'StatefulSet', name: 'db', uid: 's' };
    const target = { kind: 'StatefulSet', name: 'db' };
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 2 })],
      nodes: ['a-0', 'a-1'].map((name) => aNode({ name })),
      pods: ['a-0', 'a-1'].map((nodeName) => aPod({ nodeName, shape, controller })),
      verticalPodAutoscalers: new Map([
        ['default/StatefulSet/db', { namespace: 'default', name: 'db', createdAtMs: 0, target, containers: { app: { cpu: 3_500 } } }],
      ]),
      policy: aPolicy({ scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } }),
    });
    await stage.runOnce();
    const down = downIn(stage);
    expect(dumpRecord(down, resourceNames)).toContain('that VerticalPodAutoscaler default/db gives it');
    expect(replayed(down).equal).toBe(true);
  });

  it.each(['change', 'increase', 'removal'] as const)('with a pause against %s comes out the same', async (what) => {
    const pause = { code: 'paused', direction: 'both', untilMs: START_MS + 60_000, by: 'ann', reason: 'upgrade' } as const;
    const paused = aGroup({ id: 'paused', target: 1, instances: [anInstance({ node: 'n' })], blocks: { ...NO_BLOCKS, [what]: pause } });
    const policy = aPolicy({ scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } });
    const stage = aStage({
      groups: [paused],
      nodes: [aNode({ name: 'n' })],
      pods: [aPod({ name: 'huge', cpu: '3500m' }), aPod({ cpu: '3500m' })],
      policy,
    });
    await stage.runOnce();
    const [up, down] = [upIn(stage), downIn(stage)];
    expect(replayed(up).equal).toBe(true);
    expect(replayed(down).equal).toBe(true);
    expect(dumpRecord(what === 'increase' ? up : down, resourceNames)).toContain('paused until');
  });

  it('of a scale-down with timers and budgets comes out the same', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: 5000, delayAfterAddMs: 0 } });
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' }), aNode({ name: 'a-2' })];
    const pods = [aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' }), aPod({ name: 'small', nodeName: 'a-1' })];
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 3 })], nodes, pods, disruptionBudgets: [aBudget()], policy });
    await stage.runOnce();
    await stage.clock.advance(6000);
    await stage.runOnce();
    const downs = stage.records.filter((record) => record.scaleDown !== undefined);
    expect(downs.at(-1)?.scaleDown?.removals.length).toBeGreaterThan(0);
    for (const record of downs) expect(replayed(record).equal).toBe(true);
  });

  it('comes out the same where a version only reworded its sentences, and not where a sentence is missing', async () => {
    const groups = [aGroup({ id: 'a', target: 0, maxSize: 0 })];
    const stage = aStage({ groups, pods: [aPod({ name: 'web' })] });
    await stage.runOnce();
    const up = upIn(stage);
    const dumped = dumpRecord(up, resourceNames);
    const { summary } = up.scaleUp[0] ?? { summary: '' };
    expect(summary).not.toBe('');
    const replayOf = (text: string) => replayDump(readDump(text, otherProcess()), otherProcess()).equal;
    expect(dumped).toContain(JSON.stringify(summary));
    expect(replayOf(dumped.replaceAll(JSON.stringify(summary), '"said in other words"'))).toBe(true);
    expect(replayOf(dumped.replaceAll(`"summary":${JSON.stringify(summary)}`, '"summary":null'))).toBe(false);
  });

  it('of whole plans in steps of priorities, and of a look that remembers their pods, comes out the same', async () => {
    const high = [1, 2].map((at) => aPod({ name: `high-${at}`, cpu: '1500m', shape: { priority: 100 } }));
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [aPod({ name: 'large', cpu: '2500m' }), ...high] });
    await stage.runOnce();
    await stage.clock.advance(6000);
    await stage.runOnce();
    const ups = stage.records.filter((record) => record.scaleUp.length > 0);
    expect(ups[0]?.scaleUp[0]?.retried).toBe(1);
    expect(ups.at(-1)?.stateBefore.increases.size).toBe(1);
    expect([...(ups.at(-1)?.scaleUp[0]?.verdicts.values() ?? [])].map(({ kind }) => kind)).toContain('fits-upcoming-node');
    for (const record of ups) expect(replayed(record).equal).toBe(true);
  });

  it('of a version whose policy had fewer members comes out the same', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ name: 'web' })] });
    await stage.runOnce();
    const up = upIn(stage);
    const text = dumpRecord(up, resourceNames);
    const { policy, ...dump } = JSON.parse(text) as { readonly policy: Readonly<Record<string, object>> };
    const of = (section: string, keys: readonly string[]) =>
      Object.fromEntries(Object.entries(policy[section] ?? {}).filter(([key]) => keys.includes(key)));
    const older = {
      scaleUp: of('scaleUp', Object.keys(FIRST_POLICY.scaleUp)),
      scaleDown: of('scaleDown', Object.keys(FIRST_POLICY.scaleDown)),
      drain: of('drain', Object.keys(FIRST_POLICY.drain)),
      backoff: policy['backoff'],
    };
    const read = readDump(JSON.stringify({ ...dump, policy: older }), resourceNames);
    expect(read.policy).toEqual(readDump(text, resourceNames).policy);
    expect(replayDump(read, resourceNames).equal).toBe(true);
  });

  it('of a version that said less of what came before the plan, and of schedules, is read whole', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ name: 'web' })] });
    await stage.runOnce();
    const up = upIn(stage);
    const { maintenance: _maintenance, aks: _aks, ...schedules } = NO_SCHEDULES;
    const cloud = { ...up.observation.cloud, schedules };
    const older = { ...up, observation: { ...up.observation, cloud } } as LoopRecord;
    const written = JSON.parse(dumpRecord(older, resourceNames)) as Readonly<Record<string, unknown>>;
    const { fullGroups: _full, cancellable: _cancellable, request: _request, scaleUpPlanned: _planned, ...dump } = written;
    const read = readDump(JSON.stringify(dump), resourceNames);
    expect(read).toMatchObject(NOTHING_DECIDED);
    expect(read.observation.cloud.schedules).toEqual(NO_SCHEDULES);
    expect(replayDump(read, resourceNames).equal).toBe(true);
  });

  it('of a version whose shapes had fewer members is read whole', async () => {
    const volumes = { ...NO_VOLUME_RULES, blockers: [{ message: 'not bound', detail: 'claim data', repair: undefined }] };
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 })],
      pods: [aPod({ name: 'db', shape: { volumes } }), aPod({ name: 'web' })],
    });
    await stage.runOnce();
    const up = upIn(stage);
    const text = dumpRecord(up, resourceNames);
    const older = text.replaceAll(',"drivers":[]', '');
    expect(older.length).toBeLessThan(text.length);
    expect(older).not.toContain('sharedVolumes');
    const shapes = readDump(older, resourceNames).observation.cluster.pendingPods.map(({ shape }) => shape);
    expect(shapes).toEqual(up.observation.cluster.pendingPods.map(({ shape }) => shape));
    expect(replayDump(readDump(older, resourceNames), resourceNames).equal).toBe(true);
  });

  it('shows when the plan is another one', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ cpu: '2' })] });
    await stage.runOnce();
    const record = stage.records[0];
    const plan = record?.scaleUp[0];
    if (record === undefined || plan === undefined) throw new Error('nothing was recorded');
    const forged = {
      ...record,
      scaleUp: [{ ...plan, increases: plan.increases.map((increase) => ({ ...increase, to: increase.to + 1 })) }],
    };
    expect(replayed(record).equal).toBe(true);
    expect(replayed(forged).equal).toBe(false);
  });

  it('of any mix of pods and groups comes out the same', async () => {
    const sizes = fc.array(fc.record({ cpu: fc.integer({ min: 50, max: 5000 }), zone: fc.constantFrom('1', '2', '') }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 4 }), async (wants, groupCount) => {
        const groups = Array.from({ length: groupCount }, (_, index) =>
          aGroup({ id: `g${index}`, target: 0, maxSize: 3, template: aTemplate({ labels: { zone: String(index % 3) } }) }),
        );
        const pods = wants.map(({ cpu, zone }, index) =>
          aPod({ name: `p${index}`, cpu: `${cpu}m`, ...(zone === '' ? {} : { shape: { nodeSelector: { zone } } }) }),
        );
        const stage = aStage({ groups, pods });
        await stage.runOnce();
        for (const record of stage.records) expect(replayed(record).equal).toBe(true);
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  it.each([
    ['text', 'hello', /not JSON/],
    ['another JSON', '{"a": 1}', /not a decision dump/],
    ['another version', '{"version": 99, "shapes": []}', /version 1/],
  ])('%s is refused in a sentence', (_what, text, sentence) => {
    expect(() => readDump(text, otherProcess())).toThrow(sentence);
  });
});

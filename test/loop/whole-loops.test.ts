/** What all plans of one loop request together, by priorities, buffers and rounds of writes, and what the next loop requests. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from '../../src/domain/capacity-objects.ts';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { AnsweredIncrease } from '../../src/domain/outcome.ts';
import type { IncreaseRequest } from '../../src/domain/ports/cloud.ts';
import type { ScaleUpPolicy } from '../../src/domain/policy.ts';
import { anyBurst } from '../planning/scale-up/random-burst.ts';
import { START_MS, aCapacityBuffer, aGroup, aPod, aPodTemplate, aShape, anInstance } from '../support/builders.ts';
import type { FakeCloud } from '../support/fake-cloud.ts';
import { aCapacityPolicy, aPolicy } from '../support/policy.ts';
import { aStage, observedLoop } from './support.ts';

const ANSWERS = ['accepted', 'another writer', 'conflict', 'no stock', 'refused', 'busy', 'quota for one'] as const;
type Answer = (typeof ANSWERS)[number];

interface WholeLoop {
  readonly groups: readonly NodeGroup[];
  readonly pods: Parameters<typeof aStage>[0]['pods'];
  readonly scaleUp: Partial<ScaleUpPolicy> | undefined;
  readonly buffers: readonly { readonly cpu: string; readonly replicas: number; readonly priority: number }[];
  /** To the writes, in turn; later ones are accepted. */
  readonly answers: readonly Answer[];
}

const buffer = fc.record({
  cpu: fc.constantFrom('500m', '1', '3'),
  replicas: fc.integer({ min: 1, max: 4 }),
  priority: fc.constantFrom(-5, 0, 50),
});

const anyLoop: fc.Arbitrary<WholeLoop> = fc
  .record({
    burst: anyBurst,
    buffers: fc.array(buffer, { maxLength: 2 }),
    answers: fc.array(fc.constantFrom(...ANSWERS), { maxLength: 4 }),
  })
  .map(({ burst: { world }, ...rest }) => ({ groups: world.groups, pods: world.pods ?? [], scaleUp: world.policy, ...rest }));

function capacityOf(buffers: WholeLoop['buffers']): CapacityObjects {
  const conditions = [{ type: 'ReadyForProvisioning', status: 'True', reason: 'r', message: 'm', sinceMs: 0 }] as const;
  return {
    ...NO_CAPACITY_OBJECTS,
    buffers: buffers.map(({ replicas }, at) =>
      aCapacityBuffer(`spare-${at}`, {
        status: { conditions, replicas, podTemplate: `shape-${at}`, podTemplateGeneration: 1 },
        podTemplate: `shape-${at}`,
      }),
    ),
    podTemplates: new Map(
      buffers.map(({ cpu, priority }, at) => [
        `default/shape-${at}`,
        aPodTemplate(`shape-${at}`, aShape({ cpu, memory: '1Gi', priority })),
      ]),
    ),
    scalables: new Map(),
  };
}

function stageOf({ groups, pods, scaleUp, buffers, answers }: WholeLoop): ReturnType<typeof aStage> {
  const policy = {
    ...aPolicy({ scaleUp: { enforceMinSize: false, ...scaleUp } }),
    capacity: aCapacityPolicy({ bufferInjection: true }),
  };
  const stage = aStage({ groups, pods: pods ?? [], policy, capacity: capacityOf(buffers) });
  const left = [...answers];
  stage.cloud.onIncrease = (request) => answerTo(request, left.shift() ?? 'accepted', stage.cloud);
  return stage;
}

function answerTo(request: IncreaseRequest, answer: Answer, cloud: FakeCloud): AnsweredIncrease | undefined {
  const { group, to } = request;
  const failed = (error: AutoscalerError): AnsweredIncrease => ({ kind: 'failed', group, error });
  switch (answer) {
    case 'accepted':
      return undefined;
    case 'conflict':
      return { kind: 'conflict', group, observed: 0 };
    case 'another writer':
      addNode(cloud, request);
      return undefined;
    case 'no stock':
      return failed(new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'Nothing left.', { code: 'AllocationFailed' }));
    case 'refused':
      return failed(new AutoscalerError({ kind: 'config' }, 'The model is invalid.', { code: 'BadRequest' }));
    case 'busy':
      return { kind: 'refused', group, reason: 'an operation runs', busy: true };
    case 'quota for one':
      setMaximum(cloud, request);
      return to - sizeOf(cloud, request) > 0
        ? failed(new AutoscalerError({ kind: 'quota', quota: 'cores', counted: true }, 'Over quota.'))
        : undefined;
  }
}

function groupOf(cloud: FakeCloud, { group }: IncreaseRequest): NodeGroup {
  const found = cloud.groups.get(group);
  if (found === undefined) throw new Error(`no group ${group}`);
  return found;
}

function sizeOf(cloud: FakeCloud, request: IncreaseRequest): number {
  const { target } = groupOf(cloud, request);
  return target.known ? target.value : 0;
}

/** Azure shows a conflict to the request that follows. */
function addNode(cloud: FakeCloud, request: IncreaseRequest): void {
  const group = groupOf(cloud, request);
  if (!group.target.known || group.target.value >= group.maxSize) return;
  const coming = anInstance({ node: `${group.id}-theirs-${group.target.value}`, state: 'creating', firstSeenMs: START_MS });
  const target = { ...group.target, value: group.target.value + 1, version: `"theirs-${group.target.value}"` };
  cloud.groups.set(group.id, { ...group, target, instances: [...(group.instances ?? []), coming] });
}

/** Stands for a quota of which one more node is left. */
function setMaximum(cloud: FakeCloud, request: IncreaseRequest): void {
  const group = groupOf(cloud, request);
  cloud.groups.set(group.id, { ...group, maxSize: Math.min(group.maxSize, sizeOf(cloud, request) + 1) });
}

type Rounds = LoopReport['rounds'];

/** The pods, those of buffers included, for which the loop requested nodes. */
function servedPods(rounds: Rounds): ReadonlySet<string> {
  const accepted = rounds.flatMap(({ increases }) => increases.filter(({ outcome }) => outcome.kind === 'accepted'));
  return new Set(accepted.flatMap(({ increase }) => increase.pods.map(({ uid }) => uid)));
}

/** Whether no pod waits for another loop, and every write was accepted. */
function isComplete(rounds: Rounds): boolean {
  const outcomes = rounds.flatMap(({ increases }) => increases.map(({ outcome }) => outcome.kind));
  const waits = [...(rounds.at(-1)?.plan.verdicts.values() ?? [])].some(({ kind }) => kind === 'waiting');
  return !waits && outcomes.every((kind) => kind === 'accepted');
}

const requested = (rounds: Rounds): readonly string[] =>
  rounds.flatMap(({ increases }) => increases.map(({ increase: { group, from, to } }) => `${group} ${from}->${to}`));

const runs = { seed: 15, numRuns: 80 };

describe('after all plans of one loop, by priorities, with buffers, and however its writes were answered', () => {
  it('the next loop requests nothing for a pod that is served, and nothing at all if every write was accepted', async () => {
    const seen = { complete: 0, rounds: 0, buffers: 0 };
    await fc.assert(
      fc.asyncProperty(anyLoop, async (world) => {
        const stage = stageOf(world);
        const first = await stage.runOnce();
        await stage.clock.advance(10_000);
        const second = await stage.runOnce();
        const again = second.rounds.flatMap(({ plan }) => plan.increases.flatMap(({ pods }) => pods));
        const served = servedPods(first.rounds);
        expect(again.filter(({ uid }) => served.has(uid))).toEqual([]);
        if (first.rounds.length > 1) seen.rounds += 1;
        if ([...served].some((uid) => uid.includes('spare'))) seen.buffers += 1;
        if (!isComplete(first.rounds)) return;
        seen.complete += 1;
        expect(requested(second.rounds)).toEqual([]);
      }),
      runs,
    );
    expect(Object.values(seen).every((count) => count > 20)).toBe(true);
  });

  it('the first loop of another process, which remembers nothing, requests nothing either', async () => {
    await fc.assert(
      fc.asyncProperty(anyLoop, async (world) => {
        const stage = stageOf({ ...world, answers: [] });
        const first = await stage.runOnce();
        await stage.clock.advance(10_000);
        const second = await observedLoop(stage.deps).runOnce('manual', stage.stop.signal);
        if (isComplete(first.rounds)) expect(requested(second.rounds)).toEqual([]);
      }),
      runs,
    );
  });
});

describe('the plans of one loop', () => {
  /** One node can be added. Packing by size serves the largest pods, then priorities are moved up one after the other, and the buffer last. */
  const world: WholeLoop = {
    groups: ['a', 'b', 'c', 'd'].map((id) => aGroup({ id, target: 0, vmSize: `Standard_${id}` })),
    pods: [
      aPod({ name: 'low', shape: { cpu: '2', priority: 1 } }),
      aPod({ name: 'middle', shape: { cpu: '1900m', priority: 2 } }),
      aPod({ name: 'high', shape: { cpu: '1500m', priority: 3 } }),
    ],
    scaleUp: { maxNodesTotal: 1 },
    buffers: [{ cpu: '100m', replicas: 1, priority: 0 }],
    answers: ['no stock', 'no stock', 'no stock'],
  };

  it('are one for each round of writes, and six more for all rounds together', async () => {
    const { rounds } = await stageOf(world).runOnce();
    const more = rounds.map(({ plan }) => plan.retried ?? 0);
    expect({ rounds: rounds.length, more: more.reduce((sum, count) => sum + count, 0) }).toEqual({ rounds: 3, more: 6 });
    expect(more[0]).toBeGreaterThan(2);
  });
});

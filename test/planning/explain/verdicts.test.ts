/** One row for each class, through the planner, the events, the gauge and (in test/tools/plan) the command. */
import { describe, expect, it } from 'vitest';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Backoff } from '../../../src/domain/loop-state.ts';
import { publishVerdicts } from '../../../src/observers/metrics/loop-metrics.ts';
import { podsWithoutScaleUpEvents } from '../../../src/planning/explain/scale-up-events.ts';
import { adviseClass, helplessClasses } from '../../../src/planning/explain/advice/advice.ts';
import { classifyVerdict, VERDICTS, type Verdict } from '../../../src/planning/explain/verdicts.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { valueOf } from '../../loop/support.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { inputFor, planFor, type World } from '../scale-up/world.ts';
import { aBackoff } from '../../support/state.ts';

const resting: Backoff = aBackoff({
  untilMs: START_MS + 60_000,
  durationMs: 60_000,
  lastFailureMs: START_MS,
  cause: 'SkuNotAvailable',
  kind: 'out-of-capacity',
});
const quotas = [{ name: 'cores', title: 'region', used: 10, limit: 10 }];
const drawing = aGroup({ id: 'a', target: 0 });
const withDraws = { ...drawing, template: { ...drawing.template!, draws: [{ quota: 'cores', cores: 4 }] } };
const group = (part: Parameters<typeof aGroup>[0] = {}) => aGroup({ id: 'a', target: 0, ...part });

const ROWS: readonly (readonly [string, Verdict, Omit<World, 'pods'>, string | undefined])[] = [
  ['a new node is asked for', 'helped', { groups: [group()] }, undefined],
  ['a present node has room', 'coming', { groups: [group({ target: 1 })], nodes: [aNode({ name: 'a-0' })] }, undefined],
  [
    'a node on its way has room',
    'coming',
    { groups: [group({ target: 1, instances: [anInstance({ node: 'a-0', state: 'creating', firstSeenMs: START_MS - 60_000 })] })] },
    undefined,
  ],
  ['nothing may grow at present', 'coming', { groups: [group()], cloud: { scaleUpBlocked: 'reads are too old' } }, undefined],
  ['its pool is at its maximum', 'blocked-by-max', { groups: [group({ maxSize: 0 })] }, 'raise the maximum of a from 0 to 1'],
  [
    'its pool has as many nodes as AKS allows',
    'blocked-by-max',
    { groups: [{ ...group({ maxSize: 0 }), poolLimit: 1_000 }] },
    'add a pool like a',
  ],
  [
    'its pool rests after a failure',
    'blocked-by-backoff',
    { groups: [group()], state: { backoffs: new Map([[nodeGroupId('a'), resting]]) } },
    undefined,
  ],
  ['its pool is frozen by an upgrade', 'blocked-by-backoff', { groups: [group({ frozen: 'upgrading' })] }, undefined],
  [
    'the quota of the region is used up',
    'blocked-by-quota',
    { groups: [withDraws], cloud: { quotas } },
    'request an Azure quota of 14 cores for region, which has 10',
  ],
  [
    "the cluster's own limit is reached",
    'blocked-by-quota',
    { groups: [group()], policy: { maxCoresTotal: 1 } },
    'raise scaleUp.maxCoresTotal from 1 to 4',
  ],
  [
    'no node of any pool would take it',
    'impossible',
    { groups: [group({ maxSize: 0 })] },
    'add a pool like a whose nodes have at least 99 CPU allocatable',
  ],
  [
    'a pool may have the label that it asks for, which no document tells',
    'impossible',
    { groups: [group({ template: { ...aTemplate(), unknowns: { labels: ['kubernetes.azure.com/localdns-state'], resources: [] } } })] },
    'start one node of a, or state kubernetes.azure.com/localdns-state=enabled in a label tag of it if its nodes have that label',
  ],
  ['there is no pool', 'impossible', { groups: [] }, undefined],
  ['it asks for nothing', 'ignored', { groups: [group()] }, undefined],
];

describe('classes of verdicts', () => {
  it.each(ROWS)('%s: %s', async (name, expected, world, fix) => {
    const cpu = name.startsWith('no node of') ? '99' : '1';
    const nodeSelector = name.startsWith('a pool may') ? { 'kubernetes.azure.com/localdns-state': 'enabled' } : {};
    const pod = aPod({ cpu, shape: { cpu, nodeSelector }, ...(expected === 'ignored' ? { shape: { cpu, priority: -11 } } : {}) });
    const plan = planFor({ ...world, pods: [pod, aPod({ shape: { priority: -11 } })] });
    const verdict = plan.verdicts.get(pod)!;
    expect(classifyVerdict(verdict)).toBe(expected);

    const metrics = createMetrics();
    publishVerdicts(plan, START_MS, metrics);
    for (const each of VERDICTS) {
      const count = (each === expected ? 1 : 0) + (each === 'ignored' ? 1 : 0);
      expect([each, await valueOf(metrics.cluster.pods, { verdict: each })]).toEqual([each, count]);
      const ageSeconds = Math.max(each === expected ? 30 : 0, each === 'ignored' ? 30 : 0);
      expect([each, await valueOf(metrics.cluster.oldestPod, { verdict: each })]).toEqual([each, ageSeconds]);
    }

    const input = inputFor({ ...world, pods: [pod] });
    const alone = planScaleUp(input);
    const advice = new Map(helplessClasses(alone).map((helpless) => [helpless.verdict, adviseClass({ input, plan: alone }, helpless)]));
    const events = finishAtOnce(podsWithoutScaleUpEvents({ plan: alone, groups: world.groups, advice })).map(({ message }) => message);
    expect(events).toHaveLength(verdict.kind === 'helpless' ? 1 : 0);
    if (fix === undefined) expect(events.join()).not.toContain('Fix that works');
    else expect(events[0]).toContain(`. Fix that works: ${fix}.`);
  });

  it('every class has a row', () => {
    expect(new Set(ROWS.map(([, expected]) => expected))).toEqual(new Set(VERDICTS));
  });

  const adviceFor = (groups: World['groups']) => {
    const input = inputFor({ groups, pods: [aPod({ cpu: '1' })] });
    const plan = planScaleUp(input);
    const [helpless] = helplessClasses(plan);
    if (helpless === undefined) throw new Error('helped');
    return { verdict: helpless.verdict, text: adviseClass({ input, plan }, helpless).fix?.text };
  };

  it('names the nearest change: a maximum before a size that does not exist', () => {
    const small = aGroup({
      id: 'a-small',
      target: 0,
      template: { ...group().template!, allocatable: group().template!.allocatable.map(() => 1) },
    });
    const { verdict, text } = adviceFor([small, group({ id: 'full', maxSize: 0 })]);
    expect(classifyVerdict(verdict)).toBe('blocked-by-max');
    expect(text).toBe('raise the maximum of full from 0 to 1');
  });

  it.each([
    ['nothing is asked of the others', [], undefined],
    ['but a maximum is as near', [group({ id: 'full', maxSize: 0 })], 'raise the maximum of full from 0 to 1'],
  ] as const)('where the group that would take the pod is frozen, %s', (_what, more, fix) => {
    const template = { ...group().template!, allocatable: group().template!.allocatable.map(() => 1) };
    const groups = [aGroup({ id: 'a-small', target: 0, template }), group({ id: 'frozen', frozen: 'AKS scales it' }), ...more];
    expect(adviceFor(groups).text).toBe(fix);
  });
});

/** What keeps objects from disruption: annotations of nodes, and budgets that can never allow an eviction. */
import { NO_ANNOTATIONS, PROTECTED } from '../../../src/domain/annotations.ts';
import { describe, expect, it } from 'vitest';
import { isScaleDownDisabled } from '../../../src/domain/node.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import { projectBudget } from '../../../src/kubernetes/projection/workloads.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { checkPodDrain } from '../../../src/scheduling/drainability/drainability.ts';
import { drainContext, drainRulesOf } from '../../../src/scheduling/drainability/drain-rule.ts';
import { aCluster, aPod, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';

const names = new ResourceNames();
const shared = createNodeProjection(names);
const DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
const KARPENTER = 'karpenter.sh/do-not-disrupt';

it.each<[Readonly<Record<string, string>>, boolean, string]>([
  [{}, false, ''],
  [{ [DISABLED]: 'true' }, true, ''],
  [{ [DISABLED]: 'True' }, false, ''],
  [{ [DISABLED]: '1' }, false, ''],
  [{ [KARPENTER]: 'true' }, true, 'karpenter.sh/do-not-disrupt: "true"'],
  [{ [KARPENTER]: 'false' }, false, ''],
  [{ [DISABLED]: 'false', [KARPENTER]: 'true' }, true, 'karpenter.sh/do-not-disrupt: "true"'],
  [{ [KARPENTER]: '4h' }, true, 'karpenter.sh/do-not-disrupt: "4h" from its start, which is not known yet'],
])('a node that says %j is kept: %s', (annotations, kept, because) => {
  const node = projectNode({ metadata: { name: 'n', annotations }, status: {} }, shared);
  expect({ kept: node.scaleDownDisabled, because: node.disabledBecause }).toEqual({ kept, because });
});

describe('a duration of do-not-disrupt', () => {
  const startTime = new Date(START_MS).toISOString();
  const untilMs = START_MS + 4 * 3_600_000;

  it('protects a node until that long after its creation', () => {
    const node = projectNode(
      { metadata: { name: 'n', annotations: { [KARPENTER]: '4h' }, creationTimestamp: startTime }, status: {} },
      shared,
    );
    expect(node).toMatchObject({ scaleDownDisabled: true, protectedUntilMs: untilMs });
    expect([untilMs - 1, untilMs].map((nowMs) => isScaleDownDisabled(node, nowMs))).toEqual([true, false]);
  });

  it('does not limit the annotation that disables scale-down', () => {
    const annotations = { [DISABLED]: 'true', [KARPENTER]: '4h' };
    const node = projectNode({ metadata: { name: 'n', annotations, creationTimestamp: startTime }, status: {} }, shared);
    expect(isScaleDownDisabled(node, untilMs + 1)).toBe(true);
  });

  it.each([
    ['4h', { startTime }, { protectedBy: '4h', protectedUntilMs: untilMs }],
    ['4h', {}, { protectedBy: '4h', protectedUntilMs: undefined }],
    ['4h', { startTime: null }, { protectedBy: '4h', protectedUntilMs: undefined }],
    ['soon', { startTime }, { protectedBy: 'soon', protectedUntilMs: undefined }],
    ['true', { startTime }, PROTECTED],
    ['false', { startTime }, undefined],
    [undefined, { startTime }, undefined],
  ])('protects a pod until that long after its start: %s, %j', (value, status, expected) => {
    const annotations = value === undefined ? {} : { [KARPENTER]: value };
    const pod = projectPod({ metadata: { name: 'p', annotations }, spec: { containers: [] }, status }, createPodProjection(names));
    expect(pod.annotations.protection).toEqual(expected);
  });

  it('is one object for pods that say the same, until when a duration counts included', () => {
    const shared = createPodProjection(names);
    const of = (value: string, start = startTime) =>
      projectPod({ metadata: { annotations: { [KARPENTER]: value } }, status: { startTime: start } }, shared).annotations;
    const later = new Date(Date.parse(startTime) + 1000).toISOString();
    expect(of('true', later)).toBe(of('true'));
    expect(of('4h')).toBe(of('4h'));
    expect(of('4h', later)).not.toBe(of('4h'));
    expect(projectPod({ metadata: { annotations: { other: 'x' } } }, shared).annotations).toBe(NO_ANNOTATIONS);
  });
});

describe('a budget that allows nothing', () => {
  const drains = (spec: object, status: object) => {
    const budget = projectBudget({
      metadata: { name: 'b', namespace: 'default' },
      spec: { selector: {}, ...spec },
      status: { disruptionsAllowed: 0, ...status },
    });
    return checkPodDrain(
      aPod({ nodeName: 'n' }),
      drainContext(aCluster({ disruptionBudgets: [budget] }), drainRulesOf(aPolicy()), START_MS),
    );
  };
  const failed = { conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'found no controllers' }] };
  const counted = { expectedPods: 3, currentHealthy: 2, desiredHealthy: 2 };

  it.each([
    { name: 'one more healthy pod would do', spec: { minAvailable: 2 }, status: counted, never: undefined },
    { name: 'maxUnavailable 0', spec: { maxUnavailable: 0 }, status: {}, never: 'maxUnavailable is 0' },
    { name: 'maxUnavailable 0 %', spec: { maxUnavailable: '0%' }, status: {}, never: 'maxUnavailable is 0%' },
    { name: 'minAvailable 100 %', spec: { minAvailable: '100%' }, status: {}, never: 'minAvailable is 100%' },
    {
      name: 'as many as there are',
      spec: { minAvailable: 3 },
      status: { ...counted, desiredHealthy: 3 },
      never: '3 of 3 pods must be healthy',
    },
    {
      name: 'more than there are',
      spec: { minAvailable: 5 },
      status: { ...counted, desiredHealthy: 5 },
      never: '5 of 3 pods must be healthy',
    },
    {
      name: 'that cannot be counted',
      spec: { maxUnavailable: 1 },
      status: failed,
      never: 'its pods cannot be counted: found no controllers',
    },
    { name: 'a status that says little', spec: { maxUnavailable: 1 }, status: {}, never: undefined },
  ])('$name: $never', ({ spec, status, never }) => {
    const detail = never === undefined ? expect.not.stringContaining('never') : `default/b: it can never allow a disruption: ${never}`;
    expect(drains(spec, status)).toEqual({ kind: 'block', reason: 'NotEnoughPdb', detail, passing: never === undefined });
  });

  it('is named only while it allows nothing: the API server counts', () => {
    expect(drains({ maxUnavailable: '0%' }, { disruptionsAllowed: 1 })).toEqual({ kind: 'move' });
  });
});

describe('what a budget demands', () => {
  it.each([
    [{ minAvailable: 2 }, { kind: 'minAvailable', value: 2 }],
    [{ maxUnavailable: '25%' }, { kind: 'maxUnavailable', value: '25%' }],
    [{ minAvailable: 'all' }, undefined],
    [{}, undefined],
  ])('%j', (spec, demand) => {
    expect(projectBudget({ metadata: { name: 'b' }, spec: { selector: {}, ...spec } }).demand).toEqual(demand);
  });
});

/** What VerticalPodAutoscalers give new pods, as their admission controller reads them. */
import { expect, it } from 'vitest';
import {
  byTarget,
  projectVerticalPodAutoscaler,
  type VerticalPodAutoscalerJson,
} from '../../../src/kubernetes/projection/vertical-pod-autoscalers.ts';

const TARGET = { cpu: '1500m', memory: '2Gi' };

function autoscaler(
  policy: object = {},
  {
    mode,
    name = 'vpa',
    created = '2026-11-20T00:00:00Z',
  }: { readonly mode?: string; readonly name?: string; readonly created?: string } = {},
): VerticalPodAutoscalerJson {
  return {
    metadata: { namespace: 'shop', name, creationTimestamp: created },
    spec: {
      targetRef: { kind: 'Deployment', name: 'web' },
      ...(mode === undefined ? {} : { updatePolicy: { updateMode: mode } }),
      resourcePolicy: { containerPolicies: [policy] },
    },
    status: { recommendation: { containerRecommendations: [{ containerName: 'app', target: TARGET }] } },
  };
}

const GIVEN = { cpu: 1500, memory: 2 * 2 ** 30 };

it.each<readonly [string, object, object]>([
  ['nothing said', {}, GIVEN],
  ['a policy of the container', { containerName: 'app', minAllowed: { cpu: '2' } }, { ...GIVEN, cpu: 2000 }],
  ['a policy of all containers', { containerName: '*', maxAllowed: { memory: '1Gi' } }, { ...GIVEN, memory: 2 ** 30 }],
  ['a policy of another container', { containerName: 'log', maxAllowed: { memory: '1Gi' } }, GIVEN],
  [
    'a minimum above the maximum, which counts then',
    { containerName: 'app', minAllowed: { cpu: '4' }, maxAllowed: { cpu: '3' } },
    { ...GIVEN, cpu: 3000 },
  ],
  ['a maximum of zero, which is none', { containerName: 'app', maxAllowed: { cpu: '0' } }, GIVEN],
  ['a container that is left out', { containerName: 'app', mode: 'Off' }, {}],
  ['requests alone', { containerName: 'app', controlledValues: 'RequestsOnly' }, { ...GIVEN, withinLimit: true }],
])('with %s', (_what, policy, expected) => {
  expect(projectVerticalPodAutoscaler(autoscaler(policy))?.containers).toEqual({ app: expected });
});

it.each([
  [undefined, true],
  ['Auto', true],
  ['Recreate', true],
  ['Initial', true],
  ['InPlaceOrRecreate', true],
  ['Off', false],
])('mode %s changes new pods: %s', (mode, changes) => {
  expect(projectVerticalPodAutoscaler(autoscaler({}, mode === undefined ? {} : { mode })) !== undefined).toBe(changes);
});

it('one without a workload, or of a kind that it does not support, changes none; one without a recommendation gives nothing', () => {
  const { spec: _spec, ...untargeted } = autoscaler();
  const unsupported = { ...autoscaler(), status: { conditions: [{ type: 'ConfigUnsupported', status: 'True' }] } };
  expect([untargeted, unsupported].map(projectVerticalPodAutoscaler)).toEqual([undefined, undefined]);
  expect(projectVerticalPodAutoscaler({ ...autoscaler(), status: {} })?.containers).toEqual({});
});

it('of several for one workload the oldest counts, then the first by name', () => {
  const all = [
    autoscaler({}, { name: 'young', created: '2026-11-21T00:00:00Z' }),
    autoscaler({}, { name: 'b' }),
    autoscaler({}, { name: 'a' }),
    autoscaler({}, { name: 'off', mode: 'Off', created: '2026-11-01T00:00:00Z' }),
  ];
  expect([...byTarget(all.map(projectVerticalPodAutoscaler))].map(([key, { name }]) => [key, name])).toEqual([
    ['shop/Deployment/web', 'a'],
  ]);
});

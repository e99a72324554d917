/** Random nodes and pods as the API spells them: a small world, so that rules meet each other often. */
import * as fc from 'fast-check';
import type { NodeObject, NodeTaint, PodObject, PodSpec, StringMap } from '../../world/simulator/cluster/store/objects.ts';

export const ZONE = 'topology.kubernetes.io/zone';
export const HOSTNAME = 'kubernetes.io/hostname';
const META = { resourceVersion: '1', creationTimestamp: '2026-11-20T23:00:00Z' };
/** Labels of the namespaces that pods live in. */
export const NAMESPACES: ReadonlyMap<string, StringMap> = new Map([
  ['default', { team: 'a' }],
  ['other', { team: 'b' }],
]);

const taint = fc.constantFrom<NodeTaint>(
  { key: 'k', value: 'v', effect: 'NoSchedule' },
  { key: 'k', effect: 'NoExecute' },
  { key: 'soft', value: 'v', effect: 'PreferNoSchedule' },
  { key: 'gpu', value: 'true', effect: 'NoSchedule' },
);

const optional = <Value>(key: string, value: fc.Arbitrary<Value>, weight = 2) =>
  fc.oneof({ arbitrary: fc.constant({}), weight }, { arbitrary: value.map((some) => ({ [key]: some })), weight: 1 });

const nodeLabels = fc
  .tuple(
    optional(ZONE, fc.constantFrom('we-1', 'we-2', 'we-3'), 1),
    optional('pool', fc.constantFrom('a', 'b')),
    optional('slot', fc.constantFrom('1', '7', 'x')),
  )
  .map((parts): StringMap => Object.assign({}, ...parts));

const capacities = fc.record({
  cpu: fc.constantFrom('1', '2', '3900m'),
  memory: fc.constantFrom('2Gi', '4Gi'),
  pods: fc.constantFrom('2', '110'),
  'ephemeral-storage': fc.constant('10Gi'),
});

export interface NodeDraft {
  readonly labels: StringMap;
  readonly taints: readonly NodeTaint[];
  readonly unschedulable: boolean;
  readonly allocatable: Readonly<Record<string, string>>;
}

export const nodeDraft: fc.Arbitrary<NodeDraft> = fc.record({
  labels: nodeLabels,
  taints: fc.oneof({ arbitrary: fc.constant([]), weight: 2 }, { arbitrary: fc.array(taint, { maxLength: 2 }), weight: 1 }),
  unschedulable: fc.oneof({ arbitrary: fc.constant(false), weight: 6 }, { arbitrary: fc.constant(true), weight: 1 }),
  allocatable: fc
    .tuple(capacities, optional('nvidia.com/gpu', fc.constant('1')), optional('hugepages-2Mi', fc.constant('64Mi')))
    .map((parts) => Object.assign({}, ...parts)),
});

export function nodeObject(name: string, draft: NodeDraft): NodeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...META, uid: `node-${name}`, name, labels: { ...draft.labels, [HOSTNAME]: name } },
    spec: { taints: draft.taints, ...(draft.unschedulable ? { unschedulable: true } : {}) },
    status: { allocatable: draft.allocatable, capacity: draft.allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const requirement = fc.constantFrom(
  { key: 'pool', operator: 'In', values: ['a'] } as const,
  { key: 'pool', operator: 'NotIn', values: ['a'] } as const,
  { key: ZONE, operator: 'In', values: ['we-1', 'we-2'] } as const,
  { key: ZONE, operator: 'Exists' } as const,
  { key: 'slot', operator: 'DoesNotExist' } as const,
  { key: 'slot', operator: 'Gt', values: ['3'] } as const,
  { key: 'slot', operator: 'Lt', values: ['3'] } as const,
);
const field = fc.constantFrom(
  { key: 'metadata.name', operator: 'In', values: ['n-0'] } as const,
  { key: 'metadata.name', operator: 'NotIn', values: ['n-0'] } as const,
);
const nodeTerm = fc
  .tuple(
    optional('matchExpressions', fc.array(requirement, { maxLength: 2 })),
    optional('matchFields', fc.array(field, { minLength: 1, maxLength: 1 }), 5),
  )
  .map((parts) => Object.assign({}, ...parts));

const podSelector = fc.constantFrom(
  { matchLabels: { app: 'x' } },
  { matchLabels: { app: 'y' } },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['x'] } as const] },
  {},
);
const topologyKey = fc.constantFrom(ZONE, HOSTNAME, 'pool');
const affinityTerm = fc
  .tuple(
    topologyKey.map((key) => ({ topologyKey: key })),
    optional('labelSelector', podSelector, 1),
    optional('namespaces', fc.constantFrom(['other'], ['default', 'other']), 4),
    optional('namespaceSelector', fc.constantFrom({}, { matchLabels: { team: 'b' } }), 4),
    optional('matchLabelKeys', fc.constant(['version']), 4),
    optional('mismatchLabelKeys', fc.constant(['version']), 6),
  )
  .map((parts) => Object.assign({}, ...parts));
const spread = fc
  .tuple(
    fc.record({
      topologyKey,
      maxSkew: fc.integer({ min: 1, max: 2 }),
      whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway'),
    }),
    optional('labelSelector', podSelector, 1),
    optional('minDomains', fc.integer({ min: 1, max: 4 }), 3),
    optional('nodeAffinityPolicy', fc.constantFrom('Honor', 'Ignore')),
    optional('nodeTaintsPolicy', fc.constantFrom('Honor', 'Ignore')),
    optional('matchLabelKeys', fc.constant(['version']), 4),
  )
  .map((parts) => Object.assign({}, ...parts));

const request = fc
  .tuple(
    optional('cpu', fc.constantFrom('100m', '500m', '0.9', '1500m'), 1),
    optional('memory', fc.constantFrom('128Mi', '1Gi', '1.5Gi'), 1),
    optional('ephemeral-storage', fc.constantFrom('1Gi', '9Gi'), 5),
    optional('nvidia.com/gpu', fc.constant('1'), 8),
    optional('hugepages-2Mi', fc.constant('32Mi'), 12),
    optional('example.com/none', fc.constantFrom('0', '1'), 30),
  )
  .map((parts): Readonly<Record<string, string>> => Object.assign({}, ...parts));
const port = fc
  .tuple(
    fc.constantFrom({ containerPort: 80, hostPort: 80 }, { containerPort: 81, hostPort: 81 }, { containerPort: 82 }),
    optional('protocol', fc.constantFrom('TCP', 'UDP')),
    optional('hostIP', fc.constantFrom('0.0.0.0', '10.0.0.1', '10.0.0.2')),
  )
  .map((parts) => Object.assign({}, ...parts));
const container = fc
  .tuple(request, optional('ports', fc.array(port, { minLength: 1, maxLength: 1 }), 6))
  .map(([requests, ports]) => ({ name: 'c', resources: { requests }, ...ports }));
const initContainer = fc
  .tuple(container, optional('restartPolicy', fc.constant('Always'), 1))
  .map((parts) => Object.assign({}, ...parts, { name: 'i' }));

const toleration = fc.constantFrom(
  { key: 'k', operator: 'Exists' } as const,
  { key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' } as const,
  { key: 'gpu', value: 'true' } as const,
  { operator: 'Exists', effect: 'NoExecute' } as const,
  { operator: 'Exists' } as const,
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' } as const,
);

const affinity = fc
  .tuple(
    optional(
      'nodeAffinity',
      fc
        .array(nodeTerm, { minLength: 1, maxLength: 2 })
        .map((nodeSelectorTerms) => ({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } })),
      6,
    ),
    optional(
      'podAffinity',
      fc.array(affinityTerm, { minLength: 1, maxLength: 2 }).map((terms) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms })),
      4,
    ),
    optional(
      'podAntiAffinity',
      fc.array(affinityTerm, { minLength: 1, maxLength: 2 }).map((terms) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms })),
      4,
    ),
  )
  .map((parts) => Object.assign({}, ...parts));

const spec: fc.Arbitrary<PodSpec> = fc
  .tuple(
    fc.array(container, { minLength: 1, maxLength: 2 }).map((containers) => ({ containers })),
    optional('initContainers', fc.array(initContainer, { minLength: 1, maxLength: 3 }), 4),
    optional('hostNetwork', fc.constant(true), 12),
    optional('overhead', fc.constantFrom({ cpu: '250m' }, { memory: '120Mi' }), 8),
    optional(
      'resources',
      request.map((requests) => ({ requests })),
      10,
    ),
    optional('nodeSelector', fc.constantFrom({ pool: 'a' }, { pool: 'b' }, { [ZONE]: 'we-1' }), 4),
    optional('affinity', affinity),
    optional('tolerations', fc.array(toleration, { minLength: 1, maxLength: 2 })),
    optional('topologySpreadConstraints', fc.array(spread, { minLength: 1, maxLength: 2 }), 3),
  )
  .map((parts) => Object.assign({}, ...parts));

const podLabels = fc
  .tuple(optional('app', fc.constantFrom('x', 'y'), 1), optional('version', fc.constantFrom('1', '2')))
  .map((parts): StringMap => Object.assign({}, ...parts));

export interface PodDraft {
  readonly namespace: string;
  readonly labels: StringMap;
  readonly spec: PodSpec;
  readonly terminating: boolean;
}

export const podDraft: fc.Arbitrary<PodDraft> = fc.record({
  namespace: fc.constantFrom('default', 'default', 'other'),
  labels: podLabels,
  spec,
  terminating: fc.oneof({ arbitrary: fc.constant(false), weight: 8 }, { arbitrary: fc.constant(true), weight: 1 }),
});

export function podObject(name: string, draft: PodDraft, nodeName?: string): PodObject {
  const waiting = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastTransitionTime: META.creationTimestamp } as const;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...META,
      uid: `pod-${name}`,
      name,
      namespace: draft.namespace,
      labels: draft.labels,
      // Only a bound pod is on its way out for long; a pending one is gone at once.
      ...(draft.terminating && nodeName !== undefined ? { deletionTimestamp: META.creationTimestamp } : {}),
    },
    spec: { schedulerName: 'default-scheduler', ...draft.spec, ...(nodeName === undefined ? {} : { nodeName }) },
    status: nodeName === undefined ? { phase: 'Pending', conditions: [waiting] } : { phase: 'Running' },
  };
}

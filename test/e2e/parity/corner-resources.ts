/** Corners of what pods ask for: odd quantities, containers that come and go, pods as a whole, resizes. And what all corners are written in. */
import * as fc from 'fast-check';

export type Fields = Readonly<Record<string, unknown>>;
export interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Fields[];
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly declaredFeatures?: readonly string[];
}
export interface PodParts {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Fields;
  readonly status?: Fields;
}
/** What one cluster is about. */
export interface Theme {
  readonly node: fc.Arbitrary<NodeParts>;
  readonly pod: fc.Arbitrary<PodParts>;
  /** Of pods that are there; absent: like those that wait. */
  readonly bound?: fc.Arbitrary<PodParts>;
}

/** Each part is there or not. */
export function some(parts: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Fields> {
  return fc.record(parts, { requiredKeys: [] });
}

export const plainPod = fc.constant<PodParts>({});
export const container = (resources: Fields, at: number, rest: Fields = {}): Fields => ({
  name: `c-${at}`,
  image: 'none',
  resources,
  ...rest,
});

const amounts = {
  cpu: fc.constantFrom('1m', '100m', '1', '1.5', '1e0', '100000u', '0', '2500m', '0.5'),
  memory: fc.constantFrom('1', '1Ki', '128M', '1.5Gi', '4e9', '0', '3Gi', '500000k'),
  'ephemeral-storage': fc.constantFrom('1Gi', '10G', '0'),
};
const hugeOrNot = fc.constantFrom({}, {}, { 'hugepages-2Mi': '32Mi' });
const requests = fc
  .tuple(some(amounts), fc.constantFrom({}, {}, {}, { 'example.com/thing': '1' }, { 'example.com/thing': '0' }))
  .map((both) => Object.assign({}, ...both) as Fields);
const resourcesOf = (asked: Fields): Fields => ({
  requests: asked,
  limits: Object.fromEntries(Object.entries(asked).filter(([name]) => name.includes('/') || name.startsWith('hugepages'))),
});
const initContainer = fc.tuple(requests, fc.constantFrom({}, {}, { restartPolicy: 'Always' }));
const podLevel = fc.tuple(some({ cpu: fc.constantFrom('2', '3', '3500m'), memory: fc.constantFrom('3Gi', '6Gi') }), hugeOrNot);

const resourcePod: fc.Arbitrary<PodParts> = fc
  .record({
    containers: fc.array(requests, { minLength: 1, maxLength: 2 }),
    inits: fc.array(initContainer, { maxLength: 3 }),
    overhead: fc.constantFrom(undefined, { cpu: '250m' }, { memory: '1Gi', cpu: '1' }),
    level: fc.option(podLevel, { nil: undefined }),
  })
  .map(({ containers, inits, overhead, level }) => ({
    spec: {
      containers: containers.map((asked, at) => container(resourcesOf(asked), at)),
      initContainers: inits.map(([asked, rest], at) => ({ ...container(resourcesOf(asked), at, rest), name: `i-${at}` })),
      ...(overhead === undefined ? {} : { overhead }),
      ...(level === undefined || Object.keys(level[0]).length === 0
        ? {}
        : { resources: resourcesOf(Object.assign({}, ...level) as Fields) }),
    },
  }));

/** What the kubelet says of a pod that is being resized where it is, or was: of its containers and of the whole. */
const held = some({ cpu: fc.constantFrom('50m', '1200m', '3'), memory: fc.constantFrom('64Mi', '2Gi', '5Gi') });
const report = some({
  allocatedResources: held,
  resources: fc.oneof(
    fc.constant({}),
    held.map((asked) => ({ requests: asked })),
  ),
});
const resizedPod = fc
  .record({
    of: resourcePod,
    reports: fc.array(report, { minLength: 5, maxLength: 5 }),
    whole: report,
    pending: fc.constantFrom(undefined, undefined, 'Infeasible', 'Deferred'),
  })
  .map(({ of, reports, whole, pending }): PodParts => {
    const { containers = [], initContainers = [] } = (of.spec ?? {}) as {
      readonly containers?: readonly Fields[];
      readonly initContainers?: readonly Fields[];
    };
    const statusOf = (all: readonly Fields[], from: number): readonly Fields[] =>
      all.map(({ name }, at) => ({ name, image: 'none', imageID: 'none', ready: true, restartCount: 0, ...reports[from + at] }));
    const conditions = pending === undefined ? [] : [{ type: 'PodResizePending', status: 'True', reason: pending }];
    return {
      ...of,
      status: {
        phase: 'Running',
        ...whole,
        conditions,
        containerStatuses: statusOf(containers, 0),
        initContainerStatuses: statusOf(initContainers, 2),
      },
    };
  });

export const resources: Theme = {
  node: some({
    cpu: fc.constantFrom('1', '3999m', '4'),
    memory: fc.constantFrom('4Gi', '8000000Ki', '6442450944'),
    'ephemeral-storage': fc.constantFrom('10Gi', '10G'),
    'hugepages-2Mi': fc.constantFrom('32Mi', '0'),
    'example.com/thing': fc.constantFrom('0', '1', '2'),
  }).map((allocatable) => ({ allocatable: { pods: '4', ...(allocatable as Readonly<Record<string, string>>) } })),
  pod: resourcePod,
  bound: resizedPod,
};

/** Random devices and claims of them (dynamic resource allocation), as drivers and people write them. */
import * as fc from 'fast-check';
import type { ParityObject } from '../../differential/parity-case.ts';
import { MINOR_VARIABLE } from '../given.ts';
import type { Question } from './random-cases.ts';

const DRIVER = 'gpu.example.com';
const ofDriver = `device.driver == "${DRIVER}"`;
const attributes = `device.attributes["${DRIVER}"]`;
const CLASSES: Readonly<Record<string, string>> = {
  any: ofDriver,
  a: `${ofDriver} && ${attributes}.model == "A"`,
  big: `${ofDriver} && device.capacity["${DRIVER}"].memory.isGreaterThan(quantity("40Gi"))`,
};
/** By these names, too, pods may ask for devices: of a class that says so, and of each class. On from 1.36 on. */
const BY_NAME = ['example.com/gpu', 'deviceclass.resource.kubernetes.io/a'];
const SELECTORS = [
  `${attributes}.numa == 0`,
  `${attributes}.model in ["B", "C"]`,
  `device.capacity["${DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0`,
  `"rare" in ${attributes} && ${attributes}.rare`,
  `!(${attributes}.?rare.orValue(false))`,
  `has(${attributes}.rare) ? ${attributes}.rare : true`,
  // Of a device without it this is an error, not a no.
  `${attributes}.rare`,
  `device.driver != "${DRIVER}" || ${attributes}.version.isGreaterThan(semver("1.2.0"))`,
  `${attributes}.model.startsWith("A")`,
];

/** How claims share a device: whole, with any part of its memory, or with parts of a size. On from 1.36 on. */
const SHARES: readonly (object | undefined)[] = [
  undefined,
  undefined,
  undefined,
  undefined,
  {},
  { requestPolicy: { default: '8Gi', validRange: { min: '4Gi', step: '4Gi', max: '32Gi' } } },
  { requestPolicy: { default: '8Gi', validValues: ['8Gi', '16Gi', '40Gi'] } },
];

/** The devices of a claim that nobody uses any longer are taken away for the first pod that they keep from running. */
const USERS = [{ resource: 'pods', name: 'user', uid: 'uid-of-the-user' }];

const device = fc.record({
  model: fc.constantFrom('A', 'A', 'B'),
  numa: fc.constantFrom(0, 1),
  memory: fc.constantFrom('40Gi', '80Gi'),
  version: fc.constantFrom('1.0.0', '1.10.0'),
  rare: fc.constantFrom(undefined, undefined, undefined, true, false),
  taint: fc.constantFrom(undefined, undefined, undefined, undefined, 'NoSchedule', 'NoExecute'),
  shares: fc.constantFrom(...SHARES),
  /** Whether a pod that gets it waits for a condition. */
  waits: fc.constantFrom(false, false, false, false, false, true),
});
const node = fc.record({
  devices: fc.array(device, { maxLength: 4 }),
  /** What its driver says: all, only a part of the slices, or an older generation too. */
  published: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'part', 'older-too'),
  /** Whether two devices are one, of which they are parts. */
  halves: fc.constantFrom(false, false, false, true),
  /** What a device plugin reports under the first of those names. */
  own: fc.constantFrom(undefined, undefined, undefined, '0', '2'),
});

const tolerations = fc.constantFrom([], [], [{ key: 'sick', operator: 'Exists' }]);
const plain = fc.record({
  deviceClassName: fc.constantFrom('any', 'any', 'any', 'any', 'any', 'a', 'a', 'big', 'gone'),
  selectors: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.constantFrom(...SELECTORS).map((one) => [one]) },
  ),
  many: fc.constantFrom(1, 1, 1, 1, 1, 2, 3, 'all' as const, 40),
  tolerations,
  part: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    { memory: '3Gi' },
    { memory: '16Gi' },
    { memory: '30Gi' },
    { memory: '60Gi' },
    { cores: '1' },
  ),
});
type Plain = typeof plain extends fc.Arbitrary<infer Value> ? Value : never;
const request = fc.oneof(
  { weight: 4, arbitrary: plain.map((only) => [only]) },
  { weight: 1, arbitrary: fc.tuple(plain, plain).map((both) => [...both]) },
);
/** Attributes that all devices have the same value of, or with `distinct` before them each another. */
const constraint = fc.constantFrom(
  undefined,
  undefined,
  undefined,
  undefined,
  undefined,
  `${DRIVER}/model`,
  `${DRIVER}/numa`,
  `${DRIVER}/rare`,
  `distinct ${DRIVER}/model`,
  `distinct ${DRIVER}/numa`,
);
const ask = fc.record({
  requests: fc.oneof(
    { weight: 3, arbitrary: request.map((one) => [one]) },
    { weight: 1, arbitrary: fc.tuple(request, request).map((both) => [...both]) },
  ),
  constraint,
  onlyFirst: fc.boolean(),
});
type Ask = typeof ask extends fc.Arbitrary<infer Value> ? Value : never;

/** Devices that no node has for itself, and which nodes reach them. */
const common = fc.record({
  reach: fc.constantFrom('all', 'some', 'each' as const),
  devices: fc.array(device, { minLength: 1, maxLength: 2 }),
  halves: fc.constantFrom(false, false, true),
  isWhole: fc.constantFrom(true, true, true, true, false),
});

const shared = fc.record({
  ask,
  // At a pod of which a claim is missing, on its way out or another pod's, the scheduler does not even look.
  state: fc.constantFrom('waiting', 'has', 'has-common'),
  on: fc.nat(3),
  device: fc.nat(3),
});
const CLAIMS = ['c-0', 'c-1', 'c-2', 'c-3'] as const;
const TEMPLATES = ['t-0', 't-1', 't-2', 't-3', 't-4'] as const;
const story = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 4 }),
  common: fc.oneof(
    { weight: 2, arbitrary: fc.array(common, { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(common, { minLength: 1, maxLength: 2 }) },
  ),
  claims: fc.tuple(shared, shared, shared, shared),
  templates: fc.tuple(ask, ask, ask, ask, ask),
  /** A taint that an administrator gives to devices; served since 1.37. */
  rule: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    { driver: DRIVER },
    { driver: DRIVER, pool: 'n-0' },
    { device: 'gpu-1' },
    { driver: 'nic.example.com' },
  ),
  pending: fc.array(
    fc.record({
      claims: fc.uniqueArray(fc.constantFrom(...TEMPLATES, ...CLAIMS), { minLength: 1, maxLength: 2 }),
      byName: fc.oneof(
        { weight: 3, arbitrary: fc.constant<Readonly<Record<string, string>>>({}) },
        {
          weight: 2,
          arbitrary: fc.dictionary(fc.constantFrom(...BY_NAME), fc.constantFrom('1', '1', '2', '3'), { minKeys: 1, maxKeys: 2 }),
        },
      ),
      onlyByName: fc.boolean(),
    }),
    { minLength: 12, maxLength: 12 },
  ),
});
type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never;

/** `count` clusters with devices and a dozen pending pods each; equal seeds give equal questions. */
export function randomDeviceQuestions(seed: number, count: number): readonly Question[] {
  return fc.sample(story, { seed, numRuns: count }).map((told) => ({
    cluster: [
      ...Object.entries(CLASSES).map(([name, expression]) => ({
        kind: 'DeviceClass',
        metadata: { name },
        spec: { selectors: [{ cel: { expression } }], ...(name === 'any' ? { extendedResourceName: BY_NAME[0] } : {}) },
      })),
      ...(told.rule === undefined || !hasTaintRules() ? [] : [taintRule(told.rule)]),
      ...told.nodes.flatMap(nodeWithSlices),
      ...told.common.flatMap(commonSlices),
      ...told.templates.map((each, at) => ({
        kind: 'ResourceClaimTemplate',
        metadata: { name: `t-${at}`, namespace: 'default' },
        spec: { spec: { devices: devicesOf(each) } },
      })),
      ...told.claims.map((each, at) => claimObject(`c-${at}`, each, told)),
    ],
    pods: told.pending.map(({ claims, byName, onlyByName }, at) => ({
      kind: 'Pod',
      metadata: { name: `p-${at}`, namespace: 'default' },
      spec: {
        containers: [{ name: 'c', image: 'none', resources: { requests: byName, limits: byName } }],
        resourceClaims: (onlyByName && Object.keys(byName).length > 0 ? [] : claims).map((name) => ({
          name,
          ...(name.startsWith('t-') ? { resourceClaimTemplateName: name } : { resourceClaimName: name }),
        })),
      },
    })),
  }));
}

function hasTaintRules(): boolean {
  return (process.env[MINOR_VARIABLE] ?? '').localeCompare('1.37', 'en', { numeric: true }) >= 0;
}

function taintRule(deviceSelector: object): ParityObject {
  return { kind: 'DeviceTaintRule', metadata: { name: 'sick' }, spec: { deviceSelector, taint: { key: 'sick', effect: 'NoSchedule' } } };
}

function nodeWithSlices({ devices, published, own, halves }: Story['nodes'][number], at: number): readonly ParityObject[] {
  const name = `n-${at}`;
  const room = { cpu: '4', memory: '16Gi', pods: '110', ...(own === undefined ? {} : { 'example.com/gpu': own }) };
  const isDivided = halves && devices.length > 0;
  const count = (published === 'part' ? 2 : 1) + (isDivided ? 1 : 0);
  const slice = (sliceName: string, generation: number, content: object): ParityObject => ({
    kind: 'ResourceSlice',
    metadata: { name: sliceName },
    spec: { driver: DRIVER, pool: { name, generation, resourceSliceCount: count }, nodeName: name, ...content },
  });
  const shown = (all: Story['nodes'][number]['devices']): object => ({
    devices: all.map((each, place) => ({
      ...deviceObject(`gpu-${place}`, each),
      ...(isDivided
        ? { consumesCounters: [{ counterSet: `whole-${place % 2}`, counters: { slots: { value: String(1 + (place % 3)) } } }] }
        : {}),
    })),
  });
  const sharedCounters = [0, 1].map((at) => ({ name: `whole-${at}`, counters: { slots: { value: '2' } } }));
  return [
    { kind: 'Node', metadata: { name, labels: { 'kubernetes.io/hostname': name } }, status: { allocatable: room, capacity: room } },
    slice(`${name}-gpus`, 2, shown(devices)),
    ...(isDivided ? [slice(`${name}-counters`, 2, { sharedCounters })] : []),
    ...(published === 'older-too' ? [slice(`${name}-old`, 1, shown([...devices, ...devices].slice(0, 4)))] : []),
  ];
}

/** Every other node, by its host name. */
const SOME_NODES = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n-0', 'n-2'] }] }],
};
/** Of the devices of a pool, each of its own. */
const EACH_REACH: readonly object[] = [{ nodeName: 'n-1' }, { nodeSelector: SOME_NODES }, { allNodes: true }];

function commonSlices({ reach, devices, halves, isWhole }: Story['common'][number], at: number): readonly ParityObject[] {
  const slice = (name: string, content: object): ParityObject => ({
    kind: 'ResourceSlice',
    metadata: { name: `common-${at}-${name}` },
    spec: {
      driver: DRIVER,
      pool: { name: `common-${at}`, generation: 1, resourceSliceCount: (halves ? 2 : 1) + (isWhole ? 0 : 1) },
      ...content,
    },
  });
  const where = { all: { allNodes: true }, some: { nodeSelector: SOME_NODES }, each: { perDeviceNodeSelection: true } }[reach];
  const consumed = (place: number): object => ({
    consumesCounters: [{ counterSet: 'whole', counters: { slots: { value: String(1 + (place % 2)) } } }],
  });
  const content = devices.map((each, place) => ({
    ...deviceObject(`gpu-${place}`, each),
    ...(halves ? consumed(place) : {}),
    ...(reach === 'each' ? EACH_REACH[(place + at) % EACH_REACH.length] : {}),
  }));
  const sharedCounters = [{ name: 'whole', counters: { slots: { value: '2' } } }];
  return [slice('gpus', { ...where, devices: content }), ...(halves ? [slice('counters', { allNodes: true, sharedCounters })] : [])];
}

function deviceObject(
  name: string,
  { model, numa, memory, version, rare, taint, waits, shares }: Story['nodes'][number]['devices'][number],
): object {
  return {
    name,
    attributes: {
      model: { string: model },
      numa: { int: numa },
      version: { version },
      ...(rare === undefined ? {} : { rare: { bool: rare } }),
    },
    capacity: { memory: { value: memory, ...shares } },
    ...(shares === undefined ? {} : { allowMultipleAllocations: true }),
    ...(taint === undefined ? {} : { taints: [{ key: 'sick', effect: taint }] }),
    ...(waits ? { bindsToNode: true, bindingConditions: ['attached'], bindingFailureConditions: ['failed'] } : {}),
  };
}

function devicesOf({ requests, constraint: attribute, onlyFirst }: Ask): unknown {
  const exact = ({ many, part, ...rest }: Plain): Readonly<Record<string, unknown>> => ({
    ...rest,
    ...(part === undefined ? {} : { capacity: { requests: part } }),
    selectors: rest.selectors.map((expression) => ({ cel: { expression } })),
    ...(many === 'all' ? { allocationMode: 'All' } : { allocationMode: 'ExactCount', count: many }),
  });
  const asked = requests.map((alternatives, at) => {
    const [only, ...others] = alternatives;
    if (only === undefined) throw new Error('A request has an alternative at least.');
    if (others.length === 0) return { name: `r-${at}`, exactly: exact(only) };
    return { name: `r-${at}`, firstAvailable: alternatives.map((each, place) => ({ name: `s-${place}`, ...exact(each) })) };
  });
  const [kind, name] =
    attribute?.startsWith('distinct ') === true ? ['distinctAttribute', attribute.slice(9)] : ['matchAttribute', attribute];
  const rules = attribute === undefined ? [] : [{ [kind ?? '']: name, ...(onlyFirst ? { requests: ['r-0'] } : {}) }];
  return { requests: asked, constraints: rules };
}

function claimObject(
  name: string,
  { ask: asked, state, on, device: place }: Story['claims'][number],
  { nodes, common: pools }: Story,
): ParityObject {
  const ofCommon = state === 'has-common' ? pools[on % Math.max(1, pools.length)] : undefined;
  const node = `n-${on % nodes.length}`;
  const pool = ofCommon === undefined ? node : `common-${on % pools.length}`;
  const here = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }] };
  const isShared = (ofCommon ?? nodes[on % nodes.length])?.devices[place]?.shares !== undefined;
  const share = { shareID: `00000000-0000-4000-8000-00000000000${name.slice(-1)}`, consumedCapacity: { memory: '16Gi' } };
  const results = [{ request: 'r-0', driver: DRIVER, pool, device: `gpu-${place}`, ...(isShared ? share : {}) }];
  return {
    kind: 'ResourceClaim',
    metadata: { name, namespace: 'default' },
    spec: { devices: devicesOf(asked) },
    ...(state === 'waiting'
      ? {}
      : {
          status: { allocation: { devices: { results }, ...(ofCommon === undefined ? { nodeSelector: here } : {}) }, reservedFor: USERS },
        }),
  };
}

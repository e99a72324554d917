/**
 * Corners of single rules: each cluster is about one of them, and nothing else stands in the way. What people write seldom and
 * what is easily read otherwise: odd quantities, labels that are nearly numbers, empty terms, keys that pods lack.
 */
import * as fc from 'fast-check';
import type { ParityObject } from '../../differential/parity-case.ts';
import { container, plainPod, resources, some, type Fields, type NodeParts, type PodParts, type Theme } from './corner-resources.ts';
import type { Question } from './random-cases.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';
const ROOM = { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '20Gi' };
const NAMESPACES: Readonly<Record<string, Readonly<Record<string, string>>>> = { default: { team: 'a' }, other: { team: 'b' }, third: {} };

const zone = fc.constantFrom(undefined, 'we-1', 'we-2', 'we-3').map((name) => (name === undefined ? {} : { [ZONE]: name }));
const VALUES = ['1', '05', '7', 'x', '', '1.5', '9223372036854775807', '9223372036854775808'];
const expression = fc.oneof(
  fc.record({
    key: fc.constantFrom('n', 'absent'),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ key: fc.constantFrom('n', 'absent'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  fc.record({
    key: fc.constantFrom('n', 'n', 'absent'),
    operator: fc.constantFrom('Gt', 'Lt'),
    values: fc.constantFrom('5', '-1', '+5', '05', '0', 'x', '5.0', '9223372036854775806', '99999999999999999999').map((one) => [one]),
  }),
);
const field = fc.record({
  key: fc.constant('metadata.name'),
  operator: fc.constantFrom('In', 'NotIn'),
  values: fc.constantFrom('n-0', 'n-1', 'gone').map((one) => [one]),
});
const term = some({ matchExpressions: fc.array(expression, { maxLength: 2 }), matchFields: fc.array(field, { maxLength: 2 }) });
const nodeAffinity: Theme = {
  node: fc.constantFrom(undefined, ...VALUES).map((value) => ({ labels: value === undefined ? {} : { n: value } })),
  pod: fc
    .record({
      terms: fc.array(term, { minLength: 1, maxLength: 3 }),
      selector: fc.constantFrom(undefined, undefined, undefined, { n: '1' }, { n: '' }, {}),
    })
    .map(({ terms, selector }) => ({
      spec: {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
        ...(selector === undefined ? {} : { nodeSelector: selector }),
      },
    })),
  bound: plainPod,
};

const effect = fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute');
const taints: Theme = {
  node: fc
    .uniqueArray(fc.record({ key: fc.constantFrom('k', 'l'), value: fc.constantFrom('', 'v', '5'), effect }), {
      maxLength: 3,
      selector: (one) => `${one.key} ${one.effect}`,
    })
    .map((all) => ({ taints: all })),
  pod: fc
    .array(
      fc.oneof(
        fc.record({ key: fc.constantFrom('k', 'l', 'm'), value: fc.constantFrom('', 'v', '5') }),
        fc.record({ key: fc.constantFrom('k', 'l'), operator: fc.constant('Equal'), value: fc.constantFrom('', 'v'), effect }),
        fc.record({ key: fc.constantFrom('k', 'l'), operator: fc.constant('Exists'), effect }),
        fc.record({ operator: fc.constant('Exists'), effect }),
        fc.constant({ operator: 'Exists', tolerationSeconds: 3, effect: 'NoExecute' }),
        fc.constant({ key: 'k', operator: 'Exists' }),
      ),
      { maxLength: 3 },
    )
    .map((tolerations) => ({ spec: { tolerations } })),
  bound: plainPod,
};

const port = fc
  .tuple(
    fc.constantFrom({ containerPort: 80, hostPort: 80 }, { containerPort: 80 }, { containerPort: 81, hostPort: 81 }),
    some({
      protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
      hostIP: fc.constantFrom('0.0.0.0', '10.0.0.1', '10.0.0.2', '::', '::1', '127.0.0.1'),
    }),
  )
  .map((parts) => Object.assign({}, ...parts) as Fields);
const ports: Theme = {
  node: fc.constant({}),
  pod: fc
    .record({ own: port, init: fc.option(fc.tuple(port, fc.boolean()), { nil: undefined }), host: fc.constantFrom(false, false, true) })
    .map(({ own, init, host }) => {
      const onHost = (one: Fields): Fields => (host ? { ...one, hostPort: one['containerPort'] } : one);
      const early =
        init === undefined
          ? []
          : [{ ...container({}, 0, { ports: [onHost(init[0])] }), name: 'i', ...(init[1] ? { restartPolicy: 'Always' } : {}) }];
      return { spec: { hostNetwork: host, containers: [container({}, 0, { ports: [onHost(own)] })], initContainers: early } };
    }),
};

const labels = some({ app: fc.constantFrom('x', 'y', ''), version: fc.constantFrom('1', '2'), tenant: fc.constantFrom('a', 'b') }).map(
  (all) => all as Readonly<Record<string, string>>,
);
const selector = fc.oneof(
  fc.constantFrom<Fields>(
    {},
    { matchLabels: { app: 'x' } },
    { matchLabels: { app: '' } },
    { matchLabels: { app: 'x', version: '1' } },
    { matchLabels: {}, matchExpressions: [] },
  ),
  fc
    .record({ key: fc.constantFrom('app', 'version', 'tenant'), operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist') })
    .map(({ key, operator }): Fields => ({
      matchExpressions: [{ key, operator, ...(operator.endsWith('In') ? { values: ['x', '1', 'a'] } : {}) }],
    })),
);
const placed = fc
  .tuple(zone, fc.constantFrom({}, {}, { rack: 'r' }, { rack: '' }))
  .map((parts) => ({ labels: Object.assign({}, ...parts) as Readonly<Record<string, string>> }));
const topologyKey = fc.constantFrom(ZONE, HOSTNAME, 'rack', 'absent');
const namespace = fc.constantFrom(...Object.keys(NAMESPACES));

const spread: Theme = {
  node: fc
    .record({
      where: placed,
      taints: fc.constantFrom(
        [],
        [],
        [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
        [{ key: 'k', effect: 'NoExecute' }],
        [{ key: 'k', effect: 'PreferNoSchedule' }],
      ),
    })
    .map(({ where, taints: all }) => ({ ...where, taints: all })),
  pod: fc
    .record({
      namespace,
      labels,
      constraints: fc.uniqueArray(
        fc
          .tuple(
            fc.record({ topologyKey, maxSkew: fc.integer({ min: 1, max: 3 }), labelSelector: selector }),
            some({
              minDomains: fc.integer({ min: 1, max: 4 }),
              nodeAffinityPolicy: fc.constantFrom('Honor', 'Ignore'),
              nodeTaintsPolicy: fc.constantFrom('Honor', 'Ignore'),
              matchLabelKeys: fc.constantFrom([], ['release'], ['release', 'phase']),
            }),
          )
          .map((parts) => ({ ...(Object.assign({}, ...parts) as { readonly topologyKey: string }), whenUnsatisfiable: 'DoNotSchedule' })),
        { minLength: 1, maxLength: 2, selector: (one) => one.topologyKey },
      ),
      tolerations: fc.constantFrom([], [], [{ key: 'k', operator: 'Exists' }]),
      wants: fc.constantFrom(undefined, undefined, { rack: 'r' }, { [ZONE]: 'we-1' }),
      extra: some({ release: fc.constantFrom('1', '2'), phase: fc.constant('p') }),
    })
    .map(({ namespace: own, labels: all, constraints, tolerations, wants, extra }) => ({
      namespace: own,
      labels: { ...all, ...(extra as Readonly<Record<string, string>>) },
      spec: { topologySpreadConstraints: constraints, tolerations, ...(wants === undefined ? {} : { nodeSelector: wants }) },
    })),
};

const affinityTerm = fc
  .tuple(
    fc.record({ topologyKey }),
    some({
      labelSelector: selector,
      namespaces: fc.constantFrom([], ['other'], ['default', 'third'], ['nowhere']),
      namespaceSelector: fc.constantFrom(
        {},
        { matchLabels: { team: 'b' } },
        { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] },
        { matchLabels: { 'kubernetes.io/metadata.name': 'third' } },
      ),
    }),
    fc.constantFrom(
      {},
      {},
      { matchLabelKeys: ['release'] },
      { mismatchLabelKeys: ['release'] },
      { matchLabelKeys: ['release'], mismatchLabelKeys: ['phase'] },
    ),
  )
  .map((parts) => Object.assign({}, ...parts) as Fields)
  .map((one) => (one['labelSelector'] === undefined ? { ...one, matchLabelKeys: undefined, mismatchLabelKeys: undefined } : one));
const podAffinity: Theme = {
  node: placed,
  pod: fc
    .record({
      namespace,
      labels: fc
        .tuple(labels, some({ release: fc.constantFrom('1', '2'), phase: fc.constantFrom('p', 'q') }))
        .map((both) => Object.assign({}, ...both) as Readonly<Record<string, string>>),
      near: fc.array(affinityTerm, { maxLength: 2 }),
      apart: fc.array(affinityTerm, { maxLength: 1 }),
    })
    .map(({ namespace: own, labels: all, near, apart }) => ({
      namespace: own,
      labels: all,
      spec: {
        affinity: {
          ...(near.length === 0 ? {} : { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near } }),
          ...(apart.length === 0 ? {} : { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apart } }),
        },
      },
    })),
};

const RBD = { monitors: ['m1'], image: 'i' };
const inlineDisk = fc.oneof(
  fc
    .record({
      iqn: fc.constantFrom('iqn.2001-04.com.example:a', 'iqn.2001-04.com.example:b'),
      lun: fc.constantFrom(0, 1),
      readOnly: fc.boolean(),
    })
    .map((one) => ({ iscsi: { targetPortal: '10.0.0.1', ...one } })),
  fc
    .tuple(
      fc.constantFrom(
        RBD,
        { ...RBD, monitors: ['m1', 'm2'] },
        { ...RBD, monitors: ['m2'] },
        { ...RBD, pool: 'p' },
        { ...RBD, pool: 'rbd' },
      ),
      fc.boolean(),
    )
    .map(([one, readOnly]) => ({ rbd: { ...one, readOnly } })),
  fc.record({ pdName: fc.constantFrom('a', 'b'), readOnly: fc.boolean() }).map((one) => ({ gcePersistentDisk: one })),
  fc.record({ volumeID: fc.constantFrom('a', 'b'), readOnly: fc.boolean() }).map((one) => ({ awsElasticBlockStore: one })),
);
const disks: Theme = {
  node: fc.constant({}),
  pod: fc
    .array(inlineDisk, { minLength: 1, maxLength: 2 })
    .map((all) => ({ spec: { volumes: all.map((one, at) => ({ name: `d-${at}`, ...one })) } })),
};

const RULE = { exitCodes: { operator: 'In', values: [1] } };
const features: Theme = {
  node: fc
    .subarray(['GuaranteedQoSPodCPUResize', 'RestartAllContainersOnContainerExits'])
    .map((declaredFeatures) => ({ declaredFeatures })),
  pod: fc.record({ action: fc.constantFrom('Restart', 'RestartAllContainers'), early: fc.boolean() }).map(({ action, early }) => {
    const ruled = { restartPolicy: 'Never', restartPolicyRules: [{ action, ...RULE }] };
    return {
      spec: {
        restartPolicy: 'Never',
        containers: [container({}, 0, early ? {} : ruled)],
        initContainers: early ? [{ ...container({}, 0, ruled), name: 'i' }] : [],
      },
    };
  }),
  bound: plainPod,
};

const THEMES: Readonly<Record<string, Theme>> = { resources, nodeAffinity, taints, ports, spread, podAffinity, disks, features };

function nodeObject(
  name: string,
  { labels: own = {}, taints: all = [], allocatable = {}, declaredFeatures = [] }: NodeParts,
): ParityObject {
  const room = { ...ROOM, ...allocatable };
  return {
    kind: 'Node',
    metadata: { name, labels: { [HOSTNAME]: name, ...own } },
    spec: { taints: all },
    status: { allocatable: room, capacity: room, declaredFeatures },
  };
}

function podObject(
  name: string,
  { namespace: own = 'default', labels: all = {}, spec = {}, status }: PodParts,
  nodeName?: string,
): ParityObject {
  return {
    kind: 'Pod',
    metadata: { name, namespace: own, labels: all },
    spec: { containers: [container({}, 0)], ...spec, ...(nodeName === undefined ? {} : { nodeName }) },
    ...(status === undefined ? {} : { status }),
  };
}

/** `count` clusters with a dozen pending pods each, by turns of every theme; equal seeds give equal questions. */
export function randomCornerQuestions(seed: number, count: number): readonly Question[] {
  const themes = Object.values(THEMES);
  return themes.flatMap(({ node, pod, bound = pod }) => {
    const story = fc.record({
      nodes: fc.array(node, { minLength: 2, maxLength: 4 }),
      there: fc.array(fc.record({ of: bound, on: fc.nat(3) }), { maxLength: 5 }),
      pending: fc.array(pod, { minLength: 12, maxLength: 12 }),
    });
    return fc.sample(story, { seed, numRuns: Math.ceil(count / themes.length) }).map(({ nodes, there, pending }): Question => ({
      cluster: [
        ...Object.entries(NAMESPACES).map(([name, own]) => ({ kind: 'Namespace', metadata: { name, labels: own } })),
        ...nodes.map((parts, at) => nodeObject(`n-${at}`, parts)),
        ...there.map(({ of, on }, at) => podObject(`bound-${at}`, of, `n-${on % nodes.length}`)),
      ].map((object) => JSON.parse(JSON.stringify(object)) as ParityObject),
      pods: pending.map((parts, at) => JSON.parse(JSON.stringify(podObject(`p-${at}`, parts))) as ParityObject),
    }));
  });
}

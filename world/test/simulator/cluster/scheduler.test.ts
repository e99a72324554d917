import { describe, expect, it } from 'vitest';
import type { NodeObject, NodeTaint, PodObject, PodSpec, SpreadConstraint } from '../../../simulator/cluster/store/objects.ts';
import { scheduleOne } from '../../../simulator/cluster/scheduler/placement.ts';
import { usageOf, type NodeUsage, requestsOf } from '../../../simulator/cluster/scheduler/node-filters.ts';

interface NodeRest {
  readonly cpu?: string;
  readonly pods?: string;
  readonly labels?: Record<string, string>;
  readonly taints?: readonly NodeTaint[];
  readonly unschedulable?: boolean;
  readonly resources?: Record<string, string>;
}

const META = { uid: '', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };

function node(name: string, rest: NodeRest = {}): NodeObject {
  const { cpu = '4', pods = '110', labels = {}, taints = [], unschedulable, resources = {} } = rest;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...META, name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { taints, ...(unschedulable === undefined ? {} : { unschedulable }) },
    status: { allocatable: { cpu, memory: '16Gi', pods, ...resources } },
  };
}

function pod(
  name: string,
  spec: Partial<PodSpec> & { readonly cpu?: string; readonly resources?: Record<string, string> } = {},
  labels: Record<string, string> = { app: 'x' },
): PodObject {
  const { cpu = '1', resources = {}, ...rest } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...META, name, namespace: 'default', labels },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu, memory: '1Gi', ...resources } } }], ...rest },
    status: { phase: 'Pending' },
  };
}

function room(...seats: readonly NodeUsage[]): Parameters<typeof scheduleOne>[1] {
  return { nodes: seats, namespaceLabels: (namespace) => ({ name: namespace }), stored: { get: () => undefined, list: () => [] } };
}

function outcome(candidate: PodObject, ...seats: readonly NodeUsage[]): string {
  const decision = scheduleOne(candidate, room(...seats));
  return decision.kind === 'bind' ? decision.usage.node.metadata.name : decision.message;
}

const TAINT: NodeTaint = { key: 'k', value: 'v', effect: 'NoSchedule' };

describe('effective requests', () => {
  const container = (name: string, cpu: string, restartPolicy?: string): PodSpec['containers'][number] => ({
    name,
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  it.each<[string, Partial<PodSpec>, number]>([
    ['containers add up', { containers: [container('a', '1'), container('b', '500m')] }, 1500],
    [
      'the largest init container counts alone',
      { containers: [container('a', '1')], initContainers: [container('i', '3'), container('j', '2')] },
      3000,
    ],
    ['sidecars add to containers', { containers: [container('a', '1')], initContainers: [container('s', '500m', 'Always')] }, 1500],
    [
      'an init container runs beside earlier sidecars',
      { containers: [container('a', '1')], initContainers: [container('s', '1', 'Always'), container('i', '3')] },
      4000,
    ],
    [
      'an init container does not run beside later sidecars',
      { containers: [container('a', '1')], initContainers: [container('i', '3'), container('s', '1', 'Always')] },
      3000,
    ],
    ['overhead is on top', { containers: [container('a', '1')], overhead: { cpu: '250m' } }, 1250],
    ['limits stand in for requests', { containers: [{ name: 'a', resources: { limits: { cpu: '2' } } }] }, 2000],
  ])('%s', (_name, spec, millis) => {
    expect(requestsOf(pod('p', spec)).get('cpu')).toBe(millis);
  });
});

describe('filters of one node', () => {
  it.each<[string, PodObject, NodeObject, readonly PodObject[], string]>([
    ['too little CPU', pod('p', { cpu: '5' }), node('n'), [], 'Insufficient cpu'],
    ['CPU in use', pod('p', { cpu: '2' }), node('n'), [pod('a', { cpu: '3' })], 'Insufficient cpu'],
    ['an extended resource nobody has', pod('p', { resources: { 'nvidia.com/gpu': '1' } }), node('n'), [], 'Insufficient nvidia.com/gpu'],
    ['no place for another pod', pod('p'), node('n', { pods: '1' }), [pod('a')], 'Too many pods'],
    ['a taint', pod('p'), node('n', { taints: [TAINT] }), [], 'node(s) had untolerated taint {k: v}'],
    [
      'a taint without value',
      pod('p'),
      node('n', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] }),
      [],
      'node(s) had untolerated taint {node.kubernetes.io/not-ready: }',
    ],
    ['a cordon', pod('p'), node('n', { unschedulable: true }), [], 'node(s) were unschedulable'],
    ['a node selector', pod('p', { nodeSelector: { a: 'b' } }), node('n'), [], "node(s) didn't match Pod's node affinity/selector"],
    [
      'a port in use',
      pod('p', portOf(80)),
      node('n'),
      [pod('a', portOf(80))],
      "node(s) didn't have free ports for the requested pod ports",
    ],
  ])('%s', (_name, candidate, seat, present, reason) => {
    const message = outcome(candidate, usageOf(seat, present));
    expect(message).toMatch(/^0\/1 nodes are available: 1 /);
    expect(message).toContain(`1 ${reason}`);
  });

  function portOf(hostPort: number): Partial<PodSpec> {
    return { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort }] }] };
  }

  it.each<[string, PodObject, NodeObject, readonly PodObject[]]>([
    ['exactly enough CPU', pod('p', { cpu: '4' }), node('n'), []],
    ['a tolerated taint', pod('p', { tolerations: [{ key: 'k', operator: 'Equal', value: 'v' }] }), node('n', { taints: [TAINT] }), []],
    ['a soft taint', pod('p'), node('n', { taints: [{ ...TAINT, effect: 'PreferNoSchedule' }] }), []],
    ['a tolerated cordon', pod('p', { tolerations: [{ operator: 'Exists' }] }), node('n', { unschedulable: true }), []],
    ['another port', pod('p', portOf(81)), node('n'), [pod('a', portOf(80))]],
    ['CPU of a finished pod', pod('p', { cpu: '4' }), node('n'), [{ ...pod('a', { cpu: '4' }), status: { phase: 'Succeeded' } }]],
    [
      'affinity by the name of the node',
      pod('p', nodeAffinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] })),
      node('n'),
      [],
    ],
    [
      'affinity by a number',
      pod('p', nodeAffinity({ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['3'] }] })),
      node('n', { labels: { cores: '4' } }),
      [],
    ],
  ])('lets pass: %s', (_name, candidate, seat, present) => {
    expect(outcome(candidate, usageOf(seat, present))).toBe('n');
  });

  it('lets a node selector term without requirements match nothing', () => {
    expect(outcome(pod('p', nodeAffinity({})), usageOf(node('n'), []))).toContain("didn't match Pod's node affinity/selector");
  });

  function nodeAffinity(term: object): Partial<PodSpec> {
    return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } } };
  }
});

describe('the sentence of failure', () => {
  it('counts reasons over nodes as kube-scheduler does', () => {
    const seats = [usageOf(node('a', { cpu: '1' }), []), usageOf(node('b', { cpu: '1' }), []), usageOf(node('c', { taints: [TAINT] }), [])];
    expect(outcome(pod('p', { cpu: '2' }), ...seats)).toBe(
      '0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. ' +
        'preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.',
    );
  });

  it('counts every missing resource of a node', () => {
    expect(outcome(pod('p', { cpu: '9', resources: { memory: '99Gi' } }), usageOf(node('a'), []))).toContain(
      '1 Insufficient cpu, 1 Insufficient memory.',
    );
  });

  it('says so when there are no nodes', () => {
    expect(outcome(pod('p'))).toBe('no nodes available to schedule pods');
  });
});

describe('choice', () => {
  it('takes the node with the least in use', () => {
    expect(outcome(pod('p'), usageOf(node('a'), [pod('x', { cpu: '2' })]), usageOf(node('b'), [pod('y', { cpu: '1' })]))).toBe('b');
  });
  it('breaks ties by name', () => {
    expect(outcome(pod('p'), usageOf(node('b'), []), usageOf(node('a'), []))).toBe('a');
  });
  it('avoids soft taints before it looks at load', () => {
    const soft = node('a', { taints: [{ key: 'DeletionCandidateOfClusterAutoscaler', value: '1', effect: 'PreferNoSchedule' }] });
    expect(outcome(pod('p'), usageOf(soft, []), usageOf(node('b'), [pod('y', { cpu: '2' })]))).toBe('b');
  });
});

describe('topology spread', () => {
  const zone = (name: string, value: string, ...pods: readonly PodObject[]): NodeUsage =>
    usageOf(node(name, { labels: { zone: value } }), pods);
  const spread = (rest: Partial<SpreadConstraint> = {}): Partial<PodSpec> => ({
    topologySpreadConstraints: [
      { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'x' } }, ...rest },
    ],
  });
  const other = pod('o', {}, { app: 'other' });

  it('keeps the skew', () => {
    expect(outcome(pod('p', spread()), zone('a', '1', pod('x')), zone('b', '2', other, other, other))).toBe('b');
  });
  it('refuses a node beyond the skew with the words of kube-scheduler', () => {
    const full = usageOf(node('b', { cpu: '1', labels: { zone: '2' } }), [other]);
    expect(outcome(pod('p', spread()), zone('a', '1', pod('x')), full)).toContain("1 node(s) didn't match pod topology spread constraints");
  });
  it('refuses a node without the label', () => {
    expect(outcome(pod('p', spread()), usageOf(node('a'), []))).toContain('(missing required label)');
  });
  it('takes too few domains as a minimum of zero', () => {
    expect(outcome(pod('p', spread({ minDomains: 2 })), zone('a', '1', pod('x')))).toContain('topology spread');
    expect(outcome(pod('p', spread({ minDomains: 1 })), zone('a', '1', pod('x')))).toBe('a');
  });
  it('does not count domains that the pod cannot use', () => {
    const own = { ...spread(), nodeSelector: { zone: '1' } };
    expect(outcome(pod('p', own), zone('a', '1', pod('x'), pod('y')), zone('b', '2'))).toBe('a');
  });
  it('counts them if affinity is ignored', () => {
    const own = { ...spread({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { zone: '1' } };
    expect(outcome(pod('p', own), zone('a', '1', pod('x'), pod('y')), zone('b', '2'))).toContain('topology spread');
  });
  it('does not count tainted domains if taints are honoured', () => {
    const tainted = usageOf(node('b', { labels: { zone: '2' }, taints: [TAINT] }), []);
    expect(outcome(pod('p', spread()), zone('a', '1', pod('x')), tainted)).toContain('topology spread');
    expect(outcome(pod('p', spread({ nodeTaintsPolicy: 'Honor' })), zone('a', '1', pod('x')), tainted)).toBe('a');
  });
  it('does not count terminating pods', () => {
    const going = { ...pod('x'), metadata: { ...pod('x').metadata, deletionTimestamp: '2026-11-21T00:00:30Z' } };
    expect(outcome(pod('p', { ...spread(), nodeSelector: { zone: '1' } }), zone('a', '1', going), zone('b', '2'))).toBe('a');
  });
  it('narrows the selector by the label keys of the pod', () => {
    const keyed = spread({ matchLabelKeys: ['hash'] });
    const old = pod('x', {}, { app: 'x', hash: 'old' });
    expect(
      outcome(pod('p', { ...keyed, nodeSelector: { zone: '1' } }, { app: 'x', hash: 'new' }), zone('a', '1', old, old), zone('b', '2')),
    ).toBe('a');
  });
});

describe('inter-pod affinity', () => {
  const host = (name: string, ...pods: readonly PodObject[]): NodeUsage =>
    usageOf(node(name, { labels: { zone: name === 'c' ? '2' : '1' } }), pods);
  const term = (
    app: string,
    topologyKey = 'kubernetes.io/hostname',
    rest: object = {},
  ): { topologyKey: string; labelSelector: { matchLabels: Record<string, string> } } => ({
    topologyKey,
    labelSelector: { matchLabels: { app } },
    ...rest,
  });
  const anti = (...terms: ReturnType<typeof term>[]): Partial<PodSpec> => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const near = (...terms: ReturnType<typeof term>[]): Partial<PodSpec> => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const elsewhere = (candidate: PodObject): PodObject => ({ ...candidate, metadata: { ...candidate.metadata, namespace: 'elsewhere' } });

  it.each<[string, PodObject, readonly NodeUsage[], string]>([
    ['anti-affinity over hosts', pod('p', anti(term('x'))), [host('a', pod('x')), host('b')], 'b'],
    ['anti-affinity over zones', pod('p', anti(term('x', 'zone'))), [host('a', pod('x')), host('b'), host('c')], 'c'],
    [
      'anti-affinity of a resident',
      pod('p'),
      [host('a', pod('r', anti(term('x')), { app: 'r' })), host('b', pod('y', { cpu: '3' }, { app: 'y' }))],
      'b',
    ],
    ['affinity to a host', pod('p', near(term('db'))), [host('a'), host('b', pod('d', {}, { app: 'db' }))], 'b'],
    ['affinity to a zone', pod('p', near(term('db', 'zone'))), [host('a'), host('c', pod('d', {}, { app: 'db' }))], 'c'],
    ['affinity to itself starts the group', pod('p', near(term('x'))), [host('a')], 'a'],
    ['other namespaces do not count', pod('p', anti(term('x'))), [host('a', elsewhere(pod('x')))], 'a'],
  ])('%s', (_name, candidate, seats, expected) => {
    expect(outcome(candidate, ...seats)).toBe(expected);
  });

  it.each<[string, PodObject, readonly NodeUsage[], string]>([
    ['anti-affinity', pod('p', anti(term('x'))), [host('a', pod('x'))], "1 node(s) didn't match pod anti-affinity rules"],
    [
      'a resident',
      pod('p'),
      [host('a', pod('r', anti(term('x')), { app: 'r' }))],
      "1 node(s) didn't satisfy existing pods anti-affinity rules",
    ],
    ['affinity', pod('p', near(term('db'))), [host('a')], "1 node(s) didn't match pod affinity rules"],
    [
      'a named namespace',
      pod('p', anti(term('x', 'zone', { namespaces: ['elsewhere'] }))),
      [host('a', elsewhere(pod('x')))],
      "1 node(s) didn't match pod anti-affinity rules",
    ],
    [
      'a selected namespace',
      pod('p', anti(term('x', 'zone', { namespaceSelector: { matchLabels: { name: 'elsewhere' } } }))),
      [host('a', elsewhere(pod('x')))],
      "1 node(s) didn't match pod anti-affinity rules",
    ],
  ])('refuses for %s', (_name, candidate, seats, reason) => {
    expect(outcome(candidate, ...seats)).toContain(reason);
  });
});

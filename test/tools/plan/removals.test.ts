/**
 * Removals as a user asks for them: files in, nodes out. A row for each verdict, and for what is read from files alone; the rules themselves
 * are tested with the planner. Each expectation was worked out by hand from the documented rules.
 */
import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, planAnswer, podJson } from './support.ts';

type Json = Readonly<Record<string, unknown>>;
interface Case {
  readonly name: string;
  readonly objects: readonly Json[];
  readonly goes: readonly string[];
  /** Of the nodes that matter: why they stay, and what the detail says. */
  readonly stays?: Readonly<Record<string, string | readonly [reason: string, detail: string]>>;
  readonly config?: string;
  /** Of the pool `general`. */
  readonly pool?: string;
  readonly pools?: string;
}

const NOW = '2026-11-21T12:00:00Z';
const CA = 'cluster-autoscaler.kubernetes.io/';
async function check({ objects, goes, stays = {}, config = '', pool = '', pools }: Case): Promise<void> {
  const { scaleDown } = await planAnswer(['--cluster=c.json', '--pools=p.yaml', '--config=k.yaml', `--now=${NOW}`], {
    'c.json': listOf(...objects),
    'p.yaml': pools ?? `- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 20${pool}}\n`,
    'k.yaml': config === '' ? 'scaleDown: {}\n' : `scaleDown: {${config}}\n`,
  });
  const kept = new Map(scaleDown.unremovable.map((node) => [node.node, node]));
  expect({ goes: scaleDown.removals.map(({ node }) => node), kept: goes.length > 0 ? undefined : [...kept.values()] }).toMatchObject({
    goes,
  });
  for (const [node, said] of Object.entries(stays)) {
    const [reason, detail = ''] = typeof said === 'string' ? [said] : said;
    expect(kept.get(node)).toEqual({ node, reason, detail: expect.stringContaining(detail) });
  }
}

const node = (name: string, part: Parameters<typeof nodeJson>[2] = {}) => nodeJson(name, 'general', part);
/** n-0 is three quarters full and has room for one core; it stays in every case. */
const host = [node('n-0'), podJson('host', '3', { on: 'n-0' })];
const n1 = node('n-1');
const on1 = (part: Parameters<typeof podJson>[2] = {}, cpu = '500m') => podJson('p', cpu, { on: 'n-1', ...part });
const said = (annotations: Json, metadata: Json = {}) => ({ metadata: { annotations, ...metadata } });
const bare: Json = { ownerReferences: [] };
const owned = (kind: string, apiVersion = 'apps/v1'): Json => ({
  ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'o', controller: true }],
});
const born = (creationTimestamp: string): Json => ({ creationTimestamp });
const containers = (cpu: string) => [{ name: 'c', resources: { requests: { cpu } } }];
const labels = (app: string): Json => ({ labels: { app } });
const budget = (name: string, disruptionsAllowed: number, part: Json = {}): Json => ({
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default', ...part },
  spec: { selector: { matchLabels: { app: 'db' } } },
  status: { disruptionsAllowed, expectedPods: 3, currentHealthy: 2 + disruptionsAllowed, desiredHealthy: 2 },
});
const unready = (name: string, created: string, part: Parameters<typeof nodeJson>[2] = {}): Json => {
  const made = node(name, part);
  return {
    ...made,
    metadata: { ...(made['metadata'] as object), creationTimestamp: created },
    status: { ...(made['status'] as object), conditions: [{ type: 'Ready', status: 'False' }] },
  };
};
const keeps = (detail: string): NonNullable<Case['stays']> => ({ 'n-1': ['BlockedByPod', detail] });

function nodeJsonWith(name: string, annotations: Json): Json {
  const made = node(name);
  return { ...made, metadata: { ...(made['metadata'] as object), annotations } };
}

describe('use of a node', () => {
  const cases: readonly Case[] = [
    { name: 'a millicore more is not', objects: [...host, n1, on1({}, '2001m')], goes: [], stays: { 'n-1': ['NotUnderutilized', '50'] } },
    {
      name: "a pool's own threshold, as a tag",
      objects: [node('n-0', { allocatable: { cpu: '8' } }), podJson('h', '5', { on: 'n-0' }), n1, on1({}, '2500m')],
      pool: ', tags: {"k8s.io_cluster-autoscaler_node-template_autoscaling-options_scaledownutilizationthreshold": "0.63"}',
      goes: ['n-1'],
    },
    {
      name: 'a node without a size is not guessed about',
      objects: [...host, node('n-1', { allocatable: { cpu: '0' } })],
      goes: [],
      stays: { 'n-1': 'UnexpectedError' },
    },
    {
      name: 'a pod that others are pushed aside for counts there',
      objects: [...host, n1, { ...podJson('w', '3500m'), status: { phase: 'Pending', nominatedNodeName: 'n-1' } }],
      goes: [],
      stays: { 'n-1': 'NotUnderutilized' },
    },
  ];
  it.each(cases)('$name', check);
});

describe('nodes that annotations exclude', () => {
  const cases: readonly Case[] = [
    {
      name: 'an annotation to the letter',
      objects: [...host, nodeJsonWith('n-1', { [`${CA}scale-down-disabled`]: 'true' })],
      goes: [],
      stays: { 'n-1': 'ScaleDownDisabledAnnotation' },
    },
    { name: 'another spelling of it', objects: [...host, nodeJsonWith('n-1', { [`${CA}scale-down-disabled`]: 'yes' })], goes: ['n-1'] },
    { name: 'of another pool', objects: [...host, nodeJson('n-1', 'stranger')], goes: [], stays: { 'n-1': 'NotAutoscaled' } },
    {
      name: 'marked two minutes ago',
      objects: [
        ...host,
        node('n-1', {
          spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: String(Date.parse(NOW) / 1000 - 120), effect: 'NoSchedule' }] },
        }),
      ],
      goes: [],
      stays: { 'n-1': 'CurrentlyBeingDeleted' },
    },
    { name: 'cordoned by a person, and empty', objects: [...host, node('n-1', { spec: { unschedulable: true } })], goes: ['n-1'] },
    {
      name: 'not ready, and starting',
      objects: [...host, unready('n-1', '2026-11-21T11:50:00Z')],
      goes: [],
      stays: { 'n-1': 'NotUnreadyLongEnough' },
    },
    {
      name: 'not ready, where such nodes stay',
      objects: [...host, unready('n-1', '2026-11-21T08:00:00Z')],
      config: 'unreadyEnabled: false',
      goes: [],
      stays: { 'n-1': 'ScaleDownUnreadyDisabled' },
    },
  ];
  it.each(cases)('$name', check);
});

describe('limits and order', () => {
  const empty = (count: number, from = 1) => Array.from({ length: count }, (_, index) => node(`n-${from + index}`));
  const POOL = 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_';
  const moving = (on: string, part: Json = {}, metadata: Json = {}) =>
    podJson(`m-${on}`, '100m', { on, metadata, spec: { containers: containers('100m'), ...part } });
  const cases: readonly Case[] = [
    {
      name: 'a pool at its minimum',
      objects: [...host, n1],
      pools: '- {name: general, vmSize: Standard_D4s_v5, min: 2, max: 9}\n',
      goes: [],
      stays: { 'n-1': 'NodeGroupMinSizeReached', 'n-0': 'NodeGroupMinSizeReached' },
    },
    {
      name: 'so many at once',
      objects: [...host, ...empty(12)],
      goes: ['n-1', 'n-10', 'n-11', 'n-12', 'n-2', 'n-3', 'n-4', 'n-5', 'n-6', 'n-7'],
      stays: { 'n-8': ['RemovalBudgetSpent', 'parallel removals left: 0, needed: 1'] },
    },
    {
      name: 'one drain at once',
      objects: [node('n-0'), podJson('host', '2500m', { on: 'n-0' }), n1, node('n-2'), moving('n-1'), moving('n-2')],
      goes: ['n-1'],
      stays: { 'n-2': ['RemovalBudgetSpent', 'parallel drains left: 0, needed: 1'] },
    },
    {
      name: 'the dearer first',
      objects: [node('n-0'), podJson('host', '3', { on: 'n-0' }), node('n-1'), nodeJson('x-1', 'dear')],
      config: 'maxParallelism: 1',
      pools:
        '- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 9, price: 0.1}\n- {name: dear, vmSize: Standard_D4s_v5, min: 0, max: 9, price: 0.5}\n',
      goes: ['x-1'],
    },
    {
      name: 'all of a pool or none',
      objects: [...host, nodeJson('x-0', 'whole'), nodeJson('x-1', 'whole'), podJson('q', '3', { on: 'x-1' })],
      pools: `- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 9}\n- {name: whole, vmSize: Standard_D4s_v5, min: 0, max: 2, tags: {${POOL}zeroormaxnodescaling: "true"}}\n`,
      goes: [],
      stays: { 'x-0': ['AtomicScaleDownFailed', 'only 1 of its 2 nodes'] },
    },
    {
      name: 'the cores that must stay',
      objects: [...host, ...empty(2)],
      config: 'minCoresTotal: 8',
      goes: ['n-1'],
      stays: { 'n-2': 'MinimalResourceLimitExceeded' },
    },
    {
      name: 'turned off',
      objects: [...host, n1],
      config: 'enabled: false',
      goes: [],
      stays: { 'n-1': ['Inhibited', 'scale-down is disabled'] },
    },
    {
      name: 'the cap on removals',
      objects: [...host, ...empty(4)],
      config: 'maxEmptyRemovalsPerWindow: 2',
      goes: ['n-1', 'n-2'],
      stays: { 'n-3': ['RemovalBudgetSpent', 'removals of empty nodes left in this window: 0, needed: 1'] },
    },
  ];
  it.each(cases)('$name', check);
});

describe('budgets', () => {
  const db = (on: string) => podJson(`db-${on}`, '100m', { on, metadata: labels('db') });
  const cases: readonly Case[] = [
    {
      name: 'spent',
      objects: [...host, n1, db('n-1'), budget('b', 0)],
      goes: [],
      stays: keeps('NotEnoughPdb (default/b: 2 of 2 required pods are healthy'),
    },
    {
      name: 'passed over by the word of the owner',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'true' }, labels('db'))), budget('b', 0)],
      goes: ['n-1'],
    },
    {
      name: 'a young system pod without, beside one with',
      objects: [
        ...host,
        n1,
        on1({ metadata: { namespace: 'kube-system', ...born('2026-11-21T11:59:00Z') } }),
        budget('b', 1, { namespace: 'kube-system' }),
      ],
      goes: [],
      stays: keeps('UnmovableKubeSystemPod'),
    },
  ];
  it.each(cases)('$name', check);
});

describe('places for the pods', () => {
  const nowhere = { 'n-1': ['NoPlaceToMovePods', 'fits on no other node'] } as const;
  const cases: readonly Case[] = [
    {
      name: 'none that is large enough',
      objects: [node('n-0'), podJson('host', '3500m', { on: 'n-0' }), n1, on1({}, '1')],
      goes: [],
      stays: nowhere,
    },
    { name: 'on another node, with nothing to move', objects: [...host, n1, on1({ metadata: owned('DaemonSet') })], goes: ['n-1'] },
  ];
  it.each(cases)('$name', check);
});

describe('pods that hold their node', () => {
  const local = (volumes: readonly Json[], annotation = ''): Json =>
    on1({
      spec: { containers: containers('500m'), volumes },
      ...(annotation === '' ? {} : said({ [`${CA}safe-to-evict-local-volumes`]: annotation })),
    });
  const scratch = { name: 'scratch', emptyDir: {} };
  const strict = 'skipNodesWithLocalStorage: true';
  const cases: readonly Case[] = [
    {
      name: 'one of a DaemonSet that must not be evicted does not',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'false' }, owned('DaemonSet')))],
      goes: ['n-1'],
    },
    { name: 'one of nobody', objects: [...host, n1, on1({ metadata: bare })], goes: [], stays: keeps('NotReplicated') },
    {
      name: 'one whose owner is no controller',
      objects: [...host, n1, on1({ metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'o', uid: 'o' }] } })],
      goes: [],
      stays: keeps('NotReplicated'),
    },
    {
      name: "one of somebody's own controller",
      objects: [...host, n1, on1({ metadata: owned('CloneSet', 'apps.kruise.io/v1') })],
      goes: [],
      stays: keeps('CloneSet'),
    },
    {
      name: 'one that must not be evicted',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'false' }))],
      goes: [],
      stays: keeps('NotSafeToEvictAnnotation'),
    },
    {
      name: "one that must not be disrupted, in Karpenter's words",
      objects: [...host, n1, on1(said({ 'karpenter.sh/do-not-disrupt': 'true' }))],
      goes: [],
      stays: keeps('DoNotDisruptAnnotation'),
    },
    {
      name: 'one that must run to its end',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'on-completion' }))],
      goes: [],
      stays: { 'n-1': 'BlockedByOnCompletionPod' },
    },
    {
      name: 'one of nobody that must run to its end',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'on-completion' }, bare))],
      goes: [],
      stays: { 'n-1': 'BlockedByOnCompletionPod' },
    },
    {
      name: 'a young bare one of the system is first of all bare',
      objects: [...host, n1, on1({ metadata: { namespace: 'kube-system', ...bare, ...born('2026-11-21T11:59:00Z') } })],
      goes: [],
      stays: keeps('NotReplicated'),
    },
    {
      name: 'local storage before the budget',
      objects: [
        ...host,
        n1,
        { ...local([scratch]), metadata: { ...(local([scratch])['metadata'] as object), ...labels('db') } },
        budget('b', 0),
      ],
      config: strict,
      goes: [],
      stays: keeps('LocalStorageRequested'),
    },
    {
      name: 'a young one of the system',
      objects: [...host, n1, on1({ metadata: { namespace: 'kube-system', ...born('2026-11-21T11:01:00Z') } })],
      goes: [],
      stays: keeps('UnmovableKubeSystemPod'),
    },
    {
      name: 'an emptyDir, when asked for',
      objects: [...host, n1, local([scratch])],
      config: strict,
      goes: [],
      stays: keeps('emptyDir volume scratch'),
    },
    {
      name: 'a hostPath',
      objects: [...host, n1, local([{ name: 'h', hostPath: { path: '/x' } }])],
      config: strict,
      goes: [],
      stays: keeps('hostPath volume h'),
    },
    {
      name: 'a list with a space, which is part of the name',
      objects: [...host, n1, local([scratch, { name: 'cache', emptyDir: {} }], 'cache, scratch')],
      config: strict,
      goes: [],
      stays: keeps('scratch'),
    },
  ];
  it.each(cases)('$name', check);
});

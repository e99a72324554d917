/** Removals as a user asks for them. Each expectation was worked out by hand from the documented rules. */
import { describe, it } from 'vitest';
import { check, CA, host, n1, on1, said, bare, owned, born, containers, labels, budget, keeps, type Case, type Json } from './rows.ts';

describe('pods that hold their node', () => {
  const local = (volumes: readonly Json[], annotation = ''): Json =>
    on1({
      spec: { containers: containers('500m'), volumes },
      ...(annotation === '' ? {} : said({ [`${CA}safe-to-evict-local-volumes`]: annotation })),
    });
  const scratch = { name: 'scratch', emptyDir: {} };
  const strict = 'skipNodesWithLocalStorage: true';
  const cases: readonly Case[] = [
    { name: 'none of a ReplicaSet', objects: [...host, n1, on1()], goes: ['n-1'] },
    { name: 'none of a StatefulSet', objects: [...host, n1, on1({ metadata: owned('StatefulSet') })], goes: ['n-1'] },
    { name: 'none of a Job', objects: [...host, n1, on1({ metadata: owned('Job', 'batch/v1') })], goes: ['n-1'] },
    { name: 'one of nobody', objects: [...host, n1, on1({ metadata: bare })], goes: [], stays: keeps('NotReplicated') },
    {
      name: 'one whose owner is no controller',
      objects: [...host, n1, on1({ metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'o', uid: 'o' }] } })],
      goes: [],
      stays: keeps('NotReplicated'),
    },
    { name: 'one of nobody, said to be safe', objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'true' }, bare))], goes: ['n-1'] },
    {
      name: 'one of nobody and of no worth',
      objects: [...host, n1, on1({ metadata: bare, spec: { containers: containers('500m'), priority: -20 } })],
      goes: ['n-1'],
    },
    {
      name: 'one of nobody that has ended',
      objects: [...host, n1, { ...on1({ metadata: bare }), status: { phase: 'Failed' } }],
      goes: ['n-1'],
    },
    {
      name: 'one of nobody that says it runs on every node',
      objects: [...host, n1, on1(said({ [`${CA}daemonset-pod`]: 'true' }, bare))],
      goes: ['n-1'],
    },
    {
      name: "one of somebody's own controller",
      objects: [...host, n1, on1({ metadata: owned('CloneSet', 'apps.kruise.io/v1') })],
      goes: [],
      stays: keeps('CloneSet'),
    },
    {
      name: "one of somebody's own controller, allowed",
      objects: [...host, n1, on1({ metadata: owned('CloneSet', 'apps.kruise.io/v1') })],
      config: 'skipNodesWithCustomControllerPods: false',
      goes: ['n-1'],
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
      name: 'one of a DaemonSet that must not be evicted does not',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'false' }, owned('DaemonSet')))],
      goes: ['n-1'],
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
      name: 'a young one of the system',
      objects: [...host, n1, on1({ metadata: { namespace: 'kube-system', ...born('2026-11-21T11:01:00Z') } })],
      goes: [],
      stays: keeps('UnmovableKubeSystemPod'),
    },
    {
      name: 'an old one of the system',
      objects: [...host, n1, on1({ metadata: { namespace: 'kube-system', ...born('2026-11-21T10:59:00Z') } })],
      goes: ['n-1'],
    },
    {
      name: 'a young one of the system with a budget',
      objects: [
        ...host,
        n1,
        on1({ metadata: { namespace: 'kube-system', ...labels('db'), ...born('2026-11-21T11:59:00Z') } }),
        budget('b', 1, { namespace: 'kube-system' }),
      ],
      goes: ['n-1'],
    },
    {
      name: 'an old one of the system that must not be evicted',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'false' }, { namespace: 'kube-system', ...born('2026-11-21T08:00:00Z') }))],
      goes: [],
      stays: keeps('NotSafeToEvictAnnotation'),
    },
    {
      name: 'a young bare one of the system is first of all bare',
      objects: [...host, n1, on1({ metadata: { namespace: 'kube-system', ...bare, ...born('2026-11-21T11:59:00Z') } })],
      goes: [],
      stays: keeps('NotReplicated'),
    },
    { name: 'an emptyDir, unless asked for', objects: [...host, n1, local([scratch])], goes: ['n-1'] },
    {
      name: 'an emptyDir, when asked for',
      objects: [...host, n1, local([scratch])],
      config: strict,
      goes: [],
      stays: keeps('emptyDir volume scratch'),
    },
    {
      name: 'an emptyDir in memory',
      objects: [...host, n1, local([{ name: 'm', emptyDir: { medium: 'Memory' } }])],
      config: strict,
      goes: ['n-1'],
    },
    {
      name: 'a hostPath',
      objects: [...host, n1, local([{ name: 'h', hostPath: { path: '/x' } }])],
      config: strict,
      goes: [],
      stays: keeps('hostPath volume h'),
    },
    {
      name: 'volumes that are no loss',
      objects: [...host, n1, local([scratch, { name: 'cache', emptyDir: {} }], 'cache,scratch')],
      config: strict,
      goes: ['n-1'],
    },
    {
      name: 'a list with a space, which is part of the name',
      objects: [...host, n1, local([scratch, { name: 'cache', emptyDir: {} }], 'cache, scratch')],
      config: strict,
      goes: [],
      stays: keeps('scratch'),
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
      name: 'one that ends for longer than it may',
      objects: [...host, n1, on1({ metadata: { ...bare, deletionTimestamp: '2026-11-21T11:58:00Z' } }, '3')],
      goes: ['n-1'],
    },
    {
      name: 'one that ends within its time',
      objects: [...host, n1, on1({ metadata: { ...bare, deletionTimestamp: '2026-11-21T11:59:30Z' } })],
      goes: [],
      stays: keeps('NotReplicated'),
    },
  ];
  it.each(cases)('$name', check);
});

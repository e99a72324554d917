/** Removals as a user asks for them. Each expectation was worked out by hand from the documented rules. */
import { describe, it } from 'vitest';
import { nodeJson, podJson } from '../support.ts';
import { check, node, host, n1, born, containers, type Case, type Json } from './rows.ts';

describe('limits and order', () => {
  const empty = (count: number, from = 1) => Array.from({ length: count }, (_, index) => node(`n-${from + index}`));
  const POOL = 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_';
  const moving = (on: string, part: Json = {}, metadata: Json = {}) =>
    podJson(`m-${on}`, '100m', { on, metadata, spec: { containers: containers('100m'), ...part } });
  const zone = (name: string, number: number) => node(name, { labels: { 'topology.kubernetes.io/zone': `westeurope-${number}` } });
  const cases: readonly Case[] = [
    {
      name: 'a pool at its minimum',
      objects: [...host, n1],
      pools: '- {name: general, vmSize: Standard_D4s_v5, min: 2, max: 9}\n',
      goes: [],
      stays: { 'n-1': 'NodeGroupMinSizeReached', 'n-0': 'NodeGroupMinSizeReached' },
    },
    {
      name: 'down to its minimum',
      objects: [...host, ...empty(3)],
      pools: '- {name: general, vmSize: Standard_D4s_v5, min: 2, max: 9}\n',
      goes: ['n-1', 'n-2'],
      stays: { 'n-3': 'NodeGroupMinSizeReached' },
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
      name: 'the least cost first: priority',
      objects: [...host, n1, node('n-2'), moving('n-1', { priority: 1_000_000_000 }), moving('n-2')],
      goes: ['n-2'],
    },
    {
      name: 'the least cost first: deletion cost',
      objects: [
        ...host,
        n1,
        node('n-2'),
        moving('n-1', {}, { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '500000000' } }),
        moving('n-2'),
      ],
      goes: ['n-2'],
    },
    {
      name: 'the least cost first: number',
      objects: [...host, n1, node('n-2'), moving('n-1'), podJson('more', '100m', { on: 'n-1' }), moving('n-2')],
      goes: ['n-2'],
    },
    {
      name: 'the least cost first: age',
      objects: [...host, n1, node('n-2'), moving('n-1', {}, born('2026-11-20T08:00:00Z')), moving('n-2', {}, born('2026-11-21T11:30:00Z'))],
      goes: ['n-2'],
    },
    { name: 'empty before others', objects: [...host, n1, node('n-2'), moving('n-1')], config: 'maxParallelism: 1', goes: ['n-2'] },
    {
      name: 'the dearer first',
      objects: [node('n-0'), podJson('host', '3', { on: 'n-0' }), node('n-1'), nodeJson('x-1', 'dear')],
      config: 'maxParallelism: 1',
      pools:
        '- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 9, price: 0.1}\n- {name: dear, vmSize: Standard_D4s_v5, min: 0, max: 9, price: 0.5}\n',
      goes: ['x-1'],
    },
    {
      name: 'zones are kept even',
      objects: [zone('n-0', 1), podJson('host', '3', { on: 'n-0' }), zone('n-1', 2), zone('n-2', 1), zone('n-3', 2), zone('n-4', 2)],
      config: 'maxParallelism: 2',
      goes: ['n-1', 'n-2'],
    },
    {
      name: 'all of a pool or none',
      objects: [...host, nodeJson('x-0', 'whole'), nodeJson('x-1', 'whole'), podJson('q', '3', { on: 'x-1' })],
      pools: `- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 9}\n- {name: whole, vmSize: Standard_D4s_v5, min: 0, max: 2, tags: {${POOL}zeroormaxnodescaling: "true"}}\n`,
      goes: [],
      stays: { 'x-0': ['AtomicScaleDownFailed', 'only 1 of its 2 nodes'] },
    },
    {
      name: 'all of a pool',
      objects: [...host, nodeJson('x-0', 'whole'), nodeJson('x-1', 'whole')],
      pools: `- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 9}\n- {name: whole, vmSize: Standard_D4s_v5, min: 0, max: 2, tags: {${POOL}zeroormaxnodescaling: "true"}}\n`,
      goes: ['x-0', 'x-1'],
    },
    {
      name: 'the cores that must stay',
      objects: [...host, ...empty(2)],
      config: 'minCoresTotal: 8',
      goes: ['n-1'],
      stays: { 'n-2': 'MinimalResourceLimitExceeded' },
    },
    {
      name: 'the memory that must stay',
      objects: [...host, ...empty(2)],
      config: 'minMemoryTotalGib: 33',
      goes: [],
      stays: { 'n-1': 'MinimalResourceLimitExceeded' },
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

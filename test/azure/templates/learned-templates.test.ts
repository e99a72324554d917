import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fingerprintOf,
  isValidFor,
  learnFrom,
  templateFromRecord,
  withLearnedParts,
  type LearnedTemplate,
  type NodeSample,
  readLearned,
  writeLearned,
} from '../../../src/azure/templates/learned-templates.ts';
import { projectAgentPool, type AgentPoolRow } from '../../../src/azure/rows/agent-pool.ts';
import { StartupTaints } from '../../../src/azure/templates/startup-taints.ts';
import { NodeEvidence, type Evidence, type GroupRowsSeen } from '../../../src/azure/templates/evidence.ts';
import { reportTemplate } from '../../../src/azure/templates/template-report.ts';
import { templateFromSize } from '../../../src/azure/templates/from-size.ts';
import type { TemplateSource } from '../../../src/azure/rows/template-source.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { CPU, MEMORY } from '../../../src/domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, anInstance, aNode, aPod, aShape, aTemplate, keyOf, resourceNames, START_MS } from '../../support/builders.ts';
import { takenParts } from '../../../src/scheduling/devices/divided-capacity.ts';
import { aDevice, aDevicePool, DRIVER } from '../../support/devices.ts';
import { valueOf } from '../../loop/support.ts';

const MINUTE = 60_000;
const P = 'k8s.io_cluster-autoscaler_node-template_';
const SOURCE: TemplateSource = {
  vmSize: 'Standard_D4s_v5',
  location: 'westus',
  zones: ['1', '2'],
  tags: {},
  priority: 'Regular',
  os: 'linux',
  osDisk: { ephemeral: false, tier: 'Premium_LRS', sizeGb: 128 },
};
const poolOf = (more: Parameters<typeof projectAgentPool>[0] = {}): AgentPoolRow => {
  const pool = projectAgentPool({
    name: 'general',
    maxPods: 110,
    nodeLabels: { team: 'a' },
    currentOrchestratorVersion: '1.33.2',
    ...more,
  });
  if (pool === undefined) throw new Error('no pool');
  return pool;
};
const POOL = poolOf({ nodeImageVersion: 'image-1' });
const NODE = aNode({ name: 'n0', cpu: '3860m', memory: '13Gi', labels: { team: 'a', 'topology.kubernetes.io/zone': 'westus-2' } });
const AGENT = { namespace: 'kube-system', name: 'agent', uid: 'ds', shape: aShape({ cpu: '100m' }) };

const lesson = (more: Partial<NodeSample> = {}): NodeSample => ({
  node: NODE,
  pods: [],
  daemonSets: [],
  customDaemons: [],
  source: SOURCE,
  fingerprint: fingerprintOf(SOURCE, POOL),
  startupTaints: [],
  declaredStartupTaints: [],
  bootMs: undefined,
  nowMs: START_MS,
  ...more,
});
const RECORD = learnFrom(undefined, lesson({ bootMs: 90_000, startupTaints: ['example.com/starting'] }), resourceNames);

describe('what was learned of a node', () => {
  it('is the node without what is its own, and its zone', () => {
    expect(RECORD).toMatchObject({ labels: { team: 'a' }, taints: [], bootMs: 90_000, startupTaints: ['example.com/starting'] });
    expect(RECORD.labels).toEqual({ team: 'a' });
    expect(RECORD.allocatable).toEqual(resourceNames.toRecord(NODE.allocatable));
  });

  it('is the same object while nothing about it is new', () => {
    expect(learnFrom(RECORD, lesson({ nowMs: START_MS + MINUTE }), resourceNames)).toBe(RECORD);
    expect(learnFrom(RECORD, lesson({ node: { ...NODE, allocatable: resourceNames.parse({ cpu: '2' }) } }), resourceNames)).not.toBe(
      RECORD,
    );
  });

  it.each<[string, Partial<TemplateSource>, AgentPoolRow | undefined, boolean]>([
    ['the same pool', {}, POOL, true],
    ['a pool that was not read', {}, undefined, true],
    ['another node image', {}, poolOf({ nodeImageVersion: 'image-2' }), true],
    ['a patch of Kubernetes', {}, poolOf({ currentOrchestratorVersion: '1.33.5' }), true],
    ['a minor of Kubernetes', {}, poolOf({ currentOrchestratorVersion: '1.34.0' }), false],
    ['another size', { vmSize: 'Standard_D8s_v5' }, POOL, false],
    ['the same size in another spelling', { vmSize: 'standard_d4s_v5' }, POOL, true],
    ['other labels of the pool', {}, poolOf({ nodeLabels: { team: 'b' } }), false],
    ['other taints of the pool', {}, poolOf({ nodeTaints: ['a=b:NoSchedule'] }), false],
    ['another number of pods', {}, poolOf({ maxPods: 30 }), false],
    ['another tag that states a resource', { tags: { [`${P}resources_memory`]: '10Gi' } }, POOL, false],
    ['a tag that states nothing', { tags: { owner: 'me' } }, POOL, true],
    ['an ephemeral disk', { osDisk: { ...SOURCE.osDisk, ephemeral: true } }, POOL, false],
  ])('holds for %s: %o', (_name, source, pool, holds) => {
    expect(isValidFor(RECORD, fingerprintOf({ ...SOURCE, ...source }, pool))).toBe(holds);
  });

  it('makes the template of a group without nodes: everything learned, except the zones and newer facts from AKS', () => {
    const template = templateFromRecord(RECORD, SOURCE, poolOf({ nodeImageVersion: 'image-2' }), resourceNames);
    expect(template).toMatchObject({
      source: 'learned',
      zones: ['westus-1', 'westus-2'],
      allocatable: NODE.allocatable,
      capacity: NODE.capacity,
    });
    expect(template.labels).toEqual({ team: 'a', 'kubernetes.azure.com/node-image-version': 'image-2' });
    expect(template.origins).toMatchObject({
      labels: { team: 'learned', 'kubernetes.azure.com/node-image-version': 'agent-pool' },
      allocatable: { cpu: 'learned', memory: 'learned' },
    });
  });

  it('a new node does not have a taint that starting nodes lose, wherever it is stated', () => {
    const tags = { [`${P}taint_example.com_starting`]: 'true:NoSchedule', [`${P}taint_dedicated`]: 'a:NoSchedule' };
    const sku = {
      name: 'Standard_D4s_v5',
      vcpus: 4,
      memoryBytes: 2 ** 34,
      gpus: 0,
      arch: 'amd64' as const,
      zones: [],
      quotaFamily: 'f',
      quotaVcpus: 4,
    };
    const stated = templateFromSize({ ...SOURCE, tags }, { sku, pool: POOL, names: resourceNames, nodeResourceGroup: 'MC' });
    expect(stated.taints).toHaveLength(2);
    expect(withLearnedParts(stated, RECORD, resourceNames).taints.map(({ key }) => key)).toEqual(['dedicated']);
  });

  const daemon = (cpu: string) => aPod({ cpu, daemonSet: true, controller: { kind: 'DaemonSet', name: 'agent', uid: 'ds' } });
  it.each([
    ['asks for what its DaemonSet says', [daemon('100m')], {}],
    ['asks for more', [daemon('250m')], { 'kube-system/agent': { cpu: 250 } }],
    ['asks for less', [daemon('50m')], {}],
    ['is not there', [], {}],
  ])('a daemon that %s', (_name, pods, expected) => {
    const { daemonRequests } = learnFrom(undefined, lesson({ pods, daemonSets: [AGENT] }), resourceNames);
    expect(Object.keys(daemonRequests)).toEqual(Object.keys(expected));
    expect(daemonRequests).toMatchObject(expected);
  });

  it('custom daemons are stored and read', () => {
    const requests = resourceNames.parse({ cpu: '1' });
    const agent = { namespace: 'kube-system', name: 'agent', owner: 'DaemonSet.apps.kruise.io u', requests, hostPorts: [] };
    const record = learnFrom(undefined, lesson({ customDaemons: [agent] }), resourceNames);
    const kept = readLearned(writeLearned(new Map([['general', record]])));
    expect(kept.ok && kept.records.get('general')?.customDaemons).toMatchObject([{ name: 'agent', requests: { cpu: 1000 } }]);
    expect(learnFrom(record, lesson(), resourceNames)).toMatchObject({ customDaemons: [] });
  });

  it("static pods are those of the node, without its name and without those that end; a pool's next node has them too", () => {
    const fixed = (name: string, more = {}) => aPod({ name, cpu: '250m', mirror: true, ...more });
    const pods = [fixed('proxy-n0'), fixed('gone-n0', { deletionAtMs: START_MS }), fixed('over-n0', { phase: 'Failed' }), aPod()];
    const record = learnFrom(undefined, lesson({ pods }), resourceNames);
    const kept = readLearned(writeLearned(new Map([['general', record]])));
    const read = kept.ok ? kept.records.get('general') : undefined;
    const template = withLearnedParts(templateFromRecord(RECORD, SOURCE, POOL, resourceNames), read, resourceNames);
    expect(template.staticPods).toMatchObject([{ name: 'proxy', hostPorts: [] }]);
    expect(template.staticPods[0]?.requests[CPU]).toBe(250);
    expect(learnFrom(record, lesson({ pods: [aPod()] }), resourceNames)).toMatchObject({ staticPods: [] });
  });

  it.each([
    ['by this version', {}, true],
    ['by a version that read no parts', { knowsParts: undefined }, false],
  ])('a device that was stored %s', (_name, change, hasParts) => {
    const devices = { pools: [aDevicePool('n', [aDevice('gpu-0', { capacity: { [DRIVER]: { memory: 8 } } })])], incomplete: [], held: [] };
    const record = { ...learnFrom(undefined, lesson({ node: { ...NODE, devices } }), resourceNames), ...change } as LearnedTemplate;
    const kept = readLearned(writeLearned(new Map([['general', record]])));
    const [device] = (kept.ok ? kept.records.get('general')?.devicePools[0]?.devices : undefined) ?? [];
    const taken = (parts: Readonly<Record<string, number>>) => (device === undefined ? undefined : takenParts(device, parts));
    // It is had whole in either case.
    expect([taken({}), taken({ memory: 2 })]).toEqual([{}, hasParts ? { memory: 2 } : undefined]);
  });

  it('a daemon that is being replaced keeps what it asked for; one whose DaemonSet is gone does not', () => {
    const before = learnFrom(undefined, lesson({ pods: [daemon('250m')], daemonSets: [AGENT] }), resourceNames);
    expect(learnFrom(before, lesson({ daemonSets: [AGENT] }), resourceNames)).toBe(before);
    expect(learnFrom(before, lesson(), resourceNames).daemonRequests).toEqual({});
  });
});

describe('the text that is kept', () => {
  const record = fc.record({
    vmSize: fc.string(),
    facts: fc.record({ set: fc.string(), pool: fc.string() }),
    learnedAtMs: fc.nat(),
    labels: fc.dictionary(fc.string(), fc.string()),
    taints: fc.constant([]),
    startupTaints: fc.array(fc.string(), { maxLength: 3 }),
    capacity: fc.dictionary(fc.string(), fc.nat()),
    allocatable: fc.dictionary(fc.string(), fc.nat()),
    daemonRequests: fc.constant({}),
    staticPods: fc.constant([]),
    customDaemons: fc.constant([]),
    bootMs: fc.constant(undefined),
    attachLimits: fc.constant({}),
    devicePools: fc.constant([]),
    knowsParts: fc.constant(false),
    declaredFeatures: fc.constant([]),
  }) as fc.Arbitrary<LearnedTemplate>;
  const records = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/), record);

  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, (given) => {
        const records = new Map(Object.entries(given));
        expect(readLearned(writeLearned(records))).toEqual({ ok: true, records });
      }),
      { seed: 7 },
    );
  });

  const text = writeLearned(new Map([['general', RECORD]]));
  it.each([
    ['not JSON', text.slice(1), 'it is not JSON'],
    ['a list', '[]', 'it is not an object'],
    ['of a later version', text.replace('"version":1', '"version":2'), 'its version is 2, not 1'],
    ['without groups', '{"version":1}', 'it has no groups'],
    ['edited by hand', text.replace('"memory":', '"memory":9'), 'it was changed since it was written'],
  ])('that is %s is not used', (_name, given, reason) => {
    expect(readLearned(given)).toEqual({ ok: false, reason });
  });

  it('stays below what a ConfigMap holds: what was learned longest ago is left out', () => {
    const big = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`label-${index}`, 'x'.repeat(60)]));
    const many = Array.from({ length: 200 }, (_, index) => [`pool-${index}`, { ...RECORD, labels: big, learnedAtMs: index }] as const);
    const written = writeLearned(new Map(many));
    expect(Buffer.byteLength(written)).toBeLessThan(1_000_000);
    const read = readLearned(written);
    expect(read.ok && [read.records.has('pool-199'), read.records.has('pool-0')]).toEqual([true, false]);
  });
});

describe('the evidence of a group', () => {
  const GENERAL = nodeGroupId('general');
  const rows: GroupRowsSeen = { key: 'general', id: GENERAL, source: SOURCE, sourceRow: SOURCE, pool: POOL, instances: undefined };
  const start = () => {
    const metrics = createMetrics();
    return { metrics, evidence: new NodeEvidence(resourceNames, metrics.templates) };
  };

  interface Look {
    readonly nodes?: readonly Node[];
    readonly pods?: readonly Pod[];
    readonly nowMs?: number;
    readonly rows?: Partial<GroupRowsSeen>;
  }

  function look(evidence: NodeEvidence, { nodes = [], pods = [], nowMs = START_MS, rows: more = {} }: Look = {}): Evidence {
    const groupOfNode = new Map(nodes.map(({ name }) => [name, GENERAL]));
    const instanceOfNode = new Map(nodes.map(({ name }) => [name, keyOf(name)]));
    const ownership = { groupOfNode, instanceOfNode };
    const seen = { cluster: aCluster({ nodes, pods }), ownership, devicesOf: () => [], catalog: undefined, nowMs };
    return evidence.observe(seen)({ ...rows, ...more });
  }

  it('learns from the node that is, keeps it when it is gone, and counts what is new', () => {
    const { evidence } = start();
    expect(look(evidence).learned).toBeUndefined();
    const { learned } = look(evidence, { nodes: [NODE] });
    expect(learned?.allocatable['cpu']).toBe(3860);
    expect(look(evidence, { nowMs: START_MS + MINUTE }).learned).toBe(learned);
    expect(evidence.revision).toBe(1);
    expect(look(evidence, { rows: { pool: poolOf({ maxPods: 30 }) } }).learned).toBeUndefined();
  });

  it('is the same object while nothing is new', () => {
    const { evidence } = start();
    const first = look(evidence, { nodes: [NODE] });
    expect(look(evidence, { nodes: [NODE], nowMs: START_MS + MINUTE })).toBe(first);
    expect(look(evidence, { nodes: [{ ...NODE }] })).not.toBe(first);
  });

  it('is a settled node, or else the one that will be', () => {
    const { evidence } = start();
    const young = aNode({ name: 'a', readiness: { ready: true, sinceMs: START_MS, reason: '' } });
    expect(look(evidence, { nodes: [young, NODE] })).toMatchObject({ exemplar: NODE, fallback: undefined });
    expect(look(evidence, { nodes: [young] })).toMatchObject({ exemplar: undefined, fallback: young });
    expect(look(evidence, { nodes: [young], nowMs: START_MS + MINUTE })).toMatchObject({ exemplar: young, fallback: undefined });
  });

  it('knows the custom daemons of a group without nodes from a stored record, and of its nodes once there are some', () => {
    const { evidence } = start();
    const controller = { kind: 'DaemonSet', name: 'agent', uid: 'k', apiVersion: 'apps.kruise.io/v1alpha1' };
    const agent = aPod({ namespace: 'kube-system', nodeName: NODE.name, cpu: '1', daemonSet: true, controller });
    const { customDaemons } = look(evidence, { nodes: [NODE], pods: [agent] });
    expect(customDaemons).toMatchObject([{ name: 'agent' }]);
    const next = start().evidence;
    expect(next.restore(evidence.text)).toBeUndefined();
    expect(look(next).customDaemons).toEqual(customDaemons);
    expect(look(next, { nodes: [NODE], nowMs: START_MS + 2 * MINUTE }).customDaemons).toEqual([]);
    expect(next.recordOf('general')).toMatchObject({ customDaemons: [] });
  });

  it('restores stored records, and its own observations win', () => {
    const { evidence } = start();
    look(evidence, { nodes: [NODE] });
    const older = { ...RECORD, allocatable: { cpu: 1 } };
    expect(
      evidence.restore(
        writeLearned(
          new Map([
            ['general', older],
            ['other', older],
          ]),
        ),
      ),
    ).toBeUndefined();
    expect([evidence.recordOf('general')?.allocatable['cpu'], evidence.recordOf('OTHER')?.allocatable['cpu']]).toEqual([3860, 1]);
    expect(evidence.restore('{')).toBe('it is not JSON');
  });

  it('reports the time from the first sight of an instance to its ready node, for instances that it saw appear', async () => {
    const { metrics, evidence } = start();
    const node = aNode({ name: 'n1', createdAtMs: START_MS, readiness: { ready: true, sinceMs: START_MS + 20_000, reason: '' } });
    const bootMs = (firstSeenMs: number) => {
      const instances = [anInstance({ node: 'n1', firstSeenMs })];
      return look(evidence, { nodes: [{ ...node }], nowMs: START_MS + 2 * MINUTE, rows: { instances } }).learned?.bootMs;
    };
    expect(bootMs(START_MS + MINUTE)).toBeUndefined();
    expect(bootMs(START_MS - 70_000)).toBe(90_000);
    expect(bootMs(START_MS + MINUTE)).toBe(90_000);
    expect(await valueOf(metrics.templates.bootSeconds, { node_group: 'general' })).toBe(90);
  });

  it('publishes by how much the size promised too much or too little', async () => {
    const { metrics, evidence } = start();
    const estimate = {
      ...templateFromRecord(RECORD, SOURCE, POOL, resourceNames),
      allocatable: resourceNames.parse({ cpu: '1930m', memory: '26Gi' }),
    };
    evidence.measureEstimate(nodeGroupId('general'), estimate, NODE);
    expect(await valueOf(metrics.templates.estimateError, { node_group: 'general', resource: 'cpu' })).toBeCloseTo(-0.5);
    expect(await valueOf(metrics.templates.estimateError, { node_group: 'general', resource: 'memory' })).toBeCloseTo(1);
  });
});

describe('taints of starting nodes', () => {
  const taint = (key: string) => ({ key, value: '', effect: 'NoSchedule' }) as const;
  const starting = aNode({
    name: 'n',
    createdAtMs: START_MS,
    taints: [taint('a'), taint('b')],
    readiness: { ready: false, sinceMs: START_MS, reason: 'x' },
  });
  const seen = (after: Partial<typeof starting>, ageMs = MINUTE): readonly string[] => {
    const watch = new StartupTaints();
    watch.observe([starting], START_MS + ageMs);
    watch.observe([{ ...starting, ...after }], START_MS + ageMs + 1);
    return watch.lost();
  };
  const ready = { ready: true, sinceMs: START_MS, reason: '' };

  it.each([
    ['gone when it is ready', { taints: [taint('b')], readiness: ready }, MINUTE, ['a']],
    ['still there', { readiness: ready }, MINUTE, []],
    ['not ready yet', { taints: [] }, MINUTE, []],
    ['on a node that has not been ready for long', { taints: [], readiness: ready }, 20 * MINUTE, []],
  ])('%s', (_name, after, ageMs, expected) => {
    expect(seen(after, ageMs)).toEqual(expected);
  });
});

describe('taints that nodes lose after they are ready', () => {
  const taint = (key: string) => ({ key, value: '', effect: 'NoSchedule' }) as const;
  const node = (name: string, keys: readonly string[], createdAtMs = START_MS) =>
    aNode({ name, createdAtMs, taints: keys.map(taint), readiness: { ready: true, sinceMs: createdAtMs, reason: '' } });
  /** One look after the other, ten seconds apart. */
  const after = (...looks: (readonly ReturnType<typeof node>[])[]): readonly string[] => {
    const watch = new StartupTaints();
    looks.forEach((nodes, at) => {
      watch.observe(nodes, START_MS + MINUTE + at * 10_000);
    });
    return watch.lost();
  };
  const old = START_MS - 20 * MINUTE;

  it.each([
    ['one node: a hand may have done it', after([node('n', ['a'])], [node('n', [])]), []],
    ['two nodes', after([node('n', ['a']), node('m', ['a'])], [node('n', []), node('m', [])]), ['a']],
    ['two nodes, one after the other', after([node('n', ['a'])], [node('n', []), node('m', ['a'])], [node('n', []), node('m', [])]), ['a']],
    ['one node, twice', after([node('n', ['a'])], [node('n', [])], [node('n', ['a'])], [node('n', [])]), []],
    [
      'two nodes, and an old one keeps it',
      after([node('n', ['a']), node('m', ['a'])], [node('n', []), node('m', []), node('o', ['a'], old)]),
      [],
    ],
    ['two old nodes', after([node('n', ['a'], old), node('m', ['a'], old)], [node('n', [], old), node('m', [], old)]), []],
    [
      'what comes and goes at any age',
      after(
        [node('n', ['node.kubernetes.io/memory-pressure']), node('m', ['node.kubernetes.io/memory-pressure'])],
        [node('n', []), node('m', [])],
      ),
      [],
    ],
    ['our own mark', after([node('n', [TO_BE_DELETED_TAINT]), node('m', [TO_BE_DELETED_TAINT])], [node('n', []), node('m', [])]), []],
  ])('%s', (_name, learned, expected) => {
    expect(learned).toEqual(expected);
  });

  it('reach the planner with the template', () => {
    const template = withLearnedParts(aTemplate({ taints: [taint('example.com/starting')] }), RECORD, resourceNames);
    expect(template).toMatchObject({ taints: [], startupTaints: ['example.com/starting'] });
  });
});

describe('the report of a template', () => {
  it('says of every part where it is known from', () => {
    const tags = { [`${P}label_tier`]: 'gold', [`${P}resources_memory`]: '10Gi', [`${P}taint_dedicated`]: 'x:NoSchedule' };
    const sku = {
      name: 'Standard_D4s_v5',
      vcpus: 4,
      memoryBytes: 2 ** 34,
      gpus: 1,
      arch: 'amd64' as const,
      zones: [],
      quotaFamily: 'f',
      quotaVcpus: 4,
    };
    const template = templateFromSize(
      { ...SOURCE, priority: 'Spot', tags },
      { sku, pool: poolOf({ nodeTaints: ['p=q:NoSchedule'] }), names: resourceNames, nodeResourceGroup: 'MC' },
    );
    const report = reportTemplate(aGroup({ id: 'general', template }), RECORD, resourceNames);
    expect(report).toMatchObject({
      group: 'general',
      source: 'cloud',
      labels: {
        tier: { value: 'gold', from: 'tag' },
        team: { from: 'agent-pool' },
        'kubernetes.io/arch': { from: 'sku' },
        'kubernetes.azure.com/role': { from: 'aks' },
      },
      taints: {
        dedicated: { value: 'x:NoSchedule', from: 'tag' },
        p: { from: 'agent-pool' },
        'kubernetes.azure.com/scalesetpriority': { from: 'aks' },
      },
      capacity: {
        cpu: { value: 4000, from: 'sku' },
        memory: { from: 'tag' },
        pods: { from: 'agent-pool' },
        'nvidia.com/gpu': { value: 1, from: 'sku' },
      },
      allocatable: { cpu: { value: 3860, from: 'aks' }, memory: { from: 'tag' } },
      learned: { vmSize: 'Standard_D4s_v5', bootMs: 90_000 },
    });
    expect(JSON.stringify(report)).not.toContain('"unknown"');
    expect([template.allocatable[CPU], template.allocatable[MEMORY]]).toEqual([3860, 10 * 2 ** 30]);
  });
});

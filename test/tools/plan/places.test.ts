/** Where pods may go, as a user asks for it: spread, affinity between pods, requests. Each expectation was worked out by hand. */
import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, podJson } from './support.ts';
import { planOutcome } from './plan-outcome.ts';

type Json = Readonly<Record<string, unknown>>;
type Row = readonly [what: string, objects: readonly Json[], pools: readonly Json[], expected: readonly string[]];
const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const APP = { labels: { app: 'e' } };

const pool = (name: string, part: Json = {}): Json => ({
  name,
  vmSize: 'Standard_D4s_v5',
  min: 0,
  max: 10,
  allocatable: { cpu: 4, memory: '16Gi' },
  ...part,
});
const one = pool('a');
const zonal = [1, 2, 3].map((zone) => pool(`z${zone}`, { zones: [`eastus-${zone}`] }));
const node = (name: string, owner: string, zone: number, part: Parameters<typeof nodeJson>[2] = {}) =>
  nodeJson(name, owner, { ...part, labels: { [ZONE]: `eastus-${zone}`, ...part.labels } });
/** A node too small for anybody: only a domain. */
const tiny = (zone: number, part: Parameters<typeof nodeJson>[2] = {}) =>
  node(`tiny-${zone}`, 'others', zone, { ...part, allocatable: { cpu: '50m' } });
const many = (count: number, cpu: string, part: Parameters<typeof podJson>[2] = {}) =>
  Array.from({ length: count }, (_, at) => podJson(`w-${at}`, cpu, part));
const check = (rows: readonly Row[]): void => {
  it.each(rows)('%s', async (_what, objects, pools, expected) => {
    expect(await planOutcome({ c: listOf(...objects), p: JSON.stringify(pools) })).toEqual(expected);
  });
};

describe('spread', () => {
  const spread = (part: Json = {}): Json => ({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'e' } }, ...part },
    ],
  });
  const waiting = (part: Json = {}, metadata: Json = APP) => podJson('w', '100m', { spec: spread(part), metadata });
  const there = podJson('there', '100m', { on: 'n1', metadata: APP });
  const n1 = node('n1', 'z1', 1);
  const [first, second, third] = zonal as [Json, Json, Json];
  const notB = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 't', operator: 'NotIn', values: ['b'] }] }],
      },
    },
  };
  const tainted = tiny(2, { spec: { taints: [{ key: 'q', value: 'x', effect: 'NoSchedule' }] } });
  check([
    [
      'two pods per node, where an old node has none',
      [
        nodeJson('old', 'others', { allocatable: { cpu: '50m' } }),
        ...many(8, '100m', { spec: spread({ maxSkew: 2, topologyKey: HOST }), metadata: APP }),
      ],
      [one],
      ['a 0->4'],
    ],
    ['the fuller zone is no place', [n1, there, tiny(2), waiting()], [first, second], ['z2 0->1']],
    ['a larger skew lets it be one', [n1, there, tiny(2), waiting({ maxSkew: 2 })], [first, second], ['w@n1']],
    [
      'pods of another namespace do not count',
      [n1, podJson('o', '100m', { on: 'n1', metadata: { ...APP, namespace: 'x' } }), tiny(2), waiting()],
      [first],
      ['w@n1'],
    ],
    [
      'pods that are ending do not count',
      [n1, podJson('o', '100m', { on: 'n1', metadata: { ...APP, deletionTimestamp: '2026-11-21T08:00:00Z' } }), tiny(2), waiting()],
      [first],
      ['w@n1'],
    ],
    ['a pod that is not selected adds nothing', [n1, there, tiny(2), waiting({}, { labels: { app: 'f' } })], [first], ['w@n1']],
    ['no selector selects nobody', [n1, there, tiny(2), waiting({ labelSelector: undefined })], [first], ['w@n1']],
    ['a soft wish is none', [n1, there, tiny(2), waiting({ whenUnsatisfiable: 'ScheduleAnyway' })], [first], ['w@n1']],
    ['too few domains count as an empty one', [n1, there, waiting({ minDomains: 2 })], [first], ['w impossible']],
    ['a third pool is the domain that lacks', [n1, there, waiting({ minDomains: 2 })], [first, third], ['z3 0->1']],
    [
      'a zone that the pod does not select is no domain',
      [n1, there, tiny(2, { labels: { t: 'b' } }), podJson('w', '100m', { metadata: APP, spec: { ...spread(), affinity: notB } })],
      [first],
      ['w@n1'],
    ],
    [
      'unless affinity is to be ignored',
      [
        n1,
        there,
        tiny(2, { labels: { t: 'b' } }),
        podJson('w', '100m', { metadata: APP, spec: { ...spread({ nodeAffinityPolicy: 'Ignore' }), affinity: notB } }),
      ],
      [first],
      ['w impossible'],
    ],
    ['a tainted zone is a domain', [n1, there, tainted, waiting()], [first], ['w impossible']],
    ['unless taints are to be honoured', [n1, there, tainted, waiting({ nodeTaintsPolicy: 'Honor' })], [first], ['w@n1']],
    ['a zone of cordoned nodes is a domain', [n1, there, tiny(2, { spec: { unschedulable: true } }), waiting()], [first], ['w impossible']],
    [
      'revisions count apart',
      [
        n1,
        podJson('o', '100m', { on: 'n1', metadata: { labels: { app: 'e', rev: '1' } } }),
        tiny(2),
        waiting({ matchLabelKeys: ['rev'] }, { labels: { app: 'e', rev: '2' } }),
      ],
      [first],
      ['w@n1'],
    ],
    ['seven large pods over three zones', many(7, '4', { spec: spread(), metadata: APP }), zonal, ['z1 0->3', 'z2 0->2', 'z3 0->2']],
    [
      'one zone is full: the others go no further than the skew',
      many(7, '4', { spec: spread(), metadata: APP }),
      [{ ...first, max: 1 }, second, third],
      ['z1 0->1', 'z2 0->2', 'z3 0->2', 'w-5 blocked-by-max', 'w-6 blocked-by-max'],
    ],
  ]);
});

describe('affinity between pods', () => {
  const term = (part: Json = {}): Json => ({ topologyKey: HOST, labelSelector: { matchLabels: { app: 'db' } }, ...part });
  const to = (...terms: readonly Json[]): Json => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const away = (...terms: readonly Json[]): Json => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const n1 = node('n1', 'a', 1);
  const db = (part: Parameters<typeof podJson>[2] = {}) =>
    podJson('db', '100m', { on: 'n1', metadata: { labels: { app: 'db' } }, ...part });
  const w = (spec: Json, cpu = '1', labels: Json = { app: 'w' }) => podJson('w', cpu, { spec, metadata: { labels } });
  const named = (name: string, labels: Json): Json => ({ kind: 'Namespace', metadata: { name, labels } });
  const elsewhere = db({ metadata: { labels: { app: 'db' }, namespace: 'x' } });
  const inZone = pool('a', { zones: ['eastus-1'] });
  const other = pool('b', { zones: ['eastus-2'] });
  check([
    ['a full node cannot be joined by another', [n1, db(), w(to(term()), '4')], [one], ['w impossible']],
    ['a full zone can', [n1, db(), w(to(term({ topologyKey: ZONE })), '4')], [inZone], ['a 1->2']],
    [
      'but not by a node of another zone',
      [n1, db(), w(to(term({ topologyKey: ZONE })), '4')],
      [{ ...inZone, max: 1 }, other],
      ['w blocked-by-max'],
    ],
    [
      'the first of its kind may go anywhere, the rest follow',
      many(5, '1', { spec: to(term()), metadata: { labels: { app: 'db' } } }),
      [one],
      ['a 0->1', 'w-4 impossible'],
    ],
    [
      'two terms want one pod that matches both',
      [
        n1,
        db(),
        podJson('c', '1', { on: 'n1', metadata: { labels: { t: 'c' } } }),
        w(to(term(), term({ labelSelector: { matchLabels: { t: 'c' } } }))),
      ],
      [one],
      ['w impossible'],
    ],
    ['namespaces that are named leave out the own', [n1, db(), w(to(term({ namespaces: ['x'] })))], [one], ['w impossible']],
    [
      'namespaces by label',
      [named('x', { team: 'r' }), n1, elsewhere, w(to(term({ namespaceSelector: { matchLabels: { team: 'r' } } })))],
      [one],
      ['w@n1'],
    ],
    ['all namespaces', [n1, elsewhere, w(to(term({ namespaceSelector: {} })))], [one], ['w@n1']],
    ['no selector selects nobody', [n1, db(), w(to(term({ labelSelector: undefined })))], [one], ['w impossible']],
    ['apart from a pod in its zone', [n1, db(), w(away(term({ topologyKey: ZONE })))], [inZone, other], ['b 0->1']],
    ['a node without the key is apart', [n1, db(), w(away(term({ topologyKey: 'rack' })))], [one], ['w@n1']],
    [
      'a pod that is there keeps others away',
      [n1, db({ spec: away(term({ topologyKey: ZONE, labelSelector: { matchLabels: { app: 'w' } } })) }), w({})],
      [inZone, other],
      ['b 0->1'],
    ],
    [
      'but not those of another namespace',
      [
        n1,
        podJson('db', '100m', {
          on: 'n1',
          metadata: { namespace: 'x' },
          spec: away(term({ labelSelector: { matchLabels: { app: 'w' } } })),
        }),
        w({}),
      ],
      [one],
      ['w@n1'],
    ],
    [
      'one per zone, and no fourth',
      many(4, '1', { spec: away(term({ topologyKey: ZONE })), metadata: { labels: { app: 'db' } } }),
      zonal,
      ['z1 0->1', 'z2 0->1', 'z3 0->1', 'w-3 impossible'],
    ],
    [
      'together in a zone and one per node',
      many(2, '1', {
        spec: { affinity: { ...(to(term({ topologyKey: ZONE }))['affinity'] as object), ...(away(term())['affinity'] as object) } },
        metadata: { labels: { app: 'db' } },
      }),
      zonal,
      ['z1 0->2'],
    ],
    [
      'other tenants only',
      [
        n1,
        db({ metadata: { labels: { app: 'db', tenant: '1' } } }),
        w(away(term({ mismatchLabelKeys: ['tenant'] })), '1', { tenant: '1' }),
      ],
      [one],
      ['w@n1'],
    ],
    [
      'which a pod of another is',
      [
        n1,
        db({ metadata: { labels: { app: 'db', tenant: '1' } } }),
        w(away(term({ mismatchLabelKeys: ['tenant'] })), '1', { tenant: '2' }),
      ],
      [one],
      ['a 1->2'],
    ],
  ]);
});

describe('requests', () => {
  const init = (cpu: string, sidecar = false): Json => ({
    name: `i${cpu}`,
    ...(sidecar ? { restartPolicy: 'Always' } : {}),
    resources: { requests: { cpu } },
  });
  const w = (cpu: string, spec: Json) => podJson('w', cpu, { spec });
  check([
    ['what runs first counts by the largest', [w('1', { initContainers: [init('3'), init('4')] })], [one], ['a 0->1']],
    ['a sidecar counts with what starts after it', [w('1', { initContainers: [init('1', true), init('4')] })], [one], ['w impossible']],
    ['and not with what started before', [w('1', { initContainers: [init('4'), init('1', true)] })], [one], ['a 0->1']],
    [
      'overhead comes on top of what runs first',
      [w('1', { initContainers: [init('4')], overhead: { cpu: '1m' } })],
      [one],
      ['w impossible'],
    ],
    ['what the pod asks for itself stands for its containers', [w('8', { resources: { requests: { cpu: '4' } } })], [one], ['a 0->1']],
    ['its limit says nothing of what containers ask for', [w('1', { resources: { limits: { cpu: '5' } } })], [one], ['a 0->1']],
    [
      'and is the request of what they do not ask for',
      [w('1', { resources: { limits: { memory: '17Gi' } }, containers: [{ name: 'c' }] })],
      [one],
      ['w impossible'],
    ],
    ["a disk in the pod's own spec wants a slot", [w('1', { volumes: [{ name: 'd', azureDisk: { diskURI: '/d' } }] })], [one], ['a 0->1']],
  ]);
});

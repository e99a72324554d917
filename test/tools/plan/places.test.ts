/** Where pods may go, as a user asks for it: spread, affinity between pods, requests. Each expectation was worked out by hand. */
import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, planOutcome, podJson } from './support.ts';

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
  check([
    ['the fuller zone is no place', [n1, there, tiny(2), waiting()], [first, second], ['z2 0->1']],
    ['a pod that is not selected adds nothing', [n1, there, tiny(2), waiting({}, { labels: { app: 'f' } })], [first], ['w@n1']],
    ['no selector selects nobody', [n1, there, tiny(2), waiting({ labelSelector: undefined })], [first], ['w@n1']],
    ['a soft wish is none', [n1, there, tiny(2), waiting({ whenUnsatisfiable: 'ScheduleAnyway' })], [first], ['w@n1']],
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
    ['namespaces that are named leave out the own', [n1, db(), w(to(term({ namespaces: ['x'] })))], [one], ['w impossible']],
    [
      'namespaces by label',
      [named('x', { team: 'r' }), n1, elsewhere, w(to(term({ namespaceSelector: { matchLabels: { team: 'r' } } })))],
      [one],
      ['w@n1'],
    ],
    ['no selector selects nobody', [n1, db(), w(to(term({ labelSelector: undefined })))], [one], ['w impossible']],
    ['a node without the key is apart', [n1, db(), w(away(term({ topologyKey: 'rack' })))], [one], ['w@n1']],
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
      'together in a zone and one per node',
      many(2, '1', {
        spec: { affinity: { ...(to(term({ topologyKey: ZONE }))['affinity'] as object), ...(away(term())['affinity'] as object) } },
        metadata: { labels: { app: 'db' } },
      }),
      zonal,
      ['z1 0->2'],
    ],
  ]);
});

describe('requests', () => {
  const w = (cpu: string, spec: Json) => podJson('w', cpu, { spec });
  check([['its limit says nothing of what containers ask for', [w('1', { resources: { limits: { cpu: '5' } } })], [one], ['a 0->1']]]);
});

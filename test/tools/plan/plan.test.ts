import { describe, expect, it } from 'vitest';
import { dumpRecord } from '../../../src/loop/replay/dump.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { aCluster, aGroup, anObservation, aPod, aTemplate, resourceNames } from '../../support/builders.ts';
import { aPolicy } from '../../planning/scale-up/world.ts';
import { listOf, nodeJson, plan, planAnswer, podJson, type Files } from './support.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { NOTHING_DECIDED } from '../../../src/domain/ports/records.ts';
import { aState } from '../../support/state.ts';

const POOLS =
  '- {name: general, vmSize: Standard_D4s_v5, min: 1, max: 5}\n- {name: gpu, vmSize: Standard_NC4as_T4_v3, min: 0, max: 0, taints: ["sku=gpu:NoSchedule"]}\n';
const ASK = ['--cluster=c.json', '--pools=p.yaml'];

const answerOf = (files: Files, ...argv: readonly string[]) => planAnswer([...ASK, ...argv], { 'p.yaml': POOLS, ...files });

describe('plan on files', () => {
  const busy = [nodeJson('n-0', 'general'), podJson('a', '3500m', { on: 'n-0' })];
  const waiting = [podJson('w-0', '3'), podJson('w-1', '3')];

  it('says which pools grow for which pods', async () => {
    const { scaleUp, scaleDown } = await answerOf({ 'c.json': listOf(...busy, ...waiting) });
    expect(scaleUp.increases).toEqual([{ group: 'general', from: 1, to: 3, pods: ['default/w-0', 'default/w-1'] }]);
    expect(scaleUp.skipped).toEqual([{ group: 'gpu', reason: 'max-size', detail: 'at its maximum (0 of 0 nodes)' }]);
    expect(scaleDown).toEqual({
      removals: [],
      unremovable: [{ node: 'n-0', reason: 'NodeGroupMinSizeReached', detail: 'its node group is at its minimum size of 1' }],
    });
  });

  it('says why a pod stays pending, per pool, and what would help', async () => {
    const gpuPod = podJson('g', '1', {
      spec: {
        containers: [{ name: 'c', resources: { requests: { 'nvidia.com/gpu': '1' } } }],
        tolerations: [{ key: 'sku', operator: 'Exists' }],
      },
    });
    const { scaleUp } = await answerOf({ 'c.json': listOf(...busy, podJson('big', '9'), gpuPod) });
    const [big, gpu] = scaleUp.helpless;
    expect(big).toMatchObject({ pod: 'default/big', verdict: 'impossible' });
    expect(big?.groups[0]).toEqual({
      group: 'general',
      reason: 'insufficient-resource',
      detail: 'needs 9 CPU, the node offers 4',
      fix: 'add a pool like general whose nodes have at least 9 CPU allocatable',
    });
    expect(gpu).toMatchObject({ pod: 'default/g', verdict: 'blocked-by-max' });
    expect(gpu?.groups[1]).toEqual({
      group: 'gpu',
      reason: 'max-size',
      detail: 'at its maximum (0 of 0 nodes)',
      fix: 'raise the maximum of gpu from 0 to 1',
    });
  });

  it('says which pods fit on nodes that are there or on their way, refused by a scheduler yet or not', async () => {
    const fresh = { ...podJson('fresh', '100m'), status: { phase: 'Pending' } };
    const files = { 'c.json': listOf(...busy, fresh, podJson('w-0', '3')), 'p.yaml': POOLS.replace('max: 5', 'max: 5, targetSize: 2') };
    const { scaleUp } = await answerOf(files);
    expect(scaleUp.fits).toEqual([
      { pod: 'default/fresh', node: 'n-0' },
      { pod: 'default/w-0', node: '(coming in general)' },
    ]);
    expect(scaleUp.increases).toEqual([]);
  });

  it('names the nodes that would go, and why the others stay', async () => {
    const nodes = ['n-0', 'n-1', 'n-2', 'n-3'].map((name) => nodeJson(name, 'general'));
    const kept = podJson('keep', '1', {
      on: 'n-3',
      metadata: { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } },
    });
    const { scaleDown } = await answerOf({
      'c.json': listOf(...nodes, podJson('a', '3500m', { on: 'n-0' }), podJson('b', '200m', { on: 'n-2' }), kept),
    });
    expect(scaleDown.removals).toEqual([
      { node: 'n-1', group: 'general', kind: 'empty', pods: [], cause: 'empty', utilization: 0 },
      { node: 'n-2', group: 'general', kind: 'drain', pods: ['default/b'], cause: 'underutilized', utilization: 0.0625 },
    ]);
    expect(scaleDown.unremovable).toEqual([
      { node: 'n-0', reason: 'NotUnderutilized', detail: 'utilization 87.5 %, above the threshold of 50 %' },
      { node: 'n-3', reason: 'BlockedByPod', detail: expect.stringContaining('default/keep: NotSafeToEvictAnnotation') },
    ]);
  });

  it('a node that a waiting pod is about to get is not empty', async () => {
    const nodes = [nodeJson('n-0', 'general'), nodeJson('n-1', 'general')];
    const { scaleUp, scaleDown } = await answerOf({ 'c.json': listOf(...nodes, podJson('a', '3500m', { on: 'n-0' }), podJson('w', '3')) });
    expect(scaleUp.fits).toEqual([{ pod: 'default/w', node: 'n-1' }]);
    expect(scaleDown.removals).toEqual([]);
  });

  it('gives the same bytes for the same objects in any order', async () => {
    const items = [...busy, ...waiting, nodeJson('n-1', 'general'), podJson('b', '100m', { on: 'n-1' })];
    const first = await plan([...ASK, '--json'], { 'p.yaml': POOLS, 'c.json': listOf(...items) });
    const second = await plan([...ASK, '--json'], { 'p.yaml': POOLS, 'c.json': listOf(...[...items].reverse()) });
    expect(second.out).toBe(first.out);
  });

  it('pools may state what no node shows: allocatable, zones, priority and price', async () => {
    const pools = `
- {name: odd, vmSize: Standard_Unheard, min: 0, max: 3, allocatable: {cpu: "8", memory: 30Gi, example.com/x: "2"}, zones: ["westeurope-1"]}
- {name: plain, vmSize: Standard_D8s_v5, min: 0, max: 3}`;
    const spec = { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-1' } };
    const zonal = await answerOf({ 'c.json': listOf(podJson('z', '7', { spec })), 'p.yaml': pools });
    expect(zonal.scaleUp.increases.map(({ group }) => group)).toEqual(['odd']);
    const priced = pools.replace('max: 3, alloc', 'max: 3, price: 0.2, alloc').replace('max: 3}', 'max: 3, price: 0.1}');
    const cheaper = await answerOf({ 'c.json': listOf(podJson('w', '5')), 'p.yaml': priced });
    expect(cheaper.scaleUp.increases.map(({ group }) => group)).toEqual(['plain']);
    const ranked = priced.replace('max: 3, price: 0.2', 'max: 3, priority: 7, price: 0.2');
    const preferred = await answerOf({ 'c.json': listOf(podJson('w', '5')), 'p.yaml': ranked });
    expect(preferred.scaleUp.increases.map(({ group }) => group)).toEqual(['odd']);
  });

  it('--config decides as the daemon would', async () => {
    const files = { 'c.json': listOf(...busy, ...waiting), 'conf.yaml': 'scaleUp: {maxNodesTotal: 2}' };
    const { scaleUp } = await answerOf(files, '--config=conf.yaml');
    expect(scaleUp.increases).toMatchObject([{ group: 'general', from: 1, to: 2 }]);
    expect(scaleUp.helpless[0]?.groups[0]).toMatchObject({ reason: 'cluster-limit', fix: 'raise scaleUp.maxNodesTotal from 2 to 3' });
  });
});

describe('plan --what-if', () => {
  const cluster = listOf(nodeJson('n-0', 'general'), podJson('a', '500m', { on: 'n-0' }));

  it('--add-pods: pods and the replicas of workloads', async () => {
    const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: c, resources: {limits: {cpu: 3500m}}}]}
`;
    const { scaleUp } = await answerOf({ 'c.json': cluster, 'add.yaml': manifest }, '--what-if', '--add-pods=add.yaml');
    expect(scaleUp.fits.length + (scaleUp.increases[0]?.pods.length ?? 0)).toBe(4);
    expect(scaleUp.increases).toMatchObject([{ group: 'general', from: 1, to: 4 }]);
  });

  it('--set-max and --cordon', async () => {
    const files = { 'c.json': listOf(nodeJson('n-0', 'general'), podJson('w', '1')) };
    expect((await answerOf(files)).scaleUp.fits).toEqual([{ pod: 'default/w', node: 'n-0' }]);
    expect((await answerOf(files, '--cordon=n-0')).scaleUp.increases).toMatchObject([{ from: 1, to: 2 }]);
    const full = await answerOf(files, '--cordon=n-0', '--set-max=general=1');
    expect(full.scaleUp.helpless).toMatchObject([{ verdict: 'blocked-by-max' }]);
  });

  it('asks of a dumped decision too', async () => {
    const groups = [aGroup({ id: 'pool', target: 0, maxSize: 1, template: aTemplate({ cpu: '4', memory: '16Gi' }) })];
    const pods = [aPod({ name: 'p-0', cpu: '3' }), aPod({ name: 'p-1', cpu: '3' })];
    const observation = anObservation(groups, aCluster({ pods }));
    const policy = aPolicy();
    const scaleUp = [planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy, names: resourceNames })];
    const dump = dumpRecord(
      { ...NOTHING_DECIDED, observation, stateBefore: aState(), scaleUp, scaleDown: undefined, policy },
      resourceNames,
    );
    const { scaleUp: grown } = await planAnswer(['--dump=d.json', '--set-max=pool=2'], { 'd.json': dump });
    expect(grown.increases).toMatchObject([{ group: 'pool', from: 0, to: 2 }]);
  });
});

describe('plan answers bad input with one sentence', () => {
  const good = { 'c.json': listOf(nodeJson('n-0', 'general')), 'p.yaml': POOLS };
  const bad = (items: string): Files => ({ ...good, 'c.json': items });
  const badPool = (text: string): Files => ({ ...good, 'p.yaml': text });
  it.each<[string, readonly string[], Files, string]>([
    ['a dump that is none', ['--dump=d.json'], { 'd.json': '{}' }, 'The file is not a decision dump of version 1.'],
    [
      'a dump without its parts',
      ['--dump=d.json'],
      { 'd.json': '{"version":1,"shapes":[]}' },
      'd.json is not a complete dump of a decision.',
    ],
    ['a dump with a broken shape', ['--dump=d.json'], { 'd.json': '{"version":1,"shapes":[{"$map":3}]}' }, 'd.json is not a complete dump'],
    ['no files', [], good, 'plan needs --cluster FILE and --pools FILE, or --live, or --dump FILE; see plan --help.'],
    ['live and files', [...ASK, '--live'], good, '--live cannot be combined with --cluster, --pools, --dump or --now'],
    ['live without settings', ['--live'], {}, 'azure.'],
    ['live and a setting that is none', ['--live', '--nonsense=1'], {}, 'nonsense'],
    ['an option that is none', [...ASK, '--clustr=c'], good, "Unknown option '--clustr'; see plan --help."],
    ['a file that is not there', ['--cluster=x.json', '--pools=p.yaml'], good, 'File "x.json" not found.'],
    ['half of a file', ASK, bad('{"kind":"List","items":[{'), 'c.json is not valid JSON'],
    ['another kind of JSON', ASK, bad('{"items":7}'), 'c.json: List: items is not a list of objects.'],
    [
      'a quantity that is none',
      ASK,
      bad(listOf(podJson('p', 'lots'))),
      'c.json: Pod default/p: spec.containers[0].resources.requests.cpu is "lots"; it must be a quantity',
    ],
    [
      'a pod without containers',
      ASK,
      bad(listOf({ kind: 'Pod', metadata: { name: 'p' }, spec: {} })),
      'c.json: Pod p: spec.containers is missing; it must be a list of containers.',
    ],
    [
      'a node without a size',
      ASK,
      bad(listOf({ kind: 'Node', metadata: { name: 'n' }, status: {} })),
      'c.json: Node n: status.allocatable is missing',
    ],
    [
      'labels that are a list',
      ASK,
      bad(listOf(nodeJson('n', 'general', { spec: { taints: 'x' } }))),
      'c.json: Node n: spec.taints is "x"; it must be a list of taints.',
    ],
    ['the same node twice', ASK, bad(listOf(nodeJson('n', 'general'), nodeJson('n', 'general'))), 'Node n: metadata.name is used twice;'],
    [
      'an object without a kind',
      ASK,
      bad('{"items":[{"metadata":{}}]}'),
      'c.json: object 0: kind is missing; it must be a Kubernetes object.',
    ],
    ['an alias without an anchor', ASK, badPool('- *x'), 'p.yaml has an alias without an anchor (*...) at line'],
    ['broken YAML', ASK, badPool('- {name: a'), 'p.yaml is neither valid YAML nor JSON'],
    [
      'a pool without a size',
      ASK,
      badPool('- {name: a, min: 0, max: 1}'),
      'p.yaml: pool a: vmSize is missing; it must be a VM size such as Standard_D4s_v5.',
    ],
    [
      'a pool with an unknown field',
      ASK,
      badPool('- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 1, spott: true}'),
      'p.yaml: pool a: spott is not known.',
    ],
    [
      'min above max',
      ASK,
      badPool('- {name: a, vmSize: Standard_D4s_v5, min: 2, max: 1}'),
      'p.yaml: pool a: min is 2; it must be a minimum that is not above max.',
    ],
    ['a pool twice', ASK, badPool(POOLS + POOLS), 'p.yaml: pool general is listed twice;'],
    [
      'an unknown size',
      ASK,
      badPool('- {name: a, vmSize: Standard_Q1, min: 0, max: 1}'),
      'pool a: vmSize is "Standard_Q1", and its cores and memory are unknown',
    ],
    [
      'a bad taint',
      ASK,
      badPool('- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 1, taints: [x]}'),
      'p.yaml: pool a: taints[0] is "x"; it must be a taint such as',
    ],
    ['a bad time', [...ASK, '--now=noon'], good, '--now is "noon"; it must be a time such as 2026-11-21T10:00:00Z.'],
    ['a pool that is not there', [...ASK, '--set-max=x=3'], good, '--set-max is "x=3": pool x not found; pools: general, gpu.'],
    ['no number', [...ASK, '--set-max=general'], good, '--set-max is "general"; it must be POOL=N, for example gpu=8.'],
    ['a node that is not there', [...ASK, '--cordon=x'], good, '--cordon is "x": node not found.'],
    [
      'a bad setting',
      [...ASK, '--config=p.json'],
      { ...good, 'p.json': '{"scaleUp":{"randomSeed":-1}}' },
      'key scaleUp.randomSeed of p.json, line 1 is -1; it must be a whole number of at least 0.',
    ],
    [
      'a setting that is misspelt',
      [...ASK, '--config=p.json'],
      { ...good, 'p.json': '{"scaleUp":{"maxNodeTotal":3}}' },
      'key scaleUp.maxNodeTotal of p.json, line 1 is not known; did you mean scaleUp.maxNodesTotal?',
    ],
    [
      'a misspelt setting of a section that no plan reads',
      [...ASK, '--config=p.json'],
      { ...good, 'p.json': '{"azure":{"tenantID":"x"}}' },
      'key azure.tenantID of p.json, line 1 is not known; did you mean azure.tenantId?',
    ],
  ])('%s', async (_, argv, files, sentence) => {
    const { code, out, err } = await plan(argv, files);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(sentence);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('the currency of a plan', () => {
  const config = '{"scaleUp": {"retailPrices": {"enabled": true, "currency": "EUR"}}}';
  const pool = '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 3PRICE}\n';
  it.each([
    ['is named where a price is known', ', price: 0.2', 'EUR'],
    ['is not named where none is', '', undefined],
  ])('%s', async (_what, price, currency) => {
    const files = { 'c.json': listOf(podJson('w', '3')), 'p.yaml': pool.replace('PRICE', price), 'config.json': config };
    const { summary } = await answerOf(files, '--config=config.json');
    expect(summary.currency).toBe(currency);
  });
});

describe('list prices that a daemon kept', () => {
  const pools =
    '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 3}\n- {name: b, vmSize: Standard_D8s_v5, min: 0, max: 3, labels: {kubernetes.io/os: linux}}\n';
  const labels = { 'topology.kubernetes.io/region': 'westeurope' };
  const cluster = listOf(nodeJson('n-0', 'other', { labels }), podJson('w', '3500m'), podJson('x', '3', { on: 'n-0' }));
  const config = '{"scaleUp": {"retailPrices": {"enabled": true, "file": "kept.json"}}}';
  const kept = (perHour: object, location = 'westeurope') =>
    JSON.stringify({
      schema: 1,
      location,
      currency: 'USD',
      sizes: { standard_d4s_v5: { perHour: { linux: 0.2 }, readAtMs: 1 }, standard_d8s_v5: { perHour, readAtMs: 1 } },
    });
  const ask = (files: Files) => answerOf({ 'c.json': cluster, 'p.yaml': pools, 'config.json': config, ...files }, '--config=config.json');

  it.each<[string, Files, string, string | undefined]>([
    ['the larger costs more', { 'kept.json': kept({ linux: 0.4 }) }, 'a', undefined],
    ['the larger costs less', { 'kept.json': kept({ linux: 0.1, windows: 9 }) }, 'b', undefined],
    ['the larger has a price for Windows only', { 'kept.json': kept({ windows: 0.1 }) }, 'a', 'The VM size Standard_D8s_v5 has no price'],
    ['of another region', { 'kept.json': kept({ linux: 0.1 }, 'northeurope') }, 'a', 'it is for region "northeurope", not westeurope'],
    ['nothing is kept yet', {}, 'a', 'List prices are not used: "kept.json" cannot be read.'],
  ])('%s', async (_, files, grows, note) => {
    const answer = await ask(files);
    expect(answer.scaleUp.increases.map(({ group }) => group)).toEqual([grows]);
    if (note === undefined) expect(answer.notes).toBeUndefined();
    else expect(answer.notes?.join()).toContain(note);
  });
});

describe('plan with options of pools in the configuration', () => {
  it('keeps the headroom that they state', async () => {
    const files = {
      'c.json': listOf(nodeJson('n-0', 'general'), podJson('a', '3500m', { on: 'n-0' })),
      'p.yaml': POOLS,
      'k.yaml': 'nodeGroupOptions: [{name: General, headroom: {nodes: 1}}]',
    };
    expect((await planAnswer([...ASK, '--config=k.yaml'], files)).scaleUp.increases).toMatchObject([{ group: 'general', from: 1, to: 2 }]);
  });
});

describe('plan with schedules', () => {
  const config =
    'schedules: {zone: Europe/Berlin, rules: [{pools: [general], days: Mon-Fri, from: "07:30", to: "19:30", min: 3}, {pools: [gen*], max: 4}]}';
  const files = { 'c.json': listOf(nodeJson('n-0', 'general')), 'p.yaml': POOLS, 'k.yaml': config };
  const busyNodes = [nodeJson('n-0', 'general'), podJson('a', '3500m', { on: 'n-0' })];
  const ask = [...ASK, '--config=k.yaml', '--now=2026-11-27T12:00:00Z'];

  it('grows a pool to the minimum that a rule sets', async () => {
    const { scaleUp, pools } = await planAnswer(ask, files);
    expect(scaleUp.increases).toEqual([{ group: 'general', from: 1, to: 3, pods: [] }]);
    expect(pools.find(({ group }) => group === 'general')).toMatchObject({ max: 4 });
  });

  it('prints what rules change next, as text and for programs', async () => {
    const { schedule } = await planAnswer([...ask, '--schedule=80h'], files);
    expect(schedule).toEqual([
      {
        group: 'general',
        min: 1,
        max: 5,
        steps: [
          {
            at: '2026-11-27T12:00:00.000Z',
            local: '2026-11-27 13:00 Europe/Berlin',
            min: 3,
            max: 4,
            text: 'min 3 (rule 1), max 4 (rule 2)',
            rules: [1, 2],
          },
          { at: '2026-11-27T18:30:00.000Z', local: '2026-11-27 19:30 Europe/Berlin', min: 1, max: 4, text: 'max 4 (rule 2)', rules: [2] },
          {
            at: '2026-11-30T06:25:00.000Z',
            local: '2026-11-30 07:25 Europe/Berlin',
            min: 3,
            max: 4,
            text: 'min 3 (rule 1, prepared for 07:30 Europe/Berlin), max 4 (rule 2)',
            rules: [1, 2],
          },
          { at: '2026-11-30T18:30:00.000Z', local: '2026-11-30 19:30 Europe/Berlin', min: 1, max: 4, text: 'max 4 (rule 2)', rules: [2] },
        ],
      },
    ]);
    const { out } = await plan([...ask, '--schedule=80h'], files);
    expect(out).toMatch(/general +now +3 +4 +min 3 \(rule 1\), max 4 \(rule 2\)/);
    expect(out).toMatch(/2026-11-30 07:25 Europe\/Berlin +3 +4/);
  });

  it('names rules that have no effect', async () => {
    const odd = {
      ...files,
      'k.yaml': 'schedules: {rules: [{pools: [genral], zone: Asia/Kathmandu, min: 3}, {from: "09:00", to: "10:00", max: 9}]}',
    };
    const found = [
      'Schedule rule 1 is about no node group.',
      'Schedule rule 2: max 9 is above the maximum of node group general; its maximum of 5 holds.',
    ];
    const { schedule = [], scheduleFindings } = await planAnswer([...ask, '--schedule=80h'], odd);
    expect(scheduleFindings).toEqual(expect.arrayContaining(found));
    // Steps of a pool are in the time of its own rules.
    const zones = new Set(schedule.flatMap(({ steps }) => steps.map(({ local }) => local.split(' ').at(-1))));
    expect([...zones]).toEqual(['UTC']);
    const { out } = await plan([...ask, '--schedule=80h'], odd);
    expect(out).toContain(`\n${found[0]}\n`);
  });

  it('names the rule that stops a pool, and prints no fix that would not help', async () => {
    const rules = 'schedules: {rules: [{max: 1}, {min: 3}]}';
    const stopped = {
      ...files,
      'c.json': listOf(...busyNodes, podJson('w', '3')),
      'k.yaml': rules,
      'p.yaml': '- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 5}\n',
    };
    const { scaleUp, scaleDown } = await planAnswer(ask, stopped);
    expect(scaleUp.helpless[0]?.groups[0]).toMatchObject({
      group: 'general',
      reason: 'max-size',
      detail: 'at its maximum (1 of 1 nodes, by schedule rule 1)',
    });
    expect(JSON.stringify(scaleUp)).not.toContain('raise the maximum');
    expect(scaleDown.unremovable[0]).toMatchObject({ detail: 'its node group is at its minimum size of 1, by schedule rule 2' });
  });

  it('prints no fix that lowers a minimum which a rule holds', async () => {
    const pool = '- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 5}\n';
    const idle = { ...files, 'k.yaml': 'schedules: {rules: [{min: 1}]}', 'p.yaml': pool };
    const { explained } = await planAnswer(ask, idle);
    expect(JSON.stringify(explained)).not.toContain('lower the minimum');
    const alone = { ...idle, 'k.yaml': '{}', 'p.yaml': pool.replace('min: 0', 'min: 1') };
    expect(JSON.stringify((await planAnswer(ask, alone)).explained)).toContain('lower the minimum');
  });

  it('says which rule keeps nodes from being removed', async () => {
    const kept = {
      ...files,
      'p.yaml': '- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 5}\n',
      'k.yaml': 'schedules: {rules: [{from: "11:00", to: "18:00", scaleDown: off}]}',
    };
    const { out } = await plan(ask, kept);
    expect(out).toMatch(/GroupFrozen +1 /);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('GroupFrozen: removals are paused until 2026-11-27T18:00:00Z by schedule rule 1');
  });

  it.each([
    ['2026-03-28T12:00:00Z', '2026-03-29 07:25 Europe/Berlin', '2026-03-29T05:25:00.000Z'],
    ['2026-10-24T12:00:00Z', '2026-10-25 07:25 Europe/Berlin', '2026-10-25T06:25:00.000Z'],
  ])('shows steps after a change of clocks in local time: %s', async (now, local, at) => {
    const rules = 'schedules: {zone: Europe/Berlin, rules: [{days: Sat-Sun, from: "07:30", to: "09:30", min: 3}]}';
    const { schedule } = await planAnswer([...ASK, '--config=k.yaml', `--now=${now}`, '--schedule=1d'], { ...files, 'k.yaml': rules });
    expect(schedule?.[0]?.steps[1]).toMatchObject({ local, at, min: 3 });
  });

  it('takes the present time where the file has none, so that days are those to come', async () => {
    const timeless = { ...files, 'c.json': listOf() };
    const { asOf } = await planAnswer([...ASK, '--config=k.yaml'], timeless);
    expect([asOf.source, Math.abs(Date.parse(asOf.time ?? '') - Date.now()) < 3_600_000]).toEqual([
      'now, since the file has no time',
      true,
    ]);
    expect((await planAnswer(ASK, timeless)).asOf.time).toBeUndefined();
  });

  it('refuses a time that cannot be read', async () => {
    expect((await plan([...ask, '--schedule=soon'], files)).err).toContain('--schedule is "soon"; it must be a time such as 7d');
  });
});

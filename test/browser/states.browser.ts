/** The states of the page that are not the usual one: each is said in words, and nothing unknown is shown as a number. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import type { LiveAnswer } from '../../src/planning/explain/answers/answer.ts';
import type { ShadowReport } from '../../src/planning/shadow/report.ts';
import type { HttpDeps } from '../../src/cli/serving/http.ts';
import type { HttpEndpoint } from '../../src/cli/serving/listener.ts';
import { at, grew, withPast, withRules } from '../api/past.ts';
import { documentInput } from '../api/support.ts';
import { aGroup, anInstance, aNode, aPod, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { LOW_CONTRASTS } from './in-page.ts';
import { launchChromium, openPage, screenshot } from './chromium.ts';
import { type ServedOptions, serveLoops } from './served.ts';

let browser: Browser;
const open: HttpEndpoint[] = [];

beforeAll(async () => {
  browser = await launchChromium();
});
afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});
afterAll(() => browser.close());

async function serve(options: ServedOptions): Promise<string> {
  const { endpoint } = await serveLoops(options);
  open.push(endpoint);
  return endpoint.url;
}

/** The text of the page when all of it is there: panels read their documents one after the other. */
async function shown(url: string, name: string, ...parts: readonly RegExp[]): Promise<string> {
  const { page: tab, troubles, close } = await openPage(browser, url);
  for (const part of parts) await expect.poll(() => tab.locator('body').innerText()).toMatch(part);
  const text = await tab.locator('body').innerText();
  await screenshot(tab, `state-${name}`);
  expect(await tab.evaluate(LOW_CONTRASTS)).toEqual([]);
  expect(troubles).toEqual([]);
  await close();
  return text;
}

const calm = (change: Parameters<typeof documentInput>[0] | object = {}): Promise<DocumentInput> =>
  documentInput({
    groups: [aGroup({ id: 'general', target: 1, instances: [anInstance({ node: 'n1' })] })],
    nodes: [aNode({ name: 'n1' })],
    pods: [aPod({ name: 'there', cpu: '3500m', nodeName: 'n1' })],
    ...change,
  });

const SHADOW_REPORT: ShadowReport = {
  fromMs: START_MS - 3_600_000,
  toMs: START_MS,
  isPartial: true,
  currency: 'USD',
  seenMs: 3_600_000,
  pools: 2,
  theirs: { cost: 1.2, podMinutes: 30, nodesAdded: 4, nodesRemoved: 1, longestWaitMs: 240_000 },
  ours: { cost: 1.4, podMinutes: 18, nodesAdded: 4, nodesRemoved: 2 },
  disagreements: [
    {
      kind: 'other pool, no capacity',
      atMs: START_MS - 3_000_000,
      pools: ['aks-compute-31774203-vmss', 'aks-reserve-31774203-vmss'],
      nodes: 2,
      ours: 'compute by 2: 4 pods need nodes',
      theirs: 'TriggeredScaleUp: reserve 0->2',
      cost: 0.4,
      podMinutes: -12,
    },
    {
      kind: 'removal only here',
      atMs: START_MS - 1_000_000,
      pools: ['aks-general-31774203-vmss'],
      nodes: 1,
      ours: 'n1 removed: empty',
      theirs: 'kept; its events give no reason',
      cost: -0.2,
      podMinutes: 0,
    },
  ],
  repacking: {
    atMs: START_MS - 1_200_000,
    text: '41 nodes, 29 would do: 480 USD a week less',
    nodes: 41,
    needed: 29,
    perHour: 2.86,
    leftOut: ['3 nodes stay: BlockedByPod, NotReplicated (6.2 CPU unused)'],
  },
  sizesWithoutPrice: [],
  assumptions: ['a node takes 3 min'],
};

describe('the page says', () => {
  it('that nothing is pending, and shows no empty lists', async () => {
    const input = await calm();
    const text = await shown(
      await serve({ input: () => input }),
      'calm',
      /No pods are pending/,
      /Allowed to act: yes, because this replica leads/,
      /No pool changed in the last/,
      /No underused node is kept/,
      /No decision changed anything/,
      /No prices: set scaleUp.retailPrices or node prices/,
    );
    expect(text).not.toMatch(/USD|Per hour|NaN|undefined|null/);
  });

  it.each([
    ['dark', 'light', 'rgb(14, 17, 22)'],
    ['light', 'dark', 'rgb(246, 247, 249)'],
  ] as const)('the same in %s where the address says so and the system is %s', async (theme, colorScheme, background) => {
    const input = await calm();
    const { page: tab, close } = await openPage(browser, `${await serve({ input: () => input })}/?theme=${theme}`, { colorScheme });
    await tab.getByText('No pods are pending').first().waitFor();
    expect(await tab.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(background);
    expect(await tab.evaluate(LOW_CONTRASTS)).toEqual([]);
    await close();
  });

  it('that it waits for the first loop, and shows it as soon as it ends', async () => {
    let input: DocumentInput | undefined;
    const { page: tab, close } = await openPage(browser, await serve({ input: () => input }));
    await tab.getByText('Waiting for the first loop, usually 5 s after the start').waitFor();
    await screenshot(tab, 'state-starting');
    input = await calm();
    await tab.getByText('No pods are pending').first().waitFor();
    await close();
  });

  it('that this replica is a standby, who leads, and the command that reaches it', async () => {
    const command = 'kubectl -n kube-system port-forward pod/aks-autoscaler-x2lkq 8085';
    const duty: HttpDeps['duty'] = () => ({ leads: false, mayAct: false, sentence: 'stands by', leader: 'aks-autoscaler-x2lkq', command });
    const text = await shown(await serve({ deps: { duty } }), 'standby', /This replica is a standby/);
    expect(text).toContain('The leader is aks-autoscaler-x2lkq');
    expect(text).toContain(command);
  });

  it('that no replica leads', async () => {
    const duty: HttpDeps['duty'] = () => ({ leads: false, mayAct: false, sentence: 'stands by; no replica is known to lead' });
    expect(await shown(await serve({ deps: { duty } }), 'no-leader', /Allowed to act: no/)).toContain('no replica is known to lead');
  });

  it('that it is a dry run, by design, with the writes that were withheld', async () => {
    const input = await calm({ pods: [aPod({ name: 'there', cpu: '3500m', nodeName: 'n1' }), aPod({ name: 'web', cpu: '3' })] });
    const withheld = () => [{ kind: 'increase', subject: 'general', detail: '1 -> 2', firstAtMs: START_MS, lastAtMs: START_MS, times: 3 }];
    const dry = { ...input, replica: { ...input.replica, dryRun: true } };
    const text = await shown(await serve({ input: () => dry, deps: { withheld } }), 'dry-run', /withheld by the dry run/);
    expect(text).toContain('Allowed to act: no, by design: this is a dry run');
    expect(text).toContain('would have nodes coming');
    expect(text).toContain('Would increase');
  });

  it('what a dry run would have done against what was done, on a view of its own', async () => {
    const input = await calm();
    const dry = { ...input, replica: { ...input.replica, dryRun: true } };
    const asked: number[] = [];
    const report = (spanMs: number) => (asked.push(spanMs), SHADOW_REPORT);
    const { page: tab, troubles, close } = await openPage(browser, await serve({ input: () => dry, deps: { report, withheld: () => [] } }));
    await tab.getByRole('button', { name: 'Report' }).click();
    await expect
      .poll(() => tab.locator('#report h1').innerText())
      .toMatch(/would have cost 0\.20 more USD \(16\.7 %\) and saved 12 pod-minutes/);
    expect(new URL(tab.url()).searchParams.get('view')).toBe('report');
    const text = await tab.locator('#report').innerText();
    expect(text).toMatch(/With repacking, as of .*: 41 nodes, 29 would do: 480 USD a week less, with what is removed anyway\./);
    expect(text).toContain('when the record begins: 2 pools, 2 disagreements');
    expect(text).toMatch(/Pending, pod-minutes\s+30\s+18\s+-12/);
    expect(text).toContain('compute, not reserve, 2 nodes: pool without capacity skipped');
    expect(text).toContain('compute by 2: 4 pods need nodes');
    expect(text).toContain('TriggeredScaleUp: reserve 0->2');
    await screenshot(tab, 'state-report');
    expect(await tab.evaluate(LOW_CONTRASTS)).toEqual([]);
    await tab.getByRole('button', { name: '1 × node removed that the AKS autoscaler kept' }).click();
    await expect.poll(() => tab.locator('.sides-list > li').count()).toBe(1);
    await tab.getByRole('button', { name: 'day', exact: true }).click();
    await expect.poll(() => asked.at(-1)).toBe(86_400_000);
    await tab.getByRole('button', { name: 'Now' }).click();
    await tab.getByText('No pods are pending').first().waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it('that it may not act, and why', async () => {
    const nodes = Array.from({ length: 10 }, (_, at) =>
      aNode({ name: `n${at}`, readiness: { ready: at < 5, sinceMs: START_MS - 3_500_000, reason: '' } }),
    );
    const group = aGroup({ id: 'general', target: 10, instances: nodes.map(({ name }) => anInstance({ node: name })) });
    const input = await calm({ groups: [group], nodes });
    expect(await shown(await serve({ input: () => input }), 'sick', /Allowed to act: no/)).toContain('because 5 of 10 nodes are not ready');
  });

  it('which right is missing, and the line that grants it', async () => {
    const input = await calm();
    const action = 'Microsoft.Compute/virtualMachineScaleSets/write';
    const refusals = [
      `Azure refused the capacity write: the identity 11-22 lacks the permission ${action} on /subscriptions/s/resourceGroups/mc; assign it.`,
    ];
    const text = await shown(await serve({ input: () => ({ ...input, refusals }) }), 'missing-right', /Missing right: Microsoft/);
    expect(text).toContain(`Missing right: ${action} on /subscriptions/s/resourceGroups/mc for 11-22`);
    expect(text).toContain(`"${action}"\n`);
  });

  it('how pools that differ only by their zone changed, in one lane', async () => {
    const groups = ['1', '2', '3'].map((zone) => aGroup({ id: `web${zone}`, target: 3, maxSize: 5, zones: [zone] }));
    const input = await withPast(groups, {
      sizes: { web1: [at(0, 1), at(20, 3, 1), at(23, 3)], web2: [at(0, 3)], web3: [at(0, 2), at(50, 3, 2)] },
      changes: [grew('web1', 20, 1, 3), grew('web3', 50, 2, 3)],
    });
    const { page: tab, close } = await openPage(browser, `${await serve({ input: () => input })}/?range=1h`);
    await expect.poll(() => tab.locator('.lane .nm').allInnerTexts()).toEqual(['web\nmax 15, 3 zones', '']);
    await screenshot(tab, 'state-siblings');
    expect(await tab.locator('.lane .mk').evaluateAll((all) => all.map((mark) => mark.getAttribute('title') ?? ''))).toEqual([
      expect.stringContaining('web1 1 → 3 for 2 pods of default/web'),
      expect.stringContaining('web3 2 → 3 for 2 pods of default/web'),
    ]);
    await close();
  });

  it('what schedules change in the next day, beside the past, and what holds in a pool now', async () => {
    const groups = ['general', 'batch', 'gpu', 'spot'].map((id) => aGroup({ id, target: 2, minSize: 1, maxSize: 5 }));
    const past = await withPast(groups, { sizes: { general: [at(0, 1), at(20, 2)] }, changes: [grew('general', 20, 1, 2)] });
    const rules =
      'zone: Europe/Berlin\nrules: [{from: "07:30", to: "19:30", min: 3}, {pools: [general], max: 4}, {from: "20:00", to: "06:00", scaleDown: only}]';
    const input = withRules(past, rules);
    const url = await serve({ input: () => input });
    const text = await shown(`${url}/?range=1h`, 'ahead', /by schedules, 24 h/, /2026-11-21 07:25 Europe.Berlin/);
    expect(text).toContain('batch, gpu, spot: min 3 (rule 1, prepared for 07:30 Europe/Berlin), no removals (rule 3)');
  });

  it('what a pool keeps free and what is missing of it, which nodes are sick or stopped, and its placement score', async () => {
    const input = await calm();
    const room = { amount: '1 node', wanted: 1, kept: 0, coming: 1, missing: 0, nodes: [] };
    const pool: LiveAnswer = {
      kind: 'pool',
      name: 'general',
      loop: 1,
      decidedAt: new Date(START_MS).toISOString(),
      sentence: 'general grows when a pod needs it.',
      min: 1,
      max: 5,
      ready: 1,
      upcoming: 1,
      registered: 1,
      target: 2,
      vmSize: 'Standard_D4s_v5',
      priority: 'Regular',
      zones: [],
      podsWaiting: 0,
      podsHelped: 0,
      unready: 0,
      overdue: 0,
      waits: [],
      increases: [],
      changes: [],
      stockouts: [],
      quotas: [],
      health: 'general-3 is sick: XIDErrors=True for 12 min; its replacement waits until its new nodes are ready',
      deallocation: '2 instances are stopped, for 3 h at least; their disks of 128 GiB are billed',
      placementScore: 'Low',
      template: {
        source: 'cloud',
        cpuMillis: 3_860,
        memoryBytes: 13 * 2 ** 30,
        taints: [],
        cautions: ['The devices that are declared for it do not count, since a node has shown others: gpu.nvidia.com has 2, not 4'],
        devices: '2 devices of gpu.nvidia.com, 4 devices of net.example.com that several nodes reach (3 with claims)',
        labels: {},
      },
      headroom: [
        { ...room, sentence: '1 free node: 0 of 1 kept free; 1 coming' },
        {
          ...room,
          sentence: '3 copies of Deployment shop/web: 2 of 3 kept free on n1; 1 of 3 missing: general: at its maximum (5 of 5 nodes)',
        },
      ],
    };
    const stopped: LiveAnswer = {
      kind: 'node',
      name: 'general-4',
      loop: 1,
      decidedAt: new Date(START_MS).toISOString(),
      verdict: 'stays',
      sentence: 'It is stopped, for 3 h at least: it is started when its pool needs nodes. Its disk costs 0.02 USD/h.',
      requested: { cpu: 0, memory: 0 },
      removableAfterMs: 600_000,
      ready: false,
      cordoned: false,
      threshold: 0.5,
      taints: [],
      pods: [],
      pool: 'general',
      vmSize: 'Standard_D4s_v5',
      stoppedSince: new Date(START_MS - 3 * 3_600_000).toISOString(),
    };
    const answers = new Map<string, LiveAnswer>([pool, stopped].map((answer) => [answer.name, answer]));
    const url = await serve({ input: () => input, explain: async ({ name }) => answers.get(name) ?? 'missing' });
    const { page: tab, troubles, close } = await openPage(browser, `${url}/#pool/general`);
    await expect.poll(() => tab.locator('.sheet').innerText()).toMatch(/Headroom\s+1 free node: 0 of 1 kept free; 1 coming/);
    expect(await tab.locator('.sheet').innerText()).toMatch(/Headroom\s+3 copies of Deployment shop.web: 2 of 3 kept free on n1/);
    expect(await tab.locator('.sheet').innerText()).toMatch(
      /Health\s+general-3 is sick: XIDErrors=True[^]*Stopped\s+2 instances[^]*Placement\s+Azure's score/,
    );
    await screenshot(tab, 'state-headroom', false);
    expect(await tab.locator('.sheet').innerText()).toMatch(
      /Devices\s+2 devices of gpu.nvidia.com, 4 devices of net.example.com that several nodes reach \(3 with claims\)/,
    );
    await tab.goto(`${url}/#node/general-4`);
    await expect.poll(() => tab.locator('.sheet').innerText()).toMatch(/It is stopped[^]*Pool\s+general[^]*Stopped since/);
    expect(await tab.locator('.sheet').innerText()).not.toMatch(/Requested|Removable/);
    await screenshot(tab, 'state-stopped', false);
    expect(troubles).toEqual([]);
    await close();
  });

  it('a decision with the options that lost, and the commands that repeat it', async () => {
    const input = await calm();
    const option = { nodes: 2, pods: 3, waste: 0.25, priority: 20 };
    const decision: LiveAnswer = {
      kind: 'decision',
      id: '20261121-000000-1',
      loop: 1,
      decidedAt: new Date(START_MS).toISOString(),
      at: new Date(START_MS).toISOString(),
      sentence: 'general 1 to 3 for 3 pods of default/web.',
      increases: [{ group: 'general', from: 1, to: 3, cause: 'pods', pods: ['default/web-0'], podCount: 3, outcome: 'accepted' }],
      options: [
        { ...option, group: 'general', priority: 50 },
        { ...option, group: 'memory', lostBy: 'priority: 20 is below 50' },
      ],
      notGrown: [{ group: 'gpu', reason: 'taint', detail: 'its taint is not tolerated' }],
      removals: [],
      dumpFile: '/dumps/20261121-000000-1.json',
    };
    const url = await serve({ input: () => input, explain: async ({ name }) => (name === decision.id ? decision : 'missing') });
    const { page: tab, troubles, close } = await openPage(browser, `${url}/#decision/${decision.id}`);
    await tab.locator('.sheet .opts').waitFor();
    const text = await tab.locator('.sheet').innerText();
    expect(text).toMatch(/memory\s+2\s+3\s+20\s+0\.25\s+lost on priority: 20 is below 50/);
    expect(text).toContain(`aks-autoscaler explain decision ${decision.id}`);
    expect(text).toContain('aks-autoscaler replay /dumps/20261121-000000-1.json');
    await screenshot(tab, 'state-decision', false);
    expect(troubles).toEqual([]);
    await close();
  });

  it('that the last loop is too long ago, and keeps its values', async () => {
    const input = await calm();
    const nowMs = input.report.observation.nowMs + 48_000;
    const url = await serve({ input: () => input, now: () => nowMs });
    // The page counts on by itself until the daemon says its time again, which stands still here.
    const text = await shown(url, 'stale', /no loop ended since 00:00:00, 4[89] s ago, usually every 10 s/);
    expect(text).toContain('general');
  });

  it('that it needs the token, and reads with it', async () => {
    const input = await calm();
    const { page: tab, close } = await openPage(browser, await serve({ input: () => input, token: 'open-sesame' }));
    await tab.getByLabel('Token').fill('open-sesame');
    await tab.getByRole('button', { name: 'Use it' }).click();
    await tab.getByText('No pods are pending').first().waitFor();
    await close();
  });

  it('that it needs the token, although the refusal comes before the page was drawn', async () => {
    const input = await calm();
    const { page: tab, close } = await openPage(browser, 'about:blank');
    await tab.addInitScript('window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 2_000);');
    await tab.goto(await serve({ input: () => input, token: 'open-sesame' }));
    await tab.getByLabel('Token').waitFor();
    await close();
  });

  it('at least what it costs, where a size has no price', async () => {
    const groups = [
      aGroup({ id: 'priced', target: 1, vmSize: 'Standard_D4s_v5', instances: [anInstance({ node: 'n1' })] }),
      aGroup({ id: 'other', target: 1, vmSize: 'Standard_X1', instances: [anInstance({ node: 'n2' })] }),
    ];
    const policy = aPolicy({ scaleUp: { prices: { standard_d4s_v5: 0.2 } } });
    const input = await calm({ groups, nodes: [aNode({ name: 'n1' }), aNode({ name: 'n2' })], policy });
    const text = await shown(await serve({ input: () => input }), 'some-prices', /at least 0\.20/);
    expect(text).toContain('1 size has no price: Standard_X1');
    expect(text).toContain('unknown');
  });

  it('that no pool is managed, and how to choose some', async () => {
    const input = await calm({ groups: [], nodes: [], pods: [] });
    expect(await shown(await serve({ input: () => input }), 'no-pools', /No pools are managed/)).toContain(
      'discovery, nodeGroups or --nodes',
    );
  });
});

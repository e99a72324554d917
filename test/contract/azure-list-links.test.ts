/** Where the links of a paged list may lead, and which lists end as broken. */
import { describe, expect, it } from 'vitest';
import { ArmCalls } from '../../src/azure/arm/arm-client.ts';
import { readPages, type PagedResult } from '../../src/azure/arm/pages.ts';
import { RateLimits } from '../../src/azure/arm/rate-limits.ts';
import { createClients, type ArmClients } from '../../src/azure/arm/sdk-clients.ts';
import { listSkus } from '../../src/azure/agents/agents.ts';
import { agentPoolPages } from '../../src/azure/rows/agent-pool-list.ts';
import { LogicalClock } from '../../src/cache/logical-clock.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { options } from '../azure/rig.ts';
import { refusal, ScriptedArm, type ArmReply } from '../azure/scripted-arm.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

async function startedArm(): Promise<ScriptedArm> {
  const arm = await ScriptedArm.start();
  return arm;
}

interface Named {
  readonly name?: string | undefined;
}
type Open = (clients: ArmClients, arm: ScriptedArm) => AsyncIterableIterator<readonly Named[]>;

/** Every paged list that the adapter reads, by the client that follows its links. */
const LISTS: Readonly<Record<string, Open>> = {
  'scale sets': ({ compute }) => compute.virtualMachineScaleSets.list('rg').byPage(),
  instances: ({ compute }) => compute.virtualMachineScaleSetVMs.list('rg', 'set').byPage(),
  VMs: ({ compute }) => compute.virtualMachines.list('rg').byPage(),
  sizes: ({ compute }) => compute.resourceSkus.list().byPage(),
  'core quotas': ({ compute }) => compute.usage.list('westeurope').byPage() as AsyncIterableIterator<readonly Named[]>,
  'agent pools': (clients) => agentPoolPages({ clients }, { resourceGroup: 'rg', name: 'aks' }),
};

async function lister() {
  const [arm, elsewhere] = [await startedArm(), await startedArm()];
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics().arm;
  // Retries follow at once; only time-outs wait.
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => (ms === 0 ? Promise.resolve() : clock.sleep(ms, signal));
  const settings = options(arm, { caPem: `${arm.caPem}\n${elsewhere.caPem}` });
  const calls = new ArmCalls({
    clock: { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep },
    metrics,
    rateLimits: new RateLimits(clock, metrics),
    endpoint: settings.armEndpoint,
    timeoutMs: 30_000,
    maxConcurrent: 8,
    random: () => 0,
    readRetries: { retries: 2, exponent: 2, firstMs: 0, jitter: 0 },
  });
  const credential = { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: START_MS * 2 }) };
  const clients = createClients(settings, credential, calls);
  const order = new LogicalClock(clock);
  const { signal } = new AbortController();
  /** Answers the pages in turn. The links of the pages are the caller's. */
  const answer = (page: (index: number) => ArmReply): void => {
    let index = 0;
    arm.intercept = () => page(index++);
  };
  const read = (list: Open): Promise<PagedResult<unknown>> =>
    readPages(
      { calls, order },
      {
        call: { operation: 'listScaleSets', resource: '' },
        signal,
        open: () => list(clients, arm),
        project: (raw) => ({ key: String(raw.name), value: raw, etag: undefined }),
      },
    );
  return { arm, elsewhere, answer, read, skus: () => listSkus({ options: settings, clients, calls, clock, order }, signal) };
}

const named = (...names: readonly string[]) => names.map((name) => ({ name, id: name, instanceId: name }));
const namesOf = ({ pages }: PagedResult<unknown>): readonly string[] => pages.flatMap(({ rows }) => rows.map(({ key }) => key));

describe('a link to another origin', () => {
  it.each(Object.keys(LISTS))('ends the list of %s as broken, and the token is not sent there', async (list) => {
    const { elsewhere, answer, read } = await lister();
    answer(() => ({ body: { value: named('a'), nextLink: `${elsewhere.url}/next` } }));
    const result = await read(LISTS[list] as Open);
    expect(elsewhere.requests).toEqual([]);
    expect(result).toMatchObject({ error: { kind: 'unavailable', code: 'ForeignOrigin' } });
    expect(result.pages).toHaveLength(1);
  });

  it.each([
    ['user information that looks like the endpoint', (here: string, there: string) => `${here}@${new URL(there).host}/next`],
    ['another scheme', (here: string) => `${here.replace('https:', 'http:')}/next`],
    ['no host that can be parsed', () => 'https://[/next'],
  ])('is also one with %s', async (_what, link) => {
    const { arm, elsewhere, answer, read } = await lister();
    for (const list of ['scale sets', 'agent pools']) {
      answer(() => ({ body: { value: named('a'), nextLink: link(arm.url, elsewhere.url) } }));
      expect((await read(LISTS[list] as Open)).error).toMatchObject({ kind: 'unavailable' });
    }
    expect(elsewhere.requests).toEqual([]);
    expect(arm.requests).toHaveLength(2);
  });
});

describe.each(['scale sets', 'agent pools'])('the pages of a list of %s', (name) => {
  const list = LISTS[name] as Open;

  it('end the list as broken if a page links to itself', async () => {
    const { arm, answer, read } = await lister();
    answer((index) => ({ body: { value: named(`n${index}`), nextLink: `${arm.url}/next?page=1` } }));
    const result = await read(list);
    expect(result.error).toMatchObject({ kind: 'unavailable', code: 'RepeatedLink' });
    expect(namesOf(result)).toEqual(['n0', 'n1']);
    expect(arm.requests).toHaveLength(2);
  });

  it('end the list as broken if empty pages link to each other in a circle', async () => {
    const { arm, answer, read } = await lister();
    answer((index) => ({ body: { value: [], nextLink: `${arm.url}/next?page=${index % 3}` } }));
    expect((await read(list)).error).toMatchObject({ code: 'RepeatedLink' });
    expect(arm.requests).toHaveLength(4);
  });

  it('end the list as broken if a page has only known items, although each link is new', async () => {
    const { arm, answer, read } = await lister();
    answer((index) => ({ body: { value: named('a', 'b'), nextLink: `${arm.url}/next?page=${index}` } }));
    const result = await read(list);
    expect(result.error).toMatchObject({ kind: 'unavailable', code: 'RepeatedPage' });
    expect(namesOf(result)).toEqual(['a', 'b']);
    expect(arm.requests).toHaveLength(2);
  });

  it('may be empty in between, and may repeat an item beside a new one', async () => {
    const { arm, answer, read } = await lister();
    const pages = [named('a'), [], [], named('a', 'b')];
    answer((index) => ({ body: { value: pages[index], ...(index === 3 ? {} : { nextLink: `${arm.url}/next?page=${index}` }) } }));
    const result = await read(list);
    expect(result.error).toBeUndefined();
    expect(namesOf(result)).toEqual(['a', 'a', 'b']);
  });

  it('may be requested again after a failure: the repeated address is the same page', async () => {
    const { arm, answer, read } = await lister();
    const replies = [
      { body: { value: named('a'), nextLink: `${arm.url}/next` } },
      refusal(503, 'Busy', 'm'),
      { body: { value: named('b') } },
    ];
    answer((index) => replies[index] ?? refusal(500, 'x', 'm'));
    const result = await read(list);
    expect(result.error).toBeUndefined();
    expect(namesOf(result)).toEqual(['a', 'b']);
  });
});

describe('the list of sizes', () => {
  it('is complete although a page has only disks whose name is known: they differ in size', async () => {
    const { arm, answer, skus } = await lister();
    const disk = (size: string) => ({ resourceType: 'disks', name: 'Premium_LRS', size, locations: ['westeurope'] });
    const capabilities = [
      { name: 'vCPUs', value: '4' },
      { name: 'MemoryGB', value: '16' },
    ];
    const vm = { resourceType: 'virtualMachines', name: 'Standard_D4s_v5', locations: ['westeurope'], capabilities, restrictions: [] };
    const pages = [
      [vm, disk('P1')],
      [disk('P2'), disk('P3')],
    ];
    answer((index) => ({ body: { value: pages[index], ...(index === 1 ? {} : { nextLink: `${arm.url}/next` }) } }));
    expect((await skus()).byName.size).toBe(1);
  });
});

/** Each incident of the catalogue changes the responses that the real Azure clients get. */
import { describe, expect, it } from 'vitest';
import { isJsonObject, pick, parseJson } from '../../../../simulator/arm/http/json.ts';
import { INCIDENT_CATALOGUE } from '../../../../simulator/arm/faults/incident-catalogue.ts';
import { MINUTE, RG, aPool, aWorld, startRig, type Rig } from '../harness.ts';

const WORLD = aWorld([
  aPool('a', { count: 3, zones: ['1'] }),
  aPool('s', { count: 4, priority: 'Spot' }),
  aPool('v', { kind: 'vms-pool', count: 1 }),
]);

/** Completes a request whose response is delayed by the world's clock by letting time pass. */
async function told(rig: Rig, ask: () => Promise<unknown>): Promise<string> {
  let late = '';
  const ended = new AbortController();
  const answered = ask()
    .then((value) => JSON.stringify(value))
    .catch((error: unknown) => refusalText(error))
    .finally(() => ended.abort());
  while (!ended.signal.aborted) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (rig.arm.delayedRequests() === 0) continue;
    late = 'late ';
    rig.clock.advance(10_000);
  }
  return late + (await answered);
}

function refusalText(error: unknown): string {
  const { name = '', code = '', statusCode = '', message = '', response } = error as Partial<Record<string, unknown>>;
  const headers = isResponse(response) ? response.headers : undefined;
  return `${String(name)} ${String(statusCode)} ${String(code)} ${String(message).slice(0, 400)} retry-after=${headers?.get('retry-after') ?? 'none'}`;
}

function isResponse(value: unknown): value is { readonly headers: { get(name: string): string | undefined } } {
  return typeof value === 'object' && value !== null && 'headers' in value;
}

/** Items of a list with at most this many pages, since some lists have no end. */
async function pages<Item>(list: AsyncIterable<Item[]>, show: (item: Item) => unknown): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let count = 0;
  for await (const page of list) {
    all.push(...page.map(show));
    if (++count > 12) return ['no end'];
  }
  return all;
}

type Chapter = readonly [title: string, text: string];

/** A client's day: reads, an increase through Compute and through AKS, waiting, a forced removal, waiting. */
async function* day(rig: Rig, name: string): AsyncGenerator<Chapter> {
  const { compute, aks } = rig;
  const chapter = async (title: string, ask: () => Promise<unknown>): Promise<Chapter> => [title, `${title}: ${await told(rig, ask)}`];
  const sets = () => pages(compute.virtualMachineScaleSets.list(RG).byPage(), (set) => [set.id, set.sku?.capacity, set.provisioningState]);
  const machines = (pool: string) => () =>
    pages(compute.virtualMachineScaleSetVMs.list(RG, rig.set(pool), { expand: 'instanceView' }).byPage(), (vm) => [
      vm.id?.split('/').at(-1),
      vm.provisioningState,
      vm.instanceView?.statuses?.map(({ code }) => code),
      vm.instanceView?.extensions?.map(({ statuses }) => statuses?.map(({ level }) => level)),
      vm.instanceView === undefined ? 'no view' : 'view',
    ]);
  const pools = () => pages(aks.agentPools.list('rg', 'aks').byPage(), (pool) => [pool.name, pool.count, pool.provisioningState]);
  let monitor = '';
  let date = '';
  const onResponse = (raw: { readonly headers: { get(key: string): string | undefined } }): void => {
    monitor = raw.headers.get('azure-asyncoperation') ?? monitor;
    date = raw.headers.get('date') ?? date;
  };
  const operation = async (): Promise<unknown> => {
    const url = new URL(monitor === '' ? `${rig.arm.url}/subscriptions/none` : monitor);
    const answer = await rig.call('GET', url.pathname + url.search);
    return [answer.status, pick(parseJson(answer.text), 'status'), pick(parseJson(answer.text), 'error', 'code')];
  };
  const alive: string[] = [];
  rig.arm.machines.subscribe((change) => {
    if (change.kind === 'running') alive.push(change.machine.hostName);
  });
  const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 5 } };
  yield await chapter('set', async () => {
    const set = await compute.virtualMachineScaleSets.get(RG, name, { onResponse });
    return [set.sku?.capacity, set.provisioningState, `hours ${Math.round((Date.parse(date) - rig.clock.now()) / 3_600_000)}`];
  });
  yield await chapter('sets', sets);
  yield await chapter('machines', machines('a'));
  yield await chapter('pools', pools);
  yield await chapter('skus', () =>
    pages(compute.resourceSkus.list({ filter: "location eq 'westeurope'" }).byPage(), ({ restrictions }) => restrictions?.length).then(
      (all) => all.filter((count) => count === 1),
    ),
  );
  yield await chapter('raise', async () => {
    const set = await compute.virtualMachineScaleSets
      .createOrUpdate(RG, name, body, { onResponse })
      .submitted()
      .then(() => compute.virtualMachineScaleSets.get(RG, name));
    return [set.sku?.capacity, set.etag];
  });
  yield await chapter('spot raise', () =>
    compute.virtualMachineScaleSets
      .createOrUpdate(RG, rig.set('s'), { ...body, sku: { ...body.sku, capacity: 6 } })
      .submitted()
      .then(() => 'accepted'),
  );
  yield await chapter('sets after the raise', sets);
  const raiseMonitor = monitor;
  yield await chapter('AKS raise', async () => {
    const pool = await aks.agentPools.get('rg', 'aks', 'v');
    const scale = { manual: [{ size: 'Standard_D4s_v5', count: 2 }] };
    await aks.agentPools.createOrUpdate('rg', 'aks', 'v', { ...pool, virtualMachinesProfile: { scale } }).submitted();
    return (await aks.agentPools.get('rg', 'aks', 'v')).provisioningState;
  });
  rig.clock.advance(4 * MINUTE);
  monitor = raiseMonitor;
  yield await chapter('operation after 4 minutes', operation);
  yield await chapter('machines after 4 minutes', machines('a'));
  yield await chapter('kubelets after 4 minutes', async () => alive.toSorted());
  rig.clock.advance(40 * MINUTE);
  yield await chapter('operation after 44 minutes', operation);
  yield await chapter('machines after 44 minutes', machines('a'));
  yield await chapter('spot machines after 44 minutes', machines('s'));
  yield await chapter('kubelets after 44 minutes', async () => alive.toSorted());
  yield await chapter('removal', () =>
    compute.virtualMachineScaleSets
      .deleteInstances(RG, name, { instanceIds: ['0'] }, { forceDeletion: true, onResponse })
      .submitted()
      .then(() => 'accepted'),
  );
  yield await chapter('set after the removal', async () => (await compute.virtualMachineScaleSets.get(RG, name)).sku?.capacity);
  rig.clock.advance(6 * MINUTE);
  yield await chapter('operation of the removal', operation);
  yield await chapter('machines in the end', machines('a'));
}

/** @returns a day with the incident: its chapters up to the one with that title, or all of them. */
async function dayUnder(number?: number, pool?: string, last?: string): Promise<ReadonlyMap<string, string>> {
  const rig = await startRig(WORLD, { knobs: { pageSize: 2 } });
  const name = rig.set('a');
  if (number === 18)
    await rig.compute.virtualMachineScaleSets
      .createOrUpdate(RG, name, { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 4 } })
      .submitted();
  if (number !== undefined) {
    const raised = await rig.call('POST', '/_emu/faults', {
      body: { catalogue: number, ...(pool === undefined ? {} : { match: { pool } }) },
      token: false,
    });
    expect([raised.status, raised.text]).toEqual([201, expect.any(String)]);
    // Events and their announcements need time.
    rig.clock.advance(number >= 43 && number <= 50 ? 3 * MINUTE : 1_000);
  }
  const chapters = new Map<string, string>();
  for await (const [title, text] of day(rig, name)) {
    chapters.set(title, text);
    if (title === last) break;
  }
  return chapters;
}

let clean: Promise<ReadonlyMap<string, string>> | undefined;

/** Number, where the effect shows, how, and the pool of the incident. */
const ROWS: readonly (readonly [number: number, title: string, shows: RegExp, pool?: string])[] = [
  [
    1,
    'raise',
    /409 OperationNotAllowed.*exceeding approved standardDSv5Family Cores quota.*Current Limit: 16, Current Usage: 16, Additional Required: 8/,
  ],
  [2, 'raise', /409 OperationNotAllowed.*exceeding approved Total Regional Cores quota/],
  [3, 'spot raise', /409 OperationNotAllowed.*exceeding approved LowPriorityCores quota/],
  [4, 'raise', /409 SkuNotAvailable/],
  [5, 'spot machines after 44 minutes', /"4","Failed",\["ProvisioningState\/failed\/AllocationFailed"/, 's'],
  [6, 'operation after 4 minutes', /"Failed","ZonalAllocationFailed"/],
  [7, 'operation after 4 minutes', /"Failed","OverconstrainedAllocationRequest"/],
  [8, 'machines after 4 minutes', /"3","Succeeded".*"4","Failed"/],
  [9, 'machines after 4 minutes', /"4","Creating"/],
  [10, 'machines after 44 minutes', /"4","Creating"/],
  [
    11,
    'machines after 4 minutes',
    /"4","Failed",\["ProvisioningState\/failed\/VMExtensionProvisioningError","PowerState\/running"\],\[\["Error"\]\]/,
  ],
  [12, 'machines after 44 minutes', /"4","Failed",\["ProvisioningState\/failed\/OSProvisioningTimedOut"/],
  [13, 'kubelets after 44 minutes', /^(?!.*aks-a)/, 'a'],
  [14, 'kubelets after 4 minutes', /^(?!.*aks-a)/, 'a'],
  [15, 'raise', /412 PreconditionFailed/],
  [16, 'raise', /\[5,"\\"3\\""\]/],
  [17, 'raise', /409 Conflict/],
  [18, 'set', /\[4,"Succeeded"/],
  [19, 'raise', /429 TooManyRequests.*retry-after=36/],
  [20, 'raise', /429 TooManyRequests.*retry-after=60/],
  [21, 'set', /429 SubscriptionRequestsThrottled.*retry-after=17/],
  [22, 'set', /429 TooManyRequests.*retry-after=none/],
  [23, 'set', /429 TooManyRequests.*retry-after=1200/],
  [24, 'AKS raise', /429 Throttled.*retry-after=36/],
  [25, 'raise', /RestError 502/],
  [26, 'raise', /RestError .*(socket|ECONN|stream)/i],
  [27, 'raise', /^raise: late /],
  [28, 'sets', /RestError/],
  [29, 'sets', /sets: \[\]/],
  [30, 'AKS raise', /409 OperationNotAllowed.*Another agentpool operation/],
  [31, 'set', /\[0,"Succeeded"/],
  [32, 'sets after the raise', /vmss",3,/],
  [33, 'set after the removal', /: 5$/],
  [34, 'machines in the end', /"0","Deleting"/],
  [35, 'machines in the end', /"0","Failed"/],
  [36, 'removal', /400 InvalidParameter.*not an active/],
  [37, 'removal', /409 OperationNotAllowed/],
  [38, 'set', /401 ExpiredAuthenticationToken/],
  [39, 'set', /401 AuthenticationFailed/],
  [40, 'set', /403 AuthorizationFailed/],
  [41, 'raise', /403 RequestDisallowedByPolicy/],
  [42, 'set', /AuthenticationRequiredError/],
  [43, 'sets', /aks-s-\d+-vmss",3,/],
  [44, 'spot machines after 44 minutes', /deallocated/],
  [45, 'sets', /aks-s-\d+-vmss",1,/],
  [46, 'machines', /PowerState\/unknown/],
  [47, 'machines', /\["3","Succeeded"/],
  [48, 'set', /\[4,/],
  [49, 'set', /404 ResourceNotFound/],
  [50, 'sets', /aks-anew-/],
  [51, 'operation after 4 minutes', /\[404,null,"NotFound"\]/],
  [52, 'operation after 4 minutes', /\[200,"Succeeded","NotLatestOperation"\]/],
  [53, 'operation after 44 minutes', /\[200,"Accepted"/],
  [54, 'machines after 4 minutes', /^machines after 4 minutes: \[\["0"[^\]]*\][^]*\["2"(?![^]*\["4")/],
  [55, 'machines', /^machines: (?![^]*\["2")/],
  [56, 'machines', /no end/],
  [57, 'sets', /MC_RG_AKS_WESTEUROPE/],
  [58, 'skus', /RestError 500/],
  [59, 'skus', /\[1\]/],
  [60, 'machines', /no view/],
  [61, 'set', /hours -3/],
  [62, 'set', /\[3,"Failed"/],
  [63, 'operation after 4 minutes', /"Failed","SubnetIsFull"/],
  [64, 'pools', /"a",3,"Upgrading"/],
  [65, 'AKS raise', /409 OperationNotAllowed.*Another operation \(Updating\)/],
];

describe('the catalogue of incidents', () => {
  it('has every number from 1 to 65', () => {
    expect([...INCIDENT_CATALOGUE.keys()]).toEqual(Array.from({ length: 65 }, (_, index) => index + 1));
    expect(ROWS.map(([number]) => number)).toEqual([...INCIDENT_CATALOGUE.keys()]);
  });

  it.each(ROWS.map(([number, title, shows, pool]) => ({ number, title, shows, pool })))(
    'fault $number shows in: $title',
    async ({ number, title, shows, pool }) => {
      clean ??= dayUnder();
      expect((await dayUnder(number, pool, title)).get(title)).toMatch(shows);
      expect((await clean).get(title)).not.toMatch(shows);
    },
  );

  it('ends when it is removed, what Azure has included', async () => {
    const rig = await startRig(WORLD);
    for (const number of [1, 4, 5, 15]) {
      const before = JSON.stringify(rig.arm.control.state());
      expect(rig.arm.control.addCatalogued({ number, id: 'x' })).toBeUndefined();
      expect(rig.arm.control.removeFault('x')).toBe(true);
      expect(JSON.stringify(rig.arm.control.state())).toBe(before);
    }
    expect(rig.arm.control.removeFault('x')).toBe(false);
  });

  it.each([
    ['first', 'second'],
    ['second', 'first'],
  ])('leaves nothing behind when two of one thing overlap and the %s ends before the %s', async (earlier, later) => {
    const rig = await startRig(WORLD);
    const numbers = [...INCIDENT_CATALOGUE.keys()].filter((number) => {
      const made = INCIDENT_CATALOGUE.get(number)?.make({
        pool: 'a',
        vmSize: 'Standard_D4s_v5',
        zone: '1',
        subnet: 's',
        location: 'westeurope',
      });
      return made !== undefined && !('faults' in made) && !('event' in made);
    });
    for (const first of numbers) {
      for (const second of numbers) {
        const before = JSON.stringify(rig.arm.control.state());
        expect(rig.arm.control.addCatalogued({ number: first, id: 'first' })).toBeUndefined();
        expect(rig.arm.control.addCatalogued({ number: second, id: 'second' })).toBeUndefined();
        expect([rig.arm.control.removeFault(earlier), rig.arm.control.removeFault(later)]).toEqual([true, true]);
        expect([first, second, JSON.stringify(rig.arm.control.state())]).toEqual([first, second, before]);
      }
    }
  });

  it('what it does not have is refused in words', async () => {
    const rig = await startRig(WORLD);
    const answer = await rig.call('POST', '/_emu/faults', { body: { catalogue: 66 }, token: false });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('no incident 66')]);
    expect(rig.arm.control.addCatalogued({ number: 43, id: 'x', match: { pool: 'nobody' } })).toContain('pool "nobody" does not exist');
    expect(isJsonObject(answer.json)).toBe(true);
  });
});

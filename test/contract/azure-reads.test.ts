import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aCluster, aNode, START_MS } from '../support/builders.ts';
import { NODE_GROUP, refusal, SUBSCRIPTION, type ArmReply, type ScriptedSet } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

async function prepared(rest: Partial<AzureOptions> = {}): Promise<Rig> {
  const r = await rig(rest);
  return r;
}

function nodeOf(name: string, set: string, id: string, rest: Parameters<typeof aNode>[0] = {}) {
  const scope = `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP.toLowerCase()}/providers/Microsoft.Compute`;
  return aNode({ name, providerId: `azure://${scope}/virtualMachineScaleSets/${set}/virtualMachines/${id}`, ...rest });
}

const BY_TAG = { nodeGroups: [], discovery: [{ selectors: [{ key: 'auto', value: 'yes' }], min: undefined, max: undefined }] };

/** A set of one instance that was listed twice in the last minute, as often as it may be, and the requests until then. */
async function afterTwoLists(): Promise<{ readonly r: Rig; readonly set: ReturnType<Rig['arm']['addSet']>; readonly before: number }> {
  const r = await prepared();
  const set = r.arm.addSet(USER_POOL, 1);
  await r.azure.start(r.signal);
  await r.pass(61_000);
  for (const round of [1, 2]) {
    void r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
    await r.pass(round * 1_000);
  }
  return { r, set, before: r.arm.requests.length };
}

/** A time of Azure's clock, which is a day ahead, as HTTP writes it. */
const aDayAhead = (ms: number): string => new Date(START_MS + 86_400_000 + ms).toUTCString();

describe('azure: reading', () => {
  it('a second observation asks Azure nothing and returns the same objects', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 3);
    await r.azure.start(r.signal);
    const cluster = aCluster({ nodes: [nodeOf('n0', USER_POOL, '0')] });
    const first = r.view(cluster);
    const asked = r.arm.requests.length;
    const second = r.view(cluster);
    expect(second.groups[0]).toBe(first.groups[0]);
    expect(second.groupOfNode).toBe(first.groupOfNode);
    expect(r.arm.requests).toHaveLength(asked);
  });

  it('at rest the calls are O(pools): one list of sets a minute, one of machines in five', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 50);
    await r.azure.start(r.signal);
    const asked = r.arm.requests.length;
    for (let loop = 0; loop < 60; loop++) {
      r.view();
      await r.pass(10_000);
    }
    const paths = r.arm.requests.slice(asked).map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
    expect(paths.filter((path) => path === 'virtualmachinescalesets').length).toBeLessThanOrEqual(12);
    expect(paths.filter((path) => path === 'virtualmachines').length).toBeLessThanOrEqual(3);
    expect(paths.filter((path) => path === 'usages').length).toBeLessThanOrEqual(3);
    expect(paths.length).toBeLessThanOrEqual(18);
  });

  it('a node is found in its group whatever the letter case of its id', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const node = nodeOf('n0', USER_POOL.toUpperCase(), '0');
    const foreign = aNode({ name: 'foreign', providerId: 'aws:///eu/i-1' });
    const bare = aNode({ name: 'bare', providerId: '' });
    const view = r.view(aCluster({ nodes: [node, foreign, bare] }));
    expect(view.groupOfNode.get('n0')).toBe(USER_POOL);
    expect(view.instanceOfNode.get('n0')).toBe(view.groups[0]?.instances?.[0]?.key);
    expect([...view.groupOfNode.keys()]).toEqual(['n0']);
  });

  it('freezes a group without a scale set, with its reason; the loop reports it', async () => {
    const r = await prepared();
    await r.azure.start(r.signal);
    expect(r.view().groups).toMatchObject([{ id: USER_POOL, frozen: expect.stringContaining('has no scale set named') as string }]);
    r.arm.addSet(USER_POOL, 1);
    await r.pass(70_000);
    expect(r.view().groups).toMatchObject([{ id: USER_POOL, frozen: undefined }]);
    expect(r.logLines.filter((line) => line.includes('has no scale set named'))).toEqual([]);
  });

  /** The reads of instances since the start: lists, and single ones by the end of their path. */
  const instanceReads = (r: Rig, since: number) =>
    r.arm.requests.slice(since).flatMap(({ path }) => /\/virtualmachines(\/.*)?$/.exec(path)?.[0].replace('/virtualmachines', '') ?? []);

  /** Machines and nodes that joined a moment ago, numbered from 7. */
  function joined(r: Rig, set: ScriptedSet, count: number) {
    const ids = Array.from({ length: count }, (_, index) => String(index + 7));
    for (const id of ids) r.arm.addMachine(set, id);
    return aCluster({ nodes: ids.map((id) => ({ ...nodeOf(`n${id}`, USER_POOL, id), createdAtMs: r.clock.now() })) });
  }

  it('a node that joined after the list has its instance read at once, alone, and only once', async () => {
    const r = await prepared();
    const set = r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const before = r.arm.requests.length;
    const cluster = joined(r, set, 1);
    expect(r.view(cluster).instanceOfNode.has('n7')).toBe(false);
    expect(r.view(cluster).groupOfNode.get('n7')).toBe(USER_POOL);
    await r.pass(2_000);
    expect(r.view(cluster).instanceOfNode.has('n7')).toBe(true);
    expect(instanceReads(r, before)).toEqual(['/7']);
  });

  it('more than five nodes that joined at once cost one list', async () => {
    const r = await prepared();
    const set = r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    await r.pass(61_000);
    const before = r.arm.requests.length;
    const cluster = joined(r, set, 6);
    r.view(cluster);
    await r.pass(2_000);
    expect(r.view(cluster).instanceOfNode.size).toBe(6);
    expect(instanceReads(r, before)).toEqual(['']);
  });

  // A list of 50 instances costs as much as ten single reads: it shows 50 of 30,000 views (recorded by azure-powershell, November 2025).
  it('in a scale set of fifty, ten nodes that joined at once are read singly, for less than a list', async () => {
    const r = await prepared();
    const set = r.arm.addSet(USER_POOL, 50);
    await r.azure.start(r.signal);
    await r.pass(61_000);
    const before = r.arm.requests.length;
    const ids = Array.from({ length: 10 }, (_, index) => String(index + 100));
    for (const id of ids) r.arm.addMachine(set, id);
    const cluster = aCluster({ nodes: ids.map((id) => ({ ...nodeOf(`n${id}`, USER_POOL, id), createdAtMs: r.clock.now() })) });
    r.view(cluster);
    await r.pass(2_000);
    expect(r.view(cluster).instanceOfNode.size).toBe(10);
    expect([...instanceReads(r, before)].sort()).toEqual(ids.map((id) => `/${id}`));
  });

  it('fifty nodes that join in waves of ten cost no more single reads than Azure takes at once', async () => {
    const { r, set, before } = await afterTwoLists();
    for (const wave of [1, 2, 3, 4, 5]) {
      r.view(joined(r, set, wave * 10));
      await r.pass(2_000);
    }
    const reads = instanceReads(r, before);
    expect(reads).not.toContain('');
    // 30 at once, and one more in each six seconds.
    expect(reads.length).toBeGreaterThanOrEqual(30);
    expect(reads.length).toBeLessThanOrEqual(32);
  });

  it('after two lists in a minute ten nodes are read singly, and the others wait for the next list', async () => {
    const { r, set, before } = await afterTwoLists();
    const cluster = joined(r, set, 14);
    r.view(cluster);
    await r.pass(20_000);
    expect(r.view(cluster).instanceOfNode.size).toBe(10);
    expect(instanceReads(r, before)).toHaveLength(10);
    await r.pass(45_000);
    expect(r.view(cluster).instanceOfNode.size).toBe(14);
    expect(instanceReads(r, before).filter((path) => path === '')).toHaveLength(1);
  });

  it.each([
    [1, true, 2],
    [2, false, 2],
  ])('a node whose instance is not found %i times has an instance: %s', async (misses, known, reads) => {
    const r = await prepared();
    const set = r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const before = r.arm.requests.length;
    let left = misses;
    r.arm.intercept = ({ path }) => (path.endsWith('/virtualmachines/7') && left-- > 0 ? refusal(404, 'NotFound', 'gone') : undefined);
    const cluster = joined(r, set, 1);
    for (let loop = 0; loop < 5; loop++) {
      expect(r.view(cluster).groupOfNode.get('n7')).toBe(USER_POOL);
      await r.pass(10_000);
    }
    expect(r.view(cluster).instanceOfNode.has('n7')).toBe(known);
    expect(instanceReads(r, before).filter((path) => path === '/7')).toHaveLength(reads);
  });

  it('a node whose machine is gone for good causes no list after list', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const before = r.arm.sent('GET', '/virtualmachines').length;
    const old = nodeOf('n7', USER_POOL, '7');
    const young = { ...nodeOf('n8', USER_POOL, '8'), createdAtMs: r.clock.now() };
    for (let loop = 0; loop < 10; loop++) {
      r.view(aCluster({ nodes: [old, young] }));
      await r.pass(10_000);
    }
    // The young one is looked for twice at most: its stamp may be a few seconds off.
    expect(r.arm.sent('GET', '/virtualmachines').length).toBeLessThanOrEqual(before + 2);
  });

  it('a set named in another letter case is found', async () => {
    const r = await prepared({ nodeGroups: [{ name: USER_POOL.toUpperCase(), min: 0, max: 4 }] });
    r.arm.addSet(USER_POOL, 2);
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL.toUpperCase())).toMatchObject({ frozen: undefined, target: { known: true, value: 2 }, maxSize: 4 });
  });

  it.each([
    { max: 1_000, limits: { maxSize: 1_000, poolLimit: undefined, configuredMax: undefined } },
    { max: 1_001, limits: { maxSize: 1_000, poolLimit: 1_000, configuredMax: 1_001 } },
  ])('AKS allows 1,000 nodes in a pool: a maximum of $max', async ({ max, limits }) => {
    const r = await prepared({ nodeGroups: [{ name: USER_POOL, min: 0, max }] });
    r.arm.addSet(USER_POOL, 2);
    await r.azure.start(r.signal);
    const { maxSize, poolLimit, configuredMax } = r.group(USER_POOL);
    expect({ maxSize, poolLimit, configuredMax }).toEqual(limits);
  });

  it('a broken page removes nothing', async () => {
    const r = await prepared({ ...BY_TAG, nodeGroups: [] });
    for (const name of ['pool-a', 'pool-b']) r.arm.addSet(name, 1, { tags: { auto: 'yes', min: '0', max: '3' } });
    await r.azure.start(r.signal);
    const [whole] = r.arm.requests.filter(({ path }) => path.endsWith('virtualmachinescalesets'));
    if (whole === undefined) throw new Error('the sets were not listed');
    const page = r.arm.route(whole).body as { value: unknown[] };
    r.arm.intercept = (request) => {
      if (request.query.get('page') === '2') return { raw: '{"value": [{"na' };
      if (!request.path.endsWith('virtualmachinescalesets')) return undefined;
      return { body: { value: page.value.slice(0, 1), nextLink: `${r.arm.url}${request.path}?api-version=2026-04-01&page=2` } };
    };
    await r.pass(70_000);
    expect(r.arm.requests.some(({ query }) => query.get('page') === '2')).toBe(true);
    expect(r.view().groups.map(({ id }) => id)).toEqual(['pool-a', 'pool-b']);
  });

  it('a throttled list of machines serves what is known and is asked again after Retry-After', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 3);
    await r.azure.start(r.signal);
    r.arm.intercept = ({ path }) => (path.endsWith('/virtualmachines') ? { status: 429, headers: { 'retry-after': '90' } } : undefined);
    r.azure.invalidate(nodeGroupId(USER_POOL));
    await r.pass(5_000);
    const throttled = r.arm.sent('GET', '/virtualmachines').length;
    expect(r.group(USER_POOL).instances).toHaveLength(3);
    await r.pass(60_000);
    expect(r.arm.sent('GET', '/virtualmachines').length).toBe(throttled);
    r.arm.intercept = () => undefined;
    await r.pass(120_000);
    expect(r.arm.sent('GET', '/virtualmachines').length).toBeGreaterThan(throttled);
  });

  it.each([
    ['in seconds', { 'retry-after': '900' }],
    ['as a date of a clock that is a day ahead', { 'retry-after': aDayAhead(900_000), date: aDayAhead(0) }],
  ])('a read that got a 503 is not repeated before Retry-After, %s, and other reads go on', async (_what, headers) => {
    const names = ['pool-a', 'pool-b'];
    const r = await prepared({ nodeGroups: names.map((name) => ({ name, min: 0, max: 3 })), vmssVmsCacheTtlMs: 60_000 });
    for (const name of names) r.arm.addSet(name, 1);
    await r.azure.start(r.signal);
    r.arm.intercept = ({ path }) => (path.endsWith('pool-a/virtualmachines') ? refusal(503, 'ServerBusy', 'm', headers) : undefined);
    const reads = (name: string) => r.arm.sent('GET', `${name}/virtualmachines`).length;
    const [busyBefore, otherBefore] = [reads('pool-a'), reads('pool-b')];
    await r.pass(120_000);
    expect(reads('pool-a')).toBe(busyBefore + 1);
    // A refresh by hand sends one request, which is refused for as long again.
    r.azure.invalidate(nodeGroupId('pool-a'));
    await r.pass(680_000);
    expect(reads('pool-a')).toBe(busyBefore + 2);
    expect(reads('pool-b')).toBeGreaterThan(otherBefore + 5);
    r.arm.intercept = () => undefined;
    await r.pass(300_000);
    expect(reads('pool-a')).toBeGreaterThan(busyBefore + 2);
  });

  it('is asked again after an hour at the latest, whatever Retry-After says', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    r.arm.intercept = ({ path }) =>
      path.endsWith('/virtualmachines') ? refusal(503, 'ServerBusy', 'm', { 'retry-after': '864000' }) : undefined;
    const before = r.arm.sent('GET', '/virtualmachines').length;
    await r.pass(75 * 60_000);
    expect(r.arm.sent('GET', '/virtualmachines').length).toBe(before + 2);
  });

  it('one group that cannot be read does not stop the others', async () => {
    const r = await prepared({
      nodeGroups: [
        { name: 'pool-a', min: 0, max: 3 },
        { name: 'pool-b', min: 0, max: 3 },
      ],
    });
    r.arm.addSet('pool-a', 1);
    r.arm.addSet('pool-b', 1);
    r.arm.intercept = ({ path }) => (path.endsWith('pool-a/virtualmachines') ? refusal(500, 'InternalServerError', 'm') : undefined);
    await r.azure.start(r.signal);
    const view = r.view();
    expect(view.groups.map(({ id, frozen }) => [id, frozen === undefined])).toEqual([
      ['pool-a', false],
      ['pool-b', true],
    ]);
    expect(view.scaleUpBlocked).toBeUndefined();
    expect(view.scaleDownBlocked).toBeUndefined();
  });

  it.each<[string, ArmReply]>([
    ['throttled', { ...refusal(429, 'TooManyRequests', 'later'), headers: { 'retry-after': '40' } }],
    ['away', refusal(503, 'ServiceUnavailable', 'later')],
  ])('a start while Azure is %s waits and reads on, and nothing that it had read is read again', async (_what, reply) => {
    const r = await prepared({ startPatienceMs: 600_000, clusterName: 'c', clusterResourceGroup: 'rg' });
    r.arm.addSet(USER_POOL, 1);
    let refusals = 0;
    r.arm.intercept = ({ path }) => {
      if (path.endsWith('/agentpools')) return { body: { value: [{ name: 'system', properties: { mode: 'System' } }] } };
      return path.endsWith('/virtualmachinescalesets') && ++refusals <= 3 ? reply : undefined;
    };
    let poolLists: number | undefined;
    const started = r.azure.start(r.signal).then(() => (poolLists = r.arm.sent('GET', '/agentpools').length));
    await r.pass(1_000);
    expect(poolLists).toBeUndefined();
    await r.pass(180_000);
    await started;
    expect(refusals).toBeGreaterThanOrEqual(4);
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(poolLists).toBe(1);
  });

  it('a start while Azure stays away ends when its patience does', async () => {
    const r = await prepared({ startPatienceMs: 60_000 });
    r.arm.intercept = () => refusal(503, 'ServiceUnavailable', 'later');
    const failed = expect(r.azure.start(r.signal)).rejects.toMatchObject({ kind: 'unavailable' });
    await r.pass(60_000);
    await failed;
  });

  it('start fails with the reason when the sets cannot be read', async () => {
    const r = await prepared();
    r.arm.intercept = () => refusal(403, 'AuthorizationFailed', 'no rights');
    await expect(r.azure.start(r.signal)).rejects.toMatchObject({ kind: 'auth', code: 'AuthorizationFailed' });
  });

  it('old reads block removing after two intervals and adding after six, and say which agent', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    r.arm.intercept = ({ path }) => (path.endsWith('virtualmachinescalesets') ? refusal(500, 'InternalServerError', 'm') : undefined);
    await r.pass(130_000);
    expect(r.view().scaleDownBlocked).toMatch(/scaleSets/);
    expect(r.view().scaleUpBlocked).toBeUndefined();
    await r.pass(250_000);
    expect(r.view().scaleUpBlocked).toMatch(/scaleSets/);
  });

  it('groups come and go with their sets; limits change in place', async () => {
    const r = await prepared({ ...BY_TAG, nodeGroups: [{ name: 'pool-a', min: 1, max: 2 }] });
    const tags = { auto: 'yes', min: '0', max: '3' };
    r.arm.addSet('pool-a', 1, { tags });
    const b = r.arm.addSet('pool-b', 1, { tags });
    await r.azure.start(r.signal);
    expect(r.view().groups.map(({ id, minSize, maxSize }) => [id, minSize, maxSize])).toEqual([
      ['pool-a', 1, 2],
      ['pool-b', 0, 3],
    ]);
    b.tags = { ...tags, max: '7' };
    b.etag += 1;
    r.arm.addSet('pool-c', 0, { tags });
    await r.pass(70_000);
    const view = r.view();
    expect(view.groups.map(({ id, maxSize }) => [id, maxSize])).toEqual([
      ['pool-a', 2],
      ['pool-b', 7],
      ['pool-c', 3],
    ]);
    expect(view.events).toMatchObject([{ kind: 'group-appeared', group: 'pool-c' }]);
    r.arm.sets.delete('pool-b');
    r.arm.sets.delete('pool-a');
    await r.pass(140_000);
    const left = r.view();
    expect(left.groups.map(({ id, frozen }) => [id, frozen !== undefined])).toEqual([
      ['pool-a', true],
      ['pool-c', false],
    ]);
    expect(left.events).toMatchObject([{ kind: 'group-vanished', group: 'pool-b', because: 'Azure no longer lists it' }]);
  });

  it('a badly tagged set is skipped with one warning, not one per list', async () => {
    const r = await prepared(BY_TAG);
    r.arm.addSet('pool-a', 1, { tags: { auto: 'yes', min: 'three', max: '4' } });
    await r.azure.start(r.signal);
    await r.pass(200_000);
    expect(r.view().groups).toEqual([]);
    expect(r.logLines.filter((line) => line.includes('cannot be a node group'))).toHaveLength(1);
  });

  it('reports unreadable template tags once per content, and uses the others', async () => {
    const r = await prepared(BY_TAG);
    const bad = { 'k8s.io_cluster-autoscaler_node-template_taint_gpu': 'yes', 'k8s.io_cluster-autoscaler_node-template_label_team': 'a' };
    r.arm.addSet('pool-a', 1, { tags: { auto: 'yes', min: '0', max: '4', ...bad } });
    await r.azure.start(r.signal);
    await r.pass(200_000);
    expect(r.view().groups).toHaveLength(1);
    const told = r.logLines.filter((line) => line.includes('Template tags of a group cannot be parsed'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('node-template_taint_gpu');
  });

  it('the change of another writer is reported and counted, and wakes the loop', async () => {
    const r = await prepared();
    const set = r.arm.addSet(USER_POOL, 3);
    await r.azure.start(r.signal);
    r.arm.setCapacity(set, 6);
    await r.pass(70_000);
    expect(r.wakes()).toBe(1);
    const view = r.view();
    expect(view.events).toMatchObject([{ kind: 'external-change', group: USER_POOL, from: 3, to: 6 }]);
    expect(view.groups[0]?.target).toMatchObject({ value: 6 });
    expect(await r.count('cache_external_changes_total', { node_group: USER_POOL })).toBe(1);
  });

  it('an unknown orchestration mode freezes its group only', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1, { orchestration: 'Quantum' });
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).frozen).toMatch(/Quantum/);
  });

  it('calls are counted by operation and status, and their tokens shown', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    r.arm.intercept = (request) => ({
      ...r.arm.route(request),
      headers: { 'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/HighCostGetVMScaleSetSubscriptionMaximum;1079' },
    });
    await r.azure.start(r.signal);
    expect(await r.count('arm_calls_total', { operation: 'listScaleSets', status: '200' })).toBe(1);
    expect(await r.count('arm_tokens_remaining', { policy: 'HighCostGetVMScaleSetSubscriptionMaximum' })).toBe(1079);
  });

  it('until when a refusal holds calls back is shown, and that it is over', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const shown = () => r.count('arm_throttled_until_timestamp_seconds', { policy: 'HighCostGetVMScaleSet' });
    r.arm.intercept = ({ path }) =>
      path.endsWith('/virtualmachinescalesets') ? { status: 429, headers: { 'retry-after': '60' } } : undefined;
    // Nothing is held: that is told, too.
    expect(await r.metrics.registry.getSingleMetricAsString('aks_autoscaler_arm_throttled_until_timestamp_seconds')).toContain(
      '{policy="HighCostGetVMScaleSet"} 0',
    );
    const refused = r.arm.sent('GET', '/virtualmachinescalesets').length;
    while (r.arm.sent('GET', '/virtualmachinescalesets').length === refused) await r.pass(1_000);
    expect((await shown()) * 1000 - r.clock.now()).toBeGreaterThan(55_000);
    r.arm.intercept = () => undefined;
    await r.pass(180_000);
    expect(await shown()).toBe(0);
  });

  it('a call without an answer ends with its timeout, one that is not wanted any more at once', async () => {
    const r = await prepared({ requestTimeoutMs: 5_000 });
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    r.arm.intercept = ({ path }) => {
      if (!path.endsWith(USER_POOL)) return undefined;
      resolve();
      return { silent: true };
    };
    await expect(r.azure.refresh(nodeGroupId(USER_POOL), AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
    const refresh = expect(r.azure.refresh(nodeGroupId(USER_POOL), r.signal)).rejects.toMatchObject({ kind: 'unavailable' });
    await asked;
    expect(r.azure.inFlightCalls()).toBeGreaterThan(0);
    await r.clock.advance(5_000);
    await refresh;
    await r.quiet();
    expect(r.group(USER_POOL).target).toMatchObject({ value: 1 });
  });

  it('learns the template from a ready node, and makes it from the size as long as no node is ready', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1, { zones: ['1', '2'] });
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).template).toMatchObject({ source: 'cloud', zones: ['westeurope-1', 'westeurope-2'] });
    const node = nodeOf('n0', USER_POOL, '0', { labels: { team: 'a', 'topology.kubernetes.io/zone': 'westeurope-1' } });
    const cluster = aCluster({ nodes: [node] });
    const { template } = r.group(USER_POOL, cluster);
    expect(template).toMatchObject({ source: 'live-node', labels: { team: 'a' }, allocatable: node.allocatable });
    expect(template?.labels).toEqual({ team: 'a' });
    expect(r.group(USER_POOL, cluster).template).toBe(template);
  });
});

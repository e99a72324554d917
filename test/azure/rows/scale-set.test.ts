import { describe, expect, it } from 'vitest';
import { ArmCalls } from '../../../src/azure/arm/arm-client.ts';
import { RateLimits, remainingTokens } from '../../../src/azure/arm/rate-limits.ts';
import { readOperation } from '../../../src/azure/arm/operations.ts';
import { instanceState, projectInstance, projectVm, projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const power = (code: string) => ({ statuses: [{ code: `PowerState/${code}` }] });

describe('rows: the state of a machine', () => {
  it.each([
    ['Creating', undefined, 'creating'],
    ['Deleting', power('running'), 'deleting'],
    ['Succeeded', power('running'), 'running'],
    ['Succeeded', power('deallocated'), 'deallocated'],
    ['Updating', power('deallocating'), 'deallocated'],
    ['Failed', power('running'), 'running'],
    ['Failed', power('starting'), 'running'],
    ['Failed', power('stopping'), 'failed'],
    ['Failed', power('stopped'), 'failed'],
    ['Failed', power('deallocated'), 'failed'],
    ['Failed', power('unknown'), 'failed'],
    ['Failed', { statuses: [] }, 'failed'],
    ['Failed', power('sleeping'), 'failed'],
    ['Failed', power('deallocating'), 'failed'],
    ['FAILED', power('Running'), 'running'],
    ['Migrating', power('running'), 'running'],
    ['Failed', undefined, 'running'],
    ['', power('running'), 'unknown'],
  ])('%s with %o is %s', (provisioning, view, state) => {
    expect(instanceState(provisioning.split(': ').at(-1), view)).toBe(state);
  });

  it.each([
    ['azure provider 106', 'starting', 'running'],
    ['azure provider 107', 'running', 'running'],
    ['azure provider 108', 'stopping', 'failed'],
    ['azure provider 109', 'stopped', 'failed'],
    ['azure provider 110', 'deallocated', 'failed'],
    ['azure provider 111', 'unknown', 'failed'],
  ])('%s: Failed and %s is %s of every kind of machine: no switch makes a failed one a node', (_number, code, state) => {
    const scope = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute';
    const raw = { location: 'eastus2', provisioningState: 'Failed', instanceView: power(code) };
    expect(projectInstance({ ...raw, id: `${scope}/virtualMachineScaleSets/set/virtualMachines/3` }, 'set')?.state).toBe(state);
    expect(projectVm({ ...raw, id: `${scope}/virtualMachines/flex-3` }, 'set')?.state).toBe(state);
  });

  it.each([
    [{ diskSizeGB: 128, managedDisk: { storageAccountType: 'Premium_LRS' } }, 'P10 LRS'],
    [{ diskSizeGB: 128, managedDisk: { storageAccountType: 'UltraSSD_LRS' } }, undefined],
    [{ diskSizeGB: 128, managedDisk: {} }, undefined],
    [{ managedDisk: { storageAccountType: 'Premium_LRS' } }, undefined],
    [undefined, undefined],
  ])('the OS disk %j of a machine of a VMs pool is billed as %s', (osDisk, sku) => {
    const vm = { location: 'eastus2', id: '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/m' };
    const given = osDisk === undefined ? vm : { ...vm, storageProfile: { osDisk: { createOption: 'FromImage', ...osDisk } } };
    expect(projectVm(given, 'vms/size')?.diskSku).toBe(sku);
  });

  it('reports an error of the extension that bootstraps nodes, and ignores one of another extension', () => {
    const told = (name: string): string | undefined =>
      projectInstance(
        {
          id: '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/set/virtualMachines/3',
          location: 'eastus2',
          provisioningState: 'Succeeded',
          instanceView: {
            ...power('running'),
            extensions: [
              {
                name,
                statuses: [
                  { level: 'Info', message: 'began' },
                  { level: 'Error', message: 'exit status=50' },
                ],
              },
            ],
          },
        },
        'set',
      )?.bootstrapError;
    expect(told('vmssCSE')).toBe('exit status=50');
    expect(told('VMSSCSE')).toBe('exit status=50');
    expect(told('AKSLinuxExtension')).toBeUndefined();
  });

  it('carries why a machine failed and what its bootstrap said', () => {
    const row = projectInstance(
      {
        id: '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/set/virtualMachines/3',
        location: 'eastus2',
        zones: ['2'],
        provisioningState: 'Failed',
        instanceView: {
          statuses: [{ code: 'ProvisioningState/failed/AllocationFailed', message: 'no room' }],
          extensions: [{ name: 'VMSSCSE', statuses: [{ level: 'Error', message: 'exit status=50' }] }],
        },
      },
      'Set',
    );
    expect(row).toMatchObject({
      group: 'set',
      instanceId: '3',
      zone: 'eastus2-2',
      state: 'failed',
      failure: { code: 'AllocationFailed', detail: { kind: 'out-of-capacity' }, message: 'no room' },
      bootstrapError: 'exit status=50',
    });
  });

  it.each([undefined, '', '/subscriptions/s'])('skips an item with the id %s', (id) => {
    expect(projectInstance({ location: 'l', ...(id === undefined ? {} : { id }) }, 'set')).toBeUndefined();
  });

  it.each([
    [{ name: 's', location: 'l', sku: { name: 'x' } }, /capacity/],
    // azure provider 53 is the same over HTTPS.
    [{ name: 's', location: 'l', sku: { name: 'x', capacity: -1 } }, /capacity/],
    [{ name: 's', location: 'l', sku: { capacity: 1 } }, /VM size/],
    [{ name: 's', location: '', sku: { name: 'x', capacity: 1 } }, /location/],
  ])('a set with a part missing is unreadable, never of size zero: %o', (raw, reason) => {
    expect(projectScaleSet(raw)?.unreadable).toMatch(reason);
  });
});

describe('budgets', () => {
  const call = { operation: 'putScaleSet', resource: 'a' } as const;
  const throttled = (policy: string | undefined, code = 'OperationNotAllowed') =>
    new AutoscalerError({ kind: 'throttled', retryAfterMs: 30_000, ...(policy === undefined ? {} : { policy }) }, 'm', { code });

  function budgets() {
    const clock = new FakeClock(START_MS);
    return { clock, budgets: new RateLimits(clock, createMetrics().arm) };
  }

  it.each([
    ['one set', throttled('CreateVMScaleSetResource'), { same: true, other: false, delete: false, read: false }],
    ['the family', throttled('CreateVMScaleSetSubscriptionMaximum'), { same: true, other: true, delete: false, read: false }],
    ['all writes', throttled(undefined, 'SubscriptionRequestsThrottled'), { same: true, other: true, delete: true, read: false }],
  ])('a refusal holds exactly what it named: %s', (_name, error, held) => {
    const { budgets: b } = budgets();
    b.recordThrottled(call, error);
    expect({
      same: b.admit(call) !== undefined,
      other: b.admit({ ...call, resource: 'b' }) !== undefined,
      delete: b.admit({ operation: 'deleteInstances', resource: 'a' }) !== undefined,
      read: b.admit({ operation: 'listScaleSets', resource: '' }) !== undefined,
    }).toEqual(held);
  });

  it('lets go when the time is over', async () => {
    const { budgets: b, clock } = budgets();
    b.recordThrottled(call, throttled('CreateVMScaleSetResource'));
    expect(b.admit(call)?.detail).toEqual({ kind: 'throttled', retryAfterMs: 30_000, policy: 'CreateVMScaleSet' });
    await clock.advance(30_000);
    expect(b.admit(call)).toBeUndefined();
  });

  it('a wall clock that jumps neither ends a hold nor makes an hour of it', () => {
    let [wallMs, monotonicMs] = [START_MS, 500];
    const b = new RateLimits({ now: () => wallMs, monotonic: () => monotonicMs }, createMetrics().arm);
    expect(b.admit(call)).toBeUndefined();
    b.recordThrottled(call, throttled('CreateVMScaleSetResource'));
    wallMs += 7_200_000;
    expect(b.admit(call)?.detail).toMatchObject({ retryAfterMs: 30_000 });
    wallMs -= 10_800_000;
    monotonicMs += 30_000;
    expect(b.admit(call)).toBeUndefined();
  });

  it('without a time the hold doubles, and a success ends that', async () => {
    const { budgets: b, clock } = budgets();
    const waits: (number | undefined)[] = [];
    for (const succeed of [false, false, true, false]) {
      b.recordThrottled(call, new AutoscalerError({ kind: 'throttled', retryAfterMs: undefined }, 'm'));
      const held = b.admit(call)?.detail;
      const wait = held?.kind === 'throttled' ? held.retryAfterMs : undefined;
      waits.push(wait);
      await clock.advance(wait ?? 0);
      if (succeed) b.recordAnswer(call);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 10_000]);
  });

  it('reports when the tokens of a family run low', () => {
    const { budgets: b } = budgets();
    const told: [string, boolean][] = [];
    b.onLow((family, low) => told.push([family, low]));
    for (const count of [1000, 300, 199, 900]) {
      const header = (name: string) =>
        name === 'x-ms-ratelimit-remaining-resource' ? `Microsoft.Compute/HighCostGetVMScaleSetSubscriptionMaximum;${count}` : undefined;
      b.recordHeaders({ operation: 'listScaleSets', resource: '' }, header);
    }
    expect(told.map(([, low]) => low)).toEqual([false, false, true, false]);
    expect(told[0]?.[0]).toBe('HighCostGetVMScaleSet');
  });

  it('reads every budget of one answer', () => {
    const headers: Readonly<Record<string, string>> = {
      'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/CreateVMScaleSetResource;11,Microsoft.Compute/VmssQueuedVMOperations;0,bad',
      'x-ms-ratelimit-remaining-subscription-reads': '249',
    };
    expect(remainingTokens((name) => headers[name])).toEqual([
      { policy: 'CreateVMScaleSetResource', remaining: 11 },
      { policy: 'VmssQueuedVMOperations', remaining: 0 },
      { policy: 'subscription-reads', remaining: 249 },
    ]);
  });
});

describe('arm calls', () => {
  function calls(maxConcurrent: number) {
    const clock = new FakeClock(START_MS);
    const metrics = createMetrics().arm;
    return {
      clock,
      calls: new ArmCalls({
        clock,
        metrics,
        rateLimits: new RateLimits(clock, metrics),
        endpoint: 'https://arm.local',
        timeoutMs: 5_000,
        maxConcurrent,
        random: () => 0,
      }),
    };
  }

  it('lets writes pass reads that wait, and no more through than allowed', async () => {
    const { calls: c } = calls(1);
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const run = (operation: 'listScaleSets' | 'putScaleSet', name: string, until: Promise<void> = Promise.resolve()) =>
      c.run({ operation, resource: name }, new AbortController().signal, async () => {
        order.push(`${name} (${c.inFlight})`);
        await until;
      });
    const all = [run('listScaleSets', 'first', gate.promise), run('listScaleSets', 'read'), run('putScaleSet', 'write')];
    gate.resolve();
    await Promise.all(all);
    expect(order).toEqual(['first (1)', 'write (1)', 'read (1)']);
    expect(c.inFlight).toBe(0);
  });

  it('one that is cancelled while it waits gives its place up', async () => {
    const { calls: c } = calls(1);
    const gate = Promise.withResolvers<void>();
    const first = c.run({ operation: 'listScaleSets', resource: '' }, new AbortController().signal, () => gate.promise);
    const abort = new AbortController();
    const second = expect(
      c.run({ operation: 'listVms', resource: '' }, abort.signal, () => Promise.reject(new Error('sent'))),
    ).rejects.toMatchObject({
      kind: 'cancelled',
    });
    abort.abort();
    await second;
    gate.resolve();
    await first;
    await expect(c.run({ operation: 'listVms', resource: '' }, new AbortController().signal, () => Promise.resolve(1))).resolves.toBe(1);
  });
});

describe('operation documents', () => {
  it.each([
    ['it runs', 200, { status: 'InProgress' }, undefined],
    ['a word that is not known', 200, { status: 'Accepted' }, undefined],
    ['it ended', 200, { status: 'Succeeded' }, 'succeeded'],
    ['success with an error beside', 200, { status: 'Succeeded', error: { code: 'NotLatestOperation' } }, 'succeeded'],
    ['it failed', 200, { status: 'Failed', error: { code: 'AllocationFailed', message: 'm' } }, 'failed'],
    ['it was cancelled', 200, { status: 'Canceled' }, 'failed'],
    ['a location that goes on', 202, undefined, undefined],
    ['a location that ended', 200, undefined, 'succeeded'],
  ])('%s', (_name, status, document, kind) => {
    expect(readOperation(status, document === undefined ? '' : JSON.stringify(document), {})?.kind).toBe(kind);
  });

  it('half a document is no end', () => {
    expect(readOperation(200, '{"status":"Succ', {})).toBeUndefined();
  });
});

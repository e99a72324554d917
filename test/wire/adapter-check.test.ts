/** What the daemon misreads or does not know in recorded answers is found, and what it reads is not. */
import { describe, expect, it } from 'vitest';
import type { Finding } from './finding.ts';
import {
  aPool,
  aSet,
  AKS_LOCATION,
  CLUSTER,
  getPool,
  getSet,
  NODES,
  powerShellJson,
  recordingsIn,
  SET,
  SUBSCRIPTION,
  type SyntheticAnswer,
} from './synthetic.ts';
import { runWire } from './wire.ts';

async function daemonFindings(answers: readonly SyntheticAnswer[]): Promise<readonly Finding[]> {
  const folder = recordingsIn({ 'session.json': powerShellJson(answers) });
  const { findings } = await runWire({ folder, sinceMs: undefined, specs: undefined, argued: [], examples: () => Promise.resolve([]) });
  return findings.filter(({ weight }) => weight === 'daemon');
}

async function whats(answers: readonly SyntheticAnswer[]): Promise<readonly string[]> {
  return (await daemonFindings(answers)).map(({ what }) => what);
}

const OPERATION = `${AKS_LOCATION}/operations/70707070-0000-4000-8000-000000000001?api-version=2025-03-01`;

function anInstance(more: object = {}, properties: object = {}): object {
  return {
    id: `${SET}/virtualMachines/3`,
    instanceId: '3',
    name: 'aks-flour-20406080-vmss_3',
    location: 'northeurope',
    properties: { provisioningState: 'Succeeded', vmId: '30303030', timeCreated: '2026-07-14T08:00:00.1234567-05:00', ...properties },
    ...more,
  };
}

function instances(...value: readonly object[]): SyntheticAnswer {
  return { path: `${SET}/virtualMachines?$expand=instanceView`, body: { value } };
}

const SKUS = `${SUBSCRIPTION}/providers/Microsoft.Compute/skus?api-version=2021-07-01`;
const USAGES = `${SUBSCRIPTION}/providers/Microsoft.Compute/locations/northeurope/usages`;

function aSize(more: object = {}): object {
  const capabilities = Object.entries({ vCPUs: '4', MemoryGB: '16', CpuArchitectureType: 'x64' }).map(([name, value]) => ({ name, value }));
  const locationInfo = [{ location: 'northeurope', zones: ['1', '2'], zoneDetails: [] }];
  return {
    resourceType: 'virtualMachines',
    name: 'Standard_D4s_v5',
    family: 'standardDSv5Family',
    locationInfo,
    capabilities,
    restrictions: [],
    ...more,
  };
}

function aUsage(more: object = {}): object {
  return { unit: 'Count', currentValue: 4, limit: 100, name: { value: 'cores', localizedValue: 'Total Regional vCPUs' }, ...more };
}

describe('answers that the daemon reads', () => {
  it('are without findings', async () => {
    const answers = [
      getSet(aSet(), {
        ETag: '"3"',
        'x-ms-ratelimit-remaining-resource':
          'Microsoft.Compute/GetVMScaleSetResource;35,Microsoft.Compute/VMScaleSetVMViewsSubscriptionMaximum;29998',
        'x-ms-ratelimit-remaining-subscription-global-reads': '16499',
      }),
      { path: `${NODES}/virtualMachineScaleSets`, body: { value: [aSet()] } },
      instances(anInstance({ zones: ['2'] })),
      { path: `${SET}/virtualMachines/3`, body: anInstance() },
      getPool(aPool()),
      getPool(
        aPool({
          type: 'VirtualMachines',
          count: null,
          vmSize: '',
          virtualMachinesProfile: { scale: { manual: [{ size: 'standard_d4s_v5', count: 2 }] } },
        }),
      ),
      {
        path: `${CLUSTER}/agentPools`,
        body: { value: [aPool()], nextLink: `https://management.azure.com${CLUSTER}/agentPools?skipToken=1` },
      },
      { path: SKUS, body: { value: [aSize()] } },
      { path: USAGES, body: { value: [aUsage()] } },
      { path: OPERATION, body: { name: '1', status: 'ReconcilingDNS', startTime: '2026-07-14T08:00:00.1Z' } },
      { path: OPERATION.replace('operations', 'operationresults'), status: 204 },
      { method: 'POST', path: `${SET}/delete`, status: 202, headers: { 'Azure-AsyncOperation': 'https://management.azure.com/x' } },
      { method: 'PUT', path: `${CLUSTER}/agentPools/flour`, status: 201, body: aPool({ provisioningState: 'Creating' }) },
      {
        path: SET,
        status: 404,
        body: { error: { code: 'ResourceNotFound', message: 'gone' } },
        headers: { 'x-ms-failure-cause': 'gateway' },
      },
    ];
    expect(await daemonFindings(answers)).toEqual([]);
  });
});

describe('answers that the daemon misreads or does not know', () => {
  it.each<[string, SyntheticAnswer, string]>([
    [
      'an unreadable scale set',
      getSet(aSet({ sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: 'two' } })),
      'a scale set becomes an unreadable row',
    ],
    ['a scale set without a name', getSet(aSet({ name: null })), 'a scale set becomes no row'],
    [
      'a new state of a scale set',
      getSet(aSet({}, { provisioningState: 'Levitating' })),
      'unknown provisioning state of a scale set: Levitating',
    ],
    [
      'a new state of an instance',
      instances(anInstance({}, { provisioningState: 'Levitating' })),
      'unknown provisioning state of an instance: Levitating',
    ],
    [
      'an instance without a state',
      instances(anInstance({}, { provisioningState: null })),
      'an instance becomes a row in an unknown state',
    ],
    ['an instance of another set', instances(anInstance({ id: `${SET}x/virtualMachines/3` })), 'an instance becomes no row'],
    ['a zone that is no number', instances(anInstance({ zones: [null] })), 'a zone is no number: null'],
    [
      'a new state of an agent pool',
      getPool(aPool({ provisioningState: 'Levitating' })),
      'unknown provisioning state of an agent pool: Levitating',
    ],
    ['an agent pool in another form', getPool(aPool({ vnetSubnetID: 7 })), 'an agent pool becomes an unreadable row'],
    ['an agent pool without a size', getPool(aPool({ count: null })), 'an agent pool of type VirtualMachineScaleSets has no size'],
    ['a pool without an entity tag', getPool(aPool({ eTag: null })), 'agentPool without properties.eTag'],
    [
      'a field of a later version',
      getPool(aPool({ antiGravity: { enabled: true } })),
      'agent pool with a field that the typed model of our version lacks: properties.antiGravity',
    ],
    [
      'a deeper field of a later version',
      getSet(aSet({}, { upgradePolicy: { mode: 'Manual', sideways: true } })),
      'scale set with a field that the typed model of our version lacks: properties.upgradePolicy.sideways',
    ],
    [
      'a new word of an operation',
      { path: OPERATION, body: { status: 'Levitating' } },
      'unknown word for the state of an operation: Levitating',
    ],
    [
      'a new word of an operation that counts',
      { path: OPERATION, body: { status: 'Levitating: 3/12 nodes' } },
      'unknown word for the state of an operation: Levitating: N/N nodes',
    ],
    ['an operation without a word', { path: OPERATION, body: { name: '1' } }, 'an operation has no status'],
    [
      'a new code of an operation',
      { path: OPERATION, body: { status: 'Failed', error: { code: 'TooLight', message: 'x' } } },
      'unknown error code of a failed operation: TooLight',
    ],
    [
      'a new code of a refusal',
      { path: SET, status: 400, body: { error: { code: 'TooLight', message: 'x' } } },
      'error code known by its status alone: TooLight',
    ],
    [
      'a refusal with another status',
      { path: SET, status: 451, body: { error: { code: 'TooLight', message: 'x' } } },
      'a refusal is read as an outage: TooLight',
    ],
    [
      'a new limit',
      getSet(aSet(), { 'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/LevitateVMResource;3' }),
      'unknown rate limit: LevitateVMResource',
    ],
    [
      'a new limit of the gateway',
      getSet(aSet(), { 'x-ms-ratelimit-remaining-moon-reads': '3' }),
      'unknown rate-limit header: x-ms-ratelimit-remaining-moon-reads',
    ],
    [
      'a write that cannot be followed',
      { method: 'POST', path: `${SET}/delete`, status: 202 },
      'no operation can be followed: neither azure-asyncoperation nor location',
    ],
    [
      'a result that does not end',
      { path: OPERATION.replace('operations', 'operationresults'), status: 200, body: 'x' },
      'the result of an operation is not read as its end',
    ],
    [
      'an address that is none',
      { method: 'POST', path: `${SET}/delete`, status: 202, headers: { Location: 'nowhere' } },
      'the address of the operation cannot be parsed',
    ],
    [
      'a list of sizes without capabilities',
      { path: SKUS, body: { value: [aSize({ capabilities: null })] } },
      'no size of the list is read',
    ],
    ['a usage without a limit', { path: USAGES, body: { value: [aUsage({ limit: null })] } }, 'usage without limit'],
    ['a pool without a name', getPool({ properties: {} }), 'an agent pool becomes no row'],
    ['an answer that is not JSON', { path: SET, body: '<html>' }, 'the daemon throws unavailable'],
  ])('shows %s', async (_title, answer, what) => {
    expect(await whats([answer])).toContain(what);
  });

  it('counts each answer once, and says where one is', async () => {
    const twice = instances(anInstance({ zones: ['x'] }), anInstance({ id: `${SET}/virtualMachines/4`, zones: ['x'] }));
    expect(await daemonFindings([getSet(aSet()), twice, twice])).toEqual([
      { weight: 'daemon', route: 'listInstances 200', what: 'a zone is no number: x', count: 2, of: 2, example: 'session.json#1' },
    ]);
  });

  it('tolerates a missing field in one of twenty answers', async () => {
    const many = Array.from({ length: 19 }, () => getPool(aPool()));
    expect(await whats([...many, getPool(aPool({ eTag: null }))])).toEqual([]);
    expect(await whats([...many.slice(1), getPool(aPool({ eTag: null }))])).toEqual(['agentPool without properties.eTag']);
  });
});

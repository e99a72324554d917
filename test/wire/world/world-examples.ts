/**
 * The world's own answers to every kind of request that the daemon makes, for pools of each kind: Uniform and Flexible sets and pools of
 * type VirtualMachines, regional and zonal, with automatic zones, and Spot. Must not know recordings.
 */
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import type { PoolSpec, WorldSpec } from '../../../world/simulator/base/world-spec.ts';
import { startWorldClient, type WorldAnswer, type WorldClient, type WorldRequest } from './world-client.ts';
import { isRecord } from '../../../src/lib/json.ts';

const SIZE = 'Standard_D4s_v5';

function aPool(name: string, more: Partial<PoolSpec> = {}): PoolSpec {
  return { name, vmSize: SIZE, count: 2, min: 0, max: 10, ...more };
}

/** What pools may have and most lack. */
const OPTIONS = { labels: { team: 'bread' }, taints: ['oven=hot:NoSchedule'], tags: { cost: 'low' } };

const POOLS: readonly PoolSpec[] = [
  aPool('system', { mode: 'System' }),
  aPool('general', OPTIONS),
  aPool('zonal', { zones: ['1', '2', '3'], ...OPTIONS }),
  aPool('auto', { zones: ['auto'] }),
  aPool('spot', { priority: 'Spot' }),
  aPool('zonalspot', { priority: 'Spot', zones: ['1', '2', '3'] }),
  aPool('scaled', { managedAutoscaler: true }),
  aPool('reserved', { capacityReservationGroup: 'kept' }),
  aPool('flexible', { kind: 'vmss-flexible' }),
  aPool('zonalflex', { kind: 'vmss-flexible', zones: ['1', '2', '3'] }),
  aPool('mixed', { kind: 'vms-pool', sizes: [{ vmSize: 'Standard_D8s_v5', count: 1 }], ...OPTIONS }),
  aPool('zonalmixed', { kind: 'vms-pool', zones: ['1', '2', '3'] }),
  aPool('scaledmixed', { kind: 'vms-pool', managedAutoscaler: true }),
  aPool('empty', { vmSize: 'Standard_E8s_v5', count: 0 }),
];

const SPEC: WorldSpec = {
  subscriptionId: '0b0b0b0b-1111-2222-3333-444444444444',
  tenantId: '0c0c0c0c-1111-2222-3333-444444444444',
  location: 'westeurope',
  clusterName: 'aks',
  clusterResourceGroup: 'rg',
  nodeResourceGroup: 'MC_rg_aks_westeurope',
  pools: POOLS,
  discoveryTags: {},
  stock: { 'Standard_E8s_v5/0': 0 },
  quota: {},
  seed: 5,
  capacityReservationGroups: [{ name: 'kept', reservations: [{ name: 'four', vmSize: SIZE, capacity: 4 }] }],
};

const SUB = `/subscriptions/${SPEC.subscriptionId}`;
const COMPUTE = `${SUB}/resourceGroups/${SPEC.nodeResourceGroup}/providers/Microsoft.Compute`;
const CLUSTER = `${SUB}/resourceGroups/${SPEC.clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${SPEC.clusterName}`;
/** The versions that the daemon sends. */
const V = 'api-version=2026-04-01';
const AKS_V = 'api-version=2026-06-01';

/** Time after which every operation of the world has ended. */
const LONG_MS = 20 * 60_000;

/** All answers, in the order of their requests. */
export async function worldExamples(): Promise<readonly WorldAnswer[]> {
  const client = await startWorldClient(SPEC);
  const recorder = new Recorder(client);
  try {
    await readCompute(recorder);
    await readPools(recorder);
    await refuse(recorder);
    await writeSets(recorder);
    await writePools(recorder);
    return recorder.answers;
  } finally {
    await client.stop();
  }
}

class Recorder {
  readonly answers: WorldAnswer[] = [];
  readonly #client: WorldClient;

  constructor(client: WorldClient) {
    this.#client = client;
  }

  async send(address: string, request?: WorldRequest): Promise<WorldAnswer> {
    const answer = await this.#client.send(address, request);
    this.answers.push(answer);
    return answer;
  }

  /** A write, its operation by both addresses, while it runs and after its end. */
  async sendAndFollow(address: string, request: WorldRequest): Promise<WorldAnswer> {
    const answer = await this.send(address, request);
    const addresses = ['azure-asyncoperation', 'location'].flatMap((name) => answer.headers.get(name) ?? []);
    for (const each of addresses) await this.send(each);
    this.#client.advance(LONG_MS);
    for (const each of addresses) await this.send(each);
    return answer;
  }

  setOf(pool: string): string {
    return this.#client.arm.control.state().sets.find((each) => each.pool === pool)?.name ?? '';
  }

  machinesOf(pool: string): readonly string[] {
    return (
      this.#client.arm.control
        .state()
        .agentPools.find(({ name }) => name === pool)
        ?.machines.map(({ name }) => name) ?? []
    );
  }
}

async function readCompute(recorder: Recorder): Promise<void> {
  await recorder.send(`${COMPUTE}/virtualMachineScaleSets?${V}`);
  for (const { name, kind } of POOLS) {
    const set = recorder.setOf(name);
    if (kind === 'vms-pool') continue;
    await recorder.send(`${COMPUTE}/virtualMachineScaleSets/${set}?${V}`);
    await recorder.send(`${COMPUTE}/virtualMachineScaleSets/${set}/instanceView?${V}`);
    if (kind === 'vmss-flexible') {
      await recorder.send(`${COMPUTE}/virtualMachineScaleSets/${set}/virtualMachines?${V}`);
      continue;
    }
    for (const expand of ['', '&$expand=instanceView']) {
      await recorder.send(`${COMPUTE}/virtualMachineScaleSets/${set}/virtualMachines?${V}${expand}`);
      await recorder.send(`${COMPUTE}/virtualMachineScaleSets/${set}/virtualMachines/0?${V}${expand}`);
    }
  }
  const vms = await recorder.send(`${COMPUTE}/virtualMachines?${V}`);
  for (const { name } of itemsOf(vms)) {
    await recorder.send(`${COMPUTE}/virtualMachines/${String(name)}?${V}`);
    await recorder.send(`${COMPUTE}/virtualMachines/${String(name)}?${V}&$expand=instanceView`);
  }
  await recorder.send(`${SUB}/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter=location eq 'westeurope'`);
  await recorder.send(`${SUB}/providers/Microsoft.Compute/locations/westeurope/usages?${V}`);
  const group = `${SUB}/resourceGroups/${SPEC.clusterResourceGroup}/providers/Microsoft.Compute/capacityReservationGroups/kept`;
  await recorder.send(`${group}?${V}&$expand=instanceView`);
  await recorder.send(`${group}/capacityReservations?${V}`);
}

async function readPools(recorder: Recorder): Promise<void> {
  let link: unknown = `${CLUSTER}/agentPools?${AKS_V}`;
  while (typeof link === 'string') {
    const page = jsonOf((await recorder.send(link)).body);
    link = isRecord(page) ? page['nextLink'] : undefined;
  }
  for (const { name } of POOLS) await recorder.send(`${CLUSTER}/agentPools/${name}?${AKS_V}`);
  await recorder.send(`${CLUSTER}?${AKS_V}`);
}

async function refuse(recorder: Recorder): Promise<void> {
  const set = `${COMPUTE}/virtualMachineScaleSets/${recorder.setOf('general')}`;
  const body = { location: SPEC.location, sku: { name: SIZE, tier: 'Standard', capacity: 3 } };
  const elsewhere = COMPUTE.replace(SPEC.nodeResourceGroup, 'nowhere');
  await recorder.send(`${COMPUTE}/virtualMachineScaleSets/none?${V}`);
  await recorder.send(`${COMPUTE}/virtualMachines/none?${V}`);
  await recorder.send(`${elsewhere}/virtualMachineScaleSets?${V}`);
  await recorder.send(`${elsewhere}/virtualMachineScaleSets/none?${V}`);
  await recorder.send(`${elsewhere}/virtualMachineScaleSets/none/virtualMachines?${V}`);
  await recorder.send(`${elsewhere}/virtualMachines?${V}`);
  await recorder.send(`${set}/virtualMachines/99?${V}`);
  await recorder.send(`${set}/virtualMachines/none?${V}`);
  await recorder.send(`${set}?${V}`, { method: 'PUT', body, headers: { 'if-match': '"77"' } });
  await recorder.send(`${set}/delete?${V}`, { method: 'POST', body: { instanceIds: ['99'] } });
  await recorder.send(`${CLUSTER}/agentPools/none?${AKS_V}`);
  await recorder.send(`${CLUSTER}none?${AKS_V}`);
  await recorder.send(`${CLUSTER}none/agentPools?${AKS_V}`);
  await recorder.send(`${CLUSTER}/agentPools/general?${AKS_V}`, { method: 'PUT', body: {}, headers: { 'if-match': 'wrong' } });
}

async function writeSets(recorder: Recorder): Promise<void> {
  for (const pool of ['general', 'zonal', 'spot', 'flexible', 'empty']) {
    const address = `${COMPUTE}/virtualMachineScaleSets/${recorder.setOf(pool)}?${V}`;
    const { location, sku } = recordOf(await recorder.send(address));
    const change = (capacity: number): object => ({ location, sku: { ...(isRecord(sku) ? sku : {}), capacity } });
    await recorder.sendAndFollow(address, { method: 'PUT', body: change(3) });
    await recorder.sendAndFollow(address, { method: 'PUT', body: change(3) });
  }
  const general = `${COMPUTE}/virtualMachineScaleSets/${recorder.setOf('general')}`;
  await recorder.sendAndFollow(`${general}/delete?${V}`, { method: 'POST', body: { instanceIds: ['0'] } });
  const model = recordOf(await recorder.send(`${general}?${V}`));
  await recorder.sendAndFollow(`${COMPUTE}/virtualMachineScaleSets/own?${V}`, { method: 'PUT', body: ownSet(model) });
  for (const expand of ['', '&$expand=instanceView']) {
    await recorder.send(`${COMPUTE}/virtualMachineScaleSets/own/virtualMachines?${V}${expand}`);
    await recorder.send(`${COMPUTE}/virtualMachineScaleSets/own/virtualMachines/0?${V}${expand}`);
  }
  await recorder.send(`${COMPUTE}/virtualMachineScaleSets/own?${V}`);
}

/** The model of a set of AKS, as a client's own. */
function ownSet({ location, sku, properties }: Readonly<Record<string, unknown>>): object {
  const { provisioningState: _state, uniqueId: _id, timeCreated: _time, ...rest } = isRecord(properties) ? properties : {};
  return { location, sku: { ...(isRecord(sku) ? sku : {}), capacity: 1 }, properties: rest };
}

async function writePools(recorder: Recorder): Promise<void> {
  for (const pool of ['general', 'zonal', 'mixed', 'zonalmixed']) {
    const address = `${CLUSTER}/agentPools/${pool}?${AKS_V}`;
    const before = recordOf(await recorder.send(address));
    await recorder.sendAndFollow(address, { method: 'PUT', body: withMore(before) });
  }
  // A write without effect, as of a client that changes what AKS's own autoscaler may do.
  const scaled = `${CLUSTER}/agentPools/scaledmixed?${AKS_V}`;
  await recorder.sendAndFollow(scaled, { method: 'PUT', body: recordOf(await recorder.send(scaled)) });
  const address = `${CLUSTER}/agentPools/general?${AKS_V}`;
  const general = recordOf(await recorder.send(address));
  await recorder.send(address, { method: 'PUT', body: withMore(general) });
  // The first operation runs: AKS refuses the second.
  await recorder.send(address, { method: 'PUT', body: withMore(withMore(general)) });
  const created = { count: 1, vmSize: SIZE, mode: 'User', osType: 'Linux', type: 'VirtualMachineScaleSets' };
  await recorder.sendAndFollow(`${CLUSTER}/agentPools/fresh?${AKS_V}`, { method: 'PUT', body: { properties: created } });
  const profile = { scale: { manual: [{ size: SIZE, count: 1 }] } };
  const vms = { mode: 'User', osType: 'Linux', type: 'VirtualMachines', virtualMachinesProfile: profile };
  await recorder.sendAndFollow(`${CLUSTER}/agentPools/freshvms?${AKS_V}`, { method: 'PUT', body: { properties: vms } });
  const empty = recordOf(await recorder.send(`${CLUSTER}/agentPools/empty?${AKS_V}`));
  await recorder.sendAndFollow(`${CLUSTER}/agentPools/empty?${AKS_V}`, { method: 'PUT', body: withMore(empty) });
  for (const pool of ['zonal', 'mixed']) {
    const machineNames = recorder.machinesOf(pool).slice(0, 1);
    await recorder.sendAndFollow(`${CLUSTER}/agentPools/${pool}/deleteMachines?${AKS_V}`, { method: 'POST', body: { machineNames } });
  }
}

/** The pool with one node more. */
function withMore(document: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const properties = isRecord(document['properties']) ? document['properties'] : {};
  const scale = isRecord(properties['virtualMachinesProfile']) ? properties['virtualMachinesProfile']['scale'] : undefined;
  const manual: readonly unknown[] = isRecord(scale) && Array.isArray(scale['manual']) ? scale['manual'] : [];
  const more = manual.map((entry, index) => (index === 0 && isRecord(entry) ? { ...entry, count: Number(entry['count']) + 1 } : entry));
  const change = manual.length > 0 ? { virtualMachinesProfile: { scale: { manual: more } } } : { count: Number(properties['count']) + 1 };
  return { ...document, properties: { ...properties, ...change } };
}

function recordOf({ body }: WorldAnswer): Readonly<Record<string, unknown>> {
  const document = jsonOf(body);
  return isRecord(document) ? document : {};
}

function itemsOf(answer: WorldAnswer): readonly Readonly<Record<string, unknown>>[] {
  const { value } = recordOf(answer);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

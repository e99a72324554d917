/** The rows that the daemon makes of recorded resources, and the fields that its typed models do not know. */
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import { foldName } from '../../../src/azure/arm/resource-ids.ts';
import { parseAgentPool, type ListedAgentPool } from '../../../src/azure/rows/agent-pool-list.ts';
import { projectAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectInstance, projectScaleSet, projectVm, type InstanceRow } from '../../../src/azure/rows/scale-set.ts';
import { buildCatalog } from '../../../src/azure/sizes/sku-catalog.ts';
import type { ArmOperation } from '../../../src/azure/arm/call-list.ts';
import type { JudgedAnswer, Note } from './adapter-check.ts';
import { isMember } from '../world/variants.ts';
import { isComputeState, isPoolState, NEEDED } from './known-words.ts';
import { NEVER, type ReplayedAzure } from './replayed-azure.ts';
import { unknownFields } from './unknown-fields.ts';
import { isRecord } from '../../../src/lib/json.ts';

type Json = Readonly<Record<string, unknown>>;
type Resource = keyof typeof NEEDED;

/** Reads the answer as the daemon does, and notes what is wrong with its resources. Rejects with what the daemon throws. */
export async function checkResources(answer: JudgedAnswer, azure: ReplayedAzure, note: Note): Promise<void> {
  const { kind } = answer.call;
  const check = CHECKS[kind as ArmOperation];
  const items = itemsOf(answer.interaction.body);
  if (check === undefined || (items.length === 0 && answer.interaction.body === '') || items.some(isMember)) return;
  for (const item of items) checkFields(item, check.resource, note);
  await check.read({ answer, azure, note, items });
}

interface Reading {
  readonly answer: JudgedAnswer;
  readonly azure: ReplayedAzure;
  readonly note: Note;
  /** The resources of the body, untouched. */
  readonly items: readonly Json[];
}

const CHECKS: Partial<Record<ArmOperation, { readonly resource: Resource; readonly read: (reading: Reading) => Promise<void> }>> = {
  listScaleSets: { resource: 'scaleSet', read: readScaleSets },
  getScaleSet: { resource: 'scaleSet', read: readScaleSet },
  putScaleSet: { resource: 'scaleSet', read: readScaleSet },
  listInstances: { resource: 'instance', read: readInstances },
  getInstance: { resource: 'instance', read: readInstances },
  listVms: { resource: 'vm', read: readVms },
  getVm: { resource: 'vm', read: readVms },
  listUsages: { resource: 'usage', read: readUsages },
  listSkus: { resource: 'size', read: readSizes },
  listAgentPools: { resource: 'agentPool', read: readPools },
  getAgentPool: { resource: 'agentPool', read: readPools },
  putAgentPool: { resource: 'agentPool', read: readPools },
};

function itemsOf(body: string): readonly Json[] {
  const document = jsonOf(body);
  if (!isRecord(document)) return [];
  return Array.isArray(document['value']) ? document['value'].filter(isRecord) : [document];
}

/** Fields that decisions need, by what a resource has: an item of a list may be shorter than the resource itself. */
function checkFields(item: Json, resource: Resource, note: Note): void {
  for (const path of NEEDED[resource]) {
    const value = path.split('.').reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), item);
    if (value === undefined || value === null || value === '') note(`${resource} without ${path}`);
  }
}

async function readScaleSets({ answer, azure, note, items }: Reading): Promise<void> {
  const { names } = answer.call;
  const list = azure.clients.compute.virtualMachineScaleSets.list(names['rg'] ?? '').byPage();
  const page = await azure.calls.run({ operation: 'listScaleSets', resource: '' }, NEVER, () => list.next());
  const plain = await azure.untouched.compute.virtualMachineScaleSets
    .list(names['rg'] ?? '')
    .byPage()
    .next();
  const models: readonly unknown[] = plain.done === true ? [] : plain.value;
  for (const [index, model] of (page.done === true ? [] : page.value).entries())
    checkScaleSet(projectScaleSet(model), { item: items[index], model: models[index] }, note);
}

async function readScaleSet({ answer, azure, note, items }: Reading): Promise<void> {
  const { rg = '', set = '' } = answer.call.names;
  const get = azure.clients.compute.virtualMachineScaleSets;
  const model = await azure.calls.run({ operation: 'getScaleSet', resource: set }, NEVER, () => get.get(rg, set));
  const plain = await azure.untouched.compute.virtualMachineScaleSets.get(rg, set);
  checkScaleSet(projectScaleSet(model), { item: items[0], model: plain }, note);
}

interface Modelled {
  readonly item: Json | undefined;
  readonly model: unknown;
}

function checkScaleSet(row: ReturnType<typeof projectScaleSet>, { item, model }: Modelled, note: Note): void {
  if (row === undefined) return note('a scale set becomes no row');
  if (row.unreadable !== undefined) note('a scale set becomes an unreadable row');
  if (!isComputeState(row.provisioningState)) note(`unknown provisioning state of a scale set: ${row.provisioningState}`);
  checkZones(item?.['zones'], row.placement !== undefined, note);
  noteUnknown('scale set', item, model, note);
}

function checkZones(zones: unknown, isAutomatic: boolean, note: Note): void {
  const wrong = (Array.isArray(zones) ? zones : []).filter((zone) => !/^\d+$/.test(String(zone)));
  if (wrong.length > 0 && !isAutomatic) note(`a zone is no number: ${String(wrong[0])}`);
}

async function readInstances({ answer, azure, note, items }: Reading): Promise<void> {
  const { rg = '', set = '', instance = '' } = answer.call.names;
  const { virtualMachineScaleSetVMs: api } = azure.clients.compute;
  const { virtualMachineScaleSetVMs: plainApi } = azure.untouched.compute;
  if (answer.call.kind === 'getInstance') {
    const model = await azure.calls.run({ operation: 'getInstance', resource: set }, NEVER, () => api.get(rg, set, instance));
    checkInstance(projectInstance(model, set), { item: items[0], model: await plainApi.get(rg, set, instance) }, note);
    return;
  }
  const list = api.list(rg, set).byPage();
  const page = await azure.calls.run({ operation: 'listInstances', resource: set }, NEVER, () => list.next());
  const plain = await plainApi.list(rg, set).byPage().next();
  const models: readonly unknown[] = plain.done === true ? [] : plain.value;
  for (const [index, model] of (page.done === true ? [] : page.value).entries())
    checkInstance(projectInstance(model, set), { item: items[index], model: models[index] }, note);
}

async function readVms({ answer, azure, note, items }: Reading): Promise<void> {
  const { rg = '', vm = '' } = answer.call.names;
  const { virtualMachines: api } = azure.clients.compute;
  const { virtualMachines: plainApi } = azure.untouched.compute;
  if (answer.call.kind === 'getVm') {
    const model = await azure.calls.run({ operation: 'getVm', resource: vm }, NEVER, () => api.get(rg, vm));
    checkInstance(projectVm(model, 'any'), { item: items[0], model: await plainApi.get(rg, vm) }, note);
    return;
  }
  const list = api.list(rg).byPage();
  const page = await azure.calls.run({ operation: 'listVms', resource: '' }, NEVER, () => list.next());
  const plain = await plainApi.list(rg).byPage().next();
  const models: readonly unknown[] = plain.done === true ? [] : plain.value;
  for (const [index, model] of (page.done === true ? [] : page.value).entries())
    checkInstance(projectVm(model, 'any'), { item: items[index], model: models[index] }, note);
}

function checkInstance(row: InstanceRow | undefined, { item, model }: Modelled, note: Note): void {
  if (row === undefined) return note('an instance becomes no row');
  const properties = isRecord(item?.['properties']) ? item['properties'] : {};
  const state = properties['provisioningState'];
  if (typeof state === 'string' && !isComputeState(state)) note(`unknown provisioning state of an instance: ${state}`);
  if (row.state === 'unknown') note('an instance becomes a row in an unknown state');
  checkZones(item?.['zones'], false, note);
  noteUnknown('instance', item, model, note);
}

async function readUsages({ answer, azure }: Reading): Promise<void> {
  const list = azure.clients.compute.usage.list(answer.call.names['location'] ?? '').byPage();
  await azure.calls.run({ operation: 'listUsages', resource: '' }, NEVER, () => list.next());
}

async function readSizes({ azure, note, items }: Reading): Promise<void> {
  const list = azure.clients.compute.resourceSkus.list().byPage();
  const page = await azure.calls.run({ operation: 'listSkus', resource: '' }, NEVER, () => list.next());
  const skus = page.done === true ? [] : page.value;
  const location = skus.find(({ resourceType }) => resourceType === 'virtualMachines')?.locationInfo?.[0]?.location ?? '';
  const sizes = items.filter(({ resourceType }) => resourceType === 'virtualMachines').length;
  if (sizes > 0 && buildCatalog(skus, location, 0).byName.size === 0) note('no size of the list is read');
}

async function readPools({ answer, azure, note, items }: Reading): Promise<void> {
  const { rg = '', cluster = '', pool = '' } = answer.call.names;
  for (const item of items) {
    const parsed = parseAgentPool(item);
    if (parsed !== undefined) checkPool(parsed, item, note);
  }
  if (answer.call.kind === 'listAgentPools') {
    const plain = await azure.untouched.containers.agentPools.list(rg, cluster).byPage().next();
    const models: readonly unknown[] = plain.done === true ? [] : plain.value;
    for (const [index, item] of items.entries()) noteUnknown('agent pool', item, models[index], note);
    return;
  }
  noteUnknown('agent pool', items[0], await azure.untouched.containers.agentPools.get(rg, cluster, pool), note);
}

function checkPool(pool: ListedAgentPool, item: Json, note: Note): void {
  const row = projectAgentPool(pool);
  if (row === undefined) return note('an agent pool becomes no row');
  if (row.provisioningState === 'Unreadable') return note('an agent pool becomes an unreadable row');
  if (!isPoolState(row.provisioningState)) note(`unknown provisioning state of an agent pool: ${row.provisioningState}`);
  const isScaled = foldName(row.type) === 'virtualmachines' ? (row.vms?.sizes.length ?? 0) > 0 : row.count !== undefined;
  if (!isScaled) note(`an agent pool of type ${row.type === '' ? 'nothing' : row.type} has no size`);
  const properties = isRecord(item['properties']) ? item['properties'] : {};
  checkZones(properties['availabilityZones'], row.placement !== undefined, note);
}

function noteUnknown(what: string, item: Json | undefined, model: unknown, note: Note): void {
  if (item === undefined) return;
  for (const path of unknownFields(item, model)) note(`${what} with a field that the typed model of our version lacks: ${path}`);
}

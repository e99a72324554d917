/** Creates and removes pools: at the start of the world, and by events while it runs. */
import type { PoolSpec } from '../../base/world-spec.ts';
import { keptProperties, manualScale, propertiesOfPool, sizesOf } from '../state/agent-pool-document.ts';
import { pickObject, type JsonObject } from '../http/json.ts';
import { removeVm } from '../compute/vm-lifecycle.ts';
import { withCapacity } from '../compute/scale-set-document.ts';
import { seedScaleSet } from '../compute/create-scale-set.ts';
import { setKey } from '../compute/set-capacity.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { quotaShortage } from '../state/stock-and-quota.ts';
import { growPool, growSet, seedInPool } from '../compute/create-vm.ts';
import type { AgentPool, ArmWorld, ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

/** Creates a pool with running VMs. @returns what is wrong with it, or undefined. */
export function seedPool(world: ArmWorld, spec: PoolSpec): string | undefined {
  const unknown = sizesOf(spec).find(({ vmSize }) => findVmSize(vmSize) === undefined);
  if (unknown !== undefined) return `pool "${spec.name}" has the unknown size "${unknown.vmSize}"`;
  const twice = namedTwice(sizesOf(spec).map(({ vmSize }) => vmSize));
  if (twice !== undefined) return `pool "${spec.name}" has the size "${twice}" twice`;
  if (world.agentPools.has(spec.name.toLowerCase())) return `pool "${spec.name}" already exists`;
  const set = spec.kind === 'vms-pool' ? undefined : seedScaleSet(world, spec);
  const pool = emptyPool(world, spec, set);
  for (const { vmSize, count } of set === undefined ? sizesOf(spec) : [])
    for (let made = 0; made < count; made++) seedInPool(world, pool, vmSize);
  // At the start of the world there is no subscriber yet and the list is read instead. Later a kubelet needs the event.
  for (const vm of [...pool.vms.values(), ...(set?.vms.values() ?? [])]) world.vmFeed.publishPower({ kind: 'running', vm });
  return undefined;
}

function namedTwice(names: readonly string[]): string | undefined {
  const folded = names.map((name) => name.toLowerCase());
  return names.find((_, index) => folded.indexOf(folded[index] ?? '') !== index);
}

/** Adds a pool while the world runs. The quota applies. @returns what is wrong with it, or undefined. */
export function addPool(world: ArmWorld, spec: PoolSpec): string | undefined {
  const vms = sizesOf(spec).map(({ vmSize, count }) => ({ vmSize, count, spot: spec.priority === 'Spot', pool: spec }));
  return quotaShortage(world, vms) === undefined ? seedPool(world, spec) : `the quota does not allow pool "${spec.name}"`;
}

function emptyPool(world: ArmWorld, spec: PoolSpec, set: ScaleSet | undefined): AgentPool {
  const pool: AgentPool = {
    name: spec.name,
    spec,
    properties: propertiesOfPool(world.spec, spec),
    etagCounter: 1,
    provisioningState: 'Succeeded',
    vms: new Map(),
    nextVm: 0,
    history: { revision: 0, foreignRevision: 0, foreignLowered: 0, seen: new Map(), seenLowered: new Map() },
    pendingForeignWrite: undefined,
    setKey: set === undefined ? undefined : setKey(set),
  };
  world.agentPools.set(spec.name.toLowerCase(), pool);
  return pool;
}

/** Creates a pool for a client. It exists at once; its VMs are `pending`. */
export function createPool(
  world: ArmWorld,
  spec: PoolSpec,
  properties: JsonObject,
): { readonly pool: AgentPool; readonly pending: readonly Vm[] } {
  const sizes = spec.kind === 'vms-pool' ? manualScale(properties) : [];
  const set = spec.kind === 'vms-pool' ? undefined : seedScaleSet(world, { ...spec, count: 0 });
  if (set !== undefined) set.document = { ...set.document, tags: withoutDiscovery(world, spec, pickObject(set.document, 'tags')) };
  const pool = emptyPool(world, spec, set);
  const { tags: _discovery, ...defaults } = pool.properties;
  pool.properties = keptProperties({ ...defaults, ...properties });
  pool.provisioningState = 'Creating';
  if (set === undefined) {
    const pending = sizes.flatMap(({ size, count }) => Array.from({ length: count }, () => growPool(world, pool, size)));
    return { pool, pending };
  }
  set.document = withCapacity(set.document, spec.count);
  return { pool, pending: growSet(world, set, spec.count) };
}

/** AKS adds tags of its own to a set, but none that make a pool the autoscaler's. */
function withoutDiscovery({ spec: { discoveryTags } }: ArmWorld, spec: PoolSpec, tags: JsonObject): JsonObject {
  const isKept = (name: string): boolean =>
    spec.tags?.[name] !== undefined || !['min', 'max', ...Object.keys(discoveryTags)].includes(name);
  return Object.fromEntries(Object.entries(tags).filter(([name]) => isKept(name)));
}

/** Removes a pool with everything in it at once. */
export function removePool(world: ArmWorld, pool: AgentPool): undefined {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  for (const vm of [...pool.vms.values(), ...(set?.vms.values() ?? [])]) removeVm(world, vm);
  if (pool.setKey !== undefined) world.sets.delete(pool.setKey);
  world.agentPools.delete(pool.name.toLowerCase());
  return undefined;
}

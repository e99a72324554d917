/** What must hold of every run, seen from outside: no removal without a plan, and rest once the misfortunes are over. */
import { describeBlock } from '../../src/domain/group-blocks.ts';
import type { DecisionJournal } from '../../src/domain/ports/records.ts';
import type { ArmState, InstanceState } from '../../world/simulator/arm/control/control.ts';
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import type { NodeObject, PodObject } from '../../world/simulator/cluster/store/objects.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import type { VirtualRun } from '../support/virtual-world.ts';

/** Remembers which machines were ever named by a plan, at the moment of the plan. */
export interface Witness {
  readonly journal: DecisionJournal;
  /** The machine, by its provider id in any case, was named by a plan before now. */
  wasPlanned(providerId: string): boolean;
}

export function createWitness(): Witness {
  const planned = new Set<string>();
  return {
    journal: {
      record: ({ observation, scaleDown }) => {
        if (scaleDown === undefined) return;
        const named = new Set([...scaleDown.removals, ...scaleDown.instanceRemovals].map(({ instance }) => instance));
        for (const group of observation.cloud.groups) {
          for (const { key, providerId } of group.instances ?? []) if (named.has(key)) planned.add(providerId.toLowerCase());
        }
      },
    },
    wasPlanned: (providerId) => planned.has(providerId.toLowerCase()),
  };
}

/** What the daemon should hold for one node group: a scale set, or one size of a pool of type VirtualMachines. */
interface Group {
  /** Folded id. */
  readonly id: string;
  readonly pool: string;
  readonly vmSize: string;
  readonly capacity: number;
  readonly min: number;
  readonly max: number;
  readonly machines: readonly InstanceState[];
}

function groupsOf(state: ArmState, pools: ReadonlyMap<string, PoolSpec>): readonly Group[] {
  const sets = state.sets.map(({ name, pool, capacity, min, max, instances }): Group => {
    const machines = instances.filter((vm) => !isStopped(vm, pools.get(pool)));
    return {
      id: name.toLowerCase(),
      pool,
      vmSize: pools.get(pool)?.vmSize ?? '',
      capacity: capacity - (instances.length - machines.length),
      min,
      max,
      machines,
    };
  });
  const ownSet = new Set(sets.map(({ pool }) => pool));
  const sizes = state.agentPools
    .filter(({ name }) => !ownSet.has(name))
    .flatMap(({ name, sizes, machines }) =>
      Object.entries(sizes).map(([vmSize, capacity]): Group => {
        const { min = 0, max = 0, machineStops } = pools.get(name) ?? {};
        const ofSize = machines.filter((vm) => vm.vmSize.toLowerCase() === vmSize.toLowerCase());
        const running = ofSize.filter((vm) => !isStopped(vm, pools.get(name)));
        const stopped = machineStops === 'counted' ? ofSize.length - running.length : 0;
        return { id: `${name}/${vmSize}`.toLowerCase(), pool: name, vmSize, capacity: capacity - stopped, min, max, machines: running };
      }),
    );
  return [...sets, ...sizes];
}

/** In a pool that deallocates, a stopped machine is none: it counts neither in the size nor for the minimum. */
function isStopped({ power }: InstanceState, pool: PoolSpec | undefined): boolean {
  return pool?.scaleDownMode === 'Deallocate' && power === 'deallocated';
}

/** Why groups are not at rest; none: they are. */
export function stuckGroups({ run, pools, enforcesMin, unfilled }: Stage): readonly string[] {
  const known = new Map((run.reports.at(-1)?.observation?.cloud.groups ?? []).map((group) => [String(group.id).toLowerCase(), group]));
  const nodes = new Map(run.world.cluster.store.nodes().map((node) => [node.metadata.name, node]));
  return groupsOf(run.world.arm.control.state(), pools).flatMap((group) => {
    const held = known.get(group.id);
    const tell = (what: string): readonly string[] => [`${group.id}: ${what}`];
    if (held === undefined) return tell('the daemon does not know it');
    if (held.blocks.change !== undefined) return tell(`frozen: ${describeBlock(held.blocks.change)}`);
    if (!held.target.known) return tell(`target unknown: ${held.target.reason}`);
    if (held.instances === undefined) return tell('instances never read');
    if (held.target.value !== group.capacity) return tell(`the daemon believes ${held.target.value}, the capacity is ${group.capacity}`);
    const counted = unfilled ? { ...group, capacity: Math.min(group.capacity, group.machines.length) } : group;
    const odd = oddMachine(counted, nodes, mayStay(group, enforcesMin, nodes));
    return odd === undefined ? [] : tell(odd);
  });
}

/**
 * Machines that may be of no use for good: at a minimum that nobody enforces, those that Azure deallocated or never finishes. They
 * could only be taken away by going below it, and nobody would put others in their place.
 */
function mayStay({ capacity, min, machines }: Group, enforcesMin: boolean, nodes: ReadonlyMap<string, NodeObject>): ReadonlySet<string> {
  const useless = machines.filter(
    ({ power, provisioningState, hostName }) => power === 'deallocated' || (provisioningState === 'Creating' && !nodes.has(hostName)),
  );
  return new Set(!enforcesMin && capacity <= min ? useless.map(({ hostName }) => hostName) : []);
}

function oddMachine(
  { capacity, machines }: Group,
  nodes: ReadonlyMap<string, NodeObject>,
  accepted: ReadonlySet<string>,
): string | undefined {
  if (capacity !== machines.length) return `capacity ${capacity}, ${machines.length} machines listed`;
  for (const vm of machines) {
    const node = nodes.get(vm.hostName);
    if (node === undefined && accepted.has(vm.hostName)) continue;
    // A node that works is kept, whatever became of the last operation on its machine.
    const isKept = vm.provisioningState === 'Failed' && node !== undefined && isReady(node);
    if (vm.provisioningState !== 'Succeeded' && !isKept) return `${vm.name} is ${vm.provisioningState}`;
    if (node === undefined) return `${vm.name} has no node`;
    if (!isReady(node) && !accepted.has(vm.hostName)) return `${vm.name} is not ready`;
  }
  return undefined;
}

/** The node says of itself that it works. */
export function isReady(node: NodeObject): boolean {
  return node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** What the judge knows of the world besides what it sees. */
export interface Stage {
  readonly run: VirtualRun;
  /** Every pool that ever was, by name. */
  readonly pools: ReadonlyMap<string, PoolSpec>;
  /** The daemon raises groups to their minimum. */
  readonly enforcesMin: boolean;
  /** A capacity may stay above its machines. */
  readonly unfilled: boolean;
}

/** Everything that is not at rest, groups included. */
export function unrest(stage: Stage): readonly string[] {
  const { run, pools, enforcesMin } = stage;
  const { store } = run.world.cluster;
  const state = run.world.arm.control.state();
  const groups = groupsOf(state, pools);
  const below = enforcesMin
    ? groups.filter((group) => group.capacity < group.min && canGrow(stage, group, state)).map(({ id }) => `${id} is below its minimum`)
    : [];
  const last = run.reports.at(-1);
  const idle = last?.outcome === 'completed' ? [] : [`the last loop ${last?.outcome ?? 'never was'}`];
  const able = groups.filter((group) => canGrow(stage, group, state));
  const waiting = store.pendingPods().flatMap((pod) => shouldRun(stage, pod, able));
  const all = new Map(store.nodes().map((node) => [node.metadata.name, node]));
  const accepted = new Set(groups.flatMap((group) => [...mayStay(group, enforcesMin, all)]));
  const ofSets = state.sets.flatMap(({ pool, instances }) => instances.filter((vm) => isStopped(vm, pools.get(pool))));
  const ofPools = state.agentPools.flatMap(({ name, machines }) => machines.filter((vm) => isStopped(vm, pools.get(name))));
  const stopped = [...ofSets, ...ofPools];
  for (const { hostName } of stopped) accepted.add(hostName);
  const nodes = [...all.values()].filter(({ metadata }) => !accepted.has(metadata.name));
  return [...stuckGroups(stage), ...nodes.flatMap(leftovers), ...below, ...idle, ...waiting];
}

function leftovers(node: NodeObject): readonly string[] {
  const marked = (node.spec.taints ?? []).some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler');
  const cordoned = node.spec.unschedulable === true;
  return [
    ...(marked ? [`${node.metadata.name} is marked`] : []),
    ...(cordoned ? [`${node.metadata.name} is cordoned`] : []),
    ...(isReady(node) ? [] : [`${node.metadata.name} is not ready`]),
  ];
}

/** A pod that waits although some pool could take it: every pod of a soak run is smaller than every machine of it. */
function shouldRun(stage: Stage, pod: PodObject, able: readonly Group[]): readonly string[] {
  const group = able.find((candidate) => admits(stage, candidate, pod));
  return group === undefined ? [] : [`${pod.metadata.name} waits although ${group.id} could grow from ${group.capacity} to ${group.max}`];
}

function admits({ pools }: Stage, { pool }: Group, pod: PodObject): boolean {
  const labels = pod.metadata.labels ?? {};
  if (pool === 'system') return false;
  return pools.get(pool)?.priority === 'Spot' ? labels['tolerates-spot'] === 'true' : labels['spot-only'] !== 'true';
}

/** Whether Azure would give one more: below its maximum, with stock in every zone it may land in. */
function canGrow({ pools }: Stage, { pool, vmSize, capacity, max }: Group, { stock }: ArmState): boolean {
  const { zones = ['0'] } = pools.get(pool) ?? {};
  const scarce = zones.some((zone) => (stock[`${vmSize}/${zone}`.toLowerCase()] ?? 1) < 1);
  return capacity < max && !scarce;
}

const BURST = 12;
const PER_MINUTE = 4;

/**
 * Scale sets that one process of the daemon wrote more often than Azure allows: 12 at once and then 4 a minute, raises and
 * removals together. A process that starts cannot know what the one before it spent.
 */
export function ratesExceeded(writes: readonly JournalEntry[], startsMs: readonly number[]): readonly string[] {
  const toSets = writes.filter(({ path }) => /virtualMachineScaleSets\/[^/]+(\/delete)?$/i.test(path));
  return [...Map.groupBy(toSets, setOfPath)].flatMap(([set, ofSet]) => {
    let tokens = BURST;
    let atMs = -Infinity;
    const exceeded: string[] = [];
    for (const { at } of ofSet) {
      const isNewProcess = startsMs.some((startMs) => startMs > atMs && startMs <= at);
      tokens = isNewProcess || atMs === -Infinity ? BURST : Math.min(BURST, tokens + ((at - atMs) / 60_000) * PER_MINUTE);
      atMs = at;
      tokens--;
      if (tokens < 0) exceeded.push(`write-rate ${set}: one more than ${BURST} and ${PER_MINUTE} a minute at ${at}`);
    }
    return exceeded;
  });
}

function setOfPath({ path }: JournalEntry): string {
  return /virtualMachineScaleSets\/([^/]+)/i.exec(path)?.[1]?.toLowerCase() ?? '';
}

/** What must hold of every run, seen from outside: no removal without a plan, and rest once the misfortunes are over. */
import type { DecisionJournal } from '../../src/ports/decision-journal.ts';
import type { SetState } from '../../src/simulator/arm/control.ts';
import type { NodeObject, PodObject } from '../../src/simulator/cluster/objects.ts';
import type { PoolSpec } from '../../src/simulator/world-spec.ts';
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

/** Removals of the daemon's that no plan named, as they are accepted. */
export function watchRemovals(run: VirtualRun, witness: Witness): readonly string[] {
  const unplanned: string[] = [];
  run.world.arm.machines.subscribe((change) => {
    if (change.kind !== 'delete-accepted' || isForeign(change.principal)) return;
    if (!witness.wasPlanned(change.machine.providerId)) unplanned.push(`${change.machine.providerId} at ${run.clock.now()}`);
  });
  return unplanned;
}

function isForeign(principal: string): boolean {
  return principal.startsWith('foreign') || principal === 'aks-resource-provider';
}

/** Why groups are not at rest; none: they are. */
export function stuckGroups(run: VirtualRun): readonly string[] {
  const groups = new Map((run.reports.at(-1)?.observation?.cloud.groups ?? []).map((group) => [String(group.id).toLowerCase(), group]));
  const nodes = new Map(run.world.cluster.store.nodes().map((node) => [node.metadata.name, node]));
  return run.world.arm.control.state().sets.flatMap((set) => {
    const group = groups.get(set.name.toLowerCase());
    const tell = (what: string): readonly string[] => [`${set.pool}: ${what}`];
    if (group === undefined) return tell('the daemon does not know it');
    if (group.frozen !== undefined) return tell(`frozen: ${group.frozen}`);
    if (!group.target.known) return tell(`target unknown: ${group.target.reason}`);
    if (group.instances === undefined) return tell('instances never read');
    if (group.target.value !== set.capacity) return tell(`the daemon believes ${group.target.value}, the capacity is ${set.capacity}`);
    const odd = oddMachine(set, nodes);
    return odd === undefined ? [] : tell(odd);
  });
}

function oddMachine(set: SetState, nodes: ReadonlyMap<string, NodeObject>): string | undefined {
  if (set.capacity !== set.instances.length) return `capacity ${set.capacity}, ${set.instances.length} machines listed`;
  for (const vm of set.instances) {
    if (vm.provisioningState !== 'Succeeded') return `${vm.name} is ${vm.provisioningState}`;
    const node = nodes.get(vm.hostName);
    if (node === undefined) return `${vm.name} has no node`;
    if (!isReady(node)) return `${vm.name} is not ready`;
  }
  return undefined;
}

function isReady(node: NodeObject): boolean {
  return node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** What the judge knows of the world besides what it sees. */
export interface Stage {
  readonly run: VirtualRun;
  /** Every pool that ever was, by name. */
  readonly pools: ReadonlyMap<string, PoolSpec>;
  /** The daemon raises groups to their minimum. */
  readonly enforcesMin: boolean;
}

/** Everything that is not at rest, groups included. */
export function unrest(stage: Stage): readonly string[] {
  const { run, enforcesMin } = stage;
  const { store } = run.world.cluster;
  const { sets } = run.world.arm.control.state();
  const below = enforcesMin
    ? sets.filter((set) => set.capacity < set.min && canGrow(stage, set)).map(({ pool }) => `${pool} is below its minimum`)
    : [];
  const last = run.reports.at(-1);
  const idle = last?.outcome === 'completed' ? [] : [`the last loop ${last?.outcome ?? 'never was'}`];
  const waiting = store.pendingPods().flatMap((pod) => shouldRun(stage, pod, sets));
  return [...stuckGroups(run), ...store.nodes().flatMap(leftovers), ...below, ...idle, ...waiting];
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
function shouldRun(stage: Stage, pod: PodObject, sets: readonly SetState[]): readonly string[] {
  const able = sets.find((set) => canGrow(stage, set) && admits(stage, set, pod));
  return able === undefined ? [] : [`${pod.metadata.name} waits although ${able.pool} could grow from ${able.capacity} to ${able.max}`];
}

function admits({ pools }: Stage, { pool }: SetState, pod: PodObject): boolean {
  const labels = pod.metadata.labels ?? {};
  if (pool === 'system') return false;
  return pools.get(pool)?.priority === 'Spot' ? labels['tolerates-spot'] === 'true' : labels['spot-only'] !== 'true';
}

/** Whether Azure would give one more: below its maximum, with stock in every zone it may land in. */
function canGrow({ run, pools }: Stage, set: SetState): boolean {
  const { vmSize = '', zones = ['0'] } = pools.get(set.pool) ?? {};
  const { stock } = run.world.arm.control.state();
  const scarce = zones.some((zone) => (stock[`${vmSize}/${zone}`.toLowerCase()] ?? 1) < 1);
  return set.capacity < set.max && !scarce;
}

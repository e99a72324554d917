/**
 * What plans see of groups that stop instances: stopped ones are no instances, their nodes are no nodes, and a started one is a new instance
 * until its node is ready. Must not know when instances are started or stopped.
 * Idea: overlay.
 */
import type { RemovalBlock } from '../../domain/group-blocks.ts';
import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { Instance, NodeGroup, StoppedInstance, TargetSize } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import { TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import type { Row } from '../../cache/table/row.ts';
import { defined } from '../../lib/defined.ts';
import { parseProviderId } from '../arm/resource-ids.ts';
import { describeCounting } from '../groups/stopped-counts.ts';
import type { StoppedInstances } from '../groups/stopped-instances.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';

interface StoppedNodesDeps {
  readonly store: Pick<AzureInventory, 'instances' | 'registration'>;
  readonly stopped: StoppedInstances;
}

interface SplitInstances {
  readonly from: readonly Instance[];
  readonly states: string;
  readonly active: readonly Instance[];
  readonly stopped: readonly StoppedInstance[];
}

interface StoppedDisks {
  readonly set: ScaleSetRow | undefined;
  readonly pool: AgentPoolRow | undefined;
  /** undefined: unknown, or not billed by its size. */
  readonly diskSku: string | undefined;
}

type ClusterNodes = ClusterView['nodes'];

export class StoppedNodes {
  readonly #deps: StoppedNodesDeps;
  readonly #split = new Map<string, SplitInstances>();
  readonly #keys = new WeakMap<Node, InstanceKey | 'none'>();
  #last: { readonly nodes: ClusterNodes; readonly absent: string; readonly filtered: ClusterNodes } | undefined;

  constructor(deps: StoppedNodesDeps) {
    this.#deps = deps;
  }

  /** See the port. */
  withoutStopped(cluster: ClusterView): ClusterView {
    const absent = this.#absentNodes(cluster.nodes);
    if (absent.size === 0) {
      this.#last = undefined;
      return cluster;
    }
    const names = [...absent].sort().join();
    if (this.#last?.nodes !== cluster.nodes || this.#last.absent !== names) {
      const filtered = new Map([...cluster.nodes].filter(([name]) => !absent.has(name)));
      this.#last = { nodes: cluster.nodes, absent: names, filtered };
    }
    return { ...cluster, nodes: this.#last.filtered };
  }

  #absentNodes(nodes: ClusterNodes): ReadonlySet<NodeName> {
    const rows = this.#changedRows();
    const absent = new Set<NodeName>();
    if (rows.size === 0) return absent;
    for (const node of nodes.values()) {
      const row = rows.get(this.#keyOf(node) as InstanceKey);
      if (row !== undefined && node.taints.some(({ key }) => key === TO_BE_DELETED_TAINT))
        this.#deps.stopped.noteInherited(row, node.readiness);
      // guard: the node of a stopped instance is no unready node
      if (row !== undefined && this.#deps.stopped.isNodeAbsent(row, node.readiness)) absent.add(node.name);
    }
    return absent;
  }

  #keyOf(node: Node): InstanceKey | 'none' {
    const known = this.#keys.get(node);
    if (known !== undefined) return known;
    const parsed = parseProviderId(node.providerId);
    const key = parsed.ok ? parsed.ref.key : 'none';
    this.#keys.set(node, key);
    return key;
  }

  /** The instances that are stopped, or were started lately, of all groups; soon after the start of the process all of them. */
  #changedRows(): ReadonlyMap<InstanceKey, Row<InstanceRow>> {
    const { store, stopped } = this.#deps;
    const rows = new Map<InstanceKey, Row<InstanceRow>>();
    const mayInherit = stopped.mayInherit();
    for (const { key: group } of store.registration().groups.values()) {
      if (stopped.ruleOf(group)?.kind !== 'stops') continue;
      for (const row of store.instances.scope(group).values()) {
        stopped.noteRuns(row);
        const isMoved = stopped.stateOf(row) !== 'up' || stopped.startedAtMs(row) !== undefined;
        if (mayInherit || isMoved) rows.set(row.value.ref.key, row);
      }
    }
    return rows;
  }

  /** What the view says of the stopped instances of a group. undefined: its nodes are deleted, as usual. */
  describe({ key }: RegisteredGroup, instances: readonly StoppedInstance[], { set, pool, diskSku }: StoppedDisks): NodeGroup['stopped'] {
    const { stopped } = this.#deps;
    const rule = stopped.ruleOf(key);
    if (rule?.kind !== 'stops') return rule;
    const closure = stopped.startClosure(key);
    const startsClosed = closure === undefined ? undefined : { untilMs: closure.untilMs, message: closure.message };
    const { sizeGb: diskGib, tier: diskTier } = set?.osDisk ?? { sizeGb: pool?.osDiskSizeGb, tier: undefined };
    const { counting } = stopped.of(key);
    const counts = counting?.known === true && counting.how !== undefined ? { how: counting.how, sinceMs: counting.sinceMs } : undefined;
    const disk = { diskGib, diskTier, diskSku };
    return { kind: 'stops', instances, max: rule.max, ...disk, startsClosed, ...defined({ counts }) };
  }

  /** What is against removals: the pause, or that AKS stops machines of the VMs pool and as many are stopped as may be. undefined: nothing. */
  removalBlock({ key, kind }: RegisteredGroup, paused: RemovalBlock | undefined): RemovalBlock | undefined {
    const rule = kind === 'vms-pool' ? this.#deps.stopped.ruleOf(key) : undefined;
    // guard: no node is drained that AKS could only stop beyond the maximum
    if (paused !== undefined || rule?.kind !== 'stops' || this.#deps.stopped.of(key).counted < rule.max) return paused;
    return { code: 'stopped-full', max: rule.max };
  }

  /** Machines of VMs pools whose power changed, or is to: their lists show no power, so each is read. */
  machinesToView(): ReadonlySet<InstanceKey> {
    return new Set([...this.#changedRows()].flatMap(([key, { value }]) => (value.ref.kind === 'vm' ? [key] : [])));
  }

  /** The size of a group that stops instances: those that are stopped do not count in it. */
  targetWithout({ key }: RegisteredGroup, target: TargetSize, instances: readonly Instance[] | undefined): TargetSize {
    const { stopped } = this.#deps;
    if (!target.known || stopped.ruleOf(key)?.kind !== 'stops') return target;
    // Which instances run is not known.
    if (instances === undefined) return { known: false, reason: 'its instances have not been listed, and some may be stopped' };
    const { inSize, counting, confirmed } = stopped.of(key);
    // guard: a size is not changed while it is not known how it counts stopped machines
    if (inSize === undefined) return { known: false, reason: describeCounting(counting) };
    if (inSize > target.value)
      return { known: false, reason: `${inSize} of its instances are stopped, and its capacity is ${target.value}` };
    return { ...target, value: target.value - inSize, confirmed: target.confirmed && confirmed };
  }

  /** The instances of a group that are no stopped ones, and those that are. The same arrays while nothing changed. */
  split(group: string, instances: readonly Instance[]): Pick<SplitInstances, 'active' | 'stopped'> {
    const { stopped } = this.#deps;
    if (stopped.ruleOf(group)?.kind !== 'stops') return { active: instances, stopped: NO_INSTANCES };
    const states = instances.map((instance) => this.#stateText(instance)).join();
    const known = this.#split.get(group);
    if (known !== undefined && known.from === instances && known.states === states) return known;
    const made = { from: instances, states, ...this.#make(instances) };
    this.#split.set(group, made);
    return made;
  }

  #stateText({ key }: Instance): string {
    const row = this.#deps.store.instances.get(key);
    // Also within a loop: a conflict shows what another writer did.
    if (row !== undefined) this.#deps.stopped.noteRuns(row);
    return row === undefined ? '' : `${this.#deps.stopped.stateOf(row)}${this.#deps.stopped.startedAtMs(row) ?? ''}`;
  }

  #make(instances: readonly Instance[]): Pick<SplitInstances, 'active' | 'stopped'> {
    const stopped: StoppedInstance[] = [];
    const active = instances.flatMap((instance) => {
      const row = this.#deps.store.instances.get(instance.key);
      if (row === undefined || instance.state === 'deleting') return [instance];
      const state = this.#deps.stopped.stateOf(row);
      if (state === 'stopped') stopped.push({ key: instance.key, node: row.value.machineName, sinceMs: this.#deps.stopped.sinceMs(row) });
      if (state === 'stopped') return [];
      // A stop looks like a deletion until Azure shows its end.
      if (state === 'stopping') return [{ ...instance, state: 'deleting' as const }];
      return [this.#started(instance, row)];
    });
    return { active, stopped };
  }

  /** A started instance is as young as its start: its node is awaited from then on. */
  #started(instance: Instance, row: Row<InstanceRow>): Instance {
    const startedAtMs = this.#deps.stopped.startedAtMs(row);
    if (startedAtMs === undefined) return instance;
    const isStarting = this.#deps.stopped.stateOf(row) === 'starting';
    return {
      ...instance,
      firstSeenMs: startedAtMs,
      createdAtMs: startedAtMs,
      startedAtMs,
      ...(isStarting ? { state: 'creating' as const } : {}),
    };
  }
}

const NO_INSTANCES: readonly never[] = [];

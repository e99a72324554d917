/**
 * Builds the CloudView from frozen snapshots and our unconfirmed changes. Unchanged parts are the same objects in every loop:
 * a group is rebuilt only if one of its inputs changed. Must not know plans or how writes work.
 */
import type { ChoiceBlock } from '../../domain/group-blocks.ts';
import type { SubscriptionHints } from './subscription-hints.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import type { Row } from '../../cache/table/row.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup, StoppedInstance, TargetSize } from '../../domain/node-group.ts';
import type { CloudEvent, CloudView, ClusterView } from '../../domain/observation.ts';
import type { PauseReader, Pauses } from '../../domain/ports/pauses.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { ClusterLabels } from '../templates/aks-labels.ts';
import { scaleSetTarget } from './group-target.ts';
import { InstanceMapper } from './instances.ts';
import { freshnessOf, groupFrozenReason } from './group-freeze.ts';
import { groupsAddedAndRemoved } from './cloud-events.ts';
import { differingAksCount } from './drift.ts';
import { agentPoolOf, isSameInput, managedClusterOf, maximumOrigin, tagsOf, type GroupInput } from './group-input.ts';
import { buildGroupTemplate, isSameTemplateInput } from '../templates/group-template.ts';
import { gpuResourceOf } from '../rows/gpu-resources.ts';
import type { Evidence, GroupRowsSeen, NodeEvidence } from '../templates/evidence.ts';
import type { SeenNodes } from '../templates/nodes-of-groups.ts';
import { StoppedNodes } from './stopped-nodes.ts';
import { WantedReads } from './wanted-reads.ts';
import type { AzureOptions } from '../arm/options.ts';
import { OwnershipIndex, type Ownership, type OwnershipInput } from '../groups/node-ownership.ts';
import { blockAgainstIncrease } from '../groups/group-rules.ts';
import { limitsIn, type GroupSchedules } from '../groups/group-schedules.ts';
import { entriesWithoutGroup, pauseBlocks } from '../groups/pauses.ts';
import type { StoppedInstances } from '../groups/stopped-instances.ts';
import { groupKindOf, type RegisteredGroup, type Registration } from '../groups/registry.ts';
import { zoneName, type InstanceRow } from '../rows/scale-set.ts';
import type { WriteBackoffs } from '../groups/own-writes.ts';
import { writtenKeyOf, type WriteShares } from '../groups/write-shares.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { SCALE_SETS_AGENT } from '../rows/tables.ts';
import { nodeGroupOptionsOf, describeRule, unusedOptionNames } from '../rows/tags.ts';
import { sizeFamilyOf } from '../sizes/sku-catalog.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { allowedSize, limitedMaximum, sharedPoolOf } from '../groups/pool-limit.ts';
import { sizeTemplateSource, sizeTarget } from '../groups/vms-pool-groups.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import type { SlicedWork } from '../../lib/slices.ts';

interface Built {
  readonly input: GroupInput;
  readonly group: NodeGroup;
}

interface CloudViewDeps {
  readonly store: AzureInventory;
  readonly backoffs: Pick<WriteBackoffs, 'reasonFor'>;
  readonly options: AzureOptions;
  readonly names: ResourceNames;
  /** Why no group may be written now, if so. */
  readonly lockedBecause: () => string | undefined;
  readonly pauses: PauseReader;
  readonly schedules: GroupSchedules;
  /** What other clusters of the subscription reported. */
  readonly hints: Pick<SubscriptionHints, 'lastResortReason'>;
  readonly shares: Pick<WriteShares, 'waitingReason'>;
  readonly evidence: NodeEvidence;
  readonly stopped: StoppedInstances;
}

export class CloudViewBuilder {
  readonly #deps: CloudViewDeps;
  readonly #owners: OwnershipIndex;
  readonly #instances: InstanceMapper;
  readonly #wanted: WantedReads;
  readonly #stopped: StoppedNodes;
  readonly #clusterLabels = new ClusterLabels();
  #built = new Map<string, Built>();
  #lastRegistration: Registration | undefined;

  constructor(deps: CloudViewDeps) {
    this.#deps = deps;
    this.#owners = new OwnershipIndex(deps.options);
    this.#instances = new InstanceMapper(deps.store.instances);
    this.#wanted = new WantedReads(deps.store);
    this.#stopped = new StoppedNodes(deps);
  }

  /** See the port. */
  withoutStopped(cluster: ClusterView): ClusterView {
    return this.#stopped.withoutStopped(cluster);
  }

  /** See the port: looks up the owner of each node, and the instances of each group. */
  *prepare(cluster: ClusterView, nowMs: number): SlicedWork<void> {
    const ownership = yield* this.#owners.prepare(() => this.#ownershipInput(cluster));
    if (ownership === undefined) return;
    this.#deps.evidence.prepare(this.#seenNodes(cluster, ownership, nowMs));
    for (const key of this.#deps.store.registration().groups.keys()) {
      yield;
      this.#instances.instancesOf(key, ownership);
    }
  }

  #ownershipInput({ nodes }: ClusterView): OwnershipInput {
    const { store } = this.#deps;
    const instance = (key: InstanceKey): Row<InstanceRow> | undefined => store.instances.get(key);
    return { nodes, registration: store.registration(), instancesVersion: store.instances.version, instance };
  }

  /** See the port. `events` are passed through, followed by those of added and removed groups. */
  build(cluster: ClusterView, nowMs: number, events: readonly CloudEvent[]): CloudView {
    const { store } = this.#deps;
    const registration = store.registration();
    const ownership = this.#owners.resolve(this.#ownershipInput(cluster));
    const seen = { ownership, registration, cluster, nowMs };
    this.#wanted.fromCluster(seen, this.#stopped.machinesToView());
    const agents = new Map(store.status().map((agent) => [agent.id, agent]));
    const context: ViewContext = {
      ownership,
      evidenceOf: this.#deps.evidence.observe(this.#seenNodes(cluster, ownership, nowMs)),
      agents,
      nowMs,
      locked: this.#deps.lockedBecause(),
      pauses: this.#deps.pauses.current(),
      cluster,
    };
    this.#clusterLabels.observe(cluster.nodes, this.#deps.options.nodeResourceGroup);
    const built = new Map<string, Built>();
    for (const group of registration.groups.values()) built.set(group.key, this.#group(group, context));
    this.#built = built;
    this.#wanted.fromGroups([...built.values()], seen);
    const { scaleDownBlocked, scaleUpBlocked } = freshnessOf(agents.get(SCALE_SETS_AGENT), nowMs);
    const tagged = [...built.values()].map(({ input }) => ({ key: input.group.key, tags: tagsOf(input) }));
    const names = [...registration.groups.values()].map((group) => store.facts.namesOf(group));
    return {
      groups: [...built.values()].map(({ group }) => group).sort(compareBy((item) => item.id)),
      groupOfNode: ownership.groupOfNode,
      instanceOfNode: ownership.instanceOfNode,
      events: [...events, ...this.#registrationEvents(registration, nowMs)],
      scaleDownBlocked,
      scaleUpBlocked,
      quotas: store.facts.quotas(nowMs),
      reservations: store.reservations.current(nowMs),
      optionsWithoutGroup: unusedOptionNames(store.selection.nodeGroupOptions, tagged),
      rulesWithoutGroup: registration.idleRules.map((index) => describeRule(store.selection.discovery, index)),
      managedCluster: managedClusterOf(this.#deps.options),
      schedules: this.#deps.schedules.current(nowMs),
      scheduleFindings: this.#deps.schedules.findings(nowMs),
      pausesWithoutGroup: entriesWithoutGroup(context.pauses, names, nowMs),
    };
  }

  #group(group: RegisteredGroup, context: ViewContext): Built {
    const input = this.#inputOf(group, context);
    const previous = this.#built.get(group.key);
    if (previous !== undefined && isSameInput(previous.input, input)) return previous;
    return { input, group: this.#compose(input, previous) };
  }

  #inputOf(group: RegisteredGroup, context: ViewContext): GroupInput {
    const { store } = this.#deps;
    const view = group.kind === 'scale-set' ? store.scaleSets.view(group.key) : undefined;
    const size = store.vmsPools.sizes.view(group.key);
    const sku = store.facts.skuOf(group);
    const placedZones = store.facts.placedZonesOf(group)?.join();
    const own = { row: view?.row, size: size?.row.value, pool: store.facts.poolOf(group), sku, placedZones };
    const listedAtMs = store.lists.listedAtMs(group.key);
    const listed = listedAtMs === undefined ? undefined : this.#instances.instancesOf(group.key, context.ownership);
    const { active: instances, stopped } = listed === undefined ? NOTHING_LISTED : this.#stopped.split(group.key, listed);
    const source = this.#sourceOf(own);
    const sourceRow = own.row?.value ?? own.size;
    const schedule = this.#deps.schedules.of(group, context.nowMs);
    const pauses = this.#deps.schedules.pausesOf(context.pauses, schedule);
    const paused = pauseBlocks(pauses, store.facts.namesOf(group), context.nowMs);
    return {
      group,
      ...own,
      evidence: context.evidenceOf({ key: group.key, id: group.id, source, sourceRow, pool: own.pool, instances }),
      target: JSON.stringify(
        this.#stopped.targetWithout(
          group,
          group.kind === 'vms-pool'
            ? sizeTarget(size)
            : scaleSetTarget({ ...this.#deps, instances: this.#instances }, group, view, instances),
          instances,
        ),
      ),
      stopped: this.#stopped.describe(group, stopped, { set: view?.row.value, pool: own.pool, diskSku: store.facts.stoppedDiskOf(group) }),
      observedAtMs: (view ?? size)?.seen.atMs ?? 0,
      instances,
      listedAtMs,
      blocks: {
        change: groupFrozenReason(this.#deps, group, own, { ...context, paused: paused.change }),
        increase: blockAgainstIncrease(group.kind, { ...store.facts.increaseRuleInput(group), paused: paused.increase }),
        removal: this.#stopped.removalBlock(group, paused.removal),
        choice: this.#hintedReason(own, context.cluster),
        deletion: this.#deps.shares.waitingReason(writtenKeyOf(group)),
      },
      schedule,
      placementScore: store.placements.scoreOf(() => store.facts.spotPoolOf(group), context.nowMs),
      allowedSize: allowedSize(group, store),
      namedOptions: store.selection.nodeGroupOptions,
      clusterLabels: this.#clusterLabels.labelsFor(source?.os),
    };
  }

  #hintedReason(own: SourceInput, { pendingPods }: ClusterView): ChoiceBlock | undefined {
    const source = this.#sourceOf(own);
    return source === undefined ? undefined : this.#deps.hints.lastResortReason(source, pendingPods.length > 0);
  }

  #sourceOf({ row, size, pool, sku, placedZones }: SourceInput): TemplateSource | undefined {
    const source = row?.value ?? (size === undefined ? undefined : sizeTemplateSource({ size, pool, sku }, this.#deps.options.location));
    if (source === undefined || placedZones === undefined) return source;
    return { ...source, zones: placedZones === '' ? [] : placedZones.split(',') };
  }

  #compose(input: GroupInput, previous: Built | undefined): NodeGroup {
    const { group, row, schedule } = input;
    // guard: plans see the limits that schedules set
    const limits = limitsIn(group, schedule);
    const target = JSON.parse(input.target) as TargetSize;
    const pool = group.kind === 'scale-set' ? input.pool : undefined;
    return {
      id: group.id,
      kind: groupKindOf(group, row?.value),
      minSize: limits.min,
      ...limitedMaximum(limits, input.allowedSize),
      schedule: input.schedule,
      sharedPool: sharedPoolOf(group, input.allowedSize, target),
      maxFrom: maximumOrigin(group, input),
      agentPool: agentPoolOf(input),
      target: target.known ? { ...target, observedAtMs: input.observedAtMs } : target,
      instances: input.instances,
      instancesObservedAtMs: input.listedAtMs,
      template: isSameTemplateInput(previous?.input, input)
        ? previous?.group.template
        : buildGroupTemplate(this.#deps, input, this.#sourceOf(input)),
      ...this.#size(input),
      placementScore: input.placementScore,
      options: {
        ...nodeGroupOptionsOf(group.key, tagsOf(input), input.namedOptions),
        ...defined({ headroom: schedule?.headroom?.value, repack: schedule?.repack?.value === 'off' ? false : undefined }),
      },
      blocks: input.blocks,
      aksCount: differingAksCount({ target, instances: input.instances }, pool),
      stopped: input.stopped,
    };
  }

  #size(input: GroupInput): Pick<NodeGroup, 'vmSize' | 'priority' | 'sizeFamily' | 'zones'> {
    const source = this.#sourceOf(input);
    if (source === undefined) return { vmSize: input.sku?.name ?? '', priority: 'Regular', sizeFamily: undefined, zones: [] };
    const { vmSize, priority, zones, location } = source;
    return { vmSize, priority, sizeFamily: sizeFamilyOf(input.sku), zones: zones.map((zone) => zoneName(location, zone)) };
  }

  #seenNodes(cluster: ClusterView, ownership: Ownership, nowMs: number): SeenNodes {
    const { catalog } = this.#deps.store;
    return { cluster, ownership, catalog, nowMs, devicesOf: (id) => this.#devicesOf(id) };
  }

  #devicesOf(id: NodeGroupId): readonly number[] {
    const built = this.#built.get(this.#deps.store.registration().byId.get(id)?.key ?? '');
    const source = built === undefined ? undefined : this.#sourceOf(built.input);
    if (source?.os !== 'linux') return [];
    const devices = gpuResourceOf(source.vmSize, built?.input.sku?.gpus ?? 0, built?.input.pool?.gpuPartitioning);
    return devices === undefined ? [] : [this.#deps.names.indexOf(devices.name)];
  }

  #registrationEvents(registration: Registration, atMs: number): readonly CloudEvent[] {
    const before = this.#lastRegistration;
    this.#lastRegistration = registration;
    const { scaleSets, vmsPools } = this.#deps.store;
    return groupsAddedAndRemoved(before, registration, atMs, ({ key }) => (scaleSets.get(key) ?? vmsPools.sizes.get(key)) !== undefined);
  }
}

const NOTHING_LISTED: { readonly active: undefined; readonly stopped: readonly StoppedInstance[] } = { active: undefined, stopped: [] };

type SourceInput = Pick<GroupInput, 'row' | 'size' | 'pool' | 'sku' | 'placedZones'>;

interface ViewContext {
  readonly ownership: Ownership;
  readonly evidenceOf: (rows: GroupRowsSeen) => Evidence;
  readonly agents: ReadonlyMap<string, AgentStatus>;
  readonly nowMs: number;
  readonly locked: string | undefined;
  readonly pauses: Pauses;
  readonly cluster: ClusterView;
}

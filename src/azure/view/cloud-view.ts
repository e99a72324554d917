/**
 * Builds the CloudView from frozen snapshots with our unconfirmed changes laid over. What did not change between two loops
 * is the same object: a group is built anew only when one of its inputs is another one.
 */
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import { judgeFreshness, type FreshnessVerdict } from '../../cache/table/freshness.ts';
import type { Row, RowView } from '../../cache/table/row.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Instance, NodeGroup, TargetSize } from '../../domain/node-group.ts';
import type { CloudEvent, CloudView, ClusterView } from '../../domain/observation.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { ClusterLabels } from '../templates/aks-labels.ts';
import { InstanceMapper } from './instances.ts';
import { groupsAddedAndRemoved } from './cloud-events.ts';
import { buildGroupTemplate, isSameTemplateInput, type GroupTemplateInput } from '../templates/group-template.ts';
import { findExemplaryNodes, type ExemplaryNodes } from '../templates/exemplary-nodes.ts';
import { gpuResourceOf } from '../rows/gpu-resources.ts';
import type { LearnedTemplate } from '../templates/learned-templates.ts';
import type { TemplateMemory } from '../templates/template-memory.ts';
import { UnlistedInstances, silentInstances } from './unlisted-instances.ts';
import type { AzureOptions } from '../arm/options.ts';
import { OwnershipIndex, type Ownership } from '../groups/node-ownership.ts';
import { frozenReason, groupKindOf, type RegisteredGroup, type Registration } from '../groups/registry.ts';
import { zoneName, type ScaleSetRow } from '../rows/scale-set.ts';
import type { WriteBackoffs } from '../groups/own-writes.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { AGENT_POOLS_AGENT, instancesAgent, VMS_AGENT, SCALE_SETS_AGENT } from '../rows/tables.ts';
import { nodeGroupOptionsOf, describeRule, unusedOptionNames, type Tags } from '../rows/tags.ts';
import { sizeFamilyOf } from '../sizes/sku-catalog.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { sizeFrozenReason, sizeTemplateSource, sizeTarget } from '../groups/vms-pool-groups.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';

/** Everything a NodeGroup is made from; compared member by member. */
interface GroupInput extends GroupTemplateInput {
  readonly target: string;
  readonly observedAtMs: number;
  readonly instances: readonly Instance[] | undefined;
  readonly listedAtMs: number | undefined;
  readonly frozen: string | undefined;
  readonly growthHeld: string | undefined;
  /** What the user says of groups; the same object until that changes. */
  readonly namedOptions: AzureOptions['nodeGroupOptions'];
}

interface Built {
  readonly inputs: GroupInput;
  readonly group: NodeGroup;
}

export interface CloudViewDeps {
  readonly store: AzureInventory;
  readonly backoffs: Pick<WriteBackoffs, 'reasonOf'>;
  readonly options: AzureOptions;
  readonly names: ResourceNames;
  /** Why nobody may write for now, whatever the group. */
  readonly lockedBecause: () => string | undefined;
  readonly memory: TemplateMemory;
}

export class CloudViewBuilder {
  readonly #parts: CloudViewDeps;
  readonly #owners: OwnershipIndex;
  readonly #book: InstanceMapper;
  readonly #lists: UnlistedInstances;
  readonly #clusterLabels = new ClusterLabels();
  #built = new Map<string, Built>();
  #known: Registration | undefined;
  #lastExemplars:
    | { readonly nodes: unknown; readonly ownership: Ownership; readonly catalog: unknown; readonly answer: ExemplaryNodes }
    | undefined;

  constructor(parts: CloudViewDeps) {
    this.#parts = parts;
    this.#owners = new OwnershipIndex(parts.options);
    this.#book = new InstanceMapper(parts.store.instances);
    this.#lists = new UnlistedInstances(parts.store);
  }

  /** See the port. `events` are handed through, joined by groups that came and went. */
  build(cluster: ClusterView, nowMs: number, events: readonly CloudEvent[]): CloudView {
    const { store } = this.#parts;
    const registration = store.registration();
    const ownership = this.#owners.resolve({
      nodes: cluster.nodes,
      registration,
      instancesVersion: store.instances.version,
      instance: (key) => store.instances.get(key),
    });
    this.#lists.requestUnlisted(ownership, cluster);
    store.noteSilent(silentInstances(ownership, registration, cluster, nowMs));
    const agents = new Map(store.status().map((agent) => [agent.id, agent]));
    const world: ViewContext = {
      ownership,
      exemplars: this.#exemplars(cluster, ownership, nowMs),
      agents,
      nowMs,
      locked: this.#parts.lockedBecause(),
      cluster,
    };
    this.#clusterLabels.observe(cluster.nodes, this.#parts.options.nodeResourceGroup);
    this.#parts.memory.observeNodes(cluster.nodes, ownership.groupOfNode, nowMs);
    const built = new Map<string, Built>();
    for (const group of registration.groups.values()) built.set(group.key, this.#group(group, world));
    this.#built = built;
    for (const { inputs, group } of built.values()) this.#lists.requestWhileSettling(inputs.group, group, nowMs);
    const { scaleDownBlocked, scaleUpBlocked } = freshnessOf(agents.get(SCALE_SETS_AGENT), nowMs);
    const tagged = [...built.values()].map(({ inputs }) => ({ key: inputs.group.key, tags: tagsOf(inputs) }));
    const idle = registration.idleRules.map((index) => describeRule(store.selection.discovery, index));
    const unused = unusedOptionNames(store.selection.nodeGroupOptions, tagged);
    return {
      groups: [...built.values()].map(({ group }) => group).sort(compareBy((item) => item.id)),
      groupOfNode: ownership.groupOfNode,
      instanceOfNode: ownership.instanceOfNode,
      events: [...events, ...this.#registrationEvents(registration, nowMs)],
      scaleDownBlocked,
      scaleUpBlocked,
      quotas: store.facts.quotas(nowMs),
      ...(unused.length === 0 ? {} : { optionsWithoutGroup: unused }),
      ...(idle.length === 0 ? {} : { rulesWithoutGroup: idle }),
    };
  }

  #group(group: RegisteredGroup, world: ViewContext): Built {
    const inputs = this.#inputs(group, world);
    const previous = this.#built.get(group.key);
    if (previous !== undefined && isSameInput(previous.inputs, inputs)) return previous;
    return { inputs, group: this.#compose(inputs, previous) };
  }

  #inputs(group: RegisteredGroup, world: ViewContext): GroupInput {
    const { store } = this.#parts;
    const view = group.kind === 'scale-set' ? store.scaleSets.view(group.key) : undefined;
    const size = store.vmsPools.sizes.view(group.key);
    const own = { row: view?.row, size: size?.row.value, pool: store.facts.poolOf(group) };
    const listedAtMs = store.instancesListedAtMs(group.key);
    const instances = listedAtMs === undefined ? undefined : this.#book.instancesOf(group.key, world.ownership);
    const refused = this.#parts.backoffs.reasonFor(group.key, world.nowMs);
    const frozen = this.#frozenBecause(group, own, world) ?? refused ?? frozenByView(group, world);
    const sku = store.facts.skuOf(group);
    const known = {
      group,
      ...own,
      sku,
      exemplar: world.exemplars.good.get(group.id),
      fallback: world.exemplars.fallback.get(group.id),
      target: JSON.stringify(group.kind === 'vms-pool' ? sizeTarget(size) : this.#target(group, view, instances)),
      observedAtMs: (view ?? size)?.seen.atMs ?? 0,
      instances,
      listedAtMs,
      frozen,
      growthHeld: store.facts.increaseHeldReason(group),
      namedOptions: store.selection.nodeGroupOptions,
      clusterLabels: this.#clusterLabels.labelsFor(this.#sourceOf({ ...own, sku })?.os),
      startupTaints: this.#parts.memory.declaredStartupTaints(group.id, own.pool).join(),
    };
    return { ...known, learned: this.#learned(known, world) };
  }

  #learned(known: Omit<GroupInput, 'learned'>, { cluster, ownership, nowMs }: ViewContext): LearnedTemplate | undefined {
    const { group, exemplar, instances, pool } = known;
    const source = this.#sourceOf(known);
    const basis = known.row?.value ?? known.size;
    if (source === undefined || basis === undefined) return undefined;
    const key = exemplar === undefined ? undefined : ownership.instanceOfNode.get(exemplar.name);
    const instance = key === undefined ? undefined : instances?.find((candidate) => candidate.key === key);
    return this.#parts.memory.templateFor(
      { key: group.key, id: group.id, source, sourceRow: basis, pool, exemplar, instance },
      cluster,
      nowMs,
    );
  }

  #frozenBecause(group: RegisteredGroup, { row, size, pool }: GroupRows, { agents, nowMs }: ViewContext): string | undefined {
    const { vmsPools, facts } = this.#parts.store;
    if (group.kind === 'scale-set') return frozenReason(group, row?.value, pool, facts.ownOperationReason(group) !== undefined);
    const unknown = size === undefined ? facts.poolsUnknownReason() : undefined;
    if (unknown !== undefined) return freshnessOf(agents.get(AGENT_POOLS_AGENT), nowMs).scaleUpBlocked ?? unknown;
    return sizeFrozenReason(group.id, size, vmsPools.heldReason(group.key) !== undefined);
  }

  #sourceOf({ row, size, pool, sku }: Pick<GroupInput, 'row' | 'size' | 'pool' | 'sku'>): TemplateSource | undefined {
    return row?.value ?? (size === undefined ? undefined : sizeTemplateSource({ size, pool, sku }, this.#parts.options.location));
  }

  #compose(inputs: GroupInput, previous: Built | undefined): NodeGroup {
    const { group, row, growthHeld: held } = inputs;
    const target = JSON.parse(inputs.target) as TargetSize;
    return {
      id: group.id,
      kind: groupKindOf(group, row?.value),
      minSize: group.min,
      maxSize: group.max,
      target: target.known ? { ...target, observedAtMs: inputs.observedAtMs } : target,
      instances: inputs.instances,
      instancesObservedAtMs: inputs.listedAtMs,
      template: isSameTemplateInput(previous?.inputs, inputs)
        ? previous?.group.template
        : buildGroupTemplate(this.#parts, inputs, this.#sourceOf(inputs)),
      ...this.#size(inputs),
      options: nodeGroupOptionsOf(group.key, tagsOf(inputs), inputs.namedOptions),
      frozen: inputs.frozen,
      ...defined({ growthHeld: held }),
    };
  }

  #size(inputs: GroupInput): Pick<NodeGroup, 'vmSize' | 'priority' | 'sizeFamily' | 'zones'> {
    const source = this.#sourceOf(inputs);
    if (source === undefined) return { vmSize: inputs.sku?.name ?? '', priority: 'Regular', zones: [] };
    const { vmSize, priority, zones, location } = source;
    return { vmSize, priority, ...sizeFamilyOf(inputs.sku), zones: zones.map((zone) => zoneName(location, zone)) };
  }

  #target(group: RegisteredGroup, view: RowView<ScaleSetRow> | undefined, instances: readonly Instance[] | undefined): TargetSize {
    if (view?.target === undefined || view.row.value.unreadable !== undefined) {
      return { known: false, reason: 'the scale set has not been read' };
    }
    const alive = instances?.filter(({ state }) => state !== 'deleting').length ?? 0;
    // Azure has been seen to answer 0 for sets full of machines. One such reading is not a size.
    if (view.target === 0 && view.inFlight === 0 && alive > 0 && this.#isListNewer(group.key, view)) {
      this.#parts.store.requestScaleSet(group.key);
      return { known: false, reason: `Azure says capacity 0 while ${alive} machines are listed` };
    }
    // What a previous leader may have begun makes the size uncertain for removals; growing starts from the model either way.
    const confirmed = view.confirmed && !this.#parts.store.changes.isInherited(group.key);
    return { known: true, value: view.target, version: this.versionOf(view.row), confirmed, observedAtMs: 0 };
  }

  #isListNewer(key: string, view: RowView<ScaleSetRow>): boolean {
    return (this.#parts.store.instancesListedAtMs(key) ?? 0) > view.seen.atMs;
  }

  /** The entity tag; without conditional writes or without a tag, something that changes with every change of the row. */
  versionOf(row: Row<ScaleSetRow>): string {
    const { enableVmssEtag } = this.#parts.options;
    return enableVmssEtag && row.etag !== undefined ? row.etag : `${row.etag ?? ''}#${this.#book.serialOf(row)}`;
  }

  #exemplars(cluster: ClusterView, ownership: Ownership, nowMs: number): ExemplaryNodes {
    const last = this.#lastExemplars;
    const { catalog } = this.#parts.store;
    const same = last?.nodes === cluster.nodes && last.ownership === ownership && last.catalog === catalog;
    if (same && nowMs < last.answer.validUntilMs) return last.answer;
    const answer = findExemplaryNodes({
      nodes: cluster.nodes,
      groupOfNode: ownership.groupOfNode,
      nowMs,
      devicesOf: (id) => this.#devicesOf(id),
    });
    this.#lastExemplars = { nodes: cluster.nodes, ownership, catalog, answer };
    return answer;
  }

  #devicesOf(id: NodeGroupId): readonly number[] {
    const built = this.#built.get(this.#parts.store.registration().byId.get(id)?.key ?? '');
    const source = built === undefined ? undefined : this.#sourceOf(built.inputs);
    if (source?.os !== 'linux') return [];
    const devices = gpuResourceOf(source.vmSize, built?.inputs.sku?.gpus ?? 0, built?.inputs.pool?.gpuPartitioning);
    return devices === undefined ? [] : [this.#parts.names.indexOf(devices.name)];
  }

  #registrationEvents(registration: Registration, atMs: number): readonly CloudEvent[] {
    const before = this.#known;
    this.#known = registration;
    const { scaleSets, vmsPools } = this.#parts.store;
    return groupsAddedAndRemoved(before, registration, atMs, ({ key }) => (scaleSets.get(key) ?? vmsPools.sizes.get(key)) !== undefined);
  }
}

function tagsOf({ row, size }: Pick<GroupInput, 'row' | 'size'>): Tags {
  return (row?.value ?? size)?.tags ?? {};
}

/** What Azure and AKS tell of one group. */
type GroupRows = Pick<GroupInput, 'row' | 'size' | 'pool'>;

interface ViewContext {
  readonly ownership: Ownership;
  readonly exemplars: ExemplaryNodes;
  readonly agents: ReadonlyMap<string, AgentStatus>;
  readonly nowMs: number;
  readonly locked: string | undefined;
  readonly cluster: ClusterView;
}

/** All groups are left alone while others lock them; and one whose machines cannot be read for long: the others are not its hostages. */
function frozenByView(group: RegisteredGroup, { agents, nowMs, locked }: ViewContext): string | undefined {
  if (locked !== undefined) return locked;
  const ids = group.kind === 'vms-pool' ? [AGENT_POOLS_AGENT, VMS_AGENT] : [instancesAgent(group.key)];
  return ids.map((id) => freshnessOf(agents.get(id), nowMs).scaleUpBlocked).find((reason) => reason !== undefined);
}

function freshnessOf(agent: AgentStatus | undefined, nowMs: number): FreshnessVerdict {
  return judgeFreshness(agent === undefined ? [] : [agent], nowMs);
}

function isSameInput(left: GroupInput, right: GroupInput): boolean {
  return (Object.keys(left) as (keyof GroupInput)[]).every((key) => left[key] === right[key]);
}

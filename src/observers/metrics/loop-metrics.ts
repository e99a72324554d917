/**
 * The gauges of one loop, under the autoscaler's own metric names. Series of groups and states that no longer exist are
 * removed. Must not know the Cluster Autoscaler's metric names.
 */
import { isReal } from '../../domain/pod.ts';
import { pausesOf } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopGauges, LoopListener } from '../../domain/loop-report.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { TemplateDifference } from '../../domain/node-template.ts';
import type { Observation } from '../../domain/observation.ts';
import type { IncreaseOutcome, RemovalStep } from '../../domain/outcome.ts';
import { type ScaleUpPlan, type Removal, NOTE_KINDS } from '../../domain/plan.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import { headroomPool, isHeadroom } from '../../planning/state/assumed-pods.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { stoppedCost } from '../../planning/explain/answers/stopped-words.ts';
import { classifyVerdict, VERDICTS } from '../../planning/explain/verdicts.ts';
import { factsOfGroups } from '../../planning/facts/group-facts.ts';
import { instanceListFacts } from '../../planning/facts/instance-facts.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import { siblingFamilies } from '../../planning/scale-up/groups/sibling-groups.ts';
import { disprovedTemplates } from '../../planning/promises/broken-promise.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { STAGES } from './scale-up-stages.ts';
import type { PriorityRulesReader } from '../../domain/ports/stored-text.ts';

/** The gauges of one loop, offered as its last step and set when they are read. */
export function loopGauges(metrics: Metrics): LoopGauges {
  const { deferred } = metrics;
  return {
    observation: (observation, state, policy) =>
      deferred.defer('observation', () => {
        publishObservation(observation, state, metrics);
        publishZoneSkew(observation, policy.scaleUp, metrics);
        publishStoppedCost(observation, policy.scaleUp, metrics);
      }),
    verdicts: (plan, nowMs) =>
      deferred.defer('verdicts', () => {
        publishVerdicts(plan, nowMs, metrics);
        publishHeadroom(plan, metrics);
      }),
  };
}

export function publishObservation(observation: Observation, state: LoopState, metrics: Metrics): void {
  const present = factsOfGroups(observation);
  const leaving = leavingByGroup(observation);
  metrics.cluster.groupSize.reset();
  metrics.cluster.stoppedInstances.reset();
  metrics.cluster.groupFrozen.reset();
  metrics.cluster.groupPausedUntil.reset();
  for (const group of observation.cloud.groups) {
    const { nodes, ready } = present.get(group.id) ?? NO_NODES;
    publishGroup(group, { ready, joined: nodes - (leaving.get(group.id) ?? 0) }, metrics);
  }
  const { nodes } = observation.cluster;
  const unready = nodeListFacts(nodes).unready.length;
  metrics.cluster.nodes.set({ state: 'ready' }, nodes.size - unready);
  metrics.cluster.nodes.set({ state: 'unready' }, unready);
  metrics.cluster.nodes.set({ state: 'deleting' }, state.deleting.size);
  metrics.scaleUp.stockouts.set(state.stockouts.filter((stockout) => stockout.untilMs > observation.nowMs).length);
}

/** A group of a family is one zone of it. */
function publishZoneSkew(observation: Observation, policy: ScaleUpPolicy, { cluster }: Pick<Metrics, 'cluster'>): void {
  const present = factsOfGroups(observation);
  cluster.zoneSkew.reset();
  for (const { groups } of siblingFamilies(observation, policy)) {
    const [first] = groups;
    const sizes = groups.map(({ id }) => present.get(id)?.nodes ?? 0);
    if (first !== undefined) cluster.zoneSkew.set({ node_group: first.id }, Math.max(...sizes) - Math.min(...sizes));
  }
}

const HEADROOM_STATES: Readonly<Record<PodVerdict['kind'], 'kept' | 'coming' | 'missing'>> = {
  'fits-present-node': 'kept',
  'fits-upcoming-node': 'coming',
  triggered: 'coming',
  helpless: 'missing',
  waiting: 'missing',
  ignored: 'missing',
};

/** No series exist without headroom. */
export function publishHeadroom({ verdicts }: ScaleUpPlan, metrics: Metrics): void {
  const counts = new Map<string, Record<'kept' | 'coming' | 'missing', number>>();
  for (const [pod, { kind }] of verdicts) {
    if (!isHeadroom(pod)) continue;
    const pool = headroomPool(pod);
    const count = counts.get(pool) ?? { kept: 0, coming: 0, missing: 0 };
    counts.set(pool, count);
    count[HEADROOM_STATES[kind]] += 1;
  }
  metrics.cluster.headroom.reset();
  for (const [node_group, count] of counts)
    for (const state of ['kept', 'coming', 'missing'] as const) metrics.cluster.headroom.set({ node_group, state }, count[state]);
}

function publishStoppedCost({ cloud }: Observation, prices: ScaleUpPolicy, metrics: Metrics): void {
  metrics.cluster.stoppedCost.reset();
  for (const group of cloud.groups) {
    const cost = stoppedCost(group, prices);
    if (cost !== undefined) metrics.cluster.stoppedCost.set({ node_group: group.id }, cost);
  }
}

export function publishVerdicts(plan: ScaleUpPlan, nowMs: number, metrics: Metrics): void {
  const pods = new Map<PodVerdict, number>();
  const oldest = new Map<PodVerdict, number>();
  for (const [pod, verdict] of plan.verdicts) {
    if (!isReal(pod)) continue;
    pods.set(verdict, (pods.get(verdict) ?? 0) + 1);
    if (pod.unschedulable !== undefined) oldest.set(verdict, Math.min(oldest.get(verdict) ?? nowMs, pod.unschedulable.sinceMs));
  }
  const counts = new Map<string, number>(VERDICTS.map((name) => [name, 0]));
  // Equal pods share their verdict.
  for (const [verdict, count] of pods) counts.set(classifyVerdict(verdict), (counts.get(classifyVerdict(verdict)) ?? 0) + count);
  for (const [verdict, count] of counts) metrics.cluster.pods.set({ verdict }, count);
  const ages = new Map<string, number>(VERDICTS.map((name) => [name, 0]));
  for (const [verdict, sinceMs] of oldest)
    ages.set(classifyVerdict(verdict), Math.max(ages.get(classifyVerdict(verdict)) ?? 0, nowMs - sinceMs));
  for (const [verdict, ageMs] of ages) metrics.cluster.oldestPod.set({ verdict }, ageMs / 1000);
}

function publishGroup(group: NodeGroup, { ready, joined }: Present, metrics: Metrics): void {
  if (group.stopped?.kind === 'stops') metrics.cluster.stoppedInstances.set({ node_group: group.id }, group.stopped.instances.length);
  const size = (kind: string, value: number): void => metrics.cluster.groupSize.set({ node_group: group.id, kind }, value);
  size('min', group.minSize);
  size('max', group.maxSize);
  size('ready', ready);
  if (group.target.known) {
    size('target', group.target.value);
    size('upcoming', Math.max(0, group.target.value - joined));
  }
  metrics.cluster.groupFrozen.set({ node_group: group.id }, group.blocks.change === undefined ? 0 : 1);
  const { up, down } = pausesOf(group.blocks);
  for (const [direction, block] of [['scale-up', up] as const, ['scale-down', down] as const]) {
    const endMs = block?.code === 'pause-unreadable' || block?.code === 'hours-unknown' ? Number.POSITIVE_INFINITY : (block?.untilMs ?? 0);
    metrics.cluster.groupPausedUntil.set({ node_group: group.id, direction }, endMs / 1000);
  }
}

/** Nodes of one group: `ready` ones, and `joined` ones that the target counts. */
interface Present {
  readonly ready: number;
  readonly joined: number;
}

const NO_NODES = { nodes: 0, ready: 0 };

/** Azure's target does not count an instance under deletion, although its node may still be ready. */
function leavingByGroup({ cloud, cluster }: Observation): ReadonlyMap<NodeGroupId, number> {
  const keys = new Set(cloud.groups.flatMap((group) => instanceListFacts(group).deleting.map(({ key }) => key)));
  const leaving = new Map<NodeGroupId, number>();
  if (keys.size === 0) return leaving;
  for (const [name, key] of cloud.instanceOfNode) {
    const group = keys.has(key) && cluster.nodes.has(name) ? cloud.groupOfNode.get(name) : undefined;
    if (group !== undefined) leaving.set(group, (leaving.get(group) ?? 0) + 1);
  }
  return leaving;
}

/** Counts increases whose instances did not become nodes in time. The adapter counts what Azure refuses. */
export function joinTimeouts({ failures }: Pick<Metrics['scaleUp'], 'failures'>): LoopListener {
  return ({ observation, state }) => {
    for (const [group, { cause, lastFailureMs }] of state.backoffs) {
      if (cause === 'timeout' && lastFailureMs === observation?.nowMs) failures.inc({ node_group: group, reason: 'timeout' });
    }
  };
}

const LACKS = ['resource', 'label', 'taint', 'port'] as const;

/** Counts templates that a node disproved, when they are reported. */
export function brokenPromises({ promisesBroken }: Pick<Metrics['templates'], 'promisesBroken'>): LoopListener {
  return ({ observation, state }) => {
    for (const [, { difference, reportedAtMs }] of disprovedTemplates(state)) {
      if (reportedAtMs !== undefined && reportedAtMs === observation?.nowMs) promisesBroken.inc({ kind: lackOf(difference) });
    }
  };
}

/** The one that the event names. Devices count as a resource, features of the kubelet, CSI drivers and zones as a label. */
function lackOf({ resources, labels, taints, features, devices, drivers, zones }: TemplateDifference): (typeof LACKS)[number] {
  if (resources.length > 0 || devices !== undefined) return 'resource';
  if (labels.length > 0 || features !== undefined || drivers !== undefined || zones !== undefined) return 'label';
  return taints.length > 0 ? 'taint' : 'port';
}

const OUTCOMES: readonly IncreaseOutcome['kind'][] = ['accepted', 'conflict', 'refused', 'failed'];
const CAUSES: readonly Removal['cause'][] = ['empty', 'underutilized', 'unready'];
const STEPS: readonly RemovalStep[] = ['recheck', 'taint', 'evict', 'wait', 'delete', 'stopped'];

/**
 * Starts the counters of each group at 0. The counted events are rare. Without a series at 0, Prometheus `increase()` would
 * miss the first one.
 */
export function initializeCounters(metrics: Metrics): LoopListener {
  const started = new Set<NodeGroupId>();
  for (const kind of LACKS) metrics.templates.promisesBroken.inc({ kind }, 0);
  for (const outcome of ['evicted', 'stayed']) metrics.cluster.preemptedPods.inc({ outcome }, 0);
  return ({ observation }) => {
    for (const { id } of observation?.cloud.groups ?? []) {
      if (started.has(id)) continue;
      started.add(id);
      initializeGroup(metrics, id);
    }
  };
}

function initializeGroup({ scaleUp, scaleDown, cache, cluster }: Metrics, group: NodeGroupId): void {
  const own = { node_group: group };
  for (const outcome of OUTCOMES) scaleUp.writes.inc({ ...own, outcome }, 0);
  for (const counter of [scaleUp.nodes, scaleUp.conflicts, scaleUp.givenBack, cache.externalChanges, cluster.preemptedNodes])
    counter.inc(own, 0);
  for (const cause of CAUSES) scaleDown.nodes.inc({ ...own, cause }, 0);
  for (const step of STEPS) scaleDown.failures.inc({ ...own, step }, 0);
  for (const stage of STAGES) scaleUp.groupStages.begin({ ...own, stage });
  scaleUp.podsToBound.zero(own);
}

/** Publishes the number of configuration warnings by kind. The log and events contain their texts. */
export function configFindings(metrics: Metrics['config'], priorities: PriorityRulesReader | undefined): LoopListener {
  return ({ observation, rounds }) => {
    metrics.findings.set({ kind: 'bad-priority-rules' }, priorities?.current().problem === undefined ? 0 : 1);
    if (observation !== undefined) metrics.findings.set({ kind: 'no-node-group' }, observation.cloud.groups.length === 0 ? 1 : 0);
    if (observation !== undefined) {
      const { optionsWithoutGroup, rulesWithoutGroup, scheduleFindings } = observation.cloud;
      metrics.findings.set({ kind: 'options-without-group' }, optionsWithoutGroup.length);
      metrics.findings.set({ kind: 'discovery-without-group' }, rulesWithoutGroup.length);
      metrics.findings.set({ kind: 'bad-schedules' }, scheduleFindings.length);
    }
    const plan = rounds.at(-1)?.plan;
    // Without a plan, the earlier values still hold.
    if (plan === undefined) return;
    const { notes } = plan;
    for (const kind of NOTE_KINDS) metrics.findings.set({ kind }, notes.filter((note) => note.kind === kind).length);
  };
}

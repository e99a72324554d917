/**
 * Events and log lines about node groups and the cluster. Events go to the status object, in the Cluster Autoscaler's words.
 * Events of single pods and nodes are recorded where they happen; those of capacity writes are in scale-up-events.ts.
 * Must not know how events are sent.
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopReport, LoopListener } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation, CloudEvent } from '../../domain/observation.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { Policy } from '../../domain/policy.ts';
import type { AutoscalerEvent, EventRecorder } from '../../domain/ports/records.ts';
import { describeDifference } from '../../planning/explain/template-differences.ts';
import { disprovedTemplates } from '../../planning/promises/broken-promise.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import { clusterProblem } from '../../planning/state/cluster-health.ts';
import type { Log } from '../../telemetry/log.ts';

type EventText = Pick<AutoscalerEvent, 'type' | 'reason' | 'message'>;

/** As upstream: an autoscaler may run before the first nodes are ready. A missing ready node is reported after this time. */
const FIRST_NODES_MS = 600_000;

interface NodeGroupEventInput {
  readonly policy: Policy;
  /** Namespace of the status object. */
  readonly namespace: string;
  /** When this process started, milliseconds since the epoch. */
  readonly startedAtMs: number;
}

/** Records the events of each loop. */
export function nodeGroupEvents(
  events: Pick<EventRecorder, 'record'>,
  { policy, namespace, startedAtMs }: Omit<NodeGroupEventInput, 'policy'> & { readonly policy: () => Policy },
): LoopListener {
  return (report) => {
    for (const event of describeNodeGroupEvents(report, { policy: policy(), namespace, startedAtMs })) events.record(event);
  };
}

/** Returns the events in a stable order. The recorder suppresses repetitions. */
export function describeNodeGroupEvents(report: LoopReport, context: NodeGroupEventInput): readonly AutoscalerEvent[] {
  const { observation } = report;
  const { policy, namespace } = context;
  const texts = [
    ...removals(report),
    ...(observation === undefined
      ? []
      : [
          ...groupChanges(observation),
          ...lateDeletions(observation),
          ...timedOutIncreases(report, observation),
          ...brokenPromises(report, observation),
          ...unhealthyCluster(report, observation, context),
        ]),
    ...reachedLimits(report, policy),
  ];
  return texts.map((event) => ({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, ...event }));
}

function groupChanges({ cloud }: Observation): readonly EventText[] {
  return cloud.events.flatMap((event) => {
    if (event.kind === 'group-vanished') return [normal('NodeGroupVanished', `Node group ${event.group} disappeared${reasonOf(event)}`)];
    if (event.kind !== 'group-appeared') return [];
    const group = cloud.groups.find(({ id }) => id === event.group);
    const limits = group === undefined ? '' : ` (min: ${group.minSize}, max: ${group.maxSize})`;
    return [normal('NodeGroupAppeared', `Node group ${event.group} appeared${limits}`)];
  });
}

function reasonOf({ because }: { readonly because?: string }): string {
  return because === undefined ? '' : `: ${because}`;
}

function lateDeletions({ cloud }: Observation): readonly EventText[] {
  return cloud.events.flatMap((event) => {
    if (event.kind === 'start-failed') return [startFailed(event)];
    if (event.kind !== 'delete-failed') return [];
    const { group, instances, message, remain } = event;
    const what = remain === true ? 'Deallocation or reimage' : 'Deletion';
    return [
      warning('ScaleDownFailed', `${what} of ${instances.length} instances of ${group} failed after Azure had accepted it: ${message}`),
    ];
  });
}

function startFailed({ group, instances, message, untilMs }: Extract<CloudEvent, { readonly kind: 'start-failed' }>): EventText {
  const until = new Date(untilMs).toISOString();
  const created = `Node group ${group} creates new instances until ${until}`;
  return warning('StartFailed', `${created}: ${instances.length} stopped instances did not start: ${message}`);
}

function timedOutIncreases({ state }: LoopReport, { nowMs }: Observation): readonly EventText[] {
  return [...state.backoffs].flatMap(([group, { cause, lastFailureMs }]) =>
    cause === 'timeout' && lastFailureMs === nowMs
      ? [warning('ScaleUpTimedOut', `Nodes of ${group} did not join the cluster in time`)]
      : [],
  );
}

/** Once for each, when the node had its time to become what was promised. */
function brokenPromises({ state }: LoopReport, { nowMs }: Observation): readonly EventText[] {
  return disprovedTemplates(state).flatMap(([group, { difference, reportedAtMs }]) =>
    reportedAtMs === nowMs ? [warning('TemplatePromiseBroken', `Node group ${group}: ${describeDifference(difference)}`)] : [],
  );
}

function unhealthyCluster(
  { state }: LoopReport,
  observation: Observation,
  { policy, startedAtMs }: NodeGroupEventInput,
): readonly EventText[] {
  const unfit = clusterProblem(observation, state, policy);
  if (unfit === undefined) return [];
  if (unfit.kind === 'sick') return [warning('ClusterUnhealthy', `Cluster is unhealthy: ${unfit.detail}`)];
  const mayStartUp = observation.cluster.nodes.size > 0 && observation.nowMs - startedAtMs <= FIRST_NODES_MS;
  return mayStartUp ? [] : [warning('ClusterUnhealthy', unfit.detail)];
}

function reachedLimits({ rounds }: LoopReport, { scaleUp }: Policy): readonly EventText[] {
  const skipped = rounds.flatMap(({ plan }) => plan.skipped);
  const reached = skipped.some(
    ({ reason }) => reason.kind === 'cluster-limit' && [reason, ...(reason.also ?? [])].some(({ limit }) => limit === 'nodes'),
  );
  return reached ? [warning('MaxNodesTotalReached', `Max total nodes in cluster reached: ${scaleUp.maxNodesTotal}`)] : [];
}

function removals({ removed }: LoopReport): readonly EventText[] {
  return removed.flatMap((outcome): readonly EventText[] => {
    if (outcome.kind === 'started') return [startedRemoval(outcome)];
    if (outcome.kind === 'deleted') {
      const { node, drained, reimaged } = outcome;
      if (reimaged) return [normal('NodeReimaged', `Sick node ${node} is reimaged`)];
      return [
        drained
          ? normal('ScaleDown', `Scale-down: node ${node} removed with drain`)
          : normal('ScaleDownEmpty', `Scale-down: empty node ${node} removed`),
      ];
    }
    if (outcome.kind !== 'instances') return [];
    const names = outcome.instances.map((instance) => instance.split('|').at(-1)).join(', ');
    const what = `${outcome.instances.length} instances of ${outcome.group} that never registered as nodes (ids ${names})`;
    return [
      outcome.accepted
        ? normal('DeleteUnregistered', `Deleting ${what}`)
        : warning('DeleteUnregisteredFailed', `${what} could not be deleted: ${outcome.message}`),
    ];
  });
}

function startedRemoval({ node, pods, utilization }: Extract<RemovalOutcome, { readonly kind: 'started' }>): EventText {
  if (pods.length === 0) return normal('ScaleDownEmpty', `Scale-down: removing empty node ${node}`);
  const load = `utilization: ${Math.round(utilization * 1000) / 1000}, pods to reschedule: ${pods.join(',')}`;
  return normal('ScaleDown', `Scale-down: removing node ${node}, ${load}`);
}

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message };
}

function normal(reason: string, message: string): EventText {
  return { type: 'Normal', reason, message };
}

/**
 * Logs when a group appears, disappears, gets other limits, is frozen (with the reason) or no longer frozen, and when there
 * is no group. A group with a misspelt name in the configuration is frozen: this line explains why its pods stay pending.
 */
export function nodeGroupLog(log: Log): LoopListener {
  let frozen: ReadonlyMap<NodeGroupId, string> = new Map();
  let limits: ReadonlyMap<NodeGroupId, string> = new Map();
  let hadGroups: boolean | undefined;
  return ({ observation }) => {
    if (observation === undefined) return;
    const { groups, events } = observation.cloud;
    logGroupChanges(log, events, groups);
    limits = logLimits(log, limits, groups);
    frozen = logFrozen(log, frozen, groups);
    if (groups.length === 0 && hadGroups !== false)
      log.warn({}, 'No node group found: none is named and no scale set has the discovery tags');
    hadGroups = groups.length > 0;
  };
}

function logGroupChanges(log: Log, events: readonly CloudEvent[], groups: readonly NodeGroup[]): void {
  for (const event of events) {
    if (event.kind === 'group-vanished') log.info({ nodeGroup: event.group, reason: event.because }, 'Node group disappeared');
    if (event.kind !== 'group-appeared') continue;
    const group = groups.find(({ id }) => id === event.group);
    log.info({ nodeGroup: event.group, min: group?.minSize, max: group?.maxSize }, 'Node group appeared');
  }
}

function logLimits(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map(groups.map(({ id, minSize, maxSize }) => [id, `${minSize}:${maxSize}`]));
  for (const [nodeGroup, to] of now) {
    const from = before.get(nodeGroup);
    if (from !== undefined && from !== to) log.info({ nodeGroup, from, to }, 'Node group limits changed');
  }
  return now;
}

/** @returns the last logged reason of each frozen group. */
function logFrozen(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map<NodeGroupId, string>();
  for (const { id: nodeGroup, blocks } of groups) {
    if (blocks.change === undefined) {
      if (before.has(nodeGroup)) log.info({ nodeGroup }, 'Node group no longer frozen');
      continue;
    }
    const reason = describeBlock(blocks.change);
    // An age within the reason grows from loop to loop. That alone is no change.
    const comparable = reason.replace(/\d+/g, '#');
    if (before.get(nodeGroup) !== comparable) log.warn({ nodeGroup, reason }, 'Node group frozen');
    now.set(nodeGroup, comparable);
  }
  return now;
}

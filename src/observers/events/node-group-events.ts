/**
 * What a loop is worth telling about groups and the cluster, as events on the status object in the Cluster Autoscaler's
 * words. Events of single pods and nodes are told where they happen; capacity writes in scale-up-events.ts. Pure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopReport, LoopListener } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation, CloudEvent } from '../../domain/observation.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { Policy } from '../../domain/policy.ts';
import type { AutoscalerEvent } from '../../domain/ports/records.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import { clusterProblem } from '../../planning/state/cluster-health.ts';
import type { Log } from '../../telemetry/log.ts';

type Told = Pick<AutoscalerEvent, 'type' | 'reason' | 'message'>;

/** As upstream: an autoscaler may run before the first nodes are ready, and that they are not is told after this time. */
const FIRST_NODES_MS = 600_000;

export interface EventContext {
  readonly policy: Policy;
  /** Of the status object. */
  readonly namespace: string;
  /** When this process began, milliseconds since the epoch. */
  readonly startedAtMs: number;
}

/** In a stable order. Repeats are the recorder's business. */
export function groupEvents(report: LoopReport, context: EventContext): readonly AutoscalerEvent[] {
  const { observation } = report;
  const { policy, namespace } = context;
  const told = [
    ...removals(report),
    ...(observation === undefined
      ? []
      : [
          ...comings(observation),
          ...lateDeletions(observation),
          ...timeouts(report, observation),
          ...sickness(report, observation, context),
        ]),
    ...limits(report, policy),
  ];
  return told.map((event) => ({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, ...event }));
}

function comings({ cloud }: Observation): readonly Told[] {
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

function lateDeletions({ cloud }: Observation): readonly Told[] {
  return cloud.events.flatMap((event) => {
    if (event.kind !== 'delete-failed') return [];
    const { group, instances, message } = event;
    return [
      warning('ScaleDownFailed', `Deletion of ${instances.length} instances of ${group} failed after Azure had accepted it: ${message}`),
    ];
  });
}

function timeouts({ state }: LoopReport, { nowMs }: Observation): readonly Told[] {
  return [...state.backoffs].flatMap(([group, { cause, lastFailureMs }]) =>
    cause === 'timeout' && lastFailureMs === nowMs
      ? [warning('ScaleUpTimedOut', `Nodes of ${group} did not join the cluster in time`)]
      : [],
  );
}

function sickness({ state }: LoopReport, observation: Observation, { policy, startedAtMs }: EventContext): readonly Told[] {
  const unfit = clusterProblem(observation, state, policy);
  if (unfit === undefined) return [];
  if (unfit.kind === 'sick') return [warning('ClusterUnhealthy', `Cluster is unhealthy: ${unfit.detail}`)];
  const mayStillStart = observation.cluster.nodes.size > 0 && observation.nowMs - startedAtMs <= FIRST_NODES_MS;
  return mayStillStart ? [] : [warning('ClusterUnhealthy', unfit.detail)];
}

function limits({ rounds }: LoopReport, { scaleUp }: Policy): readonly Told[] {
  const skipped = rounds.flatMap(({ plan }) => plan.skipped);
  const reached = skipped.some(
    ({ reason }) => reason.kind === 'cluster-limit' && [reason, ...(reason.also ?? [])].some(({ limit }) => limit === 'nodes'),
  );
  return reached ? [warning('MaxNodesTotalReached', `Max total nodes in cluster reached: ${scaleUp.maxNodesTotal}`)] : [];
}

function removals({ removed }: LoopReport): readonly Told[] {
  return removed.flatMap((outcome): readonly Told[] => {
    if (outcome.kind === 'started') return [removalBegun(outcome)];
    if (outcome.kind === 'deleted') {
      const { node, drained } = outcome;
      return [
        drained
          ? normal('ScaleDown', `Scale-down: node ${node} removed with drain`)
          : normal('ScaleDownEmpty', `Scale-down: empty node ${node} removed`),
      ];
    }
    if (outcome.kind !== 'instances') return [];
    const names = outcome.instances.map((instance) => instance.split('|').at(-1)).join(', ');
    const what = `${outcome.instances.length} instances of ${outcome.group} that never registered as nodes (${names})`;
    return [
      outcome.accepted
        ? normal('DeleteUnregistered', `Deleting ${what}`)
        : warning('DeleteUnregisteredFailed', `${what} could not be deleted: ${outcome.message}`),
    ];
  });
}

function removalBegun({ node, pods, utilization }: Extract<RemovalOutcome, { readonly kind: 'started' }>): Told {
  if (pods.length === 0) return normal('ScaleDownEmpty', `Scale-down: removing empty node ${node}`);
  const load = `utilization: ${Math.round(utilization * 1000) / 1000}, pods to reschedule: ${pods.join(',')}`;
  return normal('ScaleDown', `Scale-down: removing node ${node}, ${load}`);
}

function warning(reason: string, message: string): Told {
  return { type: 'Warning', reason, message };
}

function normal(reason: string, message: string): Told {
  return { type: 'Normal', reason, message };
}

/**
 * Says when a group comes, goes or has other limits; when it begins to be left alone and why, when the reason is another one, and
 * when that is over; and when there is no group at all. A name misspelt in the configuration is a group that is left alone: without this line nobody would
 * learn why its pods stay pending.
 */
export function nodeGroupLog(log: Log): LoopListener {
  let frozen: ReadonlyMap<NodeGroupId, string> = new Map();
  let limits: ReadonlyMap<NodeGroupId, string> = new Map();
  let hadGroups: boolean | undefined;
  return ({ observation }) => {
    if (observation === undefined) return;
    const { groups, events } = observation.cloud;
    tellComings(log, events, groups);
    limits = tellLimits(log, limits, groups);
    frozen = tellFrozen(log, frozen, groups);
    if (groups.length === 0 && hadGroups !== false)
      log.warn({}, 'No node group found: none is named and no scale set has the discovery tags');
    hadGroups = groups.length > 0;
  };
}

function tellComings(log: Log, events: readonly CloudEvent[], groups: readonly NodeGroup[]): void {
  for (const event of events) {
    if (event.kind === 'group-vanished') log.info({ nodeGroup: event.group, reason: event.because }, 'Node group disappeared');
    if (event.kind !== 'group-appeared') continue;
    const group = groups.find(({ id }) => id === event.group);
    log.info({ nodeGroup: event.group, min: group?.minSize, max: group?.maxSize }, 'Node group appeared');
  }
}

function tellLimits(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map(groups.map(({ id, minSize, maxSize }) => [id, `${minSize}:${maxSize}`]));
  for (const [nodeGroup, to] of now) {
    const from = before.get(nodeGroup);
    if (from !== undefined && from !== to) log.info({ nodeGroup, from, to }, 'Node group limits changed');
  }
  return now;
}

/** @returns what was last told of each group that is left alone. */
function tellFrozen(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map<NodeGroupId, string>();
  for (const { id: nodeGroup, frozen: reason } of groups) {
    if (reason === undefined) {
      if (before.has(nodeGroup)) log.info({ nodeGroup }, 'Node group no longer frozen');
      continue;
    }
    // An age within the reason grows from loop to loop and is no news.
    const news = reason.replace(/\d+/g, '#');
    if (before.get(nodeGroup) !== news) log.warn({ nodeGroup, reason }, 'Node group frozen');
    now.set(nodeGroup, news);
  }
  return now;
}

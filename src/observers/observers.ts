/**
 * Observers see the report of a loop that has ended, and publish: metrics, events, log lines. Each decides nothing and can be
 * removed without changing a plan. Must not know the loop that reports to them, nor each other.
 */
import type { LoopListener } from '../domain/loop-report.ts';
import type { Policy } from '../domain/policy.ts';
import type { EventRecorder } from '../domain/ports/records.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { PauseReader } from '../domain/ports/pauses.ts';
import type { PriorityRulesReader } from '../domain/ports/stored-text.ts';
import type { CompatibleMetrics } from '../telemetry/cluster-autoscaler-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { failedNodeCreations, unregisteredRemovals } from './cluster-autoscaler-metrics/counters.ts';
import { clusterAutoscalerGauges } from './cluster-autoscaler-metrics/gauges.ts';
import { removalLatency } from './cluster-autoscaler-metrics/removal-latency.ts';
import { blockedNodeEvents } from './events/blocked-node-events.ts';
import { failedInstances } from './events/failed-instances.ts';
import { heldGroups } from './events/held-groups.ts';
import { limitChanges } from './events/limit-changes.ts';
import { nodeGroupEvents, nodeGroupLog } from './events/node-group-events.ts';
import { nodesWithoutInstance } from './events/nodes-without-instance.ts';
import { planDeadlineEvents, configWarnings } from './events/plan-events.ts';
import { pauseEvents } from './events/pauses.ts';
import { scheduleEvents } from './events/schedules.ts';
import { repackEvents } from './events/repacks.ts';
import { priorityRuleEvents } from './events/priority-rule-events.ts';
import { brokenPromises, initializeCounters, joinTimeouts, configFindings } from './metrics/loop-metrics.ts';
import { skippedObjectEvents } from './events/skipped-objects.ts';
import { unreadableProtectionEvents } from './events/unreadable-protections.ts';
import type { History } from './history/history.ts';
import { decisionLatency } from './metrics/decision-latency.ts';
import { scaleUpStages } from './metrics/scale-up-stages.ts';
import { idleGpus } from './metrics/idle-gpus.ts';
import { paidNodes } from './metrics/paid-nodes.ts';
import { sickNodes } from './metrics/sick-nodes.ts';
import { wastedCapacity } from './metrics/wasted-capacity.ts';

interface ObserverDeps {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  /** Namespace of the object that carries events about node groups. */
  readonly namespace: string;
  readonly names: ResourceNames;
  /** The policy in force; it may change between loops. */
  readonly policy: () => Policy;
  /** What people can ask about the past. */
  readonly history: History;
  /** When the process started, milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** If absent, no ConfigMap with priority rules is read. */
  readonly priorities?: PriorityRulesReader | undefined;
  readonly pauses?: PauseReader | undefined;
  /** If absent, nothing is published under the Cluster Autoscaler's names. */
  readonly compatible?: CompatibleMetrics | undefined;
}

export interface Observer {
  readonly name: string;
  readonly observe: LoopListener;
}

/** All observers, in the order in which they see a report. */
export function createObservers(deps: ObserverDeps): readonly Observer[] {
  const { log, metrics, compatible, events, namespace, names, priorities, pauses, policy, startedAtMs, history } = deps;
  return [
    { name: 'history', observe: (report) => history.observe(report) },
    { name: 'node-group-log', observe: nodeGroupLog(log) },
    { name: 'held-groups', observe: heldGroups({ events, log, metrics: metrics.cluster, namespace }) },
    { name: 'nodes-without-instance', observe: nodesWithoutInstance(events, log) },
    { name: 'config-warnings', observe: configWarnings(events, log, namespace) },
    { name: 'limit-changes', observe: limitChanges(events, namespace) },
    { name: 'blocked-node-events', observe: blockedNodeEvents(events) },
    { name: 'unreadable-protection-events', observe: unreadableProtectionEvents(events) },
    { name: 'repack-events', observe: repackEvents({ events, log, metrics, namespace }) },
    { name: 'plan-deadline-events', observe: planDeadlineEvents(events, namespace) },
    { name: 'scale-up-stages', observe: scaleUpStages(metrics.scaleUp) },
    { name: 'decision-latency', observe: decisionLatency(metrics.scaleUp) },
    { name: 'join-timeouts', observe: joinTimeouts(metrics.scaleUp) },
    { name: 'broken-promises', observe: brokenPromises(metrics.templates) },
    { name: 'failed-instances', observe: failedInstances(events, namespace) },
    { name: 'skipped-object-events', observe: skippedObjectEvents(events) },
    { name: 'wasted-capacity', observe: wastedCapacity(metrics) },
    { name: 'paid-nodes', observe: paidNodes(metrics) },
    { name: 'sick-nodes', observe: sickNodes(metrics) },
    { name: 'idle-gpus', observe: idleGpus(metrics, names) },
    { name: 'config-findings', observe: configFindings(metrics.config, priorities) },
    { name: 'schedules', observe: scheduleEvents({ events, log, namespace }) },
    { name: 'pauses', observe: pauseEvents({ events, log, metrics: metrics.config, namespace, pauses }) },
    { name: 'initialize-counters', observe: initializeCounters(metrics) },
    ...(compatible === undefined ? [] : clusterAutoscalerObservers(compatible, policy)),
    { name: 'node-group-events', observe: nodeGroupEvents(events, { policy, namespace, startedAtMs }) },
    { name: 'priority-rule-events', observe: priorityRuleEvents(events, priorities, namespace) },
  ];
}

function clusterAutoscalerObservers(compatible: CompatibleMetrics, policy: () => Policy): readonly Observer[] {
  return [
    { name: 'cluster-autoscaler-gauges', observe: clusterAutoscalerGauges(compatible, policy) },
    { name: 'failed-node-creations', observe: failedNodeCreations(compatible) },
    { name: 'removal-latency', observe: removalLatency(compatible, policy) },
    { name: 'unregistered-removals', observe: unregisteredRemovals(compatible) },
  ];
}

/**
 * Observers see the report of a loop that has ended, and publish: metrics, events, log lines. Each decides nothing and can be
 * removed without changing a plan. They must not know the loop that reports to them, nor each other.
 */
import type { LoopListener } from '../domain/loop-report.ts';
import type { Policy } from '../domain/policy.ts';
import type { EventRecorder } from '../domain/ports/records.ts';
import type { PriorityRulesReader } from '../domain/ports/stored-text.ts';
import type { CompatibleMetrics } from '../telemetry/cluster-autoscaler-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { failedCreations, neverNodes } from './cluster-autoscaler-metrics/counters.ts';
import { publishCompatible } from './cluster-autoscaler-metrics/gauges.ts';
import { removalLatency } from './cluster-autoscaler-metrics/removal-latency.ts';
import { failedMachines } from './events/failed-instances.ts';
import { groupEvents, groupNews } from './events/node-group-events.ts';
import { ghostNodes } from './events/nodes-without-instance.ts';
import { latePlans, planNotes } from './events/plan-events.ts';
import { priorityEvents } from './events/priority-rule-events.ts';
import { configFindings } from './metrics/config-findings.ts';
import { firstZeros, joinTimeouts } from './metrics/loop-metrics.ts';
import { stageTimes } from './metrics/scale-up-stages.ts';
import { wasteGauges } from './metrics/wasted-capacity.ts';

export interface ObserverDeps {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  /** Namespace of the object that carries events about node groups. */
  readonly namespace: string;
  /** The policy in force; it may change between loops. */
  readonly policy: () => Policy;
  /** When the process started, milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** If absent, no ConfigMap with priority rules is read. */
  readonly priorities?: PriorityRulesReader | undefined;
  /** If absent, nothing is published under the Cluster Autoscaler's names. */
  readonly compatible?: CompatibleMetrics | undefined;
}

export interface Observer {
  readonly name: string;
  readonly observe: LoopListener;
}

/** All observers, in the order in which they see a report. */
export function createObservers(deps: ObserverDeps): readonly Observer[] {
  const { log, metrics, compatible, events, namespace, priorities, policy, startedAtMs } = deps;
  return [
    { name: 'node-group-log', observe: groupNews(log) },
    { name: 'nodes-without-instance', observe: ghostNodes(events, log) },
    { name: 'plan-notes', observe: planNotes(events, log, namespace) },
    { name: 'late-plans', observe: latePlans(events, namespace) },
    { name: 'scale-up-stages', observe: stageTimes(metrics.scaleUp) },
    { name: 'join-timeouts', observe: joinTimeouts(metrics.scaleUp) },
    { name: 'failed-instances', observe: failedMachines(events, namespace) },
    { name: 'wasted-capacity', observe: wasteGauges(metrics.waste) },
    { name: 'config-findings', observe: configFindings(metrics.config, priorities) },
    { name: 'initial-counters', observe: firstZeros(metrics) },
    ...(compatible === undefined ? [] : clusterAutoscalerObservers(compatible, policy)),
    {
      name: 'node-group-events',
      observe: (report) => {
        for (const event of groupEvents(report, { policy: policy(), namespace, startedAtMs })) events.record(event);
      },
    },
    {
      name: 'priority-rule-events',
      observe: (report) => {
        if (priorities === undefined) return;
        for (const event of priorityEvents(report, priorities.current(), namespace)) events.record(event);
      },
    },
  ];
}

function clusterAutoscalerObservers(compatible: CompatibleMetrics, policy: () => Policy): readonly Observer[] {
  return [
    { name: 'cluster-autoscaler-gauges', observe: (report) => publishCompatible(report, policy(), compatible) },
    { name: 'failed-node-creations', observe: failedCreations(compatible) },
    { name: 'removal-latency', observe: removalLatency(compatible, policy) },
    { name: 'unregistered-removals', observe: neverNodes(compatible) },
  ];
}

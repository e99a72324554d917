/**
 * The catalogue of metrics: name, help, labels, buckets. The only home of prom-client. Labels come from closed sets and
 * pool names; never from pods, nodes or ids.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Means } from './derived-counter.ts';

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
/** Fewer, since every operation has them all. */
const CALL_SECONDS = [0.1, 0.5, 1, 5, 30];
const STAGE_SECONDS = [1, 2, 5, 10, 30, 60, 90, 120, 180, 300, 600, 1200];
/** Few, since every node group has them all. */
const BOUND_SECONDS = [60, 120, 300, 900];
/** Azure says thirty seconds for Spot machines, at least. */
const NOTICE_SECONDS = [1, 5, 10, 15, 20, 25, 30, 60, 300];

export type Metrics = ReturnType<typeof createMetrics>;

/** Makes every metric in a registry of its own. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> =>
    new Counter({ name: `aks_autoscaler_${name}`, help, labelNames: [...labelNames], registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> =>
    new Gauge({ name: `aks_autoscaler_${name}`, help, labelNames: [...labelNames], registers });
  const histogram = <Label extends string>(name: string, help: string, buckets: readonly number[], labelNames: readonly Label[] = []) =>
    new Histogram<Label>({ name: `aks_autoscaler_${name}`, help, labelNames: [...labelNames], buckets: [...buckets], registers });
  const means = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Means<Label> =>
    new Means({ name: `aks_autoscaler_${name}`, help, labelNames }, registry);

  return {
    registry,
    loop: {
      duration: histogram('loop_duration_seconds', 'Duration of one loop by step; step "total" is the whole.', SECONDS, ['step']),
      completed: counter('loops_total', 'Loops by outcome.', ['outcome']),
      lastCompleted: gauge('loop_last_completed_timestamp_seconds', 'Unix time at which the last loop completed.'),
      stepFailures: counter('loop_step_failures_total', 'Steps of a loop that failed, by kind of error.', ['step', 'kind']),
      trigger: counter('loop_triggers_total', 'What started a loop.', ['trigger']),
      plansCutShort: counter('plans_cut_short_total', 'Plans that ended because their time was up; the next loop begins where they ended.'),
    },
    arm: {
      calls: counter('arm_calls_total', 'Calls to Azure Resource Manager by operation and HTTP status; status "error" is no answer.', [
        'operation',
        'status',
      ]),
      duration: histogram('arm_call_duration_seconds', 'Duration of calls to Azure Resource Manager.', CALL_SECONDS, ['operation']),
      tokensRemaining: gauge('arm_tokens_remaining', 'Remaining calls as the last response header said.', ['policy']),
      throttledUntil: gauge('arm_throttled_until_timestamp_seconds', 'Unix time until which calls of a policy are held back; 0 when not.', [
        'policy',
      ]),
    },
    quota: {
      limit: gauge('quota_limit_cores', 'Cores that the subscription may have in the region, of quotas that node groups draw on.', [
        'quota',
      ]),
      used: gauge('quota_used_cores', 'Cores of a quota that are taken, orders that Azure does not count yet included.', ['quota']),
    },
    cache: {
      rowAge: gauge('cache_row_age_seconds', 'Age of the oldest row of a table.', ['table']),
      rows: gauge('cache_rows', 'Rows of a table.', ['table']),
      agentRuns: counter('cache_agent_runs_total', 'Runs of caching agents.', ['kind', 'outcome']),
      agentDuration: histogram('cache_agent_run_duration_seconds', 'Duration of agent runs.', CALL_SECONDS, ['kind']),
      agentLastSuccess: gauge('cache_agent_last_success_timestamp_seconds', 'Unix time of the last successful run of an agent.', ['kind']),
      agentLag: gauge('cache_agent_due_lag_seconds', 'How long the most overdue agent of a kind waits for its run; 0 when none does.', [
        'kind',
      ]),
      duplicates: counter('cache_duplicate_rows_total', 'Rows that one list told more than once; the last counts.', ['table']),
      fencesActive: gauge('cache_fences_active', 'Fences that wait for a newer read.', ['table']),
      rowsRejected: counter('cache_rows_rejected_total', 'Observations that a fence or a newer row refused.', ['table', 'reason']),
      onDemand: counter('cache_on_demand_refreshes_total', 'Reads of one row asked for out of turn.', ['table', 'outcome']),
      evictions: counter('cache_evictions_total', 'Rows removed.', ['table', 'cause']),
      externalChanges: counter('cache_external_changes_total', 'Capacity changed by somebody else.', ['node_group']),
    },
    scaleUp: {
      writes: counter('scale_ups_total', 'Capacity writes by outcome.', ['node_group', 'outcome']),
      nodes: counter('scaled_up_nodes_total', 'Nodes asked for.', ['node_group']),
      conflicts: counter('conflicts_total', 'Capacity writes refused because the row had changed.', ['node_group']),
      replans: counter('replans_total', 'Plans made again in the same loop.', ['cause']),
      lateFailures: counter('scale_up_late_failures_total', 'Operations that failed after they were accepted.', ['node_group', 'kind']),
      givenBack: counter('scale_up_given_back_nodes_total', 'Capacity that Azure accepted, could not fill and got back.', ['node_group']),
      failures: counter(
        'scale_up_failures_total',
        'Orders that came to nothing, wholly or in part: refused, given up, or with machines that failed or never became nodes; by what was in the way.',
        ['node_group', 'reason'],
      ),
      stockouts: gauge('stockouts_active', 'Sizes, zones and priorities that Azure cannot give at present.'),
      podsToDecision: histogram(
        'pod_unschedulable_to_write_seconds',
        'From a pod turning unschedulable to the capacity write for it.',
        STAGE_SECONDS,
      ),
      stages: histogram(
        'scale_up_stage_seconds',
        'Stages of scale-ups: a pod planned for, the order written, its machines created, their nodes ready, the pods bound. Each from the end of the one before; the loop sees the last one up to a scan interval late.',
        STAGE_SECONDS,
        ['stage'],
      ),
      groupStages: means('node_group_scale_up_stage_seconds', 'The same stages by node group, as sum and count.', ['node_group', 'stage']),
      podsToBound: histogram(
        'pod_unschedulable_to_bound_seconds',
        'From a pod turning unschedulable to the loop seeing it bound, of pods that a scale-up was for, by the node group that took it.',
        BOUND_SECONDS,
        ['node_group'],
      ),
    },
    waste: {
      cores: gauge('wasted_cores', 'Cores of nodes that stay and that no pod asks for, by why the node stays and by what blocks it.', [
        'reason',
        'blocker',
      ]),
      memory: gauge('wasted_memory_bytes', 'Memory of nodes that stay and that no pod asks for, by the same.', ['reason', 'blocker']),
      cost: gauge('wasted_cost_per_hour', 'Price of what no pod asks for of nodes that stay and whose size has a price, by the same.', [
        'reason',
        'blocker',
      ]),
    },
    config: {
      generation: gauge('config_generation', 'Which configuration is live: 1 is that of the start, and each change that was taken adds 1.'),
      refused: gauge('config_refused', '1 while the configuration on disk is not valid, and the one before goes on.'),
      awaitingRestart: gauge('config_awaiting_restart_keys', 'Changed settings on disk that wait for a restart.'),
      reloads: counter('config_reloads_total', 'Changed configurations by what became of them.', ['outcome']),
      findings: gauge('config_findings', 'What is odd about the configuration in the light of the node groups that there are, by kind.', [
        'kind',
      ]),
    },
    scaleDown: {
      nodes: counter('scaled_down_nodes_total', 'Nodes removed by cause.', ['node_group', 'cause']),
      failures: counter('scale_down_failures_total', 'Removals that were undone.', ['node_group', 'step']),
      evictions: counter('evicted_pods_total', 'Evictions by outcome.', ['outcome']),
      unneeded: gauge('unneeded_nodes', 'Nodes that could go.'),
      kept: gauge('kept_nodes', 'Nodes that stay, by reason.', ['reason']),
    },
    cluster: {
      groupDrift: gauge(
        'node_group_drift',
        'How many more machines somebody counts than expected: AKS and the list of machines against the capacity, nodes against running machines.',
        ['node_group', 'kind'],
      ),
      pods: gauge(
        'unschedulable_pods',
        'Pending pods by verdict: helped, coming, blocked-by-max, blocked-by-backoff, blocked-by-quota, impossible, ignored.',
        ['verdict'],
      ),
      oldestPod: gauge(
        'oldest_unschedulable_pod_age_seconds',
        'Age of the oldest unschedulable pod of a verdict, 0 without one; of helped and coming it is the oldest that can be helped.',
        ['verdict'],
      ),
      nodes: gauge('nodes', 'Nodes by state.', ['state']),
      groupSize: gauge('node_group_size', 'Sizes of a node group: min, max, target, ready, upcoming.', ['node_group', 'kind']),
      preemptedNodes: counter('preempted_nodes_total', 'Nodes that Azure announced to take back.', ['node_group']),
      preemptionNotice: histogram(
        'preemption_notice_seconds',
        'What was left of the notice when the pods of a node that Azure takes back were about to be sent away.',
        NOTICE_SECONDS,
      ),
      preemptedPods: counter('preempted_pods_total', 'Pods of nodes that Azure takes back: evicted in time, or stayed.', ['outcome']),
      groupFrozen: gauge('node_group_frozen', '1 while a node group is neither grown nor shrunk.', ['node_group']),
      watchRestarts: counter('watch_restarts_total', 'Watches begun again, by cause.', ['resource', 'cause']),
      watchStaleness: gauge('watch_staleness_seconds', 'Time since a watch last heard from the API server.', ['resource']),
      kubeCalls: counter('kube_calls_total', 'Writes to the Kubernetes API by operation and outcome.', ['operation', 'outcome']),
      eventsDropped: counter('events_dropped_total', 'Events that could not be sent.'),
    },
    templates: {
      estimateError: gauge(
        'template_estimate_error_ratio',
        'Allocatable that the VM size promised, over what a real node has, less 1; above 0 promised too much.',
        ['node_group', 'resource'],
      ),
      bootSeconds: gauge('template_boot_seconds', 'From the first sight of a machine to its ready node, last time we saw one come.', [
        'node_group',
      ]),
    },
    process: {
      eventLoopDelay: gauge('event_loop_delay_max_seconds', 'Longest stall of the event loop since the last scrape.'),
      memory: gauge('resident_memory_bytes', 'Resident memory of the process.'),
      leader: gauge('leader', '1 while this process leads.'),
    },
    dryRun: {
      active: gauge('dry_run', '1 when nothing is written, and what would have been is on record instead.'),
      withheld: counter('dry_run_withheld_writes_total', 'Writes that a dry run would have made, repeats included.', ['kind']),
    },
  };
}

/**
 * The catalogue of the program's own metrics as data: name, help, labels, buckets. Label values come from closed sets and
 * pool names, never from pods, nodes or ids. Must not know who sets a metric.
 */
import type { MetricGroups } from './metric-specs.ts';

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
/** Few buckets, since every operation has all of them. */
const CALL_SECONDS = [0.1, 0.5, 1, 5, 30];
const STAGE_SECONDS = [1, 2, 5, 10, 30, 60, 90, 120, 180, 300, 600, 1200];
/** Few buckets, since every node group has all of them. */
const BOUND_SECONDS = [60, 120, 300, 900];
/** Azure announces a Spot preemption at least thirty seconds before. */
const NOTICE_SECONDS = [1, 5, 10, 15, 20, 25, 30, 60, 300];

/** Names get the prefix `aks_autoscaler_`. */
export const METRIC_CATALOGUE = {
  loop: {
    duration: {
      type: 'histogram',
      name: 'loop_duration_seconds',
      help: 'Duration of one loop by step; step "total" is the whole loop.',
      buckets: SECONDS,
      labels: ['step'],
    },
    completed: { type: 'counter', name: 'loops_total', help: 'Loops by outcome.', labels: ['outcome'] },
    lastCompleted: {
      type: 'gauge',
      name: 'loop_last_completed_timestamp_seconds',
      help: 'Unix time at which the last loop completed.',
    },
    stepFailures: {
      type: 'counter',
      name: 'loop_step_failures_total',
      help: 'Failed steps of a loop, by kind of error.',
      labels: ['step', 'kind'],
    },
    trigger: { type: 'counter', name: 'loop_triggers_total', help: 'Loops by what started them.', labels: ['trigger'] },
    plansCutShort: {
      type: 'counter',
      name: 'plans_cut_short_total',
      help: 'Plans that stopped at their time limit; the next loop continues where they stopped.',
    },
  },
  arm: {
    calls: {
      type: 'counter',
      name: 'arm_calls_total',
      help: 'Calls to Azure Resource Manager by operation and HTTP status; status "error" means no answer.',
      labels: ['operation', 'status'],
    },
    writesPostponed: {
      type: 'counter',
      name: 'arm_writes_postponed_total',
      help: 'Writes that no pod waits for and that were postponed, since few were left for all clusters of the subscription, by operation.',
      labels: ['operation'],
    },
    duration: {
      type: 'histogram',
      name: 'arm_call_duration_seconds',
      help: 'Duration of calls to Azure Resource Manager.',
      buckets: CALL_SECONDS,
      labels: ['operation'],
    },
    tokensRemaining: {
      type: 'gauge',
      name: 'arm_tokens_remaining',
      help: 'Remaining calls according to the last response header.',
      labels: ['policy'],
    },
    throttledUntil: {
      type: 'gauge',
      name: 'arm_throttled_until_timestamp_seconds',
      help: 'Unix time until which calls of a policy are delayed; 0 if they are not.',
      labels: ['policy'],
    },
  },
  quota: {
    limit: {
      type: 'gauge',
      name: 'quota_limit_cores',
      help: 'Limit of a core quota of the subscription in the region, for quotas that node groups use.',
      labels: ['quota'],
    },
    used: {
      type: 'gauge',
      name: 'quota_used_cores',
      help: 'Used cores of a quota, including our increases that Azure does not count yet.',
      labels: ['quota'],
    },
  },
  cache: {
    rowAge: { type: 'gauge', name: 'cache_row_age_seconds', help: 'Age of the oldest row of a table.', labels: ['table'] },
    rows: { type: 'gauge', name: 'cache_rows', help: 'Rows of a table.', labels: ['table'] },
    agentRuns: {
      type: 'counter',
      name: 'cache_agent_runs_total',
      help: 'Runs of caching agents by outcome.',
      labels: ['kind', 'outcome'],
    },
    agentDuration: {
      type: 'histogram',
      name: 'cache_agent_run_duration_seconds',
      help: 'Duration of runs of caching agents.',
      buckets: CALL_SECONDS,
      labels: ['kind'],
    },
    agentLastSuccess: {
      type: 'gauge',
      name: 'cache_agent_last_success_timestamp_seconds',
      help: 'Unix time of the last successful run of a caching agent.',
      labels: ['kind'],
    },
    agentLag: {
      type: 'gauge',
      name: 'cache_agent_due_lag_seconds',
      help: 'How long the most overdue caching agent of a kind has waited for its run; 0 if none waits.',
      labels: ['kind'],
    },
    duplicates: {
      type: 'counter',
      name: 'cache_duplicate_rows_total',
      help: 'Rows that one list contained more than once; the last one counts.',
      labels: ['table'],
    },
    fencesActive: { type: 'gauge', name: 'cache_fences_active', help: 'Fences that wait for a newer read.', labels: ['table'] },
    rowsRejected: {
      type: 'counter',
      name: 'cache_rows_rejected_total',
      help: 'Observations rejected because of a fence, a newer row, or an id that belongs elsewhere.',
      labels: ['table', 'reason'],
    },
    onDemand: {
      type: 'counter',
      name: 'cache_on_demand_refreshes_total',
      help: 'On-demand reads of single rows.',
      labels: ['table', 'outcome'],
    },
    evictions: { type: 'counter', name: 'cache_evictions_total', help: 'Rows removed from the cache.', labels: ['table', 'cause'] },
    storeCommands: {
      type: 'counter',
      name: 'shared_store_commands_total',
      help: 'Commands to the store that clusters share, by outcome: answered, failed.',
      labels: ['outcome'],
    },
    externalChanges: {
      type: 'counter',
      name: 'cache_external_changes_total',
      help: 'Capacity changes made by another writer.',
      labels: ['node_group'],
    },
  },
  scaleUp: {
    writes: { type: 'counter', name: 'scale_ups_total', help: 'Capacity writes by outcome.', labels: ['node_group', 'outcome'] },
    nodes: { type: 'counter', name: 'scaled_up_nodes_total', help: 'Nodes requested by increases.', labels: ['node_group'] },
    conflicts: {
      type: 'counter',
      name: 'conflicts_total',
      help: 'Capacity writes refused because the row had changed.',
      labels: ['node_group'],
    },
    replans: { type: 'counter', name: 'replans_total', help: 'Plans made again in the same loop, by cause.', labels: ['cause'] },
    lateFailures: {
      type: 'counter',
      name: 'scale_up_late_failures_total',
      help: 'Operations that failed after Azure had accepted them.',
      labels: ['node_group', 'kind'],
    },
    givenBack: {
      type: 'counter',
      name: 'scale_up_given_back_nodes_total',
      help: 'Nodes of accepted increases that Azure could not provide; the capacity was lowered again.',
      labels: ['node_group'],
    },
    failures: {
      type: 'counter',
      name: 'scale_up_failures_total',
      help: 'Increases that failed wholly or in part, by reason: refused, timed out, or with instances that failed or never registered as nodes.',
      labels: ['node_group', 'reason'],
    },
    stockouts: {
      type: 'gauge',
      name: 'stockouts_active',
      help: 'Combinations of size, zone and priority that Azure cannot provide at present.',
    },
    podsToDecision: {
      type: 'histogram',
      name: 'pod_unschedulable_to_write_seconds',
      help: 'Time from a pod turning unschedulable to the capacity write for it, without the time in which no pool could take it.',
      buckets: STAGE_SECONDS,
    },
    podsBackedOff: {
      type: 'means',
      name: 'pod_backoff_wait_seconds',
      help: 'Time that pods waited for pools that back off, until the capacity write for them, as sum and count.',
      labels: [],
    },
    stages: {
      type: 'histogram',
      name: 'scale_up_stage_seconds',
      help: 'Stages of scale-ups, each from the end of the previous one: pod planned for, increase written, instances created, nodes ready, pods bound. The loop sees the last one up to a scan interval late.',
      buckets: STAGE_SECONDS,
      labels: ['stage'],
    },
    groupStages: {
      type: 'means',
      name: 'node_group_scale_up_stage_seconds',
      help: 'Stages of scale-ups by node group, as sum and count.',
      labels: ['node_group', 'stage'],
    },
    podsToBound: {
      type: 'histogram',
      name: 'pod_unschedulable_to_bound_seconds',
      help: 'Time from a pod turning unschedulable until the loop sees it bound, for pods of scale-ups, by the node group of the node.',
      buckets: BOUND_SECONDS,
      labels: ['node_group'],
    },
  },
  waste: {
    cores: {
      type: 'gauge',
      name: 'wasted_cores',
      help: 'Unrequested cores of unremovable nodes, by why the node is unremovable and by what blocks it.',
      labels: ['reason', 'blocker'],
    },
    memory: {
      type: 'gauge',
      name: 'wasted_memory_bytes',
      help: 'Unrequested memory of unremovable nodes, by why the node is unremovable and by what blocks it.',
      labels: ['reason', 'blocker'],
    },
    cost: {
      type: 'gauge',
      name: 'wasted_cost_per_hour',
      help: 'Price per hour of the unrequested part of unremovable nodes whose size has a price, by the same labels.',
      labels: ['reason', 'blocker'],
    },
    gpuCost: {
      type: 'gauge',
      name: 'idle_gpu_cost_per_hour',
      help: 'Price per hour of the ready nodes whose GPUs no pod requests, as far as their sizes have a price.',
    },
    paidIdleCost: {
      type: 'gauge',
      name: 'paid_idle_cost_per_hour',
      help: 'Price per hour of the paid nodes of the configuration that no node of the cluster uses, as far as their sizes have a price.',
    },
  },
  repack: {
    begun: {
      type: 'counter',
      name: 'repacks_begun_total',
      help: 'Sets of nodes that were found to be worth a repack, and are checked again.',
    },
    ended: {
      type: 'counter',
      name: 'repacks_ended_total',
      help: 'Repacks that ended: done, undone since a step did not hold, or withheld by a dry run.',
      labels: ['outcome'],
    },
    running: { type: 'gauge', name: 'repacks_running', help: 'Repacks under way.' },
    savings: {
      type: 'gauge',
      name: 'repack_savings_cost_per_hour',
      help: 'What all sets of the last search would save per hour, where repacking is on and each node has a price.',
    },
  },
  health: {
    sick: {
      type: 'gauge',
      name: 'sick_nodes',
      help: 'Nodes that show a condition of the rules about sick nodes of their node group, by node group. Absent where there are no rules.',
      labels: ['node_group'],
    },
    stopped: {
      type: 'gauge',
      name: 'sick_node_groups_held',
      help: 'Node groups with so many sick nodes that none is replaced.',
    },
    replacements: {
      type: 'counter',
      name: 'sick_node_replacements_total',
      help: 'Replacements and reimages of sick nodes that ended: done, undone since a step did not hold, or withheld by a dry run.',
      labels: ['outcome'],
    },
    quarantined: {
      type: 'gauge',
      name: 'quarantined_nodes',
      help: 'Nodes that AKS left aside since their drain failed at an upgrade, by node group. Absent where there are none.',
      labels: ['node_group'],
    },
    quarantinedCost: {
      type: 'gauge',
      name: 'quarantined_nodes_cost_per_hour',
      help: 'Price per hour of the nodes that AKS left aside, as far as their sizes have a price.',
    },
  },
  config: {
    generation: {
      type: 'gauge',
      name: 'config_generation',
      help: 'Number of the active configuration: 1 at the start, plus 1 for each change that was applied.',
    },
    refused: {
      type: 'gauge',
      name: 'config_refused',
      help: '1 while the configuration on disk is invalid and the previous one stays active.',
    },
    awaitingRestart: {
      type: 'gauge',
      name: 'config_awaiting_restart_keys',
      help: 'Changed settings on disk that take effect only after a restart.',
    },
    reloads: { type: 'counter', name: 'config_reloads_total', help: 'Changed configurations by outcome.', labels: ['outcome'] },
    findings: {
      type: 'gauge',
      name: 'config_findings',
      help: 'Configuration warnings, given the existing node groups, by kind.',
      labels: ['kind'],
    },
  },
  scaleDown: {
    nodes: { type: 'counter', name: 'scaled_down_nodes_total', help: 'Nodes removed, by cause.', labels: ['node_group', 'cause'] },
    failures: {
      type: 'counter',
      name: 'scale_down_failures_total',
      help: 'Removals that were undone, by the step that failed.',
      labels: ['node_group', 'step'],
    },
    evictions: { type: 'counter', name: 'evicted_pods_total', help: 'Evictions by outcome.', labels: ['outcome'] },
    unneeded: { type: 'gauge', name: 'unneeded_nodes', help: 'Unneeded nodes.' },
    kept: {
      type: 'gauge',
      name: 'kept_nodes',
      help: 'Unremovable nodes, by reason, with the reasons of the wasted capacity.',
      labels: ['reason'],
    },
  },
  cluster: {
    groupDrift: {
      type: 'gauge',
      name: 'node_group_drift',
      help: 'Surplus of one count over another, by kind: instances that AKS or the instance list counts over the capacity, nodes over running instances.',
      labels: ['node_group', 'kind'],
    },
    countSyncs: {
      type: 'counter',
      name: 'agent_pool_count_syncs_total',
      help: "Writes that bring AKS's own count of a pool in step with its scale set, by outcome: succeeded, failed, refused, unknown.",
      labels: ['outcome'],
    },
    pods: {
      type: 'gauge',
      name: 'unschedulable_pods',
      help: 'Pending pods by verdict: helped, coming, blocked-by-max, blocked-by-backoff, blocked-by-quota, impossible, ignored.',
      labels: ['verdict'],
    },
    headroom: {
      type: 'gauge',
      name: 'headroom',
      help: 'Nodes, pieces or copies of headroom of a pool, or of the cluster, by state: kept, coming, missing.',
      labels: ['node_group', 'state'],
    },
    oldestPod: {
      type: 'gauge',
      name: 'oldest_unschedulable_pod_age_seconds',
      help: 'Age of the oldest unschedulable pod of a verdict, 0 if there is none; for helped and coming, of the oldest that can be helped.',
      labels: ['verdict'],
    },
    nodes: { type: 'gauge', name: 'nodes', help: 'Nodes by state.', labels: ['state'] },
    groupSize: {
      type: 'gauge',
      name: 'node_group_size',
      help: 'Sizes of a node group: min, max, target, ready, upcoming.',
      labels: ['node_group', 'kind'],
    },
    stoppedInstances: {
      type: 'gauge',
      name: 'stopped_instances',
      help: 'Instances that were deallocated instead of deleted, where azure.deallocate is on. Their disks are billed.',
      labels: ['node_group'],
    },
    stoppedCost: {
      type: 'gauge',
      name: 'stopped_disks_cost_per_hour',
      help: 'Price per hour of the OS disks of stopped instances, by node group. Absent where none is stopped or the disk has no price.',
      labels: ['node_group'],
    },
    preemptedNodes: {
      type: 'counter',
      name: 'preempted_nodes_total',
      help: 'Nodes whose preemption Azure announced.',
      labels: ['node_group'],
    },
    preemptionNotice: {
      type: 'histogram',
      name: 'preemption_notice_seconds',
      help: 'Remaining notice when evictions from a preempted node began.',
      buckets: NOTICE_SECONDS,
    },
    preemptedPods: {
      type: 'counter',
      name: 'preempted_pods_total',
      help: 'Pods of preempted nodes, by outcome: evicted in time, or not.',
      labels: ['outcome'],
    },
    zoneSkew: {
      type: 'gauge',
      name: 'zone_skew_nodes',
      help: 'Of pools that differ in their zone alone: nodes of the fullest zone less those of the emptiest. node_group is the first of the pools by name.',
      labels: ['node_group'],
    },
    groupFrozen: {
      type: 'gauge',
      name: 'node_group_frozen',
      help: '1 while a node group is frozen: neither increased nor reduced.',
      labels: ['node_group'],
    },
    groupPausedUntil: {
      type: 'gauge',
      name: 'node_group_paused_until_timestamp_seconds',
      help: 'When the pause of a direction of a node group ends: Unix time, 0 if it is not paused, infinite if its end cannot be read.',
      labels: ['node_group', 'direction'],
    },
    groupHeld: {
      type: 'gauge',
      name: 'longest_node_group_hold_seconds',
      help: 'How long one state has kept a node group from changing, from ten minutes on: frozen, not increased, or a change that does not end. The longest; event and status name the groups. 0 if none has.',
    },
    watchRestarts: { type: 'counter', name: 'watch_restarts_total', help: 'Restarts of watches, by cause.', labels: ['resource', 'cause'] },
    watchStaleness: {
      type: 'gauge',
      name: 'watch_staleness_seconds',
      help: 'Time since a watch last heard from the API server.',
      labels: ['resource'],
    },
    kubeCalls: {
      type: 'counter',
      name: 'kube_calls_total',
      help: 'Writes to the Kubernetes API by operation and outcome.',
      labels: ['operation', 'outcome'],
    },
    eventsDropped: { type: 'counter', name: 'events_dropped_total', help: 'Events that could not be sent.' },
  },
  templates: {
    estimateError: {
      type: 'gauge',
      name: 'template_estimate_error_ratio',
      help: 'Estimated allocatable of the VM size divided by that of a real node, minus 1; above 0 the estimate was too high.',
      labels: ['node_group', 'resource'],
    },
    promisesBroken: {
      type: 'counter',
      name: 'template_promises_broken_total',
      help: 'Ready nodes that did not fit the pods they were requested for, by what differed: resource (devices too), label (kubelet features and zones too), taint or port.',
      labels: ['kind'],
    },
    bootSeconds: {
      type: 'gauge',
      name: 'template_boot_seconds',
      help: 'Time from the first sight of an instance to its ready node, for the last node observed.',
      labels: ['node_group'],
    },
  },
  process: {
    eventLoopDelay: {
      type: 'gauge',
      name: 'event_loop_delay_max_seconds',
      help: 'Longest stall of the event loop since the last scrape.',
    },
    memory: { type: 'gauge', name: 'resident_memory_bytes', help: 'Resident memory of the process.' },
    leader: { type: 'gauge', name: 'leader', help: '1 while this process leads.' },
    buildInfo: { type: 'gauge', name: 'build_info', help: 'Always 1; the labels say which version runs.', labels: ['version', 'nodejs'] },
  },
  dryRun: {
    active: { type: 'gauge', name: 'dry_run', help: '1 in a dry run: nothing is written, and withheld writes are recorded instead.' },
    withheld: {
      type: 'counter',
      name: 'dry_run_withheld_writes_total',
      help: 'Writes withheld by the dry run, including repeats.',
      labels: ['kind'],
    },
  },
} as const satisfies MetricGroups;

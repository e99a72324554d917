import { describe, expect, it } from 'vitest';
import { FLAGS } from '../../src/config/sources/flag-table.ts';
import { RETIRED_FLAGS } from '../../src/config/sources/retired-flags.ts';
import { configOf, errorsOf } from './support.ts';

/** Every flag that the Cluster Autoscaler of 2026 takes, and those that are gone from it and still stand in manifests. */
const UPSTREAM = `
  address allowed-scheduler-names async-node-groups aws-use-static-instance-list balance-similar-node-groups
  balancing-ignore-label balancing-label blocking-system-pod-distruption-timeout bulk-mig-instances-listing-enabled
  bypassed-scheduler-names capacity-buffer-controller-enabled capacity-buffer-pod-dry-run-enabled
  capacity-buffer-pod-injection-enabled capacity-quotas-enabled check-capacity-batch-processing
  check-capacity-processor-instance check-capacity-provisioning-request-batch-timebox
  check-capacity-provisioning-request-max-batch-size cloud-config cloud-provider cluster-name cluster-snapshot-parallelism
  clusterapi-cloud-config-authoritative cordon-node-before-terminating cores-total daemonset-eviction-for-empty-nodes
  daemonset-eviction-for-occupied-nodes debugging-snapshot-enabled drain-priority-config
  dynamic-node-delete-delay-after-taint-enabled emit-per-nodegroup-metrics enable-csi-node-aware-scheduling
  enable-dynamic-resource-allocation enable-graceful-degradation enable-inter-pod-affinity-hostname-fast-path
  enable-proactive-scaleup enable-provisioning-requests enforce-node-group-min-size estimator expander
  expendable-pods-priority-cutoff fastpath-binpacking-enabled feature-gates force-delete-failed-nodes
  force-delete-unregistered-nodes force-ds frequent-loops-enabled gce-concurrent-refreshes
  gce-mig-instances-min-refresh-wait-time gpu-total grpc-expander-cert grpc-expander-url ignore-daemonsets-utilization
  ignore-mirror-pods-utilization ignore-taint initial-node-group-backoff-duration kube-api-content-type kube-client-burst
  kube-client-qps kubeconfig kubernetes leader-elect leader-elect-lease-duration leader-elect-renew-deadline
  leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period
  log-flush-frequency logging-format max-allocatable-difference-ratio max-autoprovisioned-node-group-count max-binpacking-time
  max-bulk-soft-taint-count max-bulk-soft-taint-time max-drain-parallelism max-empty-bulk-delete max-failing-time
  max-free-difference-ratio max-graceful-termination-sec max-inactivity max-node-group-backoff-duration max-node-provision-time
  max-node-skip-eval-time-tracker-enabled max-node-startup-time max-nodegroup-binpacking-duration max-nodes-per-scaleup
  max-nodes-total max-pod-eviction-time max-scale-down-parallelism max-startup-time max-total-unready-percentage
  memory-difference-ratio memory-total min-replica-count namespace new-pod-scale-up-delay node-autoprovisioning-enabled
  node-delete-delay-after-taint node-deletion-batcher-interval node-deletion-candidate-ttl node-deletion-delay-timeout
  node-group-auto-discovery node-group-backoff-reset-timeout node-info-cache-expire-time node-removal-latency-tracking-enabled
  nodes ok-total-unready-count parallel-scale-up pending-pods-batching-timeout pod-injection-limit predicate-parallelism
  profiling provisioning-request-initial-backoff-time provisioning-request-max-backoff-cache-size
  provisioning-request-max-backoff-time record-duplicated-events regional salvo-scale-up salvo-scale-up-budget
  scale-down-candidates-pool-min-count scale-down-candidates-pool-ratio scale-down-delay-after-add
  scale-down-delay-after-delete scale-down-delay-after-failure scale-down-delay-type-local scale-down-enabled
  scale-down-gpu-utilization-threshold scale-down-non-empty-candidates-count scale-down-simulation-timeout
  scale-down-unneeded-time scale-down-unready-enabled scale-down-unready-time scale-down-utilization-threshold
  scale-from-unschedulable scale-up-from-zero scaleup-simulation-for-skipped-node-groups-enabled scan-interval
  scheduler-config-file scheduler-verbosity skip-nodes-with-custom-controller-pods skip-nodes-with-local-storage
  skip-nodes-with-system-pods startup-taint startup-taint-prefix status-config-map-name status-taint
  unremovable-node-recheck-timeout user-agent v vmodule write-status-configmap
`
  .trim()
  .split(/\s+/);

const supported = new Set(FLAGS.map(({ name }) => name));
const retired = new Map(RETIRED_FLAGS.map((entry) => [entry.name, entry]));

describe("the Cluster Autoscaler's flags", () => {
  it('are all known: supported, or refused or ignored by name with what to use instead', () => {
    expect(UPSTREAM.length).toBeGreaterThan(130);
    expect(UPSTREAM.filter((name) => !supported.has(name) && !retired.has(name))).toEqual([]);
    expect(RETIRED_FLAGS.filter(({ name }) => supported.has(name)).map(({ name }) => name)).toEqual([]);
    expect(retired.size).toBe(RETIRED_FLAGS.length);
  });

  it.each(RETIRED_FLAGS.filter(({ verdict }) => verdict === 'refused'))(
    '--$name is refused with what to use instead',
    ({ name, asDone, instead }) => {
      expect(errorsOf({ argv: [`--${name}=other`] })).toEqual([`flag --${name}=other is not supported: ${instead}.`]);
      for (const value of asDone) expect(configOf({ argv: [`--${name}=${value}`] }).warnings).toEqual([]);
    },
  );

  it.each(RETIRED_FLAGS.filter(({ verdict }) => verdict === 'ignored'))(
    '--$name is told to have no effect',
    ({ name, asDone, instead, isBoolean }) => {
      expect(configOf({ argv: [`--${name}=other`] }).warnings).toEqual([`flag --${name}=other has no effect: ${instead}.`]);
      for (const value of asDone) expect(configOf({ argv: [`--${name}=${value}`] }).warnings).toEqual([]);
      if (isBoolean) expect(configOf({ argv: [`--${name}`, '--max-nodes-total=7'] }).policy.scaleUp.maxNodesTotal).toBe(7);
    },
  );

  it.each([
    [[], true],
    [['--frequent-loops-enabled'], true],
    [['--frequent-loops-enabled=false'], false],
    [['--frequent-loops-enabled=F'], false],
  ])('early loops: %j is %s', (argv, startEarly) => expect(configOf({ argv }).loop.startEarly).toBe(startEarly));

  it("those of the lease have Kubernetes' own names, meanings and defaults", () => {
    const leaseOf = (argv: readonly string[]) => {
      const { leaseName, leaseNamespace, leaseTiming } = configOf({ argv }).kubernetes;
      return { leaseName, leaseNamespace, ...leaseTiming };
    };
    expect(leaseOf([])).toEqual({
      leaseName: 'aks-autoscaler',
      leaseNamespace: 'kube-system',
      durationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryMs: 2_000,
    });
    expect(leaseOf(['--namespace=scaling']).leaseNamespace).toBe('scaling');
    const argv = [
      '--leader-elect=true',
      '--leader-elect-resource-lock=leases',
      '--leader-elect-resource-name=cluster-autoscaler',
      '--leader-elect-resource-namespace=elsewhere',
      '--leader-elect-lease-duration=1m',
      '--leader-elect-renew-deadline=40s',
      '--leader-elect-retry-period=5s',
    ];
    expect(leaseOf(argv)).toEqual({
      leaseName: 'cluster-autoscaler',
      leaseNamespace: 'elsewhere',
      durationMs: 60_000,
      renewDeadlineMs: 40_000,
      retryMs: 5_000,
    });
  });

  it('the arguments of an existing Deployment can be pasted', () => {
    const argv = [
      '--v=4',
      '--stderrthreshold=info',
      '--cloud-provider=azure',
      '--skip-nodes-with-local-storage=false',
      '--expander=least-waste',
      '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true,min=0,max=10',
      '--leader-elect-lease-duration=15s',
      '--feature-gates=A=true',
      '--emit-per-nodegroup-metrics',
      '--scale-down-unneeded-time=5m',
      '--logging-format',
      'json',
    ];
    const config = configOf({ argv });
    expect(config.policy.scaleDown.unneededForMs).toBe(300_000);
    expect(config.warnings.filter((warning) => warning.includes('no effect'))).toEqual([
      'flag --feature-gates=A=true has no effect: there are no gates: features are settings.',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { FLAGS } from '../../src/config/sources/flag-table.ts';
import { RETIRED_FLAGS } from '../../src/config/sources/retired-settings.ts';
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

/** Arguments of Deployments as they are found: examples of its Azure provider, its chart, AKS guides, answers on the net. */
const PASTED: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'the example with tags',
    '--v=3 --logtostderr=true --cloud-provider=azure --skip-nodes-with-local-storage=false --node-group-auto-discovery=label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=prod',
    ['v', 'logtostderr'],
  ],
  [
    'the example with names',
    '--v=3 --logtostderr=true --cloud-provider=azure --skip-nodes-with-local-storage=false --nodes=1:10:vmss1 --nodes=1:10:vmss2',
    ['v', 'logtostderr'],
  ],
  [
    'the chart',
    '--cloud-provider=azure --namespace=kube-system --nodes=1:3:aks-a-vmss --logtostderr=true --stderrthreshold=info --v=4',
    ['logtostderr', 'stderrthreshold', 'v'],
  ],
  [
    'the chart with values of its own',
    '--cloud-provider=azure --namespace=autoscaling --node-group-auto-discovery=label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=c --balance-similar-node-groups=true --expander=priority --scale-down-delay-after-add=10m0s --skip-nodes-with-system-pods=false --write-status-configmap=true',
    [],
  ],
  [
    'AKS profile settings by their flags',
    '--scan-interval=10s --scale-down-delay-after-add=10m --scale-down-delay-after-delete=10s --scale-down-delay-after-failure=3m --scale-down-unneeded-time=10m --scale-down-unready-time=20m --ignore-daemonsets-utilization=false --daemonset-eviction-for-empty-nodes=false --daemonset-eviction-for-occupied-nodes=true --scale-down-utilization-threshold=0.5 --max-graceful-termination-sec=600 --balance-similar-node-groups=false --expander=random --skip-nodes-with-local-storage=false --skip-nodes-with-system-pods=true --max-empty-bulk-delete=10 --new-pod-scale-up-delay=0s --max-total-unready-percentage=45 --max-node-provision-time=15m --ok-total-unready-count=3',
    ['max-empty-bulk-delete'],
  ],
  [
    'a big cluster',
    '--max-nodes-total=1000 --cores-total=0:100000 --memory-total=0:1000000 --max-scale-down-parallelism=50 --max-drain-parallelism=5 --max-bulk-soft-taint-count=100 --max-bulk-soft-taint-time=30s --kube-client-qps=50 --kube-client-burst=100 --max-nodegroup-binpacking-duration=30s --parallel-scale-up --predicate-parallelism=8',
    ['kube-client-qps', 'kube-client-burst', 'max-nodegroup-binpacking-duration', 'parallel-scale-up', 'predicate-parallelism'],
  ],
  [
    'one dash, values apart, durations of all kinds',
    '-v 4 -scan-interval 1.5m --scale-down-unneeded-time 1h30m0s -expander most-pods,least-waste --expendable-pods-priority-cutoff -10',
    ['v'],
  ],
  [
    'underscores and bare switches',
    '--skip_nodes_with_system_pods=false --balance_similar_node_groups --scale_down_enabled=False --skip_headers --one_output',
    ['skip-headers', 'one-output'],
  ],
  [
    'variables that were empty',
    '--cluster-name= --kubeconfig= --cloud-config= --bypassed-scheduler-names= --grpc-expander-url= --kubernetes= --feature-gates=',
    [],
  ],
  [
    'a name of the cluster, for other clouds',
    '--cloud-provider=azure --cluster-name=prod --leader-elect=true --leader-elect-resource-lock=leases --record-duplicated-events',
    ['cluster-name'],
  ],
  [
    'an older one',
    '--parallel-drain=true --regional=false --node-autoprovisioning-enabled=false --max-autoprovisioned-node-group-count=15 --async-node-groups=false --estimator=binpacking --alsologtostderr=true',
    ['max-autoprovisioned-node-group-count', 'alsologtostderr'],
  ],
];

describe("the Cluster Autoscaler's flags", () => {
  it('are all known: supported, or refused or ignored by name with what to use instead', () => {
    expect(UPSTREAM.length).toBeGreaterThan(130);
    expect(UPSTREAM.filter((name) => !supported.has(name) && !retired.has(name))).toEqual([]);
    expect(RETIRED_FLAGS.filter(({ name }) => supported.has(name)).map(({ name }) => name)).toEqual([]);
    expect(retired.size).toBe(RETIRED_FLAGS.length);
  });

  it.each(RETIRED_FLAGS.filter(({ verdict }) => verdict === 'refused'))(
    '--$name is refused with what to use instead',
    ({ name, builtIn, instead }) => {
      expect(errorsOf({ argv: [`--${name}=other`] })).toEqual([`flag --${name}=other is not supported: ${instead}.`]);
      for (const value of builtIn) expect(configOf({ argv: [`--${name}=${value}`] }).warnings).toEqual([]);
    },
  );

  it.each(RETIRED_FLAGS.filter(({ verdict }) => verdict === 'ignored'))(
    '--$name is reported to have no effect',
    ({ name, builtIn, instead, isBoolean }) => {
      expect(configOf({ argv: [`--${name}=other`] }).warnings).toEqual([`flag --${name}=other has no effect: ${instead}.`]);
      for (const value of builtIn) expect(configOf({ argv: [`--${name}=${value}`] }).warnings).toEqual([]);
      if (isBoolean) expect(configOf({ argv: [`--${name}`, '--max-nodes-total=7'] }).policy.scaleUp.maxNodesTotal).toBe(7);
    },
  );

  it.each(['0', '-3'])('predicates by %s threads are an error, here as there', (threads) => {
    expect(errorsOf({ argv: [`--predicate-parallelism=${threads}`] })).toEqual([
      `flag --predicate-parallelism is "${threads}"; it must be a whole number of at least 1, which has no effect: pods are compared by class, in one thread.`,
    ]);
  });

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

  it.each(PASTED)('of %s are taken as they are, and what has no effect is said by name', (_what, line, idle) => {
    const { warnings } = configOf({ argv: line.split(' ') });
    expect(warnings.map((warning) => /--([a-z-]+)[= ]/.exec(warning)?.[1])).toEqual(idle);
  });

  it.each([
    ['--parallel-scale-up --dry-run', 'a switch'],
    ['--v --dry-run', 'a flag without effect that lacks its value'],
    ['--kube-client-qps --dry-run', 'a flag that is gone'],
    ['-v4 --dry-run', 'a verbosity'],
    ['--cluster-name= --dry-run', 'an empty flag'],
  ])('%s: what follows %s is not lost', (line) => {
    expect(configOf({ argv: line.split(' ') }).dryRun).toBe(true);
  });

  it('given several times make one list where they do there, and the last counts where it does', () => {
    const argv = ['balancing-label=a', 'balancing-label=b', 'allowed-scheduler-names=x,y', 'allowed-scheduler-names=z'];
    const more = ['bypassed-scheduler-names=x', 'bypassed-scheduler-names=z', 'scan-interval=20s', 'scan-interval=30s'];
    const { policy, loop } = configOf({ argv: [...argv, ...more].map((flag) => `--${flag}`) });
    expect(policy.scaleUp).toMatchObject({
      balancingLabels: ['a', 'b'],
      allowedSchedulers: ['x', 'y', 'z'],
      bypassedSchedulers: ['x', 'z'],
    });
    expect(loop.scanIntervalMs).toBe(30_000);
  });

  it('shares by which similar groups may differ are obeyed, each by its own flag', () => {
    const ratiosOf = (line: string) => configOf({ argv: line.split(' ') }).policy.scaleUp.differenceRatios;
    const usual = { memory: 0.015, allocatable: 0.05, free: 0.05 };
    expect(ratiosOf('--dry-run')).toEqual(usual);
    expect(ratiosOf('--memory-difference-ratio=0.1')).toEqual({ ...usual, memory: 0.1 });
    expect(ratiosOf('--max-allocatable-difference-ratio 0 --max_free_difference_ratio=1')).toEqual({ ...usual, allocatable: 0, free: 1 });
    expect(configOf({ argv: ['--memory-difference-ratio=0.1'] }).warnings).toEqual([]);
  });

  it('have the range that they have there', () => {
    const { policy } = configOf({ argv: ['--max-total-unready-percentage=33.3', '--max-nodes-per-scaleup=0'] });
    expect(policy.cluster?.maxUnreadyShare).toBeCloseTo(0.333);
    expect(policy.scaleUp.maxNodesPerScaleUp).toBe(0);
  });

  it('a name of the cluster without its resource group is idle, unless it is said where agent pools are read from', () => {
    expect(configOf({ argv: ['--cluster-name=prod'] }).azure.clusterName).toBeUndefined();
    const env = { ARM_CLUSTER_RESOURCE_GROUP: 'rg' };
    expect(configOf({ argv: ['--cluster-name=prod'], env }).azure).toMatchObject({ clusterName: 'prod', clusterResourceGroup: 'rg' });
    expect(errorsOf({ env: { CLUSTER_NAME: 'prod' } })).toHaveLength(1);
  });

  it('are reported if they cancel each other out', () => {
    expect(configOf({ argv: ['--balancing-label=a', '--balancing-ignore-label=b'] }).warnings).toEqual([
      expect.stringContaining('balancingIgnoreLabels (--balancing-ignore-label) has no effect'),
    ]);
    expect(configOf({ argv: ['--balancing-label=a', '--memory-difference-ratio=0.1'] }).warnings).toEqual([
      expect.stringContaining('(--memory-difference-ratio) has no effect'),
    ]);
    expect(configOf({ argv: ['--balancing-label=a', '--memory-difference-ratio=0.015'] }).warnings).toEqual([]);
    const bands = '--drain-priority-config=1000:60,0:30';
    expect(configOf({ argv: [bands, '--max-graceful-termination-sec=600'] }).policy.drain.bands).toHaveLength(2);
    expect(errorsOf({ argv: [bands, '--max-graceful-termination-sec=300'] })).toEqual([
      expect.stringMatching(
        /^flag --drain-priority-config is ".*"; it must be used without .*--max-graceful-termination-sec\), since .*\.$/,
      ),
    ]);
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
      'flag --feature-gates=A=true has no effect: there are no feature gates: features are settings.',
    ]);
  });
});

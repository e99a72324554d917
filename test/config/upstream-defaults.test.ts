/** What a flag is when it is not given, here and in the Cluster Autoscaler: the same, but for what is written down. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FLAGS } from '../../src/config/sources/flag-table.ts';
import { RETIRED_FLAGS } from '../../src/config/sources/retired-settings.ts';
import { configOf } from './support.ts';

/** The Cluster Autoscaler's, of flags that mean something here and have a default that is a value. */
const UPSTREAM: Readonly<Record<string, string>> = {
  address: ':8085',
  'balance-similar-node-groups': 'false',
  'blocking-system-pod-distruption-timeout': '1h',
  'capacity-buffer-controller-enabled': 'false',
  'capacity-buffer-pod-dry-run-enabled': 'true',
  'capacity-buffer-pod-injection-enabled': 'false',
  'capacity-quotas-enabled': 'false',
  'check-capacity-batch-processing': 'false',
  'check-capacity-provisioning-request-batch-timebox': '10s',
  'check-capacity-provisioning-request-max-batch-size': '10',
  'cordon-node-before-terminating': 'true',
  'cores-total': '0:320000',
  'daemonset-eviction-for-empty-nodes': 'false',
  'daemonset-eviction-for-occupied-nodes': 'true',
  'enable-proactive-scaleup': 'false',
  'enable-provisioning-requests': 'false',
  'enforce-node-group-min-size': 'false',
  expander: 'least-waste',
  'expendable-pods-priority-cutoff': '-10',
  'frequent-loops-enabled': 'true',
  'ignore-daemonsets-utilization': 'false',
  'ignore-mirror-pods-utilization': 'false',
  'initial-node-group-backoff-duration': '5m',
  'leader-elect': 'true',
  'leader-elect-lease-duration': '15s',
  'leader-elect-renew-deadline': '10s',
  'leader-elect-resource-name': 'cluster-autoscaler',
  'leader-elect-retry-period': '2s',
  'max-binpacking-time': '5m',
  'max-allocatable-difference-ratio': '0.05',
  'max-bulk-soft-taint-count': '10',
  'max-bulk-soft-taint-time': '3s',
  'max-drain-parallelism': '1',
  'max-failing-time': '15m',
  'max-free-difference-ratio': '0.05',
  'max-graceful-termination-sec': '600',
  'max-inactivity': '10m',
  'max-node-group-backoff-duration': '30m',
  'max-node-provision-time': '15m',
  'max-node-startup-time': '15m',
  'max-nodes-per-scaleup': '1000',
  'max-nodes-total': '0',
  'max-pod-eviction-time': '2m',
  'max-scale-down-parallelism': '10',
  'max-startup-time': '20m',
  'max-total-unready-percentage': '45',
  'memory-difference-ratio': '0.015',
  'memory-total': '0:6400000',
  'min-replica-count': '0',
  namespace: 'kube-system',
  'new-pod-scale-up-delay': '0s',
  'node-delete-delay-after-taint': '5s',
  'node-deletion-candidate-ttl': '0s',
  'node-deletion-delay-timeout': '2m',
  'node-group-backoff-reset-timeout': '3h',
  'ok-total-unready-count': '3',
  'pod-injection-limit': '5000',
  'provisioning-request-initial-backoff-time': '1m',
  'provisioning-request-max-backoff-cache-size': '1000',
  'provisioning-request-max-backoff-time': '10m',
  'scale-down-delay-after-add': '10m',
  'scale-down-delay-after-delete': '0s',
  'scale-down-delay-after-failure': '3m',
  'scale-down-delay-type-local': 'false',
  'scale-down-enabled': 'true',
  'scale-down-simulation-timeout': '30s',
  'scale-down-gpu-utilization-threshold': '0.5',
  'scale-down-unneeded-time': '10m',
  'scale-down-unready-enabled': 'true',
  'scale-down-unready-time': '20m',
  'scale-down-utilization-threshold': '0.5',
  'scale-from-unschedulable': 'false',
  'scale-up-from-zero': 'true',
  'scan-interval': '10s',
  'skip-nodes-with-custom-controller-pods': 'true',
  'skip-nodes-with-local-storage': 'true',
  'skip-nodes-with-system-pods': 'true',
  'status-config-map-name': 'cluster-autoscaler-status',
  'unremovable-node-recheck-timeout': '5m',
  'write-status-configmap': 'true',
};
/** No value is the default there, or the flag is ours alone. */
const WITHOUT_DEFAULT = new Set(
  `
  config cloud-config nodes node-group-auto-discovery kubeconfig scheduler-config-file context cluster-name log-level dump-directory history-directory annotate-nodes probe-address
  leader-elect-resource-namespace heed-resource-locker cluster-autoscaler-metrics dry-run max-failures-in-row
  allow-degraded repack-enabled retail-prices retail-prices-endpoint retail-prices-file max-nodes-per-group-per-minute drain-priority-config
  startup-taint ignore-taint startup-taint-prefix status-taint balancing-ignore-label balancing-label
  allowed-scheduler-names bypassed-scheduler-names check-capacity-processor-instance
`
    .trim()
    .split(/\s+/),
);

const plain = configOf({});
const differs = Object.entries(UPSTREAM).filter(([name, value]) => {
  try {
    expect(configOf({ argv: [`--${name}=${value}`] })).toEqual(plain);
    return false;
  } catch {
    return true;
  }
});

describe('defaults', () => {
  it('are known of every flag that is supported', () => {
    const supported = FLAGS.filter(({ kind }) => kind !== 'ignored').map(({ name }) => name);
    expect(supported.filter((name) => !Object.hasOwn(UPSTREAM, name) && !WITHOUT_DEFAULT.has(name))).toEqual([]);
    expect(Object.keys(UPSTREAM).filter((name) => !supported.includes(name))).toEqual([]);
    expect(RETIRED_FLAGS.filter(({ name }) => Object.hasOwn(UPSTREAM, name))).toEqual([]);
  });

  it('are those of the Cluster Autoscaler, but for eight', () => {
    expect(differs.map(([name]) => name).toSorted()).toEqual([
      'address',
      'capacity-buffer-pod-dry-run-enabled',
      'enforce-node-group-min-size',
      'leader-elect-resource-name',
      'max-binpacking-time',
      'node-deletion-candidate-ttl',
      'scale-down-simulation-timeout',
      'skip-nodes-with-local-storage',
    ]);
  });

  it('are documented if they differ', () => {
    const text = readFileSync(join(resolve(import.meta.dirname, '..', '..'), 'docs', 'differing-defaults.md'), 'utf8');
    for (const [name, value] of differs) expect(text).toContain(`| \`--${name}\` | \`${value}\` | `);
  });
});

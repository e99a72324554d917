/** How the API server is reached, who leads, and what is kept in the cluster. */
import * as z from 'zod';
import { duration, endpoint, flag, SECOND_MS, text } from './leaves.ts';

const RETRY_JITTER = 1.2;

export const kubernetes = z
  .strictObject({
    kubeconfig: text('a file path').optional(),
    context: text("a context's name").optional(),
    apiServer: endpoint().optional(),
    namespace: text("a namespace's name").default('kube-system'),
    leaderElect: flag(true),
    leaseName: text("a lease's name").default('aks-autoscaler'),
    leaseNamespace: text("a namespace's name").optional(),
    leaseDuration: duration(15 * SECOND_MS, { leastMs: SECOND_MS }),
    leaseRenewDeadline: duration(10 * SECOND_MS, { leastMs: 100 }),
    leaseRetryPeriod: duration(2 * SECOND_MS, { leastMs: 100 }),
    identity: text('a name that is unique per process').optional(),
    eventSource: text("a component's name").default('aks-autoscaler'),
    statusConfigMap: flag(true),
    statusConfigMapName: text("a ConfigMap's name")
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, { error: "a ConfigMap's name" })
      .default('cluster-autoscaler-status'),
    heedResourceLocker: flag(true),
  })
  // As in Kubernetes' own leader election: a try, with its jitter, must fit into the time in which one must succeed.
  .refine((given) => given.leaseRenewDeadline > given.leaseRetryPeriod * RETRY_JITTER, {
    error: `a time that is longer than ${RETRY_JITTER} times kubernetes.leaseRetryPeriod`,
    path: ['leaseRenewDeadline'],
  })
  .refine((given) => given.leaseDuration > given.leaseRenewDeadline, {
    error: 'a time that is longer than kubernetes.leaseRenewDeadline, so that a leader gives up before another takes over',
    path: ['leaseDuration'],
  })
  // The record has whole seconds.
  .refine((given) => given.leaseDuration % SECOND_MS === 0, { error: 'whole seconds', path: ['leaseDuration'] })
  .prefault({});

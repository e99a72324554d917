import type { DrainRule } from './drain-rule.ts';

export const daemonSetPod: DrainRule = (pod) => (pod.daemonSet ? { kind: 'daemon-set' } : undefined);

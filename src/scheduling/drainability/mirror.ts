import type { DrainRule } from './drain-rule.ts';

/** A mirror pod is the kubelet's own: the API cannot move it. */
export const mirrorPod: DrainRule = (pod) => (pod.mirror ? { kind: 'skip' } : undefined);

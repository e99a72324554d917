import type { DrainRule } from './drain-rule.ts';

/** A pod that ended and will not be started again in place has nothing to lose. */
export const terminalPod: DrainRule = (pod) => {
  const ended = pod.phase === 'Failed' || (pod.phase === 'Succeeded' && pod.restartPolicy !== 'Always');
  return ended ? { kind: 'move' } : undefined;
};

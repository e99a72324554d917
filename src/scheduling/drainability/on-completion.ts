import type { DrainRule } from './drain-rule.ts';

export const onCompletion: DrainRule = (pod) => (pod.safeToEvict === 'on-completion' ? { kind: 'wait-for-completion' } : undefined);

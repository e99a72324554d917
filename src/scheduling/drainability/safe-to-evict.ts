import type { DrainRule } from './drain-rule.ts';

/** The owner's word ends the questions, the budget's included; the Eviction API still enforces the budget. */
export const safeToEvict: DrainRule = (pod) => (pod.safeToEvict === 'true' ? { kind: 'move' } : undefined);

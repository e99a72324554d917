import { History } from '../../src/observers/history/history.ts';
import { START_MS } from './builders.ts';
import { aPolicy } from './policy.ts';

/** A history that begins now and has seen nothing yet. */
export function aHistory(): History {
  const policy = aPolicy();
  return new History({ startedAtMs: START_MS, policy: () => policy });
}

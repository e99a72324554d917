/** One thing that was looked at, and what came of it. */
import { defined } from '../../lib/defined.ts';
export interface Check {
  /** A word from a closed set of areas, for who filters the JSON. */
  readonly area: 'config' | 'identity' | 'role' | 'pool' | 'kubernetes' | 'rbac' | 'budget' | 'quota' | 'subnet';
  /** `failed`: the autoscaler cannot do its work; `warning`: it can, and something is not as one would want it. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One sentence. */
  readonly message: string;
  /** A command to copy; what only a person knows is in capital letters. */
  readonly fix?: string;
}

export function ok(area: Check['area'], message: string): Check {
  return { area, status: 'ok', message };
}

export function failed(area: Check['area'], message: string, fix?: string): Check {
  return { area, status: 'failed', message, ...defined({ fix }) };
}

export function warning(area: Check['area'], message: string, fix?: string): Check {
  return { area, status: 'warning', message, ...defined({ fix }) };
}

export function skipped(area: Check['area'], message: string): Check {
  return { area, status: 'skipped', message };
}

/** The result of one check of `doctor`. */
import { defined } from '../../lib/defined.ts';

export interface Check {
  /** One of a closed set, for filters on the JSON. */
  readonly area: 'config' | 'identity' | 'role' | 'pool' | 'kubernetes' | 'rbac' | 'budget' | 'quota' | 'subnet' | 'store' | 'prices';
  /** `failed`: the autoscaler cannot work. `warning`: it can work, but something needs attention. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One sentence. */
  readonly message: string;
  /** A command to copy. Values that only the user knows are in capital letters. */
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

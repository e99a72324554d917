/** One column of a printed table, and the way ages are written in it. */
import { timestamp, type KubeObject } from '../objects.ts';

export interface Column {
  readonly name: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  readonly cell: (object: KubeObject, nowMs: number) => string | number;
}

/** `12s`, `5m30s`, `47m`, `3h5m`, `26h`, `2d4h`, `90d`: as people know it from kubectl. */
export function ageOf(since: string | undefined, nowMs: number): string {
  if (since === undefined) return '<unknown>';
  const seconds = Math.max(0, Math.floor((Date.parse(timestamp(nowMs)) - Date.parse(since)) / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const rest = (amount: number, unit: string): string => (amount === 0 ? '' : `${amount}${unit}`);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${rest(hours % 24, 'h')}`;
  return `${days}d`;
}

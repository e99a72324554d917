import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { BackoffRange } from '../api/backoff.ts';
import type { ObjectJson } from '../api/core-json.ts';
import type { Query, Rest } from '../api/rest.ts';

/** What a reflector fills. `complete` closes the full picture that `begin` opened: what was not put since is gone. */
export interface ReflectedTable {
  begin(): void;
  put(object: ObjectJson): void;
  remove(object: ObjectJson): void;
  complete(): void;
}

export interface ReflectorDeps {
  /** `pods`; label of its metrics. */
  readonly resource: string;
  /** `/api/v1/pods` */
  readonly path: string;
  readonly table: ReflectedTable;
  /** The kind comes with a definition that the cluster may lack: then there are none, which is no failure. Absent: it is. */
  readonly mayBeAbsent?: true;
  /** How long a refusal is borne with before `synced` rejects, milliseconds. Absent: a minute. */
  readonly refusalGraceMs?: number;
  /** Said with every list and watch, for example a field selector. */
  readonly query?: Query;
  readonly rest: Rest;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tuning?: Partial<ReflectorTuning>;
}

export interface ReflectorTuning {
  readonly pageSize: number;
  readonly backoff: BackoffRange;
  /** Real time without a byte after which a watch-list's first picture is given up for a LIST. */
  readonly initialSilenceMs: number;
  /** Real time without a byte, bookmarks included, after which a connection is taken for dead. */
  readonly silenceMs: number;
}

export const DEFAULT_TUNING: ReflectorTuning = {
  pageSize: 500,
  backoff: { firstMs: 250, maxMs: 30_000 },
  initialSilenceMs: 20_000,
  silenceMs: 180_000,
};

/** A resource that is watched, and the table that it fills. */
export interface Source {
  readonly resource: string;
  readonly path: string;
  readonly table: ReflectedTable;
  /**
   * Only pods with volumes, or those whose volumes are made only where their driver has room, or those with device claims, need it:
   * without it they wait, and nothing else does.
   */
  readonly onlyFor?: 'volumes' | 'room' | 'devices';
  readonly mayBeAbsent?: true;
}

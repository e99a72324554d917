import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { BackoffRange } from '../api/backoff.ts';
import type { ObjectJson } from '../api/core-json.ts';
import type { Query, Rest } from '../api/rest.ts';

/**
 * The table that a reflector fills. `complete` ends the full read that `begin` started: objects not put in between are
 * gone.
 */
export interface ReflectedTable {
  begin(): void;
  /** `report` is called with the reason if the object cannot be read. The other objects are not affected. */
  put(object: ObjectJson, report?: (reason: string) => void): void;
  remove(object: ObjectJson): void;
  complete(): void;
}

export interface ReflectorDeps {
  /** The resource, for example `pods`; also the label of its metrics. */
  readonly resource: string;
  /** For example `/api/v1/pods`. */
  readonly path: string;
  readonly table: ReflectedTable;
  /** The kind needs a CustomResourceDefinition that the cluster may lack. If set, a missing kind is not a failure. */
  readonly mayBeAbsent?: true;
  /** How long refusals are tolerated before `synced` rejects, milliseconds. If absent, one minute. */
  readonly refusalGraceMs?: number;
  /** Added to every list and watch, for example a field selector. */
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
  /** Real time without a byte after which a read by watch-list is given up for the first time; see `reflector.ts`. */
  readonly initialSilenceMs: number;
  /** Real time without a byte, bookmarks included, after which a connection counts as dead. */
  readonly silenceMs: number;
}

export const DEFAULT_TUNING: ReflectorTuning = {
  pageSize: 500,
  backoff: { firstMs: 250, maxMs: 30_000 },
  initialSilenceMs: 20_000,
  silenceMs: 180_000,
};

/** A resource to watch, and the table that it fills. */
export interface Source {
  readonly resource: string;
  readonly path: string;
  readonly table: ReflectedTable;
  /**
   * The only pods that need this resource. Without it these pods wait, and nothing else does. `volumes`: pods with
   * volumes. `room`: pods whose volumes are created only where the driver has room. `devices`: pods with device claims.
   * `spread`: pods that a profile of kube-scheduler spreads by default. `sizes`: pods that are created again; without them, they count with what they request now.
   * `device-taints`: none. A role of before these rules may refuse them, and
   * without them a pod waits for a device at worst.
   */
  readonly onlyFor?: 'volumes' | 'room' | 'devices' | 'spread' | 'device-taints' | 'sizes';
  readonly mayBeAbsent?: true;
}

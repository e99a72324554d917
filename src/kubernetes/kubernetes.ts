/**
 * The Kubernetes side: watches, projection to domain values, taints, evictions, events, the lease. Must not know Azure,
 * planning or the loop. No API type leaves this folder.
 */
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { Random } from '../lib/random.ts';
import type { LeaderLease } from '../domain/ports/leadership.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { REFUSAL_GRACE_MS, statusOf } from './api/errors.ts';
import { createNodeAnnotator } from './writes/node-annotation.ts';
import { createNodeTainter } from './writes/taints.ts';
import { createPodEvictor } from './writes/evictions.ts';
import { createPodNominator } from './writes/nominations.ts';
import { backoffMs, type Retry } from './api/backoff.ts';
import { createCapacityWriter } from './writes/capacity-status.ts';
import { ReplacedConfigMaps, StoredConfigMap, WatchedConfigMap } from './writes/config-maps.ts';
import { ApiOwnerReader } from './writes/owners.ts';
import { openConnection } from './api/connection.ts';
import { LeaseLeadership, soleLeadership } from './leadership/leader-lease.ts';
import type { Kubernetes, KubernetesOptions } from './api/options.ts';
import { QueuedEventRecorder } from './writes/events.ts';
import { ResourceLocker } from './leadership/resource-locker.ts';
import { createRest, type Rest } from './api/rest.ts';
import { ForeignEvents } from './views/foreign-events.ts';
import { WatchedClusterReader } from './views/cluster-reader.ts';
import { readNodeWriters } from './views/node-writers.ts';
import { defined } from '../lib/defined.ts';

export type { Kubernetes, KubernetesOptions } from './api/options.ts';

interface KubernetesDeps {
  readonly options: KubernetesOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
  /** Cancels the first request to the API server. If absent, only its time limit ends it. */
  readonly signal?: AbortSignal;
}

const DEFAULT_NAME = 'aks-autoscaler';
const DEFAULT_CALL_TIMEOUT_MS = 30_000;
export const PROBE_TIMEOUT_MS = 10_000;
const PROBE_BACKOFF = { firstMs: 250, maxMs: 10_000 };
/** Codes of connections that stood and were cut. Others mean a wrong address or certificate, which does not pass. */
const CUT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * Opens the connections and checks that the API server answers. Starts no watch: `reader.start` does. @throws
 * AutoscalerError `config` (kubeconfig unreadable), `auth`, `unavailable` (no answer), `cancelled`.
 */
export async function connectKubernetes(deps: KubernetesDeps): Promise<Kubernetes> {
  const { options, clock, random, log, metrics } = deps;
  const { namespace, identity, eventSource = DEFAULT_NAME, userAgent = DEFAULT_NAME, callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS } = options;
  const connection = await openConnection(options, clock);
  let lease: LeaderLease = soleLeadership({ identity, clock });
  const rest = createRest({ connection, clock, metrics, userAgent, timeoutMs: callTimeoutMs, beforeWrite: () => lease.verify() });
  try {
    await probe(deps, rest, deps.signal ?? new AbortController().signal);
  } catch (thrown) {
    await connection.close();
    throw withServerAddress(asAutoscalerError(thrown), connection.server, options);
  }
  const retry: Retry = { clock, random, range: { firstMs: 50, maxMs: 2_000 }, attempts: 6 };
  const reader = new WatchedClusterReader({
    ...deps,
    rest,
    followWorkloads: options.followWorkloads === true,
    readsPreferences: options.readsPreferences === true,
    readsAutoscalers: options.readsAutoscalers === true,
    ...defined({
      taints: options.taints,
      conditions: options.conditions,
      capacity: options.capacity,
      spreadDefaults: options.spreadDefaults,
    }),
  });
  const events = new QueuedEventRecorder({ rest, clock, retry, log, metrics, source: eventSource, identity });
  if (options.leaderElect) lease = new LeaseLeadership({ ...leaseOf(options), rest, clock, random, log, metrics });
  const locker = new ResourceLocker({ rest, clock, random, log, metrics });
  const foreign = new ForeignEvents({ rest, log });
  const replaced = new ReplacedConfigMaps({ rest, retry });
  const closing = new AbortController();
  const watchedConfigMaps: WatchedConfigMap[] = [];
  return {
    reader,
    tainter: createNodeTainter({ rest, retry }),
    annotator: createNodeAnnotator(rest),
    evictor: createPodEvictor(rest),
    nominator: createPodNominator(rest),
    owners: new ApiOwnerReader({ rest, clock }),
    events,
    capacityObjects: createCapacityWriter(rest),
    lease,
    foreignLock: locker,
    watchForeignLock: (signal) => locker.start(AbortSignal.any([signal, closing.signal])),
    writeConfigMap: (wanted, signal) => replaced.write(wanted, signal),
    deleteConfigMap: (name, signal) => replaced.delete(name, signal),
    watchConfigMap: (name, listener, signal, refusalGraceMs) => {
      const watched = new WatchedConfigMap({ rest, clock, random, log, metrics }, name, listener, refusalGraceMs);
      watchedConfigMaps.push(watched);
      return watched.start(AbortSignal.any([signal, closing.signal]));
    },
    foreignEvents: (component, sinceMs, signal) => foreign.since(component, sinceMs, AbortSignal.any([signal, closing.signal])),
    nodeWriters: (name, signal) => readNodeWriters(rest, name, AbortSignal.any([signal, closing.signal])),
    storedText: (name, key) => new StoredConfigMap(rest, { namespace, name, key }),
    close: async () => {
      closing.abort();
      await Promise.all([reader.close(), events.close(), locker.ended(), ...watchedConfigMaps.map((watched) => watched.ended())]);
      await connection.close();
    },
  };
}

function leaseOf({ namespace, leaseNamespace = namespace, leaseName: name, leaseTiming: timing, identity }: KubernetesOptions) {
  return { namespace: leaseNamespace, name, identity, ...defined({ timing }) };
}

/**
 * Any answer is enough unless it refuses our credential: reading the version may be forbidden. A connection that is cut is tried
 * again as long as a refusal is: load balancers and API servers that are being replaced do that.
 */
async function probe({ clock, random, log }: KubernetesDeps, rest: Rest, signal: AbortSignal): Promise<void> {
  const giveUpAtMs = clock.monotonic() + REFUSAL_GRACE_MS;
  for (let failures = 1; ; failures++) {
    try {
      await rest.json({ method: 'GET', path: '/version', timeoutMs: PROBE_TIMEOUT_MS }, signal);
      return;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      const status = statusOf(error);
      if (status !== undefined && status !== 401) return;
      // guard: a first call whose connection is cut is tried again
      if (!CUT.has(error.code ?? '') || clock.monotonic() >= giveUpAtMs) throw error;
      log.warn({ error: error.message, failures }, 'The first call to the API server was cut; retrying');
      await clock.sleep(backoffMs(PROBE_BACKOFF, failures, random), signal);
    }
  }
}

/** Adds the address of the API server and the setting it comes from to a failed probe. */
function withServerAddress(error: AutoscalerError, server: string, { kubeconfigPath }: KubernetesOptions): AutoscalerError {
  if (error.kind !== 'unavailable') return error;
  const source = kubeconfigPath === undefined ? 'the service account of this pod' : `--kubeconfig ${kubeconfigPath}`;
  const asked = `the API server is ${server}, from ${source}; it must be an https address that answers from here`;
  return new AutoscalerError(error.detail, `${error.message.replace(/\.$/, '')}: ${asked}.`, { cause: error });
}

/** Connects to the cluster that is recorded, with the rights of the person or the service account. Reads only. */
import type { Config } from '../../../src/config/types/config.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { asAutoscalerError } from '../../../src/lib/errors.ts';
import type { Random } from '../../../src/lib/random.ts';
import type { LoadRecorder } from '../../lab/recordings/load-recorder.ts';
import type { RecordingLog } from '../../lab/recordings/recording-log.ts';
import { openConnection } from '../../../src/kubernetes/api/connection.ts';
import { statusOf } from '../../../src/kubernetes/api/errors.ts';
import type { KubernetesOptions } from '../../../src/kubernetes/api/options.ts';
import { createRest, type Rest } from '../../../src/kubernetes/api/rest.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { recordLive } from './record-live.ts';
import { WatchedLoad } from './watched-load.ts';

interface LiveInput {
  readonly recorder: LoadRecorder;
  readonly log: RecordingLog;
  readonly forMs: number | undefined;
  /** If absent, Azure is not read. */
  readonly config: Config | undefined;
  readonly say: (sentence: string) => void;
  readonly gapFromMs: number | undefined;
}

interface ConnectedCluster {
  /** @throws AutoscalerError as `recordLive` does. */
  record(input: LiveInput, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const PROBE_TIMEOUT_MS = 10_000;

interface ClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** @throws AutoscalerError `config`, `auth`; `unavailable` if the server does not answer. */
export async function connectCluster(
  options: KubernetesOptions,
  { clock, random }: ClusterDeps,
  signal: AbortSignal,
): Promise<ConnectedCluster> {
  const metrics = createMetrics();
  const connection = await openConnection(options, clock);
  const rest = createRest({ connection, clock, metrics, userAgent: 'aks-autoscaler-record', timeoutMs: TIMEOUT_MS });
  try {
    await probe(rest, signal);
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
  return {
    record: async ({ recorder, config, ...input }, stop) => {
      const watched = new WatchedLoad(recorder, { rest, clock, random, log: createLog('silent'), metrics });
      const readPools = config === undefined ? undefined : await poolReader(config, clock);
      await recordLive({ ...input, recorder, watched, clock, readPools }, stop);
    },
    close: () => connection.close(),
  };
}

/** The watches retry for ever, so a wrong address is found out before them. */
async function probe(rest: Rest, signal: AbortSignal): Promise<void> {
  try {
    await rest.json({ method: 'GET', path: '/version', timeoutMs: PROBE_TIMEOUT_MS }, signal);
  } catch (thrown) {
    const status = statusOf(asAutoscalerError(thrown));
    if (status === undefined || status === 401) throw thrown;
  }
}

async function poolReader(config: Config, clock: Clock) {
  const { readAzurePools } = await import('./azure-pools.ts');
  return (signal: AbortSignal) => readAzurePools(config, clock, signal);
}

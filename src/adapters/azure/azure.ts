/**
 * The Azure side of the autoscaler: node groups read through caching agents and written with conditional requests.
 * Knows ARM and nothing of Kubernetes, planning or the loop.
 */
import type { TokenCredential } from '@azure/core-auth';
import type { Clock } from '../../domain/clock.ts';
import { AutoscalerError } from '../../domain/errors.ts';
import type { Random } from '../../domain/random.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { CloudNodeGroups } from '../../ports/cloud-node-groups.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { AzureOptions } from './options.ts';

export interface AzureDependencies {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
  /** Instead of the one made from `options.credential`; for tests. */
  readonly credential?: TokenCredential;
}

export interface AzureNodeGroups extends CloudNodeGroups {
  /** One plain record per caching agent, for `/debug/agents`. */
  agentStatus(): readonly object[];
  /** ARM and token calls under way; a harness in virtual time holds its clock while there are any. */
  inFlightCalls(): number;
  /** Stops the agents and the tracking of operations. */
  close(): Promise<void>;
}

/** Makes the adapter. No call leaves before `start`. */
export function connectAzure(_dependencies: AzureDependencies): AzureNodeGroups {
  throw new AutoscalerError({ kind: 'bug' }, 'The Azure adapter is being built.');
}

/**
 * What was last read of AKS's maintenance configurations, and for how long it counts. Sends no call.
 * Idea: schedule.
 */
import type { MaintenanceConfiguration, MaintenanceReading } from '../../domain/schedule-rules.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import type { AzureOptions } from '../arm/options.ts';

/** They change a few times a year. An older reading says nothing about now. */
const STALE_MS = 24 * 3_600_000;

const NOT_READ: MaintenanceReading = Object.freeze({ known: false, reason: 'they have not been read yet' });
const NOT_NAMED: MaintenanceReading = Object.freeze({
  known: false,
  reason: 'reading them needs the name of the cluster and its resource group (azure.clusterName, azure.clusterResourceGroup)',
});

export class MaintenanceReadings {
  readonly #isNamed: boolean;
  #read: { readonly reading: MaintenanceReading; readonly atMs: number } | undefined;
  #failed: MaintenanceReading | undefined;

  constructor({ clusterName, clusterResourceGroup }: Pick<AzureOptions, 'clusterName' | 'clusterResourceGroup'>) {
    this.#isNamed = clusterName !== undefined && clusterResourceGroup !== undefined;
  }

  keep(configurations: readonly MaintenanceConfiguration[], atMs: number): void {
    this.#read = { reading: { known: true, configurations }, atMs };
    this.#failed = undefined;
  }

  keepFailure({ kind, message }: Pick<AutoscalerError, 'kind' | 'message'>): void {
    const reason =
      kind === 'auth'
        ? 'the identity lacks Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read on the cluster'
        : message;
    if (this.#failed?.known !== false || this.#failed.reason !== reason) this.#failed = { known: false, reason };
  }

  /** Whether the first read is still under way. */
  get isPending(): boolean {
    return this.#isNamed && this.#read === undefined && this.#failed === undefined;
  }

  /** The same object until another one counts. */
  current(nowMs: number): MaintenanceReading {
    // guard: hours of AKS that were read more than a day ago are not known
    if (this.#read !== undefined && nowMs - this.#read.atMs <= STALE_MS) return this.#read.reading;
    return this.#failed ?? (this.#isNamed ? NOT_READ : NOT_NAMED);
  }
}

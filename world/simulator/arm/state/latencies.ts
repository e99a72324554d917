/** All adjustable quantities of the emulated Azure. Durations are simulated milliseconds. */
import type { Latency } from './seeded-random.ts';

export interface ArmLatencies {
  /** Items per page of every list. */
  readonly pageSize: number;
  /** Items per page of the public price list, which is not part of ARM. */
  readonly retailPageSize: number;
  /** Time until a response is sent, after it was made. */
  readonly answerLatency: Latency;
  /** The same for a PUT to AKS. Recorded by its own client from 2025 to July 2026: 7, 8, 10, 10 and 11 s. */
  readonly aksAnswerLatency: Latency;
  /** From accepting a scale-up to the instance showing in lists. */
  readonly instanceVisible: Latency;
  /** From accepting to the VM being allocated and starting. */
  readonly allocated: Latency;
  /** From accepting to the refusal of a VM that is out of stock. */
  readonly allocationRefused: Latency;
  /** From accepting to a running operating system. */
  readonly osUp: Latency;
  readonly osUpGpu: Latency;
  /** From accepting to `Succeeded`, extensions included. Never before the operating system runs. */
  readonly provisioned: Latency;
  readonly deleteGraceful: Latency;
  readonly deleteForced: Latency;
  readonly deallocate: Latency;
  /** From the request to a VM that is stopped and keeps its hardware. */
  readonly powerOff: Latency;
  readonly start: Latency;
  /** From the request to a VM that has stopped and runs again. */
  readonly restart: Latency;
  /** From the request to the attached disk, and to the detached one. */
  readonly diskAttach: Latency;
  readonly diskDetach: Latency;
  /** How long Compute takes to update a model alone. */
  readonly modelUpdate: Latency;
  /** How long an operation of AKS takes that changes no VM, such as one on the limits of a pool. */
  readonly aksModelUpdate: Latency;
  /** From the last new or started VM of an agent pool to the end of AKS's operation. Meanwhile AKS refuses other writes of the pool. */
  readonly aksGrowthEnd: Latency;
  /** From a scheduled event to the eviction. */
  readonly evictionNotice: Latency;
  /** How long the capacity of a set stays after an accepted delete, at most until the delete ends (azure-wire 20). */
  readonly capacityLagAfterDeleteMs: number;
  /** Whether AKS sets the capacity of a scale set to its count once more when its operation ends (azure-wire 16.6). */
  readonly aksRestoresAtEnd: boolean;
  /** The largest age of the lists of scale sets and VMs of a resource group; 0: always current. */
  readonly listStalenessMs: number;
  /** Seconds between polls, as `Retry-After` states them. */
  readonly retryAfterSeconds: { readonly write: number; readonly remove: number; readonly deallocate: number };
  /** Whether a new instance takes the lowest free id. Otherwise ids only rise. */
  readonly reuseInstanceIds: boolean;
  /** Whether VMs that could not be allocated stay listed as `Failed`. */
  readonly listFailedInstances: boolean;
  /** Whether a failed scale-up reverts its increase of the capacity. */
  readonly rollbackOnFail: boolean;
  /** Whether a set without strict zone balance gets VMs in another zone if one has no stock, instead of failures (azure-wire 12.5). */
  readonly zonesFallBack: boolean;
  /** Share of VMs whose bootstrap fails. */
  readonly bootstrapFailureRate: number;
  /** Share of VMs whose operating system does not report in time. */
  readonly osTimeoutRate: number;
  readonly throttling: boolean;
  /** Whether Compute names its rate limits as before 2024, such as `GetVMScaleSetVM3Min`. */
  readonly olderBudgetNames: boolean;
  /** Whether the end of an operation changes the etag of its scale set again. */
  readonly etagMovesAtEnd: boolean;
  /** Lifetime of tokens, in seconds of the client's own time. */
  readonly tokenLifetimeSeconds: number;
  /** How long AKS waits for the VMs of a pool before its operation fails. An estimate. */
  readonly aksPatienceMs: number;
  /** How long finished operations can be read. */
  readonly operationKeptMs: number;
  /** From a write to its entry in the activity log. */
  readonly activityLogDelayMs: number;
  /** The last journal entries that can be read again; at most twice as many are in memory. */
  readonly journalLimit: number;
}

const SECOND = 1_000;

/**
 * Medians and tails. Recorded were, in seconds: 39, 44 and 45 for two VMs of a scale set (2025), 133 and 150 for four nodes of an agent pool and 118 for two
 * that are started, 19 and 21 for changes of an agent pool without VMs, less than 60 for two deleted machines, 35, 9 and 55 to deallocate, stop and restart
 * two VMs (2022 to 2026). With the values below, the slowest of two VMs has that median. The other values are estimates from field reports.
 */
export const DEFAULT_LATENCIES: ArmLatencies = {
  pageSize: 100,
  retailPageSize: 1000,
  answerLatency: { p50: 0, p95: 0 },
  aksAnswerLatency: { p50: 9 * SECOND, p95: 11 * SECOND },
  instanceVisible: { p50: 3 * SECOND, p95: 8 * SECOND },
  allocated: { p50: 6 * SECOND, p95: 15 * SECOND },
  allocationRefused: { p50: 13 * SECOND, p95: 22 * SECOND },
  osUp: { p50: 33 * SECOND, p95: 62 * SECOND },
  osUpGpu: { p50: 180 * SECOND, p95: 420 * SECOND },
  provisioned: { p50: 36 * SECOND, p95: 70 * SECOND },
  deleteGraceful: { p50: 40 * SECOND, p95: 70 * SECOND },
  deleteForced: { p50: 25 * SECOND, p95: 60 * SECOND },
  deallocate: { p50: 28 * SECOND, p95: 55 * SECOND },
  powerOff: { p50: 8 * SECOND, p95: 12 * SECOND },
  start: { p50: 12 * SECOND, p95: 40 * SECOND },
  restart: { p50: 48 * SECOND, p95: 75 * SECOND },
  diskAttach: { p50: 12 * SECOND, p95: 12 * SECOND },
  diskDetach: { p50: 10 * SECOND, p95: 10 * SECOND },
  modelUpdate: { p50: 4 * SECOND, p95: 8 * SECOND },
  aksModelUpdate: { p50: 20 * SECOND, p95: 22 * SECOND },
  aksGrowthEnd: { p50: 85 * SECOND, p95: 100 * SECOND },
  evictionNotice: { p50: 30 * SECOND, p95: 30 * SECOND },
  capacityLagAfterDeleteMs: 0,
  aksRestoresAtEnd: false,
  listStalenessMs: 0,
  retryAfterSeconds: { write: 10, remove: 10, deallocate: 30 },
  reuseInstanceIds: false,
  listFailedInstances: true,
  rollbackOnFail: false,
  zonesFallBack: false,
  bootstrapFailureRate: 0,
  osTimeoutRate: 0,
  throttling: true,
  olderBudgetNames: false,
  etagMovesAtEnd: false,
  tokenLifetimeSeconds: 3_599,
  aksPatienceMs: 1_200 * SECOND,
  operationKeptMs: 3_600 * SECOND,
  activityLogDelayMs: 300 * SECOND,
  journalLimit: 20_000,
};

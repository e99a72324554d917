/**
 * The configuration of the whole program, read once at start. Durations are in milliseconds, and everything is frozen. Each
 * part of the program gets only its own section. Must not know where a value comes from.
 */
import type { SpreadDefaults } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { AzureConfig } from '../schema/azure-section.ts';
import type { Listener } from '../schema/schema.ts';

type LogLevelName = 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** `retryMs` is well below `renewDeadlineMs`, which is below `durationMs`. */
interface LeaseTimingConfig {
  readonly durationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** Has the structure that the Kubernetes adapter expects. */
export interface KubernetesConfig {
  readonly kubeconfigPath?: string;
  readonly context?: string;
  readonly apiServer?: string;
  readonly namespace: string;
  readonly leaseName: string;
  /** Begins the names of the ConfigMaps with the memory and the learned templates: two autoscalers in one namespace have one each. */
  readonly configMapPrefix: string;
  readonly leaseNamespace: string;
  readonly leaseTiming: LeaseTimingConfig;
  readonly identity: string;
  readonly leaderElect: boolean;
  readonly eventSource: string;
  /** Whether the status is written to a ConfigMap, and its name. Events refer to the same ConfigMap. */
  readonly statusConfigMap: boolean;
  readonly statusConfigMapName: string;
  /** Whether nodes that are not removed get an annotation with the reason. */
  readonly annotateNodes: boolean;
  /** Whether writes to Azure stop while another component holds the Lease `kube-system/aks-managed-resource-locker`. */
  readonly heedResourceLocker: boolean;
  /** The required constraints of kube-scheduler's profiles for pods without their own. */
  readonly spreadDefaults: SpreadDefaults;
}

interface LoopConfig {
  readonly scanIntervalMs: number;
  /** An early loop starts when no further pod became unschedulable for this long ... */
  readonly batchIdleMs: number;
  /** ... and at the latest this long after the first. */
  readonly batchMaxMs: number;
  /** Whether early loops are allowed. If not, there is one loop per scan interval. */
  readonly startEarly: boolean;
  /** Maximum number of plans per loop, including the first. */
  readonly maxPlansPerLoop: number;
  /** How long a clean stop may take before the process exits anyway. */
  readonly shutdownTimeoutMs: number;
}

interface HttpConfig extends Listener {
  /** Serves the probes alone. If undefined, only the main listener serves them. */
  readonly probes: Listener | undefined;
  /** Contains the bearer token of /debug. If undefined, /debug is served to the local host only. */
  readonly debugTokenFile: string | undefined;
}

/** `/healthz` fails after these times: without an ended loop, without a completed one, and without a first completed one. */
interface HealthConfig {
  readonly maxInactivityMs: number;
  readonly maxFailingMs: number;
  readonly maxStartupMs: number;
  readonly maxFailuresInRow: number;
}

export interface Config {
  readonly azure: AzureConfig;
  readonly kubernetes: KubernetesConfig;
  readonly policy: Policy;
  readonly loop: LoopConfig;
  readonly http: HttpConfig;
  readonly health: HealthConfig;
  /** Whether the Cluster Autoscaler's metric names are served beside the native ones. */
  readonly metrics: { readonly clusterAutoscalerNames: boolean };
  readonly logLevel: LogLevelName;
  /** Folder for dumps of decisions, for replay; undefined for none. */
  readonly dumpDirectory: string | undefined;
  /** Folder for changes and decisions of the last day, for the next process; undefined for none. */
  readonly historyDirectory: string | undefined;
  /** Nothing is written to Azure, and only a Lease of its own to the cluster. Withheld writes are recorded. */
  readonly dryRun: boolean;
  /** Settings that are accepted but ignored, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/** All errors of the input, one sentence each, with the key, the value and what is accepted. */
export interface ConfigErrors {
  readonly errors: readonly string[];
}

export interface ConfigInput {
  /** Arguments after the command's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns a file's text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Set on reload: a file that is being written may be empty for a moment and must not reset the configuration. */
  readonly refuseEmptyFiles?: boolean;
  /** Used in the lease identity if the environment contains no pod name. */
  readonly hostname?: string;
}

export function isConfigErrors(outcome: Config | ConfigErrors): outcome is ConfigErrors {
  return 'errors' in outcome;
}

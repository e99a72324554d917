/** The lines of a recording, checked one by one: a file may be cut off, edited, or of another version. */
import * as z from 'zod';
import { type LoadEvent, type LoadPool, type Workload, WORKLOAD_KINDS } from './load.ts';

const RECORDING_FORMAT = 'aks-autoscaler-load';
const RECORDING_VERSION = 1;

/** The first line. */
export interface RecordingHeader {
  readonly name: string;
  /** Milliseconds since the epoch. Times of all other lines count from here. */
  readonly startMs: number;
  readonly currency: string;
  /** It is being written: its lines are in the order in which they became known, and events are earlier than events before. */
  readonly isOpen?: true;
}

/** Every other line. Pools come before all events, a workload before the first event that names it. `end` is the last line. */
export type RecordingLine =
  | { readonly kind: 'start-pool'; readonly pool: LoadPool }
  | { readonly kind: 'workload'; readonly workload: Workload }
  | LoadEvent
  /** Nothing was seen from `atMs` until `untilMs`: pods that came and ended between them are missing. */
  | { readonly kind: 'gap'; readonly atMs: number; readonly untilMs: number }
  /** What a reader must know about the recording, such as what could not be seen. One sentence. */
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'end'; readonly atMs: number };

/** A year. */
const MOST_MS = 366 * 24 * 3_600_000;
const time = z.number().min(0).max(MOST_MS);
const count = z.number().int().min(0).max(100_000);
const name = z.string().min(1).max(253);
const textMap = z.record(z.string().max(317), z.string().max(4_096));
const quantities = z.record(name, z.union([z.string().max(64), z.number()]));
const json = z.record(name, z.unknown());
const amount = z.union([z.number().int().min(0), z.string().max(16)]);

const container = z.strictObject({
  requests: quantities.exactOptional(),
  hostPorts: z
    .array(z.strictObject({ port: z.number().int().min(1).max(65_535), protocol: z.enum(['TCP', 'UDP', 'SCTP']).exactOptional() }))
    .exactOptional(),
  isSidecar: z.boolean().exactOptional(),
});

const pod = z.strictObject({
  labels: textMap.exactOptional(),
  annotations: textMap.exactOptional(),
  containers: z.array(container).min(1).max(100),
  initContainers: z.array(container).max(100).exactOptional(),
  overhead: quantities.exactOptional(),
  nodeSelector: textMap.exactOptional(),
  affinity: json.exactOptional(),
  topologySpreadConstraints: z.array(json).max(100).exactOptional(),
  tolerations: z.array(json).max(100).exactOptional(),
  priority: z.number().int().exactOptional(),
  preemptionPolicy: z.enum(['Never', 'PreemptLowerPriority']).exactOptional(),
  hostNetwork: z.boolean().exactOptional(),
  terminationGracePeriodSeconds: z.number().min(0).exactOptional(),
  volumes: z
    .array(z.strictObject({ kind: z.enum(['emptyDir', 'hostPath', 'disk']), storageClass: name.exactOptional() }))
    .max(100)
    .exactOptional(),
});

const workload = z.strictObject({
  id: name,
  name,
  namespace: name,
  kind: z.enum(WORKLOAD_KINDS),
  pod,
  budget: z.strictObject({ minAvailable: amount.exactOptional(), maxUnavailable: amount.exactOptional() }).exactOptional(),
});

const pool = z.strictObject({
  name,
  kind: z.enum(['vmss-uniform', 'vmss-flexible', 'vms-pool']).exactOptional(),
  vmSize: name,
  size: z
    .strictObject({
      vcpus: z.number().min(1),
      memoryGiB: z.number().min(0),
      gpus: count.exactOptional(),
      architecture: z.enum(['amd64', 'arm64']).exactOptional(),
      family: name.exactOptional(),
    })
    .exactOptional(),
  count,
  min: count,
  max: count,
  limitsUnknown: z.literal(true).exactOptional(),
  zones: z.array(name).max(10).exactOptional(),
  priority: z.enum(['Regular', 'Spot']).exactOptional(),
  evictionPolicy: z.enum(['Delete', 'Deallocate']).exactOptional(),
  mode: z.enum(['System', 'User']).exactOptional(),
  labels: textMap.exactOptional(),
  taints: z.array(z.string().max(400)).max(100).exactOptional(),
  pricePerHour: z.number().min(0).exactOptional(),
});

const line = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('start-pool'), pool }),
  z.strictObject({ kind: z.literal('workload'), workload }),
  z.strictObject({ kind: z.literal('replicas'), atMs: time, workload: name, count }),
  z.strictObject({ kind: z.literal('run'), atMs: time, workload: name, runMs: time, count: count.min(1).exactOptional() }),
  z.strictObject({ kind: z.literal('template'), atMs: time, workload: name, pod }),
  z.strictObject({ kind: z.literal('spot-eviction'), atMs: time, pool: name, count }),
  z.strictObject({
    kind: z.literal('stock'),
    atMs: time,
    vmSize: name,
    zone: name.exactOptional(),
    priority: z.enum(['Regular', 'Spot']).exactOptional(),
    count: count.nullable(),
    code: name.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('refusal'), atMs: time, pool: name, why: z.enum(['quota', 'throttled']), forMs: time }),
  z.strictObject({ kind: z.literal('node-failure'), atMs: time, pool: name, forMs: time.exactOptional() }),
  z.strictObject({ kind: z.literal('zone-outage'), atMs: time, zone: name, forMs: time }),
  z.strictObject({ kind: z.literal('failure'), atMs: time, pool: name, how: z.enum(['refused', 'no-node']), count }),
  z.strictObject({ kind: z.literal('pool'), atMs: time, pool }),
  z.strictObject({ kind: z.literal('pool-removed'), atMs: time, pool: name }),
  z.strictObject({ kind: z.literal('gap'), atMs: time, untilMs: time }),
  z.strictObject({ kind: z.literal('note'), text: z.string().min(1).max(1_000) }),
  z.strictObject({ kind: z.literal('end'), atMs: time }),
]);

const header = z.object({
  name,
  startMs: z.number().min(0).max(8.64e15),
  currency: z.string().regex(/^[A-Z]{3}$/),
  isOpen: z.literal(true).exactOptional(),
});

/** The header of the file as a line. */
export function headerLine({ name, startMs, currency, isOpen }: RecordingHeader): string {
  const open = isOpen === undefined ? {} : { isOpen };
  return JSON.stringify({ format: RECORDING_FORMAT, version: RECORDING_VERSION, name, startMs, currency, ...open });
}

/** @returns the header, or what is wrong with it as the rest of a sentence. */
export function parseHeader(text: string): RecordingHeader | string {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || !('format' in value) || value.format !== RECORDING_FORMAT)
    return 'is not a recording of a load';
  const version = 'version' in value ? value.version : undefined;
  if (version !== RECORDING_VERSION)
    return `has version ${JSON.stringify(version) ?? 'unknown'} of the format; this program reads version ${RECORDING_VERSION}`;
  const checked = header.safeParse(value);
  return checked.success ? checked.data : `has an invalid header: ${firstIssue(checked.error)}`;
}

/** @returns the line, or what is wrong with it as the rest of a sentence. */
export function parseLine(text: string): RecordingLine | string {
  const value = parseJson(text);
  if (value === undefined) return 'is not JSON';
  const checked = line.safeParse(value);
  return checked.success ? checked.data : `is invalid: ${firstIssue(checked.error)}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function firstIssue({ issues }: z.ZodError): string {
  const [issue] = issues;
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unknown'}`.replace(/^: /, '');
}

/**
 * The cluster checks of `doctor`: our permissions, and disruption budgets that can never allow an eviction. Reads only.
 * Must not know how the results are shown.
 */
import type { DevicePool } from '../domain/devices.ts';
import type { Clock } from '../lib/clock.ts';
import { AutoscalerError } from '../lib/errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { openConnection } from './api/connection.ts';
import type { KubernetesOptions } from './api/options.ts';
import type { SliceJson } from './api/resource-json.ts';
import { createRest, type Rest } from './api/rest.ts';
import { projectSlice } from './projection/devices.ts';
import { publish } from './views/device-view.ts';

/** One access review for the API server's authorizer. An empty text means all. */
export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

interface StuckBudget {
  readonly namespace: string;
  readonly name: string;
  /** Why no eviction can ever be allowed. */
  readonly reason: string;
}

export interface KubernetesDiagnosis {
  readonly server: string;
  /** @throws AutoscalerError */
  version(signal: AbortSignal): Promise<string>;
  /** @throws AutoscalerError */
  mayI(access: Access, signal: AbortSignal): Promise<boolean>;
  /** @throws AutoscalerError */
  stuckBudgets(signal: AbortSignal): Promise<readonly StuckBudget[]>;
  /** The types of conditions that nodes have, by agent pool. @throws AutoscalerError */
  conditionTypes(signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** The devices that nodes publish, by agent pool and node. @throws AutoscalerError */
  publishedDevices(signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly DevicePool[]>>>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;

/** @throws AutoscalerError `config` or `auth` if no usable credential exists. */
export async function diagnoseKubernetes(options: KubernetesOptions, clock: Clock, metrics: Metrics): Promise<KubernetesDiagnosis> {
  const connection = await openConnection(options, clock);
  const rest = createRest({ connection, clock, metrics, userAgent: 'aks-autoscaler-doctor', timeoutMs: TIMEOUT_MS });
  return {
    server: connection.server,
    version: async (signal) => field(await rest.json({ method: 'GET', path: '/version' }, signal), 'gitVersion'),
    mayI: (access, signal) => mayI(rest, access, signal),
    stuckBudgets: (signal) => stuckBudgets(rest, signal),
    conditionTypes: (signal) => conditionTypes(rest, signal),
    publishedDevices: (signal) => publishedDevices(rest, signal),
    close: () => connection.close(),
  };
}

export async function mayI(
  rest: Rest,
  { verb, group, resource, subresource, namespace, name }: Access,
  signal: AbortSignal,
): Promise<boolean> {
  const attributes = { verb, group, resource, subresource, namespace, name };
  const resourceAttributes = Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''));
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const answer = await rest.json({ method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body }, signal);
  const status = objectAt(answer, 'status');
  if (status === undefined)
    throw new AutoscalerError({ kind: 'kube-api', status: undefined }, 'The API server returned no result for an access review.');
  return Reflect.get(status, 'allowed') === true;
}

async function stuckBudgets(rest: Rest, signal: AbortSignal): Promise<readonly StuckBudget[]> {
  const found: StuckBudget[] = [];
  for (const item of await listAll(rest, '/apis/policy/v1/poddisruptionbudgets', signal)) {
    const reason = neverPasses(objectAt(item, 'spec'), objectAt(item, 'status'));
    const metadata = objectAt(item, 'metadata');
    if (reason !== undefined) found.push({ namespace: field(metadata, 'namespace'), name: field(metadata, 'name'), reason });
  }
  return found;
}

async function conditionTypes(rest: Rest, signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const byPool = new Map<string, Set<string>>();
  for (const node of await listAll(rest, '/api/v1/nodes', signal)) {
    const pool = poolOf(objectAt(node, 'metadata'));
    const types = byPool.get(pool) ?? new Set();
    for (const condition of itemsAt(objectAt(node, 'status'), 'conditions')) types.add(field(condition, 'type'));
    byPool.set(pool, types);
  }
  return byPool;
}

/** A node without complete devices has an empty list. */
async function publishedDevices(rest: Rest, signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly DevicePool[]>>> {
  const slices = (await listAll(rest, '/apis/resource.k8s.io/v1/resourceslices', signal)).map((slice) => projectSlice(slice as SliceJson));
  const byNode = Map.groupBy(slices, ({ node = '' }) => node);
  const byPool = new Map<string, Map<string, readonly DevicePool[]>>();
  for (const node of await listAll(rest, '/api/v1/nodes', signal)) {
    const metadata = objectAt(node, 'metadata');
    const name = field(metadata, 'name');
    const pool = poolOf(metadata);
    byPool.set(pool, (byPool.get(pool) ?? new Map<string, readonly DevicePool[]>()).set(name, publish(byNode.get(name) ?? []).pools));
  }
  return byPool;
}

function poolOf(metadata: object | undefined): string {
  const labels = objectAt(metadata, 'labels');
  return field(labels, 'kubernetes.azure.com/agentpool') || field(labels, 'agentpool');
}

async function listAll(rest: Rest, path: string, signal: AbortSignal): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let next = '';
  do {
    const query = { limit: 500, ...(next === '' ? {} : { continue: next }) };
    const page = await rest.json({ method: 'GET', path, query }, signal);
    for (const item of itemsAt(page, 'items')) found.push(item);
    next = field(objectAt(page, 'metadata'), 'continue');
  } while (next !== '');
  return found;
}

function itemsAt(value: unknown, key: string): readonly unknown[] {
  const items: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return Array.isArray(items) ? (items as readonly unknown[]) : [];
}

/**
 * A budget that blocks now may allow evictions later. This returns a reason only if its own numbers never do, even with
 * all pods running.
 */
function neverPasses(spec: object | undefined, status: object | undefined): string | undefined {
  const expected = Number(status === undefined ? NaN : Reflect.get(status, 'expectedPods'));
  if (!(expected > 0)) return undefined;
  const most = share(spec, 'maxUnavailable');
  const least = share(spec, 'minAvailable');
  // Both are rounded up, as in the disruption controller.
  if (most !== undefined && scaled(most, expected) === 0) return `maxUnavailable is ${most}`;
  if (least !== undefined && scaled(least, expected) >= expected) return `minAvailable is ${least} of ${expected} pods`;
  return undefined;
}

function share(spec: object | undefined, key: string): string | number | undefined {
  const value: unknown = spec === undefined ? undefined : Reflect.get(spec, key);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

function scaled(value: string | number, of: number): number {
  const percent = typeof value === 'string' ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  return percent === undefined ? Number(value) : Math.ceil((Number(percent) * of) / 100);
}

function objectAt(value: unknown, key: string): object | undefined {
  const part: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof part === 'object' && part !== null ? part : undefined;
}

function field(value: unknown, key: string): string {
  const part: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof part === 'string' ? part : '';
}

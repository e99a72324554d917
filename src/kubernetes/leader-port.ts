/**
 * Finds the replica that leads by its Lease, and opens connections to a port of its pod, with the rights of the person who asks. Reads only.
 * Must not know what is asked.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { openConnection, type Connection } from './api/connection.ts';
import { statusOf } from './api/errors.ts';
import type { KubernetesOptions } from './api/options.ts';
import { openPodPort } from './api/port-forward.ts';
import { createRest, getOrUndefined, type Rest } from './api/rest.ts';
import { mayI } from './diagnosis.ts';
import type { LeaseJson } from './leadership/lease-record.ts';

export interface LeaderPort {
  /** The identity in the Lease; in a cluster, the name of the pod. */
  readonly leader: string;
  /** @throws AutoscalerError `auth` without the right, `not-found` if the leader is no pod, `unavailable` otherwise. */
  open(): Promise<Duplex>;
  close(): Promise<void>;
}

interface LeaderPortDeps {
  readonly options: Pick<KubernetesOptions, 'kubeconfigPath' | 'context' | 'namespace' | 'leaseName' | 'identity' | 'leaderElect'>;
  readonly port: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

const TIMEOUT_MS = 10_000;

/** @throws AutoscalerError `config`, `auth`; `not-found` if no replica holds the Lease; `unavailable` if the server does not answer. */
export async function findLeader({ options, port, clock, metrics }: LeaderPortDeps, signal: AbortSignal): Promise<LeaderPort> {
  const connection = await openConnection(options, clock);
  const rest = createRest({ connection, clock, metrics, userAgent: 'aks-autoscaler-explain', timeoutMs: TIMEOUT_MS });
  try {
    const leader = await readHolder(rest, options, signal);
    const target = { namespace: options.namespace, pod: leader, port };
    return { leader, open: () => openOrExplain(connection, rest, target, signal), close: () => connection.close() };
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

type LeaseName = Pick<KubernetesOptions, 'namespace' | 'leaseName'>;

async function readHolder(rest: Rest, { namespace, leaseName }: LeaseName, signal: AbortSignal): Promise<string> {
  const name = `${namespace}/${leaseName}`;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(leaseName)}`;
  const lease = await getOrUndefined(rest, path, signal).catch((thrown: unknown) => {
    if (statusOf(asAutoscalerError(thrown)) !== 403) throw thrown;
    throw missingRight(
      { verbs: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace },
      `read the Lease ${name}, which names the leader`,
    );
  });
  const { spec }: LeaseJson = lease ?? {};
  const holder = spec?.holderIdentity ?? '';
  if (holder !== '') return holder;
  const why = lease === undefined ? 'it does not exist' : 'no replica holds it';
  throw new AutoscalerError(
    { kind: 'not-found' },
    `No replica leads: the Lease ${name} has no holder (${why}). See --namespace and --lease-name.`,
  );
}

interface Target {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** The API server does not say why it refuses a WebSocket, so the likely reasons are looked up. */
async function openOrExplain(connection: Connection, rest: Rest, target: Target, signal: AbortSignal): Promise<Duplex> {
  try {
    return await openPodPort(connection, target);
  } catch (thrown) {
    const { namespace, pod } = target;
    const access = { group: '', resource: 'pods', subresource: 'portforward', namespace, name: '' };
    if (!(await mayI(rest, { ...access, verb: 'create' }, signal)) || !(await mayI(rest, { ...access, verb: 'get' }, signal)))
      throw missingRight({ verbs: 'create, get', group: '', resource: 'pods/portforward', namespace }, `reach the leader ${pod}`);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
    if ((await getOrUndefined(rest, path, signal)) !== undefined) throw thrown;
    throw new AutoscalerError(
      { kind: 'not-found' },
      `The leader ${pod} is not a pod in namespace ${namespace}: it runs elsewhere. Give its address with --url.`,
    );
  }
}

interface MissingRight {
  readonly verbs: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
}

function missingRight({ verbs, group, resource, namespace }: MissingRight, purpose: string): AutoscalerError {
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: [${verbs}]}`;
  return new AutoscalerError(
    { kind: 'auth' },
    `You have no right to ${purpose}. A Role in namespace ${namespace} with this rule grants it: ${rule}`,
  );
}

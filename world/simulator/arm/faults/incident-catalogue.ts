/**
 * Known failures of Azure by number: one request raises an incident that operators reported. A number stands for faults (until
 * they are removed), for an event (once), or for a change of what Azure offers (until it is removed). Must not know the client
 * under test.
 */
import type { WorldEvent } from './world-event.ts';
import { clusterInProgress, scaleInProgress } from '../http/errors.ts';
import type { FaultEffect, FaultMatch } from '../state/fault-rules.ts';
import type { Json } from '../http/json.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** The facts of the affected pool that an entry needs. */
export interface IncidentTarget {
  readonly pool: string;
  readonly vmSize: string;
  readonly zone: string | undefined;
  readonly subnet: string;
  readonly location: string;
}

export type PlatformIncident =
  | { readonly faults: readonly { readonly match: FaultMatch; readonly effect: FaultEffect }[] }
  | { readonly event: WorldEvent }
  /** Reduces a quota to its current usage. `family` is the pool's own. */
  | { readonly quota: 'family' | 'cores' | 'lowPriorityCores' }
  | { readonly stock: number }
  | { readonly restrict: readonly string[] };

export interface CatalogueEntry {
  readonly name: string;
  readonly make: (target: IncidentTarget) => PlatformIncident;
}

const SETS = '**/virtualMachineScaleSets';
const SET = '**/virtualMachineScaleSets/*';
const INSTANCES = '**/virtualMachineScaleSets/*/virtualMachines';
const DELETE = '**/virtualMachineScaleSets/*/delete';
const OPERATION = '**/operations/*';
const COMPUTE = '**/providers/Microsoft.Compute/**';
const POOL = '**/agentPools/*';
const TOKEN = '**/oauth2/**';

const put: FaultMatch = { method: 'PUT', pathGlob: SET };
const post: FaultMatch = { method: 'POST', pathGlob: DELETE };
const reads: FaultMatch = { method: 'GET', pathGlob: COMPUTE };
const lists: FaultMatch = { method: 'GET', pathGlob: SETS };
const instances: FaultMatch = { method: 'GET', pathGlob: INSTANCES };
const operations: FaultMatch = { method: 'GET', pathGlob: OPERATION };

const SERVER_ERROR: Json = { error: { code: 'InternalServerError', message: 'The server encountered an error.' } };
const HTML = '<html><head><title>502 Bad Gateway</title></head><body>Bad gateway</body></html>';
const CONSTRAINTS =
  'Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again. Constraints applied are:\n  - Networking Constraints (such as Accelerated Networking or IPv6)\n  - VM Size\n';

function entry(name: string, make: CatalogueEntry['make']): CatalogueEntry {
  return { name, make };
}

/** One fault on requests. `match` is combined with the pool if the path has one. */
function requestFault(name: string, match: FaultMatch, effect: FaultEffect): CatalogueEntry {
  return entry(name, () => ({ faults: [{ match, effect }] }));
}

function creationFault(name: string, how: Extract<FaultEffect, { readonly kind: 'birth' }>['how'], match: FaultMatch = {}): CatalogueEntry {
  return requestFault(name, match, { kind: 'birth', how });
}

function eventIncident(name: string, event: (pool: string) => WorldEvent): CatalogueEntry {
  return entry(name, ({ pool }) => ({ event: event(pool) }));
}

function refusal(status: number, code: string, message: string): FaultEffect {
  return { kind: 'answer', status, body: { error: { code, message } } };
}

function throttled(code: string, retryAfterSeconds?: number): FaultEffect {
  const body = { error: { code, message: 'The server rejected the request because too many requests have been received.' } };
  return { kind: 'answer', status: 429, body, ...defined({ retryAfterSeconds }) };
}

function unauthorized(code: string, message: string, challenge: string): FaultEffect {
  return { kind: 'answer', status: 401, body: { error: { code, message } }, headers: { 'www-authenticate': `Bearer ${challenge}` } };
}

const CLAIMS = Buffer.from('{"access_token":{"nbf":{"essential":true,"value":"1"}}}').toString('base64');

/** By number. */
export const INCIDENT_CATALOGUE: ReadonlyMap<number, CatalogueEntry> = new Map<number, CatalogueEntry>([
  [1, entry('family quota', () => ({ quota: 'family' }))],
  [2, entry('regional quota', () => ({ quota: 'cores' }))],
  [3, entry('Spot quota', () => ({ quota: 'lowPriorityCores' }))],
  [4, entry('SKU not available', () => ({ restrict: [] }))],
  [5, entry('allocation failed', () => ({ stock: 0 }))],
  [6, entry('zonal allocation failed', () => ({ stock: 0 }))],
  [
    7,
    requestFault('overconstrained', {}, { kind: 'birth', how: 'refused', code: 'OverconstrainedAllocationRequest', message: CONSTRAINTS }),
  ],
  [8, requestFault('partial fulfilment', { nth: 2 }, { kind: 'birth', how: 'refused' })],
  [9, creationFault('slow create', 'slow')],
  [10, creationFault('stuck in Creating', 'stuck')],
  [11, creationFault('bootstrap fails', 'cse')],
  [12, creationFault('OS does not report', 'os-timeout')],
  [13, creationFault('VM without a node', 'no-node')],
  [14, creationFault('late node', 'late-node')],
  [
    15,
    requestFault(
      'precondition failed',
      put,
      refusal(412, 'PreconditionFailed', 'Etag provided in if-match header "1" does not match etag "2" of resource.'),
    ),
  ],
  [16, requestFault('lost update', put, { kind: 'racing-writer', delta: 1 })],
  [
    17,
    requestFault('concurrent operation', put, refusal(409, 'Conflict', 'The request failed due to conflict with a concurrent request.')),
  ],
  [18, eventIncident('preempted operation', (pool) => ({ preempt: { pool } }))],
  [19, requestFault('throttled set', put, throttled('TooManyRequests', 36))],
  [20, requestFault('throttled subscription', { pathGlob: COMPUTE }, throttled('TooManyRequests', 60))],
  [21, requestFault('throttled reads', reads, throttled('SubscriptionRequestsThrottled', 17))],
  [22, requestFault('throttled without Retry-After', reads, throttled('TooManyRequests'))],
  [23, requestFault('throttled for a long time', reads, throttled('TooManyRequests', 1_200))],
  [
    24,
    requestFault(
      'throttled by AKS',
      { method: 'PUT', pathGlob: POOL },
      {
        kind: 'answer',
        status: 429,
        body: {
          code: 'Throttled',
          message: 'The PutAgentPoolHandler.PUT request limit has been exceeded for agentpool, please retry again in 36 seconds.',
        },
        retryAfterSeconds: 36,
      },
    ),
  ],
  [25, requestFault('server error after the effect', put, { kind: 'effect-then-answer', status: 502, body: HTML })],
  [26, requestFault('reset after the effect', put, { kind: 'reset', afterEffect: true })],
  [27, requestFault('delayed response', put, { kind: 'delay', ms: 90_000 })],
  [28, requestFault('truncated body', lists, { kind: 'truncated-body' })],
  [29, requestFault('empty list', lists, { kind: 'empty-list' })],
  [
    30,
    requestFault(
      'AKS is busy',
      { method: 'PUT', pathGlob: POOL },
      { kind: 'answer', status: 409, body: scaleInProgress('user1', 'Scaling') },
    ),
  ],
  [31, requestFault('capacity reads as 0', { method: 'GET', pathGlob: SET }, { kind: 'capacity-reads-as', value: 0 })],
  [32, requestFault('stale list', lists, { kind: 'stale-list' })],
  [33, requestFault('capacity lags after a delete', post, { kind: 'capacity-lag', ms: 60_000 })],
  [34, requestFault('stuck delete', {}, { kind: 'removal', how: 'stuck' })],
  [35, requestFault('failed delete', {}, { kind: 'removal', how: 'fails' })],
  [
    36,
    requestFault('inactive id', post, {
      kind: 'answer',
      status: 400,
      body: {
        error: {
          code: 'InvalidParameter',
          message: 'The provided instanceId 0 is not an active Virtual Machine Scale Set VM instanceId.',
          target: 'instanceIds',
        },
      },
    }),
  ],
  [
    37,
    requestFault(
      'forced delete refused',
      { ...post, query: 'forcedeletion=true' },
      refusal(409, 'OperationNotAllowed', "Operation 'forceDelete' is not allowed on this scale set."),
    ),
  ],
  [
    38,
    requestFault(
      'expired token',
      reads,
      unauthorized(
        'ExpiredAuthenticationToken',
        'The access token expiry UTC time is earlier than current UTC time.',
        'error="invalid_token"',
      ),
    ),
  ],
  [
    39,
    requestFault(
      'revoked session',
      reads,
      unauthorized(
        'AuthenticationFailed',
        'Continuous access evaluation asks for new claims.',
        `error="insufficient_claims", claims="${CLAIMS}"`,
      ),
    ),
  ],
  [
    40,
    requestFault(
      'lost role',
      { pathGlob: COMPUTE },
      refusal(403, 'AuthorizationFailed', 'The client does not have authorization to perform action.'),
    ),
  ],
  [41, requestFault('policy denial', put, refusal(403, 'RequestDisallowedByPolicy', 'Resource was disallowed by policy.'))],
  [
    42,
    requestFault(
      'no tokens',
      { pathGlob: TOKEN },
      {
        kind: 'answer',
        status: 503,
        body: { error: 'temporarily_unavailable', error_description: 'AADSTS90033: A transient error has occurred. Please try again.' },
      },
    ),
  ],
  [43, eventIncident('eviction, deleted', (pool) => ({ evict: { pool, policy: 'Delete' } }))],
  [44, eventIncident('eviction, deallocated', (pool) => ({ evict: { pool, policy: 'Deallocate' } }))],
  [45, eventIncident('mass eviction', (pool) => ({ evict: { pool, fraction: 0.75, overMs: 60_000 } }))],
  [46, entry('zone outage', ({ zone }) => ({ event: { zoneDown: { zone: zone ?? '1', forMs: 30 * 60_000 } } }))],
  [47, eventIncident('repair', (pool) => ({ repair: { pool } }))],
  [48, eventIncident('foreign scale', (pool) => ({ foreignScale: { pool, delta: 1 } }))],
  [49, eventIncident('pool removed', (pool) => ({ removePool: { pool } }))],
  [50, entry('pool appears', ({ pool, vmSize }) => ({ event: { addPool: { name: `${pool}new`, vmSize, count: 1, min: 0, max: 3 } } }))],
  [51, requestFault('operation forgotten', operations, refusal(404, 'NotFound', 'The entity was not found in this Azure location.'))],
  [
    52,
    requestFault('success with an error', operations, {
      kind: 'answer',
      status: 200,
      body: { status: 'Succeeded', error: { code: 'NotLatestOperation', message: 'A newer operation has taken over.' } },
    }),
  ],
  [53, requestFault('unknown status', operations, { kind: 'answer', status: 200, body: { status: 'Accepted' } })],
  [54, creationFault('success before the list shows it', 'unlisted')],
  [55, requestFault('item missing between pages', reads, { kind: 'page-shift', by: 1 })],
  [56, requestFault('endless pages', reads, { kind: 'endless-pages' })],
  [57, requestFault('other letter case', reads, { kind: 'upper-case-ids' })],
  [58, requestFault('no SKU list', { method: 'GET', pathGlob: '**/skus' }, { kind: 'answer', status: 500, body: SERVER_ERROR })],
  [59, entry('SKU restricted', ({ zone }) => ({ restrict: [zone ?? '1'] }))],
  [60, requestFault('bare items', instances, { kind: 'bare-items' })],
  [61, requestFault('clock skew', { pathGlob: COMPUTE }, { kind: 'date-skew', ms: -3 * 3_600_000 })],
  [62, eventIncident('failed set', (pool) => ({ failSet: { pool } }))],
  [
    63,
    entry('no addresses', ({ subnet }) => ({
      faults: [
        {
          match: {},
          effect: {
            kind: 'birth',
            how: 'refused',
            code: 'SubnetIsFull',
            message: `Subnet ${subnet} with address prefix 10.224.0.0/24 does not have enough capacity for 1 IP addresses.`,
          },
        },
      ],
    })),
  ],
  [64, eventIncident('upgrade by AKS', (pool) => ({ upgrade: { pool, surge: 1 } }))],
  [
    65,
    requestFault(
      'AKS is busy with the cluster',
      { method: 'PUT', pathGlob: POOL },
      { kind: 'answer', status: 409, body: clusterInProgress('Updating') },
    ),
  ],
]);

/**
 * The misfortunes of a soak run, numbered as in the catalogue of ARM's faults. Those that Azure makes by itself (stock,
 * quota, evictions, other writers, pools that come and go) are events of the world and not in this table.
 */
import type { Random } from '../../src/lib/random.ts';
import type { Fault, FaultEffect, FaultMatch } from '../../world/simulator/arm/state/fault-rules.ts';
import { happens, oneOf, whole } from './chance.ts';

const SECOND = 1_000;
const SETS = '**/virtualMachineScaleSets';
const SET = '**/virtualMachineScaleSets/*';
const INSTANCES = '**/virtualMachineScaleSets/*/virtualMachines';
const DELETE = '**/virtualMachineScaleSets/*/delete';
const OPERATION = '**/operations/*';
const ANY = '**/providers/Microsoft.Compute/**';
const MACHINES = '**/Microsoft.Compute/virtualMachines';
const POOLS = '**/agentPools';
const POOL = '**/agentPools/*';
const DELETE_MACHINES = '**/agentPools/*/deleteMachines';
const ANY_AKS = '**/providers/Microsoft.ContainerService/**';

interface FaultKind {
  /** Number in the catalogue. */
  readonly id: string;
  readonly match: FaultMatch;
  /** Longest time that the fault stays, milliseconds. */
  readonly longestMs: number;
  readonly effect: (random: Random) => FaultEffect;
}

function refusal(status: number, code: string, message: string): FaultEffect {
  return { kind: 'answer', status, body: { error: { code, message } } };
}

function throttled(code: string, retryAfterSeconds?: number): FaultEffect {
  const body = { error: { code, message: 'The server is busy with too many requests. Please try again later.' } };
  return { kind: 'answer', status: 429, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

const HTML = '<html><head><title>502 Bad Gateway</title></head><body>Bad gateway</body></html>';
const SERVER_ERROR = { error: { code: 'InternalServerError', message: 'The server encountered an error.' } };

function kind(id: string, match: FaultMatch, longestSeconds: number, effect: FaultKind['effect']): FaultKind {
  return { id, match, longestMs: longestSeconds * SECOND, effect };
}

const put: FaultMatch = { method: 'PUT', pathGlob: SET };
const post: FaultMatch = { method: 'POST', pathGlob: DELETE };
const list: FaultMatch = { method: 'GET', pathGlob: SETS };
const get: FaultMatch = { method: 'GET', pathGlob: SET };
const instances: FaultMatch = { method: 'GET', pathGlob: INSTANCES };
const operation: FaultMatch = { method: 'GET', pathGlob: OPERATION };
const anything: FaultMatch = { pathGlob: ANY };
const machines: FaultMatch = { method: 'GET', pathGlob: MACHINES };
const poolPut: FaultMatch = { method: 'PUT', pathGlob: POOL };
const poolList: FaultMatch = { method: 'GET', pathGlob: POOLS };
const machineDelete: FaultMatch = { method: 'POST', pathGlob: DELETE_MACHINES };
const anyAks: FaultMatch = { pathGlob: ANY_AKS };

const POOL_BUSY = {
  code: 'OperationNotAllowed',
  message:
    'Operation is not allowed: Another agentpool operation (other - Scaling) is in progress, please wait for it to finish before starting a new operation. See https://aka.ms/aks-pending-operation for more details',
};
const POOL_THROTTLED = { code: 'Throttled', message: 'The PutAgentPoolHandler request limit has been exceeded.' };

const serverError = (random: Random): FaultEffect =>
  happens(random, 0.5)
    ? { kind: 'answer', status: oneOf(random, [500, 503, 504]), body: SERVER_ERROR }
    : { kind: 'answer', status: 502, body: HTML };

const FAULT_KINDS: readonly FaultKind[] = [
  kind('1 family quota', put, 300, () =>
    refusal(
      409,
      'OperationNotAllowed',
      'Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: 100, Current Usage: 100, Additional Required: 4, (Minimum) New Limit Required: 104.',
    ),
  ),
  kind('4 SKU not available', put, 300, () =>
    refusal(409, 'SkuNotAvailable', 'The requested size for resource is currently not available in location westeurope.'),
  ),
  kind('15 precondition', put, 60, () => refusal(412, 'PreconditionFailed', 'The etag value provided does not match the current one.')),
  kind('16 racing writer', put, 120, (random) => ({ kind: 'racing-writer', delta: oneOf(random, [-1, 1, 2]) })),
  kind('16 racing writer before a delete', post, 120, (random) => ({ kind: 'racing-writer', delta: oneOf(random, [-1, 1]) })),
  kind('17 conflict of a write', put, 120, () => refusal(409, 'Conflict', 'The request failed due to conflict with a concurrent request.')),
  kind('17 conflict of a delete', post, 120, () =>
    refusal(409, 'Conflict', 'The request failed due to conflict with a concurrent request.'),
  ),
  kind('19 429 of a set', put, 120, () => throttled('TooManyRequests', 36)),
  kind('20 429 of the subscription', anything, 120, () => throttled('TooManyRequests', 60)),
  kind('21 429 of reads', { method: 'GET', pathGlob: ANY }, 180, () => throttled('SubscriptionRequestsThrottled', 17)),
  kind('22 429 without a time', anything, 120, () => throttled('TooManyRequests')),
  kind('23 429 for long', { ...anything }, 10, () => throttled('TooManyRequests', 1200)),
  kind('25 server error', anything, 120, serverError),
  kind('25 server error of writes', put, 120, serverError),
  kind('25 server error of deletes', post, 120, serverError),
  kind('25 effect, then a server error', put, 120, () => ({ kind: 'effect-then-answer', status: 500, body: SERVER_ERROR })),
  kind('25 delete, then a server error', post, 120, () => ({ kind: 'effect-then-answer', status: 502, body: HTML })),
  kind('26 reset after a write', put, 120, () => ({ kind: 'reset', afterEffect: true })),
  kind('26 reset after a delete', post, 120, () => ({ kind: 'reset', afterEffect: true })),
  kind('26 reset', anything, 90, () => ({ kind: 'reset', afterEffect: false })),
  kind('27 a write answered late', put, 180, (random) => ({ kind: 'delay', ms: whole(random, 1, 90) * SECOND })),
  kind('27 a delete answered late', post, 180, (random) => ({ kind: 'delay', ms: whole(random, 1, 90) * SECOND })),
  kind('27 reads answered late', { method: 'GET', pathGlob: ANY }, 120, (random) => ({ kind: 'delay', ms: whole(random, 1, 40) * SECOND })),
  kind('28 truncated', anything, 90, () => ({ kind: 'truncated-body' })),
  kind('29 empty list of sets', list, 150, () => ({ kind: 'empty-list' })),
  kind('29 empty list of instances', instances, 150, () => ({ kind: 'empty-list' })),
  kind('31 capacity reads as 0', get, 120, () => ({ kind: 'capacity-reads-as', value: 0 })),
  kind('31 capacity lists as 0', list, 120, () => ({ kind: 'capacity-reads-as', value: 0 })),
  kind('32 stale list of sets', list, 180, () => ({ kind: 'stale-list' })),
  kind('32 stale list of instances', instances, 180, () => ({ kind: 'stale-list' })),
  kind('36 inactive id', post, 60, () =>
    refusal(400, 'InvalidParameter', 'The provided instanceId 0 is not an active Virtual Machine Scale Set VM instanceId.'),
  ),
  kind('38 expired token', anything, 60, () => refusal(401, 'ExpiredAuthenticationToken', 'The access token expiry time is in the past.')),
  kind('40 lost role', anything, 180, () =>
    refusal(403, 'AuthorizationFailed', 'The client does not have authorization to perform action.'),
  ),
  kind('41 lock', { method: 'POST', pathGlob: DELETE }, 180, () =>
    refusal(409, 'ScopeLocked', 'The scope cannot perform delete operation because following scope(s) are locked.'),
  ),
  kind('51 operation forgotten', operation, 300, () => refusal(404, 'NotFound', 'The entity was not found in this Azure location.')),
  kind('53 unknown status', operation, 120, () => ({ kind: 'answer', status: 200, body: { status: 'Accepted' } })),
  kind('60 success without a body', anything, 60, () => ({ kind: 'empty-body' })),
  kind('24 AKS 429', poolPut, 120, () => ({ kind: 'answer', status: 429, body: POOL_THROTTLED, retryAfterSeconds: 60 })),
  kind('30 AKS is busy', poolPut, 120, () => ({ kind: 'answer', status: 409, body: POOL_BUSY })),
  kind('30 AKS is busy when machines go', machineDelete, 120, () => ({ kind: 'answer', status: 409, body: POOL_BUSY })),
  kind('15 precondition at AKS', poolPut, 60, () => ({
    kind: 'answer',
    status: 412,
    body: { code: 'PreConditionFailed', message: 'The If-Match header does not match the current eTag of the agent pool.' },
  })),
  kind('25 AKS: effect, then a server error', poolPut, 120, () => ({ kind: 'effect-then-answer', status: 500, body: SERVER_ERROR })),
  kind('25 AKS: machines deleted, then a server error', machineDelete, 120, () => ({
    kind: 'effect-then-answer',
    status: 502,
    body: HTML,
  })),
  kind('26 AKS: reset after a write', poolPut, 120, () => ({ kind: 'reset', afterEffect: true })),
  kind('26 AKS: reset after a delete', machineDelete, 120, () => ({ kind: 'reset', afterEffect: true })),
  kind('27 AKS: a write answered late', poolPut, 180, (random) => ({ kind: 'delay', ms: whole(random, 1, 90) * SECOND })),
  kind('27 AKS: a delete answered late', machineDelete, 180, (random) => ({ kind: 'delay', ms: whole(random, 1, 90) * SECOND })),
  kind('25 AKS: server error', anyAks, 120, serverError),
  kind('28 AKS: truncated', anyAks, 90, () => ({ kind: 'truncated-body' })),
  kind('60 AKS: success without a body', anyAks, 60, () => ({ kind: 'empty-body' })),
  kind('29 empty list of pools', poolList, 150, () => ({ kind: 'empty-list' })),
  kind('29 empty list of machines', machines, 150, () => ({ kind: 'empty-list' })),
];

/** A fault of the table, and how long it stays, drawn. */
export function drawFault(random: Random, serial: number, pools: readonly string[]): { readonly fault: Fault; readonly forMs: number } {
  const chosen = oneOf(random, FAULT_KINDS);
  const match: FaultMatch = {
    ...chosen.match,
    ...(happens(random, 0.5) ? { prob: oneOf(random, [0.3, 0.6]) } : {}),
    ...(happens(random, 0.4) ? { times: whole(random, 1, 4) } : {}),
    ...(happens(random, 0.3) ? { pool: oneOf(random, pools) } : {}),
  };
  const forMs = whole(random, 5, Math.max(5, chosen.longestMs / SECOND)) * SECOND;
  return { fault: { id: `${serial} ${chosen.id}`, match, effect: chosen.effect(random) }, forMs };
}

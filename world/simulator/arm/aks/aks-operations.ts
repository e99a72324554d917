/**
 * Operations of AKS as clients see them: addresses, documents and results. The forms are those that Azure's CLI recorded in July 2026. Must not know what
 * an operation does.
 */
import { failedResult, operationNotFound, readableOperation, ticks } from '../compute/operations.ts';
import { failureBody } from '../http/errors.ts';
import type { Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import type { ArmWorld, Operation } from '../state/arm-state.ts';

/** Operations on the cluster belong to no pool. */
export const CLUSTER = '';

/** AKS signs its addresses with this version for every caller. */
const SIGNED_VERSION = '2025-03-01';
/** Bytes of the parameters of an address: a certificate, a signature and a hash. */
const SIGNED_BYTES = { c: 2_420, s: 256, h: 32 } as const;

/** The operations on the cluster as a whole that have not ended. */
export function runningOnCluster({ operations }: Pick<ArmWorld, 'operations'>): readonly Operation[] {
  return [...operations.values()].filter(({ provider, pool, endMs }) => provider === 'aks' && pool === CLUSTER && endMs === undefined);
}

/** `Azure-AsyncOperation` and, for actions, `Location`, without a time to wait (recorded by azure-service-operator, August 2026). An address has almost 4,000 characters. */
export function aksOperationHeaders(
  world: ArmWorld,
  request: ArmRequest,
  operation: Operation,
  form: 'write' | 'action',
): Readonly<Record<string, string>> {
  const { spec, draws } = world;
  const signed = Object.entries(SIGNED_BYTES).map(([name, bytes]) => {
    const digits = draws.hex(`${name === 'c' ? '' : operation.id}|${name}`, 2 * bytes);
    return `${name}=${Buffer.from(digits, 'hex').toString('base64url')}`;
  });
  const query = `api-version=${SIGNED_VERSION}&t=${ticks(operation.startMs)}&${signed.join('&')}`;
  const root = `${request.base}/subscriptions/${spec.subscriptionId}/providers/Microsoft.ContainerService/locations/${spec.location}`;
  return {
    'azure-asyncoperation': `${root}/operations/${operation.id}?${query}`,
    ...(form === 'action' ? { location: `${root}/operationresults/${operation.id}?${query}` } : {}),
  };
}

/**
 * The document of an operation. It has no properties, any api-version reads it, and it names no time to wait (recorded by
 * azure-service-operator, August 2026).
 */
export function getAksOperation(world: ArmWorld, request: ArmRequest): ArmReply {
  const operation = readableOperation(world, request);
  if (operation === undefined) return operationNotFound();
  const running = operation.status === 'InProgress';
  const error = failureBody(operation.failures);
  const body: Json = {
    name: operation.id,
    status: running ? stepOf(world, operation) : operation.status,
    startTime: aksTime(operation.startMs),
    ...(running || operation.endMs === undefined ? {} : { endTime: aksTime(operation.endMs) }),
    ...(running || error === undefined ? {} : { error }),
  };
  return { status: 200, body, trace: { opId: operation.id } };
}

/** The result of an action. Its success has no content, but repeats the address. */
export function getAksOperationResult(world: ArmWorld, request: ArmRequest): ArmReply {
  const operation = readableOperation(world, request);
  if (operation === undefined) return operationNotFound();
  const trace = { opId: operation.id };
  const headers = aksOperationHeaders(world, request, operation, 'action');
  if (operation.status === 'InProgress') return { status: 202, headers, trace };
  if (operation.status !== 'Succeeded') return { ...failedResult(operation), trace };
  return { status: 204, headers: { location: headers['location'] ?? '' }, trace };
}

/** What AKS says of its own work, from this many simulated milliseconds on. The times are estimates. */
const STEPS_OF_POOL: readonly (readonly [number, string])[] = [[20_000, 'ReconcilingAppSecurityGroup']];
const STEPS_OF_CLUSTER: readonly (readonly [number, string])[] = [
  [10_000, 'ProvisioningControlPlane'],
  [40_000, 'ReconcilingDNS'],
  [50_000, 'ReconcilingAppSecurityGroup'],
];

function stepOf({ clock }: ArmWorld, { pool, startMs }: Operation): string {
  const ageMs = (clock.now() - startMs) * clock.speed;
  const steps = pool === CLUSTER ? STEPS_OF_CLUSTER : STEPS_OF_POOL;
  return steps.findLast(([fromMs]) => ageMs >= fromMs)?.[1] ?? 'InProgress';
}

/** Up to seven digits of fraction, without zeros at the end. */
function aksTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z');
}

/**
 * Long-running operations. Each reaches one final state and stays there, and the resource is idle before its operation reports
 * the end. A failure is part of the operation's document; reading the document always returns 200.
 */
import { armError, failureBody, type OperationFailure } from '../http/errors.ts';
import type { Json, JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, later, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import type { Latency } from '../state/seeded-random.ts';
import type { Vm } from '../state/vm.ts';

export interface OperationStart {
  readonly kind: Operation['kind'];
  readonly provider?: Operation['provider'];
  readonly pool: string;
  readonly setKey?: string | undefined;
  readonly principal: string;
  readonly pending: readonly Vm[];
  /** What it waits for beside VMs; `recordDone` ends the wait. */
  readonly awaits?: readonly string[];
  readonly output?: () => JsonObject;
  readonly retryAfterSeconds: number;
  /** How long it takes if there is nothing to wait for; otherwise as long as an update of a model. */
  readonly alone?: Latency;
  /** From the end of that wait to its own end. If absent, it ends at once. A failure always ends it at once. */
  readonly settles?: Latency | undefined;
  readonly onEnd?: (operation: Operation) => void;
  /** Failures that happened already. */
  readonly failures?: readonly OperationFailure[];
}

/** Starts an operation. It ends when nothing is left to wait for. */
export function beginOperation(world: ArmWorld, start: OperationStart): Operation {
  forgetOld(world);
  const id = world.draws.guid(`operation|${start.pool}|${start.kind}|${countOperation(world, start)}`);
  const operation: Operation = {
    id,
    kind: start.kind,
    provider: start.provider ?? 'compute',
    pool: start.pool,
    setKey: start.setKey,
    principal: start.principal,
    startMs: world.clock.now(),
    endMs: undefined,
    status: 'InProgress',
    failures: [...(start.failures ?? [])],
    output: start.output,
    pending: new Set([...start.pending.map((vm) => vm.resourceId), ...(start.awaits ?? [])]),
    retryAfterSeconds: start.retryAfterSeconds,
    settlesMs: start.settles === undefined ? 0 : world.draws.latency(`settles|${id}`, start.settles),
    onEnd: start.onEnd,
  };
  world.operations.set(id, operation);
  if (operation.pending.size === 0) {
    later(world, world.draws.latency(`model|${id}`, start.alone ?? world.knobs.modelUpdate), () => endOperation(world, operation));
  }
  return operation;
}

/** Counts for each pool and kind: requests that arrive together must not swap their ids, from which durations are drawn. */
function countOperation(world: ArmWorld, { pool, kind }: OperationStart): number {
  const key = `${pool}|${kind}`;
  const count = (world.operationCounts.get(key) ?? 0) + 1;
  world.operationCounts.set(key, count);
  return count;
}

/** Records that a VM is idle, with or without a failure, in every operation that waits for it. */
export function recordIdleVm(world: ArmWorld, vm: Vm, failure?: OperationFailure): void {
  for (const operation of world.operations.values()) {
    if (!operation.pending.delete(vm.resourceId)) continue;
    if (failure !== undefined) operation.failures.push(failure);
    if (operation.pending.size === 0) settle(world, operation);
  }
}

/** Records the end of what operations wait for beside VMs. */
export function recordDone(world: ArmWorld, what: string): void {
  for (const operation of world.operations.values())
    if (operation.pending.delete(what) && operation.pending.size === 0) settle(world, operation);
}

function settle(world: ArmWorld, operation: Operation): void {
  if (operation.settlesMs === 0 || operation.failures.length > 0) endOperation(world, operation);
  else later(world, operation.settlesMs, () => endOperation(world, operation));
}

/** Ends an operation with its known result. The resource becomes idle first. */
export function endOperation(world: ArmWorld, operation: Operation): void {
  if (operation.endMs !== undefined) return;
  const failed = operation.failures.length > 0;
  operation.endMs = world.clock.now();
  const set = operation.setKey === undefined ? undefined : world.sets.get(operation.setKey);
  if (set !== undefined) {
    const busy = [...world.operations.values()].some((other) => other.setKey === operation.setKey && other.endMs === undefined);
    set.provisioningState = busy ? 'Updating' : failed ? 'Failed' : 'Succeeded';
    if (world.knobs.etagMovesAtEnd) changeEtag(world, set);
  }
  operation.onEnd?.(operation);
  operation.status = failed ? 'Failed' : 'Succeeded';
}

function changeEtag(world: ArmWorld, set: ScaleSet): void {
  set.etag++;
  recordSetChange(world, set, { why: 'operationEnd', principal: FOREIGN_WRITER, before: capacityOf(set) });
}

/** A newer write supersedes the running scale operations on a set. */
export function preemptScaling(world: ArmWorld, setKey: string): void {
  cancelWhere(world, (operation) => operation.setKey === setKey && (operation.kind === 'scale' || operation.kind === 'model'));
}

/** A newer operation supersedes every running operation on a set, deletions included. @returns how many. */
export function preemptOperations(world: ArmWorld, setKey: string): number {
  return cancelWhere(world, (operation) => operation.setKey === setKey);
}

/** Ends an operation before its work is done. */
export function cancelOperation({ clock }: Pick<ArmWorld, 'clock'>, operation: Operation): void {
  operation.endMs = clock.now();
  operation.status = 'Canceled';
  operation.pending.clear();
}

function cancelWhere(world: ArmWorld, isMeant: (operation: Operation) => boolean): number {
  let canceled = 0;
  for (const operation of world.operations.values()) {
    if (operation.endMs !== undefined || !isMeant(operation)) continue;
    canceled++;
    cancelOperation(world, operation);
    operation.failures = [{ code: 'OperationPreempted', message: 'Operation execution has been preempted by a more recent operation.' }];
  }
  return canceled;
}

/**
 * Of Compute: `Azure-AsyncOperation`, `Retry-After` and, for actions, `Location`: absolute, on the host that the client called. Compute
 * notifies of the end of every operation (recorded by cloud-provider-azure, January 2026).
 */
export function operationHeaders(
  world: ArmWorld,
  request: ArmRequest,
  operation: Operation,
  form: 'write' | 'action',
): Readonly<Record<string, string>> {
  const { spec, draws } = world;
  const root = `${request.base}/subscriptions/${spec.subscriptionId}/providers/Microsoft.Compute/locations/${spec.location}`;
  const version = request.query['api-version'] ?? '';
  const signature = `t=${ticks(operation.startMs)}&c=${draws.hex(`${operation.id}|c`, 64)}&s=${draws.hex(`${operation.id}|s`, 64)}&h=${draws.hex(`${operation.id}|h`, 32)}`;
  const scope = `p=${draws.guid(`${operation.id}|p`)}&`;
  // Disks have operations of their own.
  const kind = operation.provider === 'disks' ? 'DiskOperations' : 'operations';
  const location = `${root}/${kind}/${operation.id}?${scope}monitor=true&api-version=${version}&${signature}`;
  return {
    'azure-asyncoperation': `${root}/${kind}/${operation.id}?${scope}api-version=${version}&${signature}`,
    'retry-after': world.throttle.retryAfter(operation.retryAfterSeconds),
    ...(form === 'action' ? { location } : {}),
    'azure-asyncnotification': 'Enabled',
  };
}

export function getOperation(world: ArmWorld, request: ArmRequest): ArmReply {
  const operation = readableOperation(world, request);
  if (operation === undefined) return operationNotFound();
  const monitor = request.query['monitor'] === 'true';
  return { ...(monitor ? monitorAnswer(world, request, operation) : documentAnswer(world, operation)), trace: { opId: operation.id } };
}

/** Operations can be read for a while after their end. undefined: it ended too long ago, or there is none of this id. */
export function readableOperation(world: ArmWorld, request: ArmRequest): Operation | undefined {
  const operation = world.operations.get(param(request, 'id'));
  return operation === undefined || isForgotten(world, operation) ? undefined : operation;
}

export function operationNotFound(): ArmReply {
  return armError(404, 'NotFound', 'The entity was not found in this Azure location.');
}

function forgetOld(world: ArmWorld): void {
  for (const operation of world.operations.values()) if (isForgotten(world, operation)) world.operations.delete(operation.id);
}

function isForgotten(world: ArmWorld, operation: Operation): boolean {
  return operation.endMs !== undefined && (world.clock.now() - operation.endMs) * world.clock.speed > world.knobs.operationKeptMs;
}

function documentAnswer(world: ArmWorld, operation: Operation): ArmReply {
  const running = operation.status === 'InProgress';
  const error = failureBody(operation.failures);
  const body: Json = {
    startTime: armTime(operation.startMs),
    ...(running || operation.endMs === undefined ? {} : { endTime: armTime(operation.endMs) }),
    status: operation.status,
    ...(operation.status === 'Succeeded' && operation.output !== undefined ? { properties: { output: operation.output() } } : {}),
    name: operation.id,
    ...(running || error === undefined ? {} : { error }),
  };
  // As azure-powershell and cloud-provider-azure recorded it, 2025-2026.
  const layout = operation.provider === 'aks' ? {} : ({ indented: true } as const);
  return {
    status: 200,
    body,
    ...layout,
    headers: running ? { 'retry-after': world.throttle.retryAfter(operation.retryAfterSeconds) } : {},
  };
}

/** A finished operation returns 200 with an empty body, as recorded. 204 breaks clients that read the result of a delete. */
function monitorAnswer(world: ArmWorld, request: ArmRequest, operation: Operation): ArmReply {
  if (operation.status === 'InProgress') return { status: 202, headers: operationHeaders(world, request, operation, 'action') };
  return operation.status === 'Succeeded' ? { status: 200, body: operation.output?.() } : failedResult(operation);
}

/** The result of an operation that failed or was cancelled. */
export function failedResult({ failures: [first] }: Operation): ArmReply {
  return armError(
    first?.code === 'InternalExecutionError' ? 500 : 409,
    first?.code ?? 'InternalExecutionError',
    first?.message ?? 'An internal execution error occurred.',
  );
}

/** Formats a time as Compute does: seven digits of fraction and an offset. */
export function armTime(ms: number): string {
  return new Date(ms).toISOString().replace(/(\.\d{3})Z$/, '$10000+00:00');
}

/** Hundreds of nanoseconds since the year one. */
export function ticks(ms: number): string {
  return String(621_355_968_000_000_000n + BigInt(Math.floor(ms)) * 10_000n);
}

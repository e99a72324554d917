/** Writes that change the Kubernetes version of a pool, and the abort of what AKS does with a pool. */
import { notSupported } from '../compute/instance-actions.ts';
import { beginOperation, cancelOperation, recordDone } from '../compute/operations.ts';
import { aksOperationHeaders } from './aks-operations.ts';
import { aksError } from '../http/errors.ts';
import { pickObject, pickText, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { findAgentPool, poolEtag, poolSize, renderAgentPool } from '../state/agent-pool-document.ts';
import type { AgentPool, ArmWorld, Operation } from '../state/arm-state.ts';
import { isStopped } from './agent-pool-power.ts';
import { isIdle, poolNotFound } from './agent-pool-validation.ts';
import { beginUpgrade, refuseSurge, upgradeOf } from './node-upgrades.ts';
import { copyTagsToSet } from './reconcile-scale-set.ts';
import { versionChangeOf, type VersionChange } from './version-rules.ts';

interface PoolUpgrade {
  readonly pool: AgentPool;
  /** The properties after the write. */
  readonly next: JsonObject;
  /** The upgrade, or why it is refused. */
  readonly change: VersionChange | ArmReply;
}

/** Another Kubernetes version upgrades the nodes. Other settings of the same write apply at once; another count is not emulated with it. */
export function upgradePoolVersion(world: ArmWorld, request: ArmRequest, { pool, next, change }: PoolUpgrade): ArmReply {
  if ('status' in change) return change;
  if (isStopped(world, pool)) return aksError(400, 'BadRequest', 'A stopped agent pool cannot be upgraded. Start it first.');
  const refusal = refuseSurge(world, pool);
  if (refusal !== undefined) return refusal;
  if (poolSize({ ...pool, properties: next }) !== poolSize(pool))
    return notSupported(request, 'A change of version and count in one write');
  const tagsBefore = pickObject(pool.properties, 'tags');
  // The pool keeps its own version until the upgrade succeeded, so that a later write of the whole pool does not ask for it again.
  pool.properties = { ...next, orchestratorVersion: pool.properties['orchestratorVersion'] };
  copyTagsToSet(world, pool, tagsBefore);
  const atEnd = { orchestratorVersion: change.given };
  const operation = beginUpgrade(world, pool, { as: 'Upgrading', version: change.version, atEnd });
  return {
    status: 200,
    headers: aksOperationHeaders(world, request, operation, 'write'),
    body: renderAgentPool(world, pool),
    trace: { etagOut: poolEtag(world, pool), opId: operation.id },
  };
}

/**
 * `POST .../agentPools/NAME/abort`. The pool is `Canceling`, then `Canceled`, and stays as the operation left it: surge nodes and cordons included
 * (learn.microsoft.com, "Abort a long-running operation"). The answer has the pool. Without a running operation there is nothing to abort: 409.
 */
export function abortLatestOperation(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const aborting = beginAbort(world, pool, request.principal);
  if (aborting === undefined)
    return aksError(409, 'OperationNotAllowed', `Agent pool ${pool.name} has no running operation that could be aborted.`);
  return {
    status: 202,
    headers: aksOperationHeaders(world, request, aborting, 'action'),
    body: renderAgentPool(world, pool),
    trace: { opId: aborting.id, pool: pool.name },
  };
}

/** Upgrades a pool as after a person's write of its version. @returns why not, or undefined. */
export function upgradeAsForeigner(world: ArmWorld, pool: AgentPool, given: string): string | undefined {
  if (!isIdle(pool)) return `pool "${pool.name}" is ${pool.provisioningState}`;
  const change = versionChangeOf(world, pool, { orchestratorVersion: given });
  if (change === undefined) return `pool "${pool.name}" has version ${given} already`;
  const refusal = 'status' in change ? change : refuseSurge(world, pool);
  if (refusal !== undefined || 'status' in change) return pickText(refusal?.body, 'message') ?? 'refused';
  beginUpgrade(world, pool, { as: 'Upgrading', version: change.version, atEnd: { orchestratorVersion: given } });
  return undefined;
}

/** Aborts the running operation of a pool as a person. @returns why not, or undefined. */
export function abortPool(world: ArmWorld, pool: AgentPool): string | undefined {
  return beginAbort(world, pool, FOREIGN_WRITER) === undefined ? `pool "${pool.name}" has no running operation` : undefined;
}

function runningOn(world: ArmWorld, pool: AgentPool): readonly Operation[] {
  return [...world.operations.values()].filter(
    (operation) => operation.provider === 'aks' && operation.pool === pool.name && operation.endMs === undefined,
  );
}

/** Cancels what AKS does with a pool. undefined: nothing runs. */
export function beginAbort(world: ArmWorld, pool: AgentPool, { clientId }: Principal): Operation | undefined {
  const running = runningOn(world, pool);
  if (running.length === 0 || isIdle(pool)) return undefined;
  for (const operation of running) cancelOperation(world, operation);
  const show = (state: string): void => {
    pool.provisioningState = state;
    pool.etagCounter++;
  };
  show('Canceling');
  return beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: pool.name,
    principal: clientId,
    pending: [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    onEnd: () => {
      show('Canceled');
      recordDone(world, upgradeOf(pool));
    },
  });
}

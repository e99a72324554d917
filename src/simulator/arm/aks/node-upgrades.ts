/**
 * Upgrade of a pool's node image as AKS does it (learn.microsoft.com, "Customize node surge upgrade"): surge nodes come first; then batch by batch
 * the old nodes are drained, reimaged in place and used again; at the end the surge nodes go. The count of the pool stays.
 */
import { beginOperation, endOperation, operationHeaders } from '../compute/operations.ts';
import { notSupported } from '../compute/instance-actions.ts';
import { acceptRemoval, affordable, livingVms, writeCapacity } from '../compute/set-capacity.ts';
import { restartVm } from '../compute/vm-lifecycle.ts';
import { aksError, type OperationFailure } from '../http/errors.ts';
import { pick } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { findAgentPool, poolEtag } from '../state/agent-pool-document.ts';
import { capacityOf, later, type AgentPool, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import { latestNodeImage } from '../state/node-images.ts';
import type { Vm } from '../state/vm.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { poolNotFound, refuseCondition, refuseWhileBusy } from './agent-pool-validation.ts';

const MINUTE_MS = 60_000;
const DEFAULT_DRAIN_MINUTES = 30;
/** Simulated time between two looks at nodes that are awaited. */
const LOOK_MS = 5_000;
/** The operation waits for this, beside VMs. */
const UPGRADE = 'the upgrade';

/** `POST .../agentPools/NAME/upgradeNodeImageVersion`. A pool with the newest image has nothing to do. */
export function upgradeNodeImage(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const refusal = refuseCondition(world, request, pool) ?? refuseWhileBusy(pool);
  if (refusal !== undefined) return refusal;
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  if (set === undefined) return notSupported(request, 'The upgrade of a pool of type VirtualMachines');
  const surge = Math.min(surgeOf(pool), livingVms(set).length);
  if (!affordable(world, set, capacityOf(set) + surge))
    return aksError(400, 'ErrCode_InsufficientVCPUQuota', `The quota does not allow ${surge} surge nodes in agent pool ${pool.name}.`);
  const operation = beginUpgrade(world, { pool, set, surge, image: latestNodeImage(world.clock.now()) });
  return {
    status: 202,
    headers: operationHeaders(world, request, operation, 'action'),
    trace: { opId: operation.id, etagOut: poolEtag(world, pool) },
  };
}

/** `maxSurge`: a number of nodes, or a share of the pool rounded up; at least one. */
export function surgeOf({ properties }: Pick<AgentPool, 'properties'>): number {
  const given = pick(properties, 'upgradeSettings', 'maxSurge');
  const text = typeof given === 'number' || typeof given === 'string' ? String(given) : '10%';
  const count = Number(properties['count'] ?? 0);
  const wanted = text.endsWith('%') ? Math.ceil((count * Number.parseFloat(text)) / 100) : Number.parseInt(text, 10);
  return Math.max(1, Number.isFinite(wanted) ? wanted : 1);
}

interface Upgrade {
  readonly pool: AgentPool;
  readonly set: ScaleSet;
  readonly surge: number;
  readonly image: string;
}

interface RunningUpgrade extends Upgrade {
  readonly operation: Operation;
  readonly surgeVms: readonly Vm[];
}

function beginUpgrade(world: ArmWorld, upgrade: Upgrade): Operation {
  const { pool, set, surge, image } = upgrade;
  const old = livingVms(set).filter((vm) => vm.nodeImage !== image);
  pool.provisioningState = 'UpgradingNodeImageVersion';
  pool.etagCounter++;
  const operation = beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: pool.name,
    principal: AKS_PRINCIPAL.clientId,
    pending: old,
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    onEnd: ({ failures }) => {
      pool.provisioningState = failures.length > 0 ? 'Failed' : 'Succeeded';
      pool.etagCounter++;
      if (failures.length === 0) pool.properties = { ...pool.properties, nodeImageVersion: image };
    },
  });
  if (old.length === 0) return operation;
  operation.pending.add(UPGRADE);
  const before = new Set(set.vms.keys());
  changeCapacity(world, set, (capacity) => writeCapacity(world, set, capacity + surge, AKS_PRINCIPAL));
  const surgeVms = [...set.vms.values()].filter((vm) => !before.has(vm.key));
  for (const vm of surgeVms) vm.nodeImage = image;
  const running: RunningUpgrade = { ...upgrade, operation, surgeVms };
  whenReady(world, surgeVms, () => {
    const failed = surgeVms.find(({ failure }) => failure !== undefined);
    if (failed?.failure === undefined) upgradeBatch(world, running, old);
    else giveUp(world, running, { batch: [], failure: failed.failure });
  });
  return operation;
}

function changeCapacity(world: ArmWorld, set: ScaleSet, change: (capacity: number) => { readonly id: string }): void {
  const before = capacityOf(set);
  const { id } = change(before);
  recordSetChange(world, set, { why: 'upgrade', principal: AKS_PRINCIPAL, before, opId: id });
}

function isThere({ set }: Upgrade, vm: Vm): boolean {
  return set.vms.get(vm.key) === vm && vm.provisioningState !== 'Deleting';
}

/** Drains and reimages as many old nodes as there are surge nodes, then the next ones. VMs that others removed are passed over. */
function upgradeBatch(world: ArmWorld, upgrade: RunningUpgrade, old: readonly Vm[]): void {
  const left = old.filter((vm) => isThere(upgrade, vm));
  const batch = left.slice(0, upgrade.surge);
  if (batch.length === 0) return removeSurge(world, upgrade);
  drainAll(world, upgrade.pool, batch, (failure) => {
    if (failure !== undefined) return giveUp(world, upgrade, { batch, failure: { code: 'PodDrainFailure', message: failure } });
    const present = batch.filter((vm) => isThere(upgrade, vm));
    for (const vm of present) {
      vm.nodeImage = upgrade.image;
      restartVm(world, vm);
    }
    whenReady(world, present, () => {
      for (const vm of present) world.nodes?.uncordon(vm.hostName);
      upgradeBatch(world, upgrade, left.slice(upgrade.surge));
    });
  });
}

function drainAll(world: ArmWorld, pool: AgentPool, [vm, ...rest]: readonly Vm[], done: (failure: string | undefined) => void): void {
  if (vm === undefined || world.nodes === undefined) return done(undefined);
  const minutes = pick(pool.properties, 'upgradeSettings', 'drainTimeoutInMinutes');
  const timeoutMs = (typeof minutes === 'number' ? minutes : DEFAULT_DRAIN_MINUTES) * MINUTE_MS;
  world.nodes.drain(vm.hostName, timeoutMs, (failure) => (failure === undefined ? drainAll(world, pool, rest, done) : done(failure)));
}

/** Without surge nodes, or with a node that cannot be drained, the upgrade ends: the nodes are used again, and the surge nodes go. */
function giveUp(
  world: ArmWorld,
  upgrade: RunningUpgrade,
  { batch, failure }: { readonly batch: readonly Vm[]; readonly failure: OperationFailure },
): void {
  upgrade.operation.failures.push(failure);
  for (const vm of batch) world.nodes?.uncordon(vm.hostName);
  removeSurge(world, upgrade);
}

function removeSurge(world: ArmWorld, upgrade: RunningUpgrade): void {
  const { set, operation } = upgrade;
  const vms = upgrade.surgeVms.filter((vm) => isThere(upgrade, vm));
  drainAll(world, upgrade.pool, vms, () => {
    const present = vms.filter((vm) => isThere(upgrade, vm));
    if (present.length > 0)
      changeCapacity(world, set, () => acceptRemoval(world, set, { vms: present, forced: false, principal: AKS_PRINCIPAL, named: true }));
    operation.pending.clear();
    endOperation(world, operation);
  });
}

/** Runs once all VMs are provisioned with their nodes ready, or gone, or failed. */
function whenReady(world: ArmWorld, vms: readonly Vm[], act: () => void): void {
  const isUp = (vm: Vm): boolean => vm.provisioningState === 'Succeeded' && (world.nodes?.isReady(vm.hostName) ?? true);
  const isOver = ({ provisioningState }: Vm): boolean => provisioningState === 'Deleting' || provisioningState === 'Failed';
  if (vms.every((vm) => isUp(vm) || isOver(vm))) act();
  else later(world, LOOK_MS, () => whenReady(world, vms, act));
}

/**
 * Upgrades of a pool's nodes as AKS does them (learn.microsoft.com, "Customize node surge upgrade"), of their image or of Kubernetes: surge nodes come
 * first; then batch by batch the old nodes are drained, reimaged in place and used again; at the end the surge nodes go. The count of the pool stays. An
 * abort stops an upgrade where it is.
 */
import { growPool } from '../compute/create-vm.ts';
import { beginOperation, endOperation, recordDone } from '../compute/operations.ts';
import { aksOperationHeaders } from './aks-operations.ts';
import { acceptRemoval, affordable, livingVms, writeCapacity } from '../compute/set-capacity.ts';
import { beginRemoval, restartVm } from '../compute/vm-lifecycle.ts';
import { aksError, type OperationFailure } from '../http/errors.ts';
import { mergePatch, pick, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { findAgentPool, poolEtag } from '../state/agent-pool-document.ts';
import { capacityOf, later, type AgentPool, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import { kubernetesVersionOf, latestNodeImage } from '../state/node-versions.ts';
import { quotaShortage } from '../state/stock-and-quota.ts';
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
  const refusal = refuseCondition(world, request, pool) ?? refuseWhileBusy(world, pool) ?? refuseSurge(world, pool);
  if (refusal !== undefined) return refusal;
  const operation = beginUpgrade(world, pool, { as: 'UpgradingNodeImageVersion', atEnd: {} });
  return {
    status: 202,
    headers: aksOperationHeaders(world, request, operation, 'action'),
    trace: { opId: operation.id, etagOut: poolEtag(world, pool) },
  };
}

/** The quota must allow the surge nodes. */
export function refuseSurge(world: ArmWorld, pool: AgentPool): ArmReply | undefined {
  const set = setOf(world, pool);
  const like = surgeSizes(world, pool);
  const spot = pool.spec.priority === 'Spot';
  const isAffordable =
    set === undefined
      ? quotaShortage(
          world,
          like.map((vmSize) => ({ vmSize, spot, count: 1, pool: pool.spec })),
        ) === undefined
      : affordable(world, set, capacityOf(set) + like.length);
  if (isAffordable) return undefined;
  return aksError(400, 'ErrCode_InsufficientVCPUQuota', `The quota does not allow ${like.length} surge nodes in agent pool ${pool.name}.`);
}

function setOf(world: ArmWorld, pool: AgentPool): ScaleSet | undefined {
  return pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
}

function livingOf(world: ArmWorld, pool: AgentPool): readonly Vm[] {
  const set = setOf(world, pool);
  return set === undefined ? [...pool.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting') : livingVms(set);
}

/** The size of each surge node: that of the node which it replaces first. */
function surgeSizes(world: ArmWorld, pool: AgentPool): readonly string[] {
  const living = livingOf(world, pool);
  return living.slice(0, surgeOf(pool, living.length)).map(({ vmSize }) => vmSize);
}

/** `maxSurge`: a number of nodes, or a share of the pool rounded up; at least one. */
export function surgeOf({ properties }: Pick<AgentPool, 'properties'>, size = Number(properties['count'] ?? 0)): number {
  const given = pick(properties, 'upgradeSettings', 'maxSurge');
  const text = typeof given === 'number' || typeof given === 'string' ? String(given) : '10%';
  const wanted = text.endsWith('%') ? Math.ceil((size * Number.parseFloat(text)) / 100) : Number.parseInt(text, 10);
  return Math.max(1, Number.isFinite(wanted) ? wanted : 1);
}

export interface UpgradeOrder {
  /** The state of the pool meanwhile. */
  readonly as: 'UpgradingNodeImageVersion' | 'Upgrading';
  /** The Kubernetes version of the nodes. Default: that of the pool. */
  readonly version?: string;
  /** Properties that the pool has once the upgrade succeeded. */
  readonly atEnd: JsonObject;
}

/** What an upgrade of the whole cluster waits for. */
export function upgradeOf({ name }: Pick<AgentPool, 'name'>): string {
  return `upgrade of ${name}`;
}

interface RunningUpgrade {
  readonly pool: AgentPool;
  readonly set: ScaleSet | undefined;
  readonly image: string;
  readonly version: string;
  readonly surge: number;
  readonly operation: Operation;
  readonly surgeVms: readonly Vm[];
}

/** Begins an upgrade that was not refused. Kubernetes comes with the newest image. */
export function beginUpgrade(
  world: ArmWorld,
  pool: AgentPool,
  { as, version = kubernetesVersionOf(world, pool.name), atEnd }: UpgradeOrder,
): Operation {
  const set = setOf(world, pool);
  const image = latestNodeImage(world.clock.now());
  const old = livingOf(world, pool).filter((vm) => vm.nodeImage !== image || vm.kubernetesVersion !== version);
  pool.provisioningState = as;
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
      if (failures.length === 0)
        pool.properties = { ...pool.properties, nodeImageVersion: image, currentOrchestratorVersion: version, ...atEnd };
      recordDone(world, upgradeOf(pool));
    },
  });
  if (old.length === 0) return operation;
  operation.pending.add(UPGRADE);
  const surgeVms = growSurge(world, pool, version);
  for (const vm of surgeVms) Object.assign(vm, { nodeImage: image, kubernetesVersion: version });
  const running: RunningUpgrade = { pool, set, image, version, surge: surgeVms.length, operation, surgeVms };
  whenReady(world, running, surgeVms, () => {
    const failed = surgeVms.find(({ failure }) => failure !== undefined);
    if (failed?.failure === undefined) upgradeBatch(world, running, old);
    else giveUp(world, running, { batch: [], failure: failed.failure });
  });
  return operation;
}

/** The set gets the version in its tags, and the capacity of the surge. VMs of a pool without a set are created as they are. */
function growSurge(world: ArmWorld, pool: AgentPool, version: string): readonly Vm[] {
  const set = setOf(world, pool);
  const sizes = surgeSizes(world, pool);
  if (set === undefined) return sizes.map((vmSize) => growPool(world, pool, vmSize));
  const before = new Set(set.vms.keys());
  const tag = `Kubernetes:${version}`;
  set.document = mergePatch(set.document, { tags: { 'aks-managed-orchestrator': tag, orchestrator: tag } });
  changeCapacity(world, set, (capacity) => writeCapacity(world, set, capacity + sizes.length, AKS_PRINCIPAL));
  return [...set.vms.values()].filter((vm) => !before.has(vm.key));
}

function changeCapacity(world: ArmWorld, set: ScaleSet, change: (capacity: number) => { readonly id: string }): void {
  const before = capacityOf(set);
  const { id } = change(before);
  recordSetChange(world, set, { why: 'upgrade', principal: AKS_PRINCIPAL, before, opId: id });
}

function isThere({ set, pool }: RunningUpgrade, vm: Vm): boolean {
  return (set ?? pool).vms.get(vm.key) === vm && vm.provisioningState !== 'Deleting';
}

/** An abort has ended the operation. */
function isAborted({ operation }: RunningUpgrade): boolean {
  return operation.endMs !== undefined;
}

/** Drains and reimages as many old nodes as there are surge nodes, then the next ones. VMs that others removed are passed over. */
function upgradeBatch(world: ArmWorld, upgrade: RunningUpgrade, old: readonly Vm[]): void {
  const left = old.filter((vm) => isThere(upgrade, vm));
  const batch = left.slice(0, upgrade.surge);
  if (batch.length === 0) return removeSurge(world, upgrade);
  drainAll(world, upgrade, batch, (failure) => {
    if (failure !== undefined) return giveUp(world, upgrade, { batch, failure: { code: 'PodDrainFailure', message: failure } });
    const present = batch.filter((vm) => isThere(upgrade, vm));
    for (const vm of present) {
      Object.assign(vm, { nodeImage: upgrade.image, kubernetesVersion: upgrade.version });
      restartVm(world, vm);
    }
    whenReady(world, upgrade, present, () => {
      for (const vm of present) world.nodes?.uncordon(vm.hostName);
      upgradeBatch(world, upgrade, left.slice(upgrade.surge));
    });
  });
}

function drainAll(
  world: ArmWorld,
  upgrade: RunningUpgrade,
  [vm, ...rest]: readonly Vm[],
  done: (failure: string | undefined) => void,
): void {
  if (vm === undefined || world.nodes === undefined) return done(undefined);
  const minutes = pick(upgrade.pool.properties, 'upgradeSettings', 'drainTimeoutInMinutes');
  const timeoutMs = (typeof minutes === 'number' ? minutes : DEFAULT_DRAIN_MINUTES) * MINUTE_MS;
  const goesOn = (): boolean => !isAborted(upgrade);
  world.nodes.drain(vm.hostName, { timeoutMs, goesOn }, (failure) =>
    failure === undefined ? drainAll(world, upgrade, rest, done) : done(failure),
  );
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
  drainAll(world, upgrade, vms, () => {
    const present = vms.filter((vm) => isThere(upgrade, vm));
    if (set === undefined) for (const vm of present) beginRemoval(world, vm, { forced: false, principal: AKS_PRINCIPAL.clientId });
    else if (present.length > 0)
      changeCapacity(world, set, () => acceptRemoval(world, set, { vms: present, forced: false, principal: AKS_PRINCIPAL, named: true }));
    operation.pending.clear();
    endOperation(world, operation);
  });
}

/** Runs once all VMs are provisioned with their nodes ready, or gone, or failed. Never after an abort. */
function whenReady(world: ArmWorld, upgrade: RunningUpgrade, vms: readonly Vm[], act: () => void): void {
  if (isAborted(upgrade)) return;
  const isUp = (vm: Vm): boolean => vm.provisioningState === 'Succeeded' && (world.nodes?.isReady(vm.hostName) ?? true);
  const isOver = ({ provisioningState }: Vm): boolean => provisioningState === 'Deleting' || provisioningState === 'Failed';
  if (vms.every((vm) => isUp(vm) || isOver(vm))) act();
  else later(world, LOOK_MS, () => whenReady(world, upgrade, vms, act));
}

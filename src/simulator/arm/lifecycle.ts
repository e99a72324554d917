/**
 * The life of a machine on its two axes, provisioning and power, from acceptance to nothing. Each step asks whether its
 * fate still stands: a delete overtakes a boot.
 */
import type { Latency } from './draws.ts';
import { allocationFailure } from './errors.ts';
import { machineAtRest } from './operations.ts';
import { findVmSize } from './sku-table.ts';
import { returnStock, takeStock } from './stock.ts';
import { homeOf, later, type ArmWorld } from './world-state.ts';
import type { Vm } from './vm.ts';

/** Begins the creation of a machine that its owner already lists. Stock is taken now, its lack shows later. */
export function bringUp(world: ArmWorld, vm: Vm, onRefused: () => void): void {
  const draw = (step: string, latency: Latency): number => world.draws.latency(`${vm.resourceId}|${step}`, latency);
  const { knobs } = world;
  vm.holdsStock = takeStock(world, vm.vmSize, vm.zone);
  if (!vm.holdsStock) {
    step(world, vm, draw('refused', knobs.allocationRefused), () => refuseAllocation(world, vm, onRefused));
    return;
  }
  const allocatedAfter = draw('allocated', knobs.allocated);
  const boot = (findVmSize(vm.vmSize)?.gpus ?? 0) > 0 ? knobs.osUpGpu : knobs.osUp;
  const osUpAfter = Math.max(allocatedAfter, draw('os-up', boot));
  const provisionedAfter = Math.max(osUpAfter, draw('provisioned', knobs.provisioned));
  step(world, vm, allocatedAfter, () => {
    vm.power = 'starting';
  });
  step(world, vm, osUpAfter, () => {
    vm.power = 'running';
    vm.detail = 'OSProvisioningInProgress';
    world.park.tell({ kind: 'running', vm });
  });
  step(world, vm, provisionedAfter, () => {
    vm.provisioningState = 'Succeeded';
    vm.detail = undefined;
    vm.etag++;
    machineAtRest(world, vm);
  });
}

function refuseAllocation(world: ArmWorld, vm: Vm, onRefused: () => void): void {
  const failure = allocationFailure(vm.zone, vm.kind === 'uniform' ? vm.key : vm.name);
  vm.provisioningState = 'Failed';
  vm.detail = failure.code;
  vm.failure = failure;
  vm.etag++;
  onRefused();
  machineAtRest(world, vm, failure);
}

/** Begins the end of a machine, by anyone's wish. */
export function takeDown(world: ArmWorld, vm: Vm, { forced, principal }: { readonly forced: boolean; readonly principal: string }): void {
  if (vm.provisioningState === 'Deleting') return;
  vm.fate++;
  vm.provisioningState = 'Deleting';
  vm.detail = undefined;
  world.park.tellDeleteAccepted(vm, principal);
  const latency = forced || vm.power === 'none' ? world.knobs.deleteForced : world.knobs.deleteGraceful;
  step(world, vm, world.draws.latency(`${vm.resourceId}|delete`, latency), () => vanish(world, vm));
}

/** The machine is gone at once: it leaves its owner's list and gives back its stock. */
export function vanish(world: ArmWorld, vm: Vm): void {
  vm.fate++;
  homeOf(world, vm)?.delete(vm.key);
  vm.power = 'none';
  returnStock(world, vm);
  world.park.tell({ kind: 'gone', vm });
  machineAtRest(world, vm);
}

/** Stops a machine and gives its hardware back. It keeps its id and its place in the capacity. */
export function deallocate(world: ArmWorld, vm: Vm): void {
  vm.fate++;
  vm.provisioningState = 'Updating';
  vm.power = 'deallocating';
  step(world, vm, world.draws.latency(`${vm.resourceId}|deallocate|${vm.fate}`, world.knobs.deallocate), () => {
    vm.provisioningState = 'Succeeded';
    vm.power = 'deallocated';
    vm.etag++;
    returnStock(world, vm);
    world.park.tell({ kind: 'stopped', vm });
    machineAtRest(world, vm);
  });
}

/** Starts a deallocated machine again, if its hardware can be had. */
export function start(world: ArmWorld, vm: Vm): void {
  vm.fate++;
  vm.provisioningState = 'Updating';
  const fitted = vm.holdsStock || takeStock(world, vm.vmSize, vm.zone);
  if (fitted) vm.power = 'starting';
  vm.holdsStock = fitted;
  step(world, vm, world.draws.latency(`${vm.resourceId}|start|${vm.fate}`, world.knobs.start), () => {
    vm.provisioningState = fitted ? 'Succeeded' : 'Failed';
    vm.etag++;
    if (!fitted) {
      machineAtRest(world, vm, allocationFailure(vm.zone, vm.key));
      return;
    }
    vm.power = 'running';
    world.park.tell({ kind: 'running', vm });
    machineAtRest(world, vm);
  });
}

function step(world: ArmWorld, vm: Vm, ms: number, action: () => void): void {
  const fate = vm.fate;
  later(world, ms, () => {
    if (vm.fate === fate) action();
  });
}

/**
 * Which pod has which device, per node slot. A change returns what it took, so that undoing it returns exactly that. A node without
 * devices costs nothing. Must not know forks.
 */
import { deviceId, type DeviceClaim, type DeviceRules } from '../../domain/devices.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import {
  allocateDevices,
  allocationFault,
  type AllocationInput,
  noDevicesInUse,
  takeDevices,
  type DevicesInUse,
} from './device-allocator.ts';
import { CommonDevices, CommonUse } from './common-devices.ts';
import { DeviceIndex, takenById, type DeviceList, type TakenDevice } from './device-list.ts';
import { describeShortfall } from './device-shortfall.ts';
import { claimsFor } from './named-claims.ts';
import { cannotAllocate } from '../predicates/devices.ts';

/** The devices of a pod: its own, and shared claims. */
interface PodDevices {
  readonly own: readonly TakenDevice[];
  readonly shared: readonly { readonly key: string; readonly devices: readonly TakenDevice[] }[];
}

interface SharedClaim {
  readonly devices: readonly TakenDevice[];
  users: number;
}

/** The devices of one node, and the pods that have them. */
export interface DeviceSeat {
  readonly node: Node;
  readonly list: DeviceList;
  readonly inUse: DevicesInUse;
  /** Pools that it reaches and that are being republished, as `driver/pool`. */
  readonly incomplete: readonly string[];
  /** Of the common devices in `inUse`. */
  commonVersion: number;
  readonly holdings: Map<string, PodDevices>;
  /** Claims that got their devices here and that no observation contains yet. */
  readonly shared: Map<string, SharedClaim>;
}

const NO_DEVICES: PodDevices = { own: [], shared: [] };

export class DeviceLedger {
  readonly #nodeAt: (slot: number) => Pick<Node, 'allocatable'>;
  readonly #index = new DeviceIndex();
  readonly #seats = new Map<number, DeviceSeat>();
  /** Claim -> the slot where it got its devices. */
  readonly #sharedAt = new Map<string, number>();

  readonly #common: CommonDevices;
  readonly #commonUse: CommonUse;

  constructor(nodeAt: (slot: number) => Pick<Node, 'allocatable'>, common = CommonDevices.of()) {
    this.#nodeAt = nodeAt;
    this.#common = common;
    this.#commonUse = new CommonUse(common, this.#index);
  }

  seat(slot: number, node: Node): void {
    const pools = this.#common.poolsOf(node, node.devices.pools);
    const incomplete = [...node.devices.incomplete, ...this.#common.incompleteFor(node)];
    if (pools.length === 0 && incomplete.length === 0) return;
    const list = this.#index.listDevices(pools);
    const inUse = noDevicesInUse(list);
    takeDevices(list, inUse, takenById(node.devices.held, list), 1);
    this.#seats.set(slot, { node, list, inUse, incomplete, commonVersion: -1, holdings: new Map(), shared: new Map() });
  }

  #take(seat: DeviceSeat, devices: readonly TakenDevice[], by: 1 | -1): void {
    takeDevices(seat.list, this.#inUseAt(seat), devices, by);
    this.#commonUse.keep(seat.list, seat.inUse);
  }

  /** With what pods of other nodes have of common devices. */
  #inUseAt(seat: DeviceSeat): DevicesInUse {
    const { version } = this.#commonUse;
    if (seat.commonVersion !== version) this.#commonUse.load(seat.list, seat.inUse);
    seat.commonVersion = version;
    return seat.inUse;
  }

  /** Takes what the pods of a seat have of common devices, or returns it. */
  #takeCommon(seat: DeviceSeat | undefined, by: 1 | -1): void {
    if (seat === undefined || seat.list.cells.length === 0) return;
    for (const { own } of seat.holdings.values()) this.#take(seat, own, by);
    for (const { devices } of seat.shared.values()) this.#take(seat, devices, by);
  }

  /** Returns the slot's former content, for {@link putBack}. */
  vacate(slot: number): DeviceSeat | undefined {
    const seat = this.#seats.get(slot);
    this.#seats.delete(slot);
    // guard: the pods of a node that is gone have no device that other nodes reach
    this.#takeCommon(seat, -1);
    for (const key of seat?.shared.keys() ?? []) this.#sharedAt.delete(key);
    return seat;
  }

  putBack(slot: number, seat: DeviceSeat | undefined): void {
    if (seat === undefined) return;
    this.vacate(slot);
    this.#seats.set(slot, seat);
    this.#takeCommon(seat, 1);
    for (const key of seat.shared.keys()) this.#sharedAt.set(key, slot);
  }

  /** A pod that is placed where its claims cannot be filled takes nothing: the caller knows more than the ledger. */
  allocateFor(slot: number, pod: Pod): void {
    const seat = this.#seats.get(slot);
    if (seat === undefined || (pod.status.heldDevices === undefined && pod.shape.devices.claims.length === 0)) return;
    this.restorePod(slot, pod, this.#devicesFor(slot, seat, pod));
  }

  /** Takes exactly these devices. */
  restorePod(slot: number, pod: Pod, holding: PodDevices): void {
    const seat = this.#seats.get(slot);
    if (seat === undefined || (holding.own.length === 0 && holding.shared.length === 0)) return;
    seat.holdings.set(pod.uid, holding);
    this.#take(seat, holding.own, 1);
    for (const { key, devices } of holding.shared) {
      const known = seat.shared.get(key);
      if (known !== undefined) {
        known.users += 1;
        continue;
      }
      seat.shared.set(key, { devices, users: 1 });
      this.#sharedAt.set(key, slot);
      this.#take(seat, devices, 1);
    }
  }

  /** Returns what the pod had, for {@link restorePod}. */
  release(slot: number, pod: Pod): PodDevices {
    const seat = this.#seats.get(slot);
    const holding = seat?.holdings.get(pod.uid);
    if (seat === undefined || holding === undefined) return NO_DEVICES;
    seat.holdings.delete(pod.uid);
    this.#take(seat, holding.own, -1);
    for (const { key, devices } of holding.shared) {
      const claim = seat.shared.get(key);
      if (claim === undefined) continue;
      claim.users -= 1;
      if (claim.users > 0) continue;
      seat.shared.delete(key);
      this.#sharedAt.delete(key);
      this.#take(seat, devices, -1);
    }
    return holding;
  }

  /** Whether the claims of a pod of this shape can be filled there. */
  hasFor({ devices }: Pick<PodShape, 'devices'>, slot: number): boolean {
    return devices.claims.length === 0 || this.admits(devices, slot);
  }

  admits(rules: DeviceRules, slot: number): boolean {
    const open = this.#openAt(rules, slot);
    if (open === undefined) return false;
    if (open.length === 0) return true;
    const seat = this.#seats.get(slot);
    return seat !== undefined && allocateDevices(this.#allocationInput(seat, open)) !== undefined;
  }

  refusals(rules: DeviceRules, slot: number): readonly FitReason[] {
    if (this.admits(rules, slot)) return [];
    const open = this.#openAt(rules, slot);
    if (open === undefined) return [cannotAllocate('a claim that it shares has got devices on another node')];
    const seat = this.#seats.get(slot);
    const isBare = seat === undefined || (seat.list.devices.length === 0 && this.fault(rules, slot) === undefined);
    return [cannotAllocate(isBare ? describeMissingDevices(seat) : describeShortfall(this.#allocationInput(seat, open)))];
  }

  /** Why kube-scheduler would give up a pod with these claims at this node. undefined: it would not. */
  fault(rules: DeviceRules, slot: number): string | undefined {
    const seat = this.#seats.get(slot);
    const open = seat === undefined ? [] : this.#openAt(rules, slot);
    return seat === undefined || open === undefined || open.length === 0 ? undefined : allocationFault(this.#allocationInput(seat, open));
  }

  /** The claims that still need devices there. undefined: one of them has its devices elsewhere. */
  #openAt(rules: DeviceRules, slot: number): readonly DeviceClaim[] | undefined {
    const claims = this.#claimsAt(rules, slot);
    if (this.#sharedAt.size === 0) return claims;
    const at = claims.map(({ shared }) => (shared === undefined ? undefined : this.#sharedAt.get(shared)));
    const isAfar = (other: number | undefined, index: number): boolean =>
      other !== undefined && other !== slot && !this.#reaches(slot, other, claims[index]?.shared);
    if (at.some(isAfar)) return undefined;
    return at.every((other) => other === undefined) ? claims : claims.filter((_, index) => at[index] === undefined);
  }

  /** Whether the devices that a shared claim got on another node are reached from this one (`createNodeSelector`, allocator_incubating.go, 1.37.2). */
  #reaches(slot: number, from: number, key = ''): boolean {
    const [seat, other] = [this.#seats.get(slot), this.#seats.get(from)];
    const devices = other?.shared.get(key)?.devices;
    if (seat === undefined || other === undefined || devices === undefined) return false;
    return devices.every(({ place }) => {
      const device = other.list.devices[place];
      // guard: a shared claim keeps its pods on one node unless several nodes reach all of its devices
      return other.list.common.has(place) && device !== undefined && device.isBound !== true && seat.list.placeOf.has(deviceId(device));
    });
  }

  #claimsAt({ claims }: DeviceRules, slot: number): readonly DeviceClaim[] {
    return claimsFor(claims, () => this.#nodeAt(slot));
  }

  #allocationInput(seat: DeviceSeat, claims: readonly DeviceClaim[]): AllocationInput {
    return { index: this.#index, claims, list: seat.list, inUse: this.#inUseAt(seat), incomplete: seat.incomplete };
  }

  #devicesFor(slot: number, seat: DeviceSeat, pod: Pod): PodDevices {
    const { heldDevices } = pod.status;
    if (heldDevices !== undefined && pod.nodeName === seat.node.name) return { own: takenById(heldDevices, seat.list), shared: [] };
    const rules = pod.shape.devices;
    const open = this.#openAt(rules, slot);
    const picks = open === undefined ? undefined : allocateDevices(this.#allocationInput(seat, open));
    if (open === undefined || picks === undefined) return NO_DEVICES;
    const claims = this.#claimsAt(rules, slot);
    const devicesOf = (claim: DeviceClaim): readonly TakenDevice[] =>
      picks[open.indexOf(claim)] ?? seat.shared.get(claim.shared ?? '')?.devices ?? [];
    return {
      own: claims.filter(({ shared }) => shared === undefined).flatMap(devicesOf),
      // Who uses what a claim got on another node is not counted: such a claim is of pods that are not bound yet.
      shared: claims.flatMap((claim) =>
        claim.shared === undefined || (this.#sharedAt.get(claim.shared) ?? slot) !== slot
          ? []
          : [{ key: claim.shared, devices: devicesOf(claim) }],
      ),
    };
  }
}

/** Why a node without a complete pool has no devices. */
function describeMissingDevices({ incomplete }: Pick<DeviceSeat, 'incomplete'> = { incomplete: [] }): string {
  return incomplete.length === 0 ? 'the node publishes no devices' : `the node's pools ${incomplete.join(', ')} are not complete`;
}

/**
 * Which pod has which device, per node slot. A change returns what it took, so that undoing it returns exactly that. A node without
 * devices costs nothing. Must not know forks.
 */
import { heldDeviceId, type DeviceClaim, type DeviceRules, type HeldDevice } from '../../domain/devices.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import {
  allocateDevices,
  allocationFault,
  describeShortfall,
  type AllocationInput,
  noDevicesInUse,
  takeDevices,
  type DevicesInUse,
} from './device-allocator.ts';
import { DeviceIndex, type DeviceList, type TakenDevice } from './device-list.ts';
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

  constructor(nodeAt: (slot: number) => Pick<Node, 'allocatable'>) {
    this.#nodeAt = nodeAt;
  }

  seat(slot: number, node: Node): void {
    const { devices } = node;
    if (devices === undefined || (devices.pools.length === 0 && devices.incomplete.length === 0)) return;
    const list = this.#index.listDevices(devices.pools);
    const inUse = noDevicesInUse(list);
    takeDevices(list, inUse, takenById(devices.held, list), 1);
    this.#seats.set(slot, { node, list, inUse, holdings: new Map(), shared: new Map() });
  }

  /** Returns the slot's former content, for {@link putBack}. */
  vacate(slot: number): DeviceSeat | undefined {
    const seat = this.#seats.get(slot);
    this.#seats.delete(slot);
    for (const key of seat?.shared.keys() ?? []) this.#sharedAt.delete(key);
    return seat;
  }

  putBack(slot: number, seat: DeviceSeat | undefined): void {
    if (seat === undefined) return;
    this.vacate(slot);
    this.#seats.set(slot, seat);
    for (const key of seat.shared.keys()) this.#sharedAt.set(key, slot);
  }

  /** A pod that is placed where its claims cannot be filled takes nothing: the caller knows more than the ledger. */
  allocateFor(slot: number, pod: Pod): void {
    const seat = this.#seats.get(slot);
    if (seat === undefined || (pod.heldDevices === undefined && pod.shape.devices === undefined)) return;
    this.restorePod(slot, pod, this.#devicesFor(slot, seat, pod));
  }

  /** Takes exactly these devices. */
  restorePod(slot: number, pod: Pod, holding: PodDevices): void {
    const seat = this.#seats.get(slot);
    if (seat === undefined || (holding.own.length === 0 && holding.shared.length === 0)) return;
    seat.holdings.set(pod.uid, holding);
    takeDevices(seat.list, seat.inUse, holding.own, 1);
    for (const { key, devices } of holding.shared) {
      const known = seat.shared.get(key);
      if (known !== undefined) {
        known.users += 1;
        continue;
      }
      seat.shared.set(key, { devices, users: 1 });
      this.#sharedAt.set(key, slot);
      takeDevices(seat.list, seat.inUse, devices, 1);
    }
  }

  /** Returns what the pod had, for {@link restorePod}. */
  release(slot: number, pod: Pod): PodDevices {
    const seat = this.#seats.get(slot);
    const holding = seat?.holdings.get(pod.uid);
    if (seat === undefined || holding === undefined) return NO_DEVICES;
    seat.holdings.delete(pod.uid);
    takeDevices(seat.list, seat.inUse, holding.own, -1);
    for (const { key, devices } of holding.shared) {
      const claim = seat.shared.get(key);
      if (claim === undefined) continue;
      claim.users -= 1;
      if (claim.users > 0) continue;
      seat.shared.delete(key);
      this.#sharedAt.delete(key);
      takeDevices(seat.list, seat.inUse, devices, -1);
    }
    return holding;
  }

  /** Whether the claims of a pod of this shape can be filled there. */
  hasFor({ devices }: Pick<PodShape, 'devices'>, slot: number): boolean {
    return devices === undefined || this.admits(devices, slot);
  }

  admits(rules: DeviceRules, slot: number): boolean {
    const open = this.#openAt(rules, slot);
    if (open === undefined) return false;
    if (open.length === 0) return true;
    const seat = this.#seats.get(slot);
    return seat !== undefined && allocateDevices(this.#allocationInput(seat, open)) !== undefined;
  }

  /** `node` is the one in the slot; it may have no devices. */
  refusals(rules: DeviceRules, slot: number, node: Node): readonly FitReason[] {
    if (this.admits(rules, slot)) return [];
    const open = this.#openAt(rules, slot);
    if (open === undefined) return [cannotAllocate('a claim that it shares has got devices on another node')];
    const seat = this.#seats.get(slot);
    const isBare = seat === undefined || (seat.list.devices.length === 0 && this.fault(rules, slot) === undefined);
    return [cannotAllocate(isBare ? describeMissingDevices(node) : describeShortfall(this.#allocationInput(seat, open)))];
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
    if (at.some((other) => other !== undefined && other !== slot)) return undefined;
    return at.every((other) => other === undefined) ? claims : claims.filter((_, index) => at[index] === undefined);
  }

  #claimsAt({ claims }: DeviceRules, slot: number): readonly DeviceClaim[] {
    return claimsFor(claims, () => this.#nodeAt(slot));
  }

  #allocationInput({ node, list, inUse }: DeviceSeat, claims: readonly DeviceClaim[]): AllocationInput {
    return { index: this.#index, claims, list, inUse, incomplete: node.devices?.incomplete ?? [] };
  }

  #devicesFor(slot: number, seat: DeviceSeat, pod: Pod): PodDevices {
    if (pod.heldDevices !== undefined && pod.nodeName === seat.node.name) return { own: takenById(pod.heldDevices, seat.list), shared: [] };
    const rules = pod.shape.devices;
    const open = rules === undefined ? undefined : this.#openAt(rules, slot);
    const picks = open === undefined ? undefined : allocateDevices(this.#allocationInput(seat, open));
    if (rules === undefined || open === undefined || picks === undefined) return NO_DEVICES;
    const claims = this.#claimsAt(rules, slot);
    const devicesOf = (claim: DeviceClaim): readonly TakenDevice[] =>
      picks[open.indexOf(claim)] ?? seat.shared.get(claim.shared ?? '')?.devices ?? [];
    return {
      own: claims.filter(({ shared }) => shared === undefined).flatMap(devicesOf),
      shared: claims.flatMap((claim) => (claim.shared === undefined ? [] : [{ key: claim.shared, devices: devicesOf(claim) }])),
    };
  }
}

/** Why a node without a complete pool has no devices. */
function describeMissingDevices({ devices }: Pick<Node, 'devices'>): string {
  const incomplete = devices?.incomplete ?? [];
  return incomplete.length === 0 ? 'the node publishes no devices' : `the node's pools ${incomplete.join(', ')} are not complete`;
}

/** A divided device that a claim has whole, since it was not divided before, has nothing left. */
function takenById(held: readonly HeldDevice[], { placeOf, parts }: DeviceList): readonly TakenDevice[] {
  return held.flatMap((one) => {
    const place = placeOf.get(heldDeviceId(one));
    if (place === undefined) return [];
    return [{ place, amounts: (parts[place] ?? []).map(({ name, whole }) => (typeof one === 'string' ? whole : (one.parts[name] ?? 0))) }];
  });
}

/** Which machines the platform takes when a capacity is lowered and nobody says which. */
import { pick } from './json.ts';
import { protectionOf } from './protection.ts';
import type { ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';

/**
 * By the set's policy: zones are kept balanced first, then the highest instance id goes, or the newest, or the oldest. Protected
 * machines stay, so that there may be fewer than asked.
 */
export function pickVictims(set: ScaleSet, living: readonly Vm[], count: number): readonly Vm[] {
  const rest = living.filter((vm) => !protectionOf(vm).fromScaleIn).toSorted(orderOf(set));
  const stay = living.filter((vm) => protectionOf(vm).fromScaleIn);
  const victims: Vm[] = [];
  while (victims.length < count && rest.length > 0) {
    const inZone = (zone: string | undefined): number => [...rest, ...stay].filter((vm) => vm.zone === zone).length;
    const fullest = Math.max(...rest.map((vm) => inZone(vm.zone)));
    const index = rest.findIndex((vm) => inZone(vm.zone) === fullest);
    victims.push(...rest.splice(index, 1));
  }
  return victims;
}

/** Who goes first. Machines of a Flexible set have no number; the order of their creation stands for it. */
function orderOf(set: ScaleSet): (left: Vm, right: Vm) => number {
  const rules = pick(set.document, 'properties', 'scaleInPolicy', 'rules');
  const [rule] = Array.isArray(rules) ? rules : [];
  const place = new Map([...set.vms.keys()].map((key, index) => [key, index]));
  const later = (left: Vm, right: Vm): number => (place.get(right.key) ?? 0) - (place.get(left.key) ?? 0);
  if (rule === 'OldestVM') return (left, right) => left.createdMs - right.createdMs || -later(left, right);
  if (rule === 'NewestVM') return (left, right) => right.createdMs - left.createdMs || later(left, right);
  return set.kind === 'uniform' ? (left, right) => Number(right.key) - Number(left.key) : later;
}

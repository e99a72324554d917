/**
 * What a request takes of the capacities of a device that claims share, after kube-scheduler's structured allocator
 * (dynamic-resource-allocation, incubating/consumable_capacity.go, `CmpRequestOverCapacity`, 1.37.2). On by default from Kubernetes 1.36 on.
 */
import type { Device, DividedCapacity } from '../../domain/devices.ts';

type Amounts = Readonly<Record<string, number>>;

/** The capacities of a device by their names in the slice. */
export function capacitiesOf({ divided, capacity, driver }: Device): Readonly<Record<string, DividedCapacity>> {
  return divided ?? Object.fromEntries(Object.entries(capacity[driver] ?? {}).map(([name, whole]) => [name, { whole }]));
}

/** The amounts that a request for these takes of an unused device, rounded up. undefined: the device has no such parts. */
export function takenParts(device: Device, wanted: Amounts = {}): Amounts | undefined {
  if (device.isDivided !== true && Object.keys(wanted).length === 0) return {};
  const capacities = capacitiesOf(device);
  if (Object.keys(wanted).some((name) => !Object.hasOwn(capacities, name))) return undefined;
  const taken = Object.entries(capacities).map(([name, divided]) => [name, partOf(divided, wanted[name])] as const);
  return taken.some(([, amount]) => amount === undefined) ? undefined : (Object.fromEntries(taken) as Amounts);
}

function partOf(capacity: DividedCapacity, wanted: number | undefined): number | undefined {
  const amount = wanted === undefined ? (capacity.usual ?? capacity.whole) : rounded(capacity, wanted);
  return amount <= capacity.whole && isAllowed(capacity, amount) ? amount : undefined;
}

function rounded({ range, values }: DividedCapacity, wanted: number): number {
  if (range === undefined) return values?.find((value) => wanted <= value) ?? wanted;
  if (wanted < range.min || range.step === undefined) return Math.max(wanted, range.min);
  const [steps] = stepsTo(wanted, range.min, range.step);
  return fromThousandths(thousandths(range.min) + steps * thousandths(range.step));
}

function isAllowed({ usual, range, values }: DividedCapacity, amount: number): boolean {
  if (amount === usual) return true;
  if (range === undefined) return values?.includes(amount) ?? true;
  const { min, max = Infinity, step } = range;
  return amount <= max && (step === undefined || stepsTo(amount, min, step)[1]);
}

/** How many steps above the minimum the amount is, rounded up, and whether that is exact. A fraction counts in thousandths. */
function stepsTo(amount: number, min: number, step: number): readonly [number, boolean] {
  const [above, each] = [thousandths(amount) - thousandths(min), Math.max(1, thousandths(step))];
  return [Math.ceil(above / each), above % each === 0];
}

function thousandths(amount: number): number {
  return Math.round(amount * 1000);
}

function fromThousandths(amount: number): number {
  return amount / 1000;
}

/**
 * Maps scale sets and instances of the SDK to rows. Every optional field is decided here, and only fields that decisions need
 * are kept. Must not know caches or how rows are used.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { VirtualMachine, VirtualMachineScaleSet, VirtualMachineScaleSetOSDisk, VirtualMachineScaleSetVM } from '@azure/arm-compute';
import type { Instance, InstanceState } from '../../domain/node-group.ts';
import type { Labels } from '../../domain/labels.ts';
import { foldName, resourceNameOf, parseInstanceId, type InstanceRef } from '../arm/resource-ids.ts';
import { reservationGroupIdOf } from './capacity-reservation.ts';
import { labelsFromScaleSet } from './pool-labels.ts';
import { classifyInstanceFailure, type ClassifiedFailure } from '../arm/errors.ts';
import type { TemplateSource } from './template-source.ts';
import { poolOf, readTags, type Tags } from './tags.ts';
import { textIn, withoutNulls } from '../../lib/json.ts';
import { groupSizeOf, MAX_DISK_GIB, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import { unreadableReason, wrongFieldReason } from './scale-set-forms.ts';
import { defined } from '../../lib/defined.ts';
import { diskSkuOf } from '../sizes/disk-skus.ts';
import { placementOfScaleSet, zoneNumbers, type ZonePlacement } from './zone-placement.ts';

/** A scale set. `capacity` is the fenced number of its table. */
export interface ScaleSetRow {
  readonly name: string;
  readonly armId: string;
  readonly location: string;
  /** `Uniform`, `Flexible`, or a mode of a later Azure. */
  readonly orchestration: string;
  readonly vmSize: string;
  readonly tier: string | undefined;
  readonly capacity: number;
  readonly extendedLocation: { readonly name: string; readonly type: string } | undefined;
  /** Zone numbers, sorted. Empty if it is regional, or if Azure chooses the zones. */
  readonly zones: readonly string[];
  /** If set, Azure chooses the zone of each instance. */
  readonly placement?: ZonePlacement;
  readonly tags: Tags;
  readonly priority: 'Regular' | 'Spot';
  readonly os: 'linux' | 'windows';
  readonly osDisk: TemplateSource['osDisk'];
  /** The folded ARM id of the capacity reservation group that its instances may use. If absent, none. */
  readonly reservationGroup?: string;
  /** Its instances run on dedicated hosts. */
  readonly dedicatedHost: boolean;
  readonly modelLabels: Labels;
  /** The name of its instances' first subnet, if known. */
  readonly subnet?: string;
  readonly provisioningState: string;
  /** Set if a field that writes need is missing in the response; then `capacity` means nothing. */
  readonly unreadable: string | undefined;
}

const MODES = ['Uniform', 'Flexible'];

/** undefined: an item without a name, which cannot be referenced. An item that cannot be read is a frozen set with a reason. */
export function projectScaleSet(given: VirtualMachineScaleSet): ScaleSetRow | undefined {
  const raw = withoutNulls(given);
  // The SDK passes on whatever Azure returned.
  const name: unknown = raw.name;
  if (typeof name !== 'string' || name === '') return undefined;
  const wrong = wrongFieldReason(raw);
  if (wrong !== undefined) return unreadableRow(raw, name, wrong);
  try {
    const unreadable = unreadableReason(raw);
    return { ...scaleSetRow(raw, name), ...(unreadable === undefined ? {} : { unreadable, zones: [] }) };
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    return unreadableRow(raw, name, UNDOCUMENTED);
  }
}

const UNDOCUMENTED = 'Azure returned this scale set in an undocumented form';

/** The other sets stay readable, and this one stays known by its name and its tags. */
function unreadableRow({ tags, orchestrationMode }: VirtualMachineScaleSet, name: string, unreadable: string): ScaleSetRow {
  const mode = typeof orchestrationMode === 'string' ? orchestrationMode : undefined;
  return { ...scaleSetRow({ location: '', ...defined({ tags, orchestrationMode: mode }) }, name), unreadable };
}

function scaleSetRow(raw: VirtualMachineScaleSet, name: string): ScaleSetRow {
  return {
    name,
    armId: raw.id ?? '',
    location: raw.location ?? '',
    orchestration: MODES.find((mode) => foldName(mode) === foldName(raw.orchestrationMode ?? 'Uniform')) ?? raw.orchestrationMode ?? '',
    ...projectSize(raw),
    zones: zoneNumbers(raw.zones),
    ...defined({ placement: placementOfScaleSet(raw.placement) }),
    tags: readTags(raw.tags),
    ...projectVmProfile(raw.virtualMachineProfile),
    dedicatedHost: (raw.hostGroup?.id ?? '') !== '',
    modelLabels: labelsFromScaleSet(raw),
    ...subnetOf(raw.virtualMachineProfile),
    ...defined({
      reservationGroup: reservationGroupIdOf(raw.virtualMachineProfile?.capacityReservation?.capacityReservationGroup?.id),
    }),
    provisioningState: raw.provisioningState ?? '',
    unreadable: undefined,
  };
}

/** Whether an operation runs in the set. */
export function isUpdating({ provisioningState }: ScaleSetRow): boolean {
  return /^(updating|creating|migrating)$/i.test(provisioningState);
}

function projectSize(raw: VirtualMachineScaleSet): Pick<ScaleSetRow, 'vmSize' | 'tier' | 'capacity' | 'extendedLocation'> {
  const { name, type } = raw.extendedLocation ?? {};
  return {
    vmSize: raw.sku?.name ?? '',
    tier: raw.sku?.tier,
    capacity: groupSizeOf(raw.sku?.capacity) ?? 0,
    extendedLocation: name === undefined || type === undefined ? undefined : { name, type },
  };
}

/** A Flexible set may have no VM profile. */
function projectVmProfile(profile: VirtualMachineScaleSet['virtualMachineProfile']): Pick<ScaleSetRow, 'priority' | 'os' | 'osDisk'> {
  const disk = profile?.storageProfile?.osDisk;
  const windows = profile?.osProfile?.windowsConfiguration !== undefined || disk?.osType?.toLowerCase() === 'windows';
  return {
    priority: profile?.priority?.toLowerCase() === 'spot' ? 'Spot' : 'Regular',
    os: windows ? 'windows' : 'linux',
    osDisk: projectDisk(disk),
  };
}

function projectDisk(disk: VirtualMachineScaleSetOSDisk | undefined): ScaleSetRow['osDisk'] {
  return {
    ephemeral: disk?.diffDiskSettings?.option?.toLowerCase() === 'local',
    tier: disk?.managedDisk?.storageAccountType,
    sizeGb: wholeNumberUpTo(disk?.diskSizeGB, MAX_DISK_GIB),
    ...diskPlacementOf(disk?.diffDiskSettings?.placement),
  };
}

function diskPlacementOf(placement: string | undefined): Pick<ScaleSetRow['osDisk'], 'placement'> {
  return placement === undefined || placement === '' ? {} : { placement: placement };
}

function subnetOf(profile: VirtualMachineScaleSet['virtualMachineProfile']): Pick<ScaleSetRow, 'subnet'> {
  const nics = profile?.networkProfile?.networkInterfaceConfigurations ?? [];
  const nic = nics.find(({ primary }) => primary === true) ?? nics[0];
  const id = nic?.ipConfigurations?.find(({ primary, subnet }) => primary === true && subnet !== undefined) ?? nic?.ipConfigurations?.[0];
  const subnet = resourceNameOf(id?.subnet?.id);
  return subnet === '' ? {} : { subnet };
}

/** An instance of a scale set or of a VMs pool. */
export interface InstanceRow {
  readonly ref: InstanceRef;
  /** Folded: the scale set's name, or `<pool>/<vm size>`. */
  readonly group: string;
  readonly instanceId: string;
  /** The name in AKS's machines API: also the name of its host and node. */
  readonly machineName: string;
  readonly state: InstanceState;
  /** `<location>-<number>`. */
  readonly zone: string | undefined;
  readonly failure: ClassifiedFailure | undefined;
  /** Errors of the node bootstrap extension. They count only for an instance that never became a node. */
  readonly bootstrapError: string | undefined;
  /** Unique to one instance: distinguishes it from an earlier instance with the same number. */
  readonly vmId: string;
  /** Milliseconds since the epoch; undefined: unknown. */
  readonly createdAtMs: number | undefined;
  /** It failed, and no VM runs: its creation or its start. If absent, its `state` says whether a VM runs. */
  readonly isFailedWithoutVm?: true;
  /** What its protection policy forbids. If absent, it is not protected. */
  readonly protectedFrom?: NonNullable<Instance['protectedFrom']>;
  /** The SKU of its OS disk, such as `P10 LRS`. If absent, it is of a scale set, or Azure named none that is billed by its size. */
  readonly diskSku?: string;
}

/** Whether its creation or its bootstrap failed, as far as Azure shows. */
export function hasFailed({ state, bootstrapError }: InstanceRow): boolean {
  return state === 'failed' || bootstrapError !== undefined;
}

interface InstanceView {
  readonly statuses?: readonly { readonly code?: string; readonly level?: string; readonly message?: string }[];
  readonly extensions?: readonly {
    readonly name?: string;
    readonly statuses?: readonly { readonly level?: string; readonly message?: string; readonly displayStatus?: string }[];
  }[];
}

/**
 * undefined: an item without a usable id, which no call can name, or one of another set: its number would name another instance
 * of this set.
 */
export function projectInstance(given: VirtualMachineScaleSetVM, set: string): InstanceRow | undefined {
  const raw = withoutNulls(given);
  const parsed = parseInstanceId(textIn(raw.id));
  // guard: an instance without an id does not keep the others unread
  // guard: an instance of another scale set is not taken for our own
  if (!parsed.ok || parsed.ref.kind !== 'vmss' || foldName(parsed.ref.set) !== foldName(set)) return undefined;
  return readableRow(raw, parsed.ref, foldName(set));
}

/**
 * Maps a virtual machine with an id of its own. If `group` is undefined, it is derived from the pool tag and the size;
 * machines of no pool are skipped.
 */
export function projectVm(given: VirtualMachine, group?: string): InstanceRow | undefined {
  const raw = withoutNulls(given);
  const parsed = parseInstanceId(textIn(raw.id));
  const pool = poolOf(readTags(raw.tags));
  const owner = group ?? (pool === undefined ? undefined : `${pool}/${textIn(raw.hardwareProfile?.vmSize)}`);
  if (!parsed.ok || parsed.ref.kind !== 'vm' || owner === undefined) return undefined;
  const disk = raw.storageProfile?.osDisk;
  const diskSku = diskSkuOf(disk?.managedDisk?.storageAccountType, wholeNumberUpTo(disk?.diskSizeGB, MAX_DISK_GIB));
  return { ...readableRow(raw, parsed.ref, foldName(owner)), ...defined({ diskSku }) };
}

/** The key of the instance that an answer is about. undefined: its id is not the id of an instance. */
export function instanceKeyOf({ id }: { readonly id?: unknown }): InstanceKey | undefined {
  const parsed = parseInstanceId(textIn(id));
  return parsed.ok ? parsed.ref.key : undefined;
}

/** Whether the virtual machine belongs to this scale set. Without it, Azure may have ignored the filter of the list. */
export function isOfSet(vm: VirtualMachine, { name }: Pick<ScaleSetRow, 'name'>): boolean {
  return scaleSetOfVm(vm) === foldName(name);
}

/** The folded name of the scale set of a virtual machine; empty: it is in none. */
export function scaleSetOfVm({ virtualMachineScaleSet }: VirtualMachine): string {
  return foldName(resourceNameOf(textIn(virtualMachineScaleSet?.id)));
}

/** An item that cannot be read is an instance in an unknown state: it is neither capacity nor removed. */
function readableRow(raw: VirtualMachineScaleSetVM | VirtualMachine, ref: InstanceRef, group: string): InstanceRow {
  try {
    return instanceRow(raw, ref, group);
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    return instanceRow({ location: '' }, ref, group);
  }
}

function instanceRow(raw: VirtualMachineScaleSetVM | VirtualMachine, ref: InstanceRef, group: string): InstanceRow {
  const state = instanceState(raw.provisioningState, raw.instanceView);
  const zone = raw.zones?.[0];
  const createdAtMs = raw.timeCreated?.getTime();
  return {
    ref,
    group,
    instanceId: ref.instance,
    machineName: raw.osProfile?.computerName ?? ref.instance,
    state,
    zone: zone === undefined ? undefined : zoneName(raw.location ?? '', zone),
    failure: state === 'failed' ? failureOf(raw.instanceView) : undefined,
    bootstrapError: bootstrapErrorOf(raw.instanceView),
    vmId: raw.vmId ?? '',
    createdAtMs: createdAtMs === undefined || Number.isNaN(createdAtMs) ? undefined : createdAtMs,
    ...(state === 'failed' && DEALLOCATED.has(powerOf(raw.instanceView ?? {})) ? { isFailedWithoutVm: true as const } : {}),
    ...protectionOf('protectionPolicy' in raw ? raw.protectionPolicy : undefined),
  };
}

/** Protection from actions on the set includes protection from scale-in. */
function protectionOf(policy: VirtualMachineScaleSetVM['protectionPolicy']): Pick<InstanceRow, 'protectedFrom'> {
  if (policy?.protectFromScaleSetActions === true) return { protectedFrom: 'actions' };
  return policy?.protectFromScaleIn === true ? { protectedFrom: 'scale-in' } : {};
}

export function zoneName(location: string, zone: string): string {
  return `${location.toLowerCase()}-${zone}`;
}

/**
 * A failed instance that runs may be a good node whose last update failed; only one that does not run counts as failed.
 * Without an instance view it is assumed to run.
 */
export function instanceState(provisioningState: string | undefined, view: InstanceView | undefined): InstanceState {
  const power = view === undefined ? 'running' : powerOf(view);
  switch (provisioningState?.toLowerCase() ?? '') {
    case '':
      return 'unknown';
    case 'creating':
      return 'creating';
    case 'deleting':
      return 'deleting';
    case 'failed':
      return power === 'running' || power === 'starting' ? 'running' : 'failed';
    default:
      return DEALLOCATED.has(power) ? 'deallocated' : 'running';
  }
}

const DEALLOCATED: ReadonlySet<string> = new Set(['deallocated', 'deallocating']);

const POWER = /^powerstate\/(starting|running|stopping|stopped|deallocating|deallocated|unknown)$/;

function powerOf(view: InstanceView): string {
  for (const { code } of view.statuses ?? []) {
    const power = POWER.exec(code?.toLowerCase() ?? '')?.[1];
    if (power !== undefined) return power;
  }
  return 'unknown';
}

function failureOf(view: InstanceView | undefined): ClassifiedFailure {
  const status = view?.statuses?.find(({ code }) => code?.toLowerCase().startsWith('provisioningstate/failed') === true);
  const code = status?.code?.split('/')[2] ?? 'ProvisioningFailed';
  return classifyInstanceFailure(code, status?.message ?? 'The instance could not be provisioned.');
}

/** The extension with which AKS bootstraps nodes. */
const BOOTSTRAP_EXTENSION = 'vmsscse';

function bootstrapErrorOf(view: InstanceView | undefined): string | undefined {
  const extension = view?.extensions?.find(({ name }) => name?.toLowerCase() === BOOTSTRAP_EXTENSION);
  const errors = (extension?.statuses ?? []).filter(({ level }) => level?.toLowerCase() === 'error');
  return errors.length === 0 ? undefined : errors.map(({ message, displayStatus }) => message ?? displayStatus ?? '').join('; ');
}

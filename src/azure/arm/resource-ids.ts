/**
 * ARM ids are parsed here, once, into a folded key; nothing else in the program compares spellings. Kubernetes writes
 * resource groups in lower case, ARM lists write them in any case: both must mean the same machine.
 */
import { instanceKey, type InstanceKey } from '../../domain/ids.ts';

/** One virtual machine, as the wire names it. `kind` says which of the two shapes its id has. */
export interface InstanceRef {
  readonly key: InstanceKey;
  readonly kind: 'vmss' | 'vm';
  readonly subscription: string;
  readonly resourceGroup: string;
  /** The scale set's name for a Uniform instance; empty for a virtual machine with an id of its own (Flexible, VMs pool). */
  readonly set: string;
  /** The number within a Uniform set, or the virtual machine's name: what a delete call names. */
  readonly instance: string;
}

/** Expected: nodes of other clouds and empty provider ids exist. */
export type ParsedId = { readonly ok: true; readonly ref: InstanceRef } | { readonly ok: false; readonly reason: string };

const PROVIDER_PREFIX = 'azure://';

const SEGMENTS = ['subscriptions', 'resourcegroups', 'providers', 'microsoft.compute'] as const;

/** Parses `spec.providerID` (`azure:///subscriptions/...`). */
export function parseProviderId(providerId: string): ParsedId {
  if (providerId === '') return { ok: false, reason: 'the node has no provider id yet' };
  if (!providerId.toLowerCase().startsWith(PROVIDER_PREFIX)) return { ok: false, reason: `"${providerId}" is not an Azure provider id` };
  return parseInstanceId(providerId.slice(PROVIDER_PREFIX.length));
}

/** Parses the ARM id of a Uniform instance or of a virtual machine. */
export function parseInstanceId(armId: string): ParsedId {
  const parts = armId.split('/');
  const bad: ParsedId = { ok: false, reason: `"${armId}" is not the id of a virtual machine` };
  if (parts[0] !== '' || parts.some((part, index) => index > 0 && part === '')) return bad;
  const [, first, subscription = '', second, resourceGroup = '', third, provider, type, name = '', childType, instance] = parts;
  const literals = [first, second, third, provider].map((part) => part?.toLowerCase());
  if (literals.some((part, index) => part !== SEGMENTS[index])) return bad;
  const folded = type?.toLowerCase();
  if (folded === 'virtualmachines' && parts.length === 9) {
    return { ok: true, ref: reference({ kind: 'vm', subscription, resourceGroup, set: '', instance: name }) };
  }
  if (
    folded === 'virtualmachinescalesets' &&
    childType?.toLowerCase() === 'virtualmachines' &&
    parts.length === 11 &&
    instance !== undefined
  ) {
    return { ok: true, ref: reference({ kind: 'vmss', subscription, resourceGroup, set: name, instance }) };
  }
  return bad;
}

function reference(parts: Omit<InstanceRef, 'key'>): InstanceRef {
  const text = [parts.subscription, parts.resourceGroup, parts.kind, parts.set, parts.instance].join('|');
  return { key: instanceKey(text.toLowerCase()), ...parts };
}

/** The folded name of the set that a Uniform instance's key names; undefined for a machine with an id of its own. */
export function setOfKey(key: InstanceKey): string | undefined {
  const [, , kind, set] = key.split('|');
  return kind === 'vmss' ? set : undefined;
}

/** The provider id as the cloud's node controller spells it: the resource group in lower case, the rest as it is. */
export function providerIdOf(ref: InstanceRef): string {
  const scope = `/subscriptions/${ref.subscription}/resourceGroups/${ref.resourceGroup.toLowerCase()}/providers/Microsoft.Compute`;
  return ref.kind === 'vm'
    ? `azure://${scope}/virtualMachines/${ref.instance}`
    : `azure://${scope}/virtualMachineScaleSets/${ref.set}/virtualMachines/${ref.instance}`;
}

/** What scale sets and pools are looked up by. */
export function foldName(name: string): string {
  return name.toLowerCase();
}

/** The last segment of any ARM id, as it is spelled; empty for nothing. */
export function nameIn(armId: string | undefined): string {
  return armId?.slice(armId.lastIndexOf('/') + 1) ?? '';
}

/** The last segment of any ARM id, folded; empty for nothing. */
export function lastSegment(armId: string | undefined): string {
  return foldName(nameIn(armId));
}

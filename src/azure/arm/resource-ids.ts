/**
 * Parses ARM ids once into a folded key; nothing else in the program compares spellings. Kubernetes writes resource groups in
 * lower case, ARM lists write them in any case: both must mean the same instance.
 */
import { instanceKey, type InstanceKey } from '../../domain/ids.ts';

/** One virtual machine as Azure names it. `kind` is the form of its id. */
export interface InstanceRef {
  readonly key: InstanceKey;
  readonly kind: 'vmss' | 'vm';
  readonly subscription: string;
  readonly resourceGroup: string;
  /** The scale set's name for a Uniform instance. Empty for a virtual machine with an id of its own (Flexible, VMs pool). */
  readonly set: string;
  /** The number within a Uniform set, or the virtual machine's name. Delete calls use it. */
  readonly instance: string;
}

/** A failure is expected: nodes of other clouds and empty provider ids exist. */
type ParsedId = { readonly ok: true; readonly ref: InstanceRef } | { readonly ok: false; readonly reason: string };

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
    return { ok: true, ref: instanceRef({ kind: 'vm', subscription, resourceGroup, set: '', instance: name }) };
  }
  if (
    folded === 'virtualmachinescalesets' &&
    childType?.toLowerCase() === 'virtualmachines' &&
    parts.length === 11 &&
    instance !== undefined
  ) {
    return { ok: true, ref: instanceRef({ kind: 'vmss', subscription, resourceGroup, set: name, instance }) };
  }
  return bad;
}

function instanceRef(parts: Omit<InstanceRef, 'key'>): InstanceRef {
  const text = [parts.subscription, parts.resourceGroup, parts.kind, parts.set, parts.instance].join('|');
  return { key: instanceKey(text.toLowerCase()), ...parts };
}

/** The subscription and the resource group of the nodes. */
export interface ResourceScope {
  readonly subscriptionId: string;
  readonly nodeResourceGroup: string;
}

/** Whether the instance is in this resource group. */
export function isInScope({ subscription, resourceGroup }: InstanceRef, scope: ResourceScope): boolean {
  return foldName(subscription) === foldName(scope.subscriptionId) && foldName(resourceGroup) === foldName(scope.nodeResourceGroup);
}

/** The instance that a key names, in lower case, which Azure accepts in every id. undefined: the key names none. */
export function instanceRefOf(key: string): InstanceRef | undefined {
  const [subscription, resourceGroup, kind, set, instance] = key.split('|');
  if (subscription === undefined || resourceGroup === undefined || set === undefined || instance === undefined) return undefined;
  return kind === 'vmss' || kind === 'vm' ? instanceRef({ kind, subscription, resourceGroup, set, instance }) : undefined;
}

/** The folded name of the scale set of a Uniform instance. undefined: the virtual machine has an id of its own. */
export function scaleSetOfInstance(key: InstanceKey): string | undefined {
  const [, , kind, set] = key.split('|');
  return kind === 'vmss' ? set : undefined;
}

/** Whether the key names a machine of this subscription and resource group. */
export function isInResourceGroup(key: InstanceKey, { subscriptionId, nodeResourceGroup }: ResourceGroupIds): boolean {
  return key.startsWith(`${subscriptionId}|${nodeResourceGroup}|`.toLowerCase());
}

interface ResourceGroupIds {
  readonly subscriptionId: string;
  readonly nodeResourceGroup: string;
}

/** The provider id as the cloud node manager spells it: the resource group in lower case, the rest unchanged. */
export function providerIdOf(ref: InstanceRef): string {
  const scope = `/subscriptions/${ref.subscription}/resourceGroups/${ref.resourceGroup.toLowerCase()}/providers/Microsoft.Compute`;
  return ref.kind === 'vm'
    ? `azure://${scope}/virtualMachines/${ref.instance}`
    : `azure://${scope}/virtualMachineScaleSets/${ref.set}/virtualMachines/${ref.instance}`;
}

/** The key by which scale sets and pools are looked up. */
export function foldName(name: string): string {
  return name.toLowerCase();
}

/** The last segment of any ARM id, as spelled. Empty if there is none. */
export function resourceNameOf(armId: string | undefined): string {
  return armId?.slice(armId.lastIndexOf('/') + 1) ?? '';
}

/** The last segment of any ARM id, folded. Empty if there is none. */
export function foldedResourceNameOf(armId: string | undefined): string {
  return foldName(resourceNameOf(armId));
}

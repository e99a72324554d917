/** Labels of AKS's own that follow from the documents of a scale set and of an agent pool. Nothing is guessed: what they do not say is left out. */
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { AgentPool } from '@azure/arm-containerservice';
import type { Labels } from '../../domain/labels.ts';
import { lastSegment } from './arm-ids.ts';

/** What AKS puts before the names of its labels, slash included. */
export const AKS_PREFIX = 'kubernetes.azure.com/';

/** What the model of a scale set says in labels of its nodes. */
export function labelsOfModel(raw: VirtualMachineScaleSet): Labels {
  const profile = raw.virtualMachineProfile;
  const encryptionSet = profile?.storageProfile?.osDisk?.managedDisk?.diskEncryptionSet?.id;
  return aksNamed({
    'security-type': profile?.securityProfile?.securityType,
    ppg: lastSegment(raw.proximityPlacementGroup?.id),
    'encrypted-set': lastSegment(encryptionSet),
  });
}

/** What the document of an agent pool says in labels of its nodes. */
export function labelsOfPool(raw: AgentPool): Labels {
  return aksNamed({
    mode: raw.mode?.toLowerCase(),
    'nodepool-type': raw.typePropertiesType,
    'os-sku': raw.osSKU,
    'os-sku-requested': raw.osSKU,
    'os-sku-effective': effectiveOs(raw),
    'node-image-version': raw.nodeImageVersion,
    'localdns-state': raw.localDNSProfile?.state?.toLowerCase(),
    fips_enabled: raw.enableFips === true ? 'true' : undefined,
    'kata-vm-isolation': raw.workloadRuntime === 'KataVmIsolation' ? 'true' : undefined,
    'kata-mshv-vm-isolation': raw.workloadRuntime === 'KataMshvVmIsolation' ? 'true' : undefined,
  });
}

/** Always with a version: what was asked for has one, or the name of the image tells it. */
function effectiveOs({ osSKU = '', nodeImageVersion = '' }: AgentPool): string | undefined {
  if (/\d$/.test(osSKU)) return osSKU;
  const version = /^AKSUbuntu-(\d{4})/.exec(nodeImageVersion)?.[1];
  return version === undefined || osSKU.toLowerCase() !== 'ubuntu' ? undefined : `${osSKU}${version}`;
}

/** Labels of AKS by the rest of their names; what has no value is none. */
export function aksNamed(values: Readonly<Record<string, string | undefined>>): Labels {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[`${AKS_PREFIX}${name}`, value]])),
  );
}

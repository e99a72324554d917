/** Labels of AKS's own that follow from the documents of a scale set and of an agent pool. Nothing is guessed: what they do not say is left out. */
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { Labels } from '../../domain/labels.ts';
import type { ToldPool } from './agent-pool-list.ts';
import { lastSegment } from '../arm/resource-ids.ts';

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
export function labelsOfPool(raw: ToldPool): Labels {
  const build = WINDOWS_BUILDS[raw.osSKU?.toLowerCase() ?? ''];
  const ofAks = aksNamed({
    mode: raw.mode?.toLowerCase(),
    'nodepool-type': raw.typePropertiesType,
    'os-sku': raw.osSKU,
    'os-sku-requested': raw.osSKU,
    'os-sku-effective': effectiveOs(raw),
    'node-image-version': raw.nodeImageVersion,
    'localdns-state': raw.localDNSProfile?.state?.toLowerCase(),
    fips_enabled: raw.enableFips === true ? 'true' : undefined,
    'custom-ca-trust-enabled': raw.enableCustomCATrust === true ? 'true' : undefined,
    'kata-vm-isolation': raw.workloadRuntime === 'KataVmIsolation' ? 'true' : undefined,
    'kata-mshv-vm-isolation': raw.workloadRuntime === 'KataMshvVmIsolation' ? 'true' : undefined,
  });
  return build === undefined ? ofAks : { ...ofAks, [WINDOWS_BUILD]: build };
}

/** Written by the kubelets of Windows nodes; what containers of Windows are matched by. */
export const WINDOWS_BUILD = 'node.kubernetes.io/windows-build';
/** Microsoft's build numbers of the releases that AKS names. */
const WINDOWS_BUILDS: Readonly<Record<string, string>> = {
  windows2019: '10.0.17763',
  windows2022: '10.0.20348',
  windowsannual: '10.0.25398',
  windows2025: '10.0.26100',
};

/** Always with a version: what was asked for has one, or the name of the image tells it. */
function effectiveOs({ osSKU = '', nodeImageVersion = '' }: ToldPool): string | undefined {
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

/**
 * AKS's own labels that follow from the models of a scale set and of an agent pool. A label without a source is left out
 * rather than guessed.
 */
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { Labels } from '../../domain/labels.ts';
import type { ListedAgentPool } from './agent-pool-list.ts';
import { foldedResourceNameOf } from '../arm/resource-ids.ts';

/** The prefix of AKS's own labels, including the slash. */
export const AKS_PREFIX = 'kubernetes.azure.com/';

/** The node labels that follow from the model of a scale set. */
export function labelsFromScaleSet(raw: VirtualMachineScaleSet): Labels {
  const profile = raw.virtualMachineProfile;
  const encryptionSet = profile?.storageProfile?.osDisk?.managedDisk?.diskEncryptionSet?.id;
  return withAksPrefix({
    'security-type': profile?.securityProfile?.securityType,
    ppg: foldedResourceNameOf(raw.proximityPlacementGroup?.id),
    'encrypted-set': foldedResourceNameOf(encryptionSet),
  });
}

/** The node labels that follow from the model of an agent pool. */
export function labelsFromAgentPool(raw: ListedAgentPool): Labels {
  const build = WINDOWS_BUILDS[raw.osSKU?.toLowerCase() ?? ''];
  const ofAks = withAksPrefix({
    mode: raw.mode?.toLowerCase(),
    'nodepool-type': raw.typePropertiesType,
    'os-sku': raw.osSKU,
    'os-sku-requested': raw.osSKU,
    'os-sku-effective': effectiveOsSku(raw),
    'node-image-version': raw.nodeImageVersion,
    'localdns-state': raw.localDNSProfile?.state?.toLowerCase(),
    fips_enabled: raw.enableFips === true ? 'true' : undefined,
    'custom-ca-trust-enabled': raw.enableCustomCATrust === true ? 'true' : undefined,
    'kata-vm-isolation': raw.workloadRuntime === 'KataVmIsolation' ? 'true' : undefined,
    'kata-mshv-vm-isolation': raw.workloadRuntime === 'KataMshvVmIsolation' ? 'true' : undefined,
  });
  return build === undefined ? ofAks : { ...ofAks, [WINDOWS_BUILD]: build };
}

/** Set by the kubelets of Windows nodes. Windows containers are matched by it. */
export const WINDOWS_BUILD = 'node.kubernetes.io/windows-build';
/** Microsoft's build numbers of the releases that AKS names. */
const WINDOWS_BUILDS: Readonly<Record<string, string>> = {
  windows2019: '10.0.17763',
  windows2022: '10.0.20348',
  windowsannual: '10.0.25398',
  windows2025: '10.0.26100',
};

/** Always has a version: from the requested SKU, or else from the name of the node image. */
function effectiveOsSku({ osSKU = '', nodeImageVersion = '' }: ListedAgentPool): string | undefined {
  if (/\d$/.test(osSKU)) return osSKU;
  const version = /^AKSUbuntu-(\d{4})/.exec(nodeImageVersion)?.[1];
  return version === undefined || osSKU.toLowerCase() !== 'ubuntu' ? undefined : `${osSKU}${version}`;
}

/** Adds the AKS prefix to label names. Labels without a value are dropped. */
export function withAksPrefix(values: Readonly<Record<string, string | undefined>>): Labels {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[`${AKS_PREFIX}${name}`, value]])),
  );
}

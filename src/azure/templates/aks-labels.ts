/**
 * Derives the labels that AKS gives its nodes from what Azure and AKS return of a pool without nodes. A label that would be a
 * guess (the state of a node's DNS, the variant of its image) is left out: a running node has it. Pure.
 * Idea: template.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Labels } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import { AKS_PREFIX, withAksPrefix, WINDOWS_BUILD } from '../rows/pool-labels.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { zoneName } from '../rows/scale-set.ts';
import { deviceResourceName, type Sku } from '../sizes/sku-catalog.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { findTag } from '../rows/tags.ts';

/** The maximum length of a label value. */
const LONGEST_VALUE = 63;

interface AksLabelInput {
  readonly sku: Sku;
  readonly pool: AgentPoolRow | undefined;
  readonly nodeResourceGroup: string;
}

/** All of AKS's own labels except those of the zone. */
export function aksLabels(source: TemplateSource, { sku, pool, nodeResourceGroup }: AksLabelInput): Labels {
  const storage = source.osDisk.ephemeral ? 'ephemeral' : 'managed';
  const { tier = '' } = source.osDisk;
  const isNvidia = sku.gpus > 0 && deviceResourceName(source.vmSize) === 'nvidia.com/gpu';
  const spot = source.priority === 'Spot' ? 'spot' : undefined;
  return {
    'kubernetes.io/role': 'agent',
    storageprofile: storage,
    ...(tier === '' ? {} : { storagetier: tier }),
    ...(isNvidia ? { accelerator: 'nvidia' } : {}),
    ...withAksPrefix({
      cluster: clusterLabel(nodeResourceGroup),
      role: 'agent',
      'sku-cpu': String(sku.vcpus),
      'sku-memory': String(Math.floor(sku.memoryBytes / 2 ** 20)),
      storageprofile: storage,
      storagetier: tier,
      scalesetpriority: spot,
      priority: spot,
      accelerator: isNvidia ? 'nvidia' : undefined,
      'kubelet-identity-client-id': findTag(source.tags, 'aks-managed-kubeletIdentityClientID'),
      'consolidated-additional-properties': findTag(source.tags, 'aks-managed-consolidated-additional-properties'),
      'azure-cni-overlay': findTag(source.tags, 'aks-managed-azure-cni-overlay')?.toLowerCase() === 'true' ? 'true' : undefined,
    }),
    ...source.modelLabels,
    ...pool?.modelLabels,
  };
}

/**
 * Resource group names allow characters that label values do not. AKS replaces parentheses by dashes, truncates, and replaces
 * a bad last character.
 */
function clusterLabel(nodeResourceGroup: string): string {
  const cut = nodeResourceGroup.replaceAll(/[()]/g, '-').slice(0, LONGEST_VALUE);
  return /[-_.]$/.test(cut) ? `${cut.slice(0, LONGEST_VALUE - 1)}z` : cut;
}

/** Labels that every node has on every platform. */
export function generalLabels(source: Pick<TemplateSource, 'location' | 'os' | 'vmSize'>): Labels {
  const region = source.location.toLowerCase();
  return {
    'kubernetes.io/os': source.os,
    'beta.kubernetes.io/os': source.os,
    'node.kubernetes.io/instance-type': source.vmSize,
    'beta.kubernetes.io/instance-type': source.vmSize,
    'topology.kubernetes.io/region': region,
    'failure-domain.beta.kubernetes.io/region': region,
  };
}

/**
 * A set of one zone, or of none, has nodes with one known zone value. A set of several zones gets no zone label: a guess would
 * be wrong for a pod that is bound to another zone.
 */
export function zoneLabels(source: Pick<TemplateSource, 'zones' | 'location'>): Labels {
  const [first, ...others] = source.zones;
  if (others.length > 0) return {};
  const zone = first === undefined ? '0' : zoneName(source.location, first);
  return {
    'topology.kubernetes.io/zone': zone,
    'failure-domain.beta.kubernetes.io/zone': zone,
    'topology.disk.csi.azure.com/zone': first === undefined ? '' : zone,
  };
}

/** Labels with one value for the whole cluster: any node shows it for all nodes with its operating system. */
const CLUSTER_WIDE = [
  'ebpf-dataplane',
  'network-policy',
  'azure-cni-overlay',
  'podnetwork-type',
  'nodenetwork-vnetguid',
  'network-name',
  'network-resourcegroup',
  'network-subscription',
  'network-stateless-cni',
  'kubelet-identity-client-id',
  'kubelet-serving-ca',
].map((name) => `${AKS_PREFIX}${name}`);

/** If nodes carry it, its value is the name of each node's own subnet. */
const SUBNET_LABEL = `${AKS_PREFIX}network-subnet`;

/** Labels that come from the agent pool's model, if it was read. */
const FROM_AGENT_POOL = [
  'mode',
  'nodepool-type',
  'os-sku',
  'os-sku-requested',
  'node-image-version',
  'fips_enabled',
  'kata-vm-isolation',
  'kata-mshv-vm-isolation',
].map((name) => `${AKS_PREFIX}${name}`);

/** Labels that come from the scale set's model. A VMs pool has no such model. */
const FROM_SCALE_SET = [...['security-type', 'ppg', 'encrypted-set', 'storagetier'].map((name) => `${AKS_PREFIX}${name}`), 'storagetier'];

/** Labels that may differ between pools and that no model determines. */
const FROM_NODE_ONLY = ['os-sku-effective', 'localdns-state', 'network-subnet', 'consolidated-additional-properties', 'dcgm-exporter'].map(
  (name) => `${AKS_PREFIX}${name}`,
);

/** Set by daemons that inspect the hardware once a node runs. */
const FROM_HARDWARE_DISCOVERY = ['feature.node.kubernetes.io/*', 'nvidia.com/*', 'amd.com/*'];

/**
 * The labels of a new node that follow from nodes of other pools: the cluster-wide labels, and the name of its own subnet if
 * those nodes carry theirs.
 */
export function labelsFromOtherNodes(clusterLabels: Labels, { subnet }: Pick<TemplateSource, 'subnet'>): Labels {
  const { [SUBNET_LABEL]: theirs, ...labels } = clusterLabels;
  return theirs === undefined || subnet === undefined ? labels : { ...labels, [SUBNET_LABEL]: subnet };
}

/** Labels for which it is unknown whether a new node has them, and with which value. */
export function unknownLabels(
  labels: Labels,
  { modelLabels }: Pick<TemplateSource, 'modelLabels'>,
  { pool, clusterLabels }: { readonly pool: AgentPoolRow | undefined; readonly clusterLabels?: Labels },
): readonly string[] {
  const hasOtherNodes = Object.keys(clusterLabels ?? {}).length > 0;
  const windowsKeys = labels['kubernetes.io/os'] === 'windows' ? [WINDOWS_BUILD] : [];
  const keys = [
    ...(hasOtherNodes ? [] : CLUSTER_WIDE),
    ...(pool === undefined ? FROM_AGENT_POOL : []),
    ...(modelLabels === undefined ? FROM_SCALE_SET : []),
    ...FROM_NODE_ONLY,
    ...windowsKeys,
  ];
  return [...keys.filter((key) => !Object.hasOwn(labels, key)), ...FROM_HARDWARE_DISCOVERY];
}

const NONE: Labels = {};

/**
 * The cluster-wide labels, as current nodes of any pool show them. DaemonSets of AKS select nodes by such labels. Without
 * them, the DaemonSet pods of a pool without nodes would be miscounted.
 */
export class ClusterLabels {
  #nodes: unknown;
  #byOs = new Map<string, Labels>();

  /** Keeps the same objects while the labels stay equal. Of several nodes, the first by name is used. */
  observe(nodes: ReadonlyMap<string, Node>, nodeResourceGroup: string): void {
    if (this.#nodes === nodes) return;
    this.#nodes = nodes;
    const nodeByOs = new Map<string, Node>();
    const cluster = clusterLabel(nodeResourceGroup).toLowerCase();
    for (const node of nodes.values()) {
      const os = node.labels['kubernetes.io/os'] ?? '';
      const known = nodeByOs.get(os);
      if (known !== undefined && known.name < node.name) continue;
      if (node.labels[`${AKS_PREFIX}cluster`]?.toLowerCase() === cluster) nodeByOs.set(os, node);
    }
    this.#byOs = new Map([...nodeByOs].map(([os, node]) => [os, this.#renewed(os, node.labels)]));
  }

  labelsFor(os: string = 'linux'): Labels {
    return this.#byOs.get(os) ?? NONE;
  }

  #renewed(os: string, labels: Labels): Labels {
    const labelsNow = Object.fromEntries(
      [...CLUSTER_WIDE, SUBNET_LABEL].flatMap((key) => {
        const value = labels[key];
        return value === undefined ? [] : [[key, value]];
      }),
    );
    const before = this.#byOs.get(os);
    return before !== undefined && isDeepStrictEqual(before, labelsNow) ? before : labelsNow;
  }
}

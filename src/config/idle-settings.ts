/** What is given and cannot be obeyed beside the rest: said, so that nobody waits for it. Must not refuse anything: the schema does. */
import { USUAL_DIFFERENCE_RATIOS } from '../domain/policy.ts';
import { isDocument, type Document, type Merged } from './layer.ts';
import type { Parsed } from './schema.ts';

const CLUSTER_NAME = 'azure.clusterName';

/**
 * Without `--cluster-name` where nothing says the cluster's resource group: the Cluster Autoscaler takes that flag for every
 * cloud and asks Azure nothing by it, so an existing Deployment's must not keep us from starting. Other sources mean agent pools.
 */
export function withoutIdleName(merged: Merged): { readonly merged: Merged; readonly warnings: readonly string[] } {
  const { azure } = merged.document;
  const label = merged.origins.get(CLUSTER_NAME)?.label;
  if (!isDocument(azure) || azure['clusterResourceGroup'] !== undefined || label !== 'flag --cluster-name') return { merged, warnings: [] };
  const { clusterName: _idle, ...rest } = azure;
  const document: Document = { ...merged.document, azure: rest };
  const warning = `${label} has no effect: agent pools are read where ARM_CLUSTER_RESOURCE_GROUP (azure.clusterResourceGroup) is set too.`;
  return { merged: { document, origins: merged.origins }, warnings: [warning] };
}

/** One sentence for each setting of the whole that another leaves nothing to say. */
export function idleSettings({ nodeGroups, discovery, scaleUp }: Parsed): readonly string[] {
  const nudge = 'No node group is configured: name them by --nodes=MIN:MAX:NAME or --node-group-auto-discovery=label:TAG=VALUE.';
  const alone = 'when scale-ups are balanced: scaleUp.balancingLabels (--balancing-label) alone decide what is similar.';
  const beaten = scaleUp.balancingLabels.length > 0 ? otherMeasures(scaleUp) : [];
  return [
    ...beaten.map((measure) => `${measure} is not asked ${alone}`),
    ...(nodeGroups.length === 0 && discovery.length === 0 ? [nudge] : []),
  ];
}

/** What was set of likeness beside the labels that decide alone; a ratio that is as usual need not have been set. */
function otherMeasures({ balancingIgnoreLabels, differenceRatios: set }: Parsed['scaleUp']): readonly string[] {
  const usual = USUAL_DIFFERENCE_RATIOS;
  return [
    ...(balancingIgnoreLabels.length > 0 ? ['scaleUp.balancingIgnoreLabels (--balancing-ignore-label)'] : []),
    ...(set.memory === usual.memory ? [] : ['scaleUp.memoryDifferenceRatio (--memory-difference-ratio)']),
    ...(set.allocatable === usual.allocatable ? [] : ['scaleUp.maxAllocatableDifferenceRatio (--max-allocatable-difference-ratio)']),
    ...(set.free === usual.free ? [] : ['scaleUp.maxFreeDifferenceRatio (--max-free-difference-ratio)']),
  ];
}

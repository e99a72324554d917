/** What a group's next node will be: from a node that is, from one that was, or from what its size and AKS promise. */
import type { Row } from '../../cache/table/row.ts';
import type { Labels } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { originsFrom, templateFromRecord, withLearnedParts, withoutStartupTaints, type LearnedTemplate } from './learned-templates.ts';
import { templateFromFallback, templateFromNode, withLastingTaints, withTaintsOfYoungNode } from './from-node.ts';
import type { AzureOptions } from '../arm/options.ts';
import { quotaDrawsOf } from '../sizes/core-quotas.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { closedZonesOf, retirementWarnings, type Sku } from '../sizes/sku-catalog.ts';
import type { TemplateMemory } from './template-memory.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { attachLimits, templateFromSize } from './from-size.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';

/** Everything that a template is made from. */
export interface GroupTemplateInput {
  readonly group: RegisteredGroup;
  readonly row: Row<ScaleSetRow> | undefined;
  /** Instead of `row`, for one size of a VMs pool. */
  readonly size: PoolSizeRow | undefined;
  readonly pool: AgentPoolRow | undefined;
  readonly sku: Sku | undefined;
  readonly exemplar: Node | undefined;
  /** Instead of an exemplar, for want of everything else. */
  readonly fallback: Node | undefined;
  /** What nodes of other groups tell of this one's. */
  readonly clusterLabels: Labels;
  /** What is known of nodes that the group had, as far as it still holds. */
  readonly learned: LearnedTemplate | undefined;
  /** Keys of taints that AKS states for the start of its nodes alone, joined by commas. */
  readonly startupTaints: string;
}

export interface GroupTemplateDeps {
  readonly options: AzureOptions;
  readonly names: ResourceNames;
  readonly memory: TemplateMemory;
}

/** With what a node takes of the quotas, which no node tells. undefined: nothing is known of the group. */
export function buildGroupTemplate(
  parts: GroupTemplateDeps,
  inputs: GroupTemplateInput,
  source: TemplateSource | undefined,
): NodeTemplate | undefined {
  const raw = source === undefined ? undefined : rawTemplate(parts, inputs, source);
  if (raw === undefined || source === undefined) return undefined;
  const lasting = withLastingTaints(raw, parts.options.taints ?? {});
  const template = withoutStartupTaints(withLearnedParts(lasting, inputs.learned, parts.names), keysOf(inputs.startupTaints));
  const { sku, pool } = inputs;
  const cautions = [...(pool?.warnings ?? []), ...retirementWarnings(sku)];
  return {
    ...template,
    zones: openZones(template.zones, sku),
    ...(cautions.length === 0 ? {} : { cautions }),
    ...(sku === undefined ? {} : { draws: quotaDrawsOf(sku, source.priority) }),
  };
}

/** Without those where the subscription may not have the size, unless that leaves none: then the group does not grow at all. */
function openZones(zones: readonly string[], sku: Sku | undefined): readonly string[] {
  const closed = closedZonesOf(sku);
  const open = closed.size === 0 ? zones : zones.filter((zone) => !closed.has(zone.slice(zone.lastIndexOf('-') + 1)));
  return open.length === 0 ? zones : open;
}

function keysOf(joined: string): readonly string[] {
  return joined === '' ? [] : joined.split(',');
}

/** A node that is goes before one that was, and both before what the size promises. */
function rawTemplate(
  { names, options, memory }: GroupTemplateDeps,
  inputs: GroupTemplateInput,
  source: TemplateSource,
): NodeTemplate | undefined {
  const { group, sku, pool, exemplar, fallback: stopgap, learned, clusterLabels } = inputs;
  const { nodeResourceGroup } = options;
  const estimate = sku === undefined ? undefined : templateFromSize(source, { sku, pool, names, nodeResourceGroup, clusterLabels });
  if (exemplar !== undefined) {
    if (estimate !== undefined) memory.measureEstimate(group.id, estimate, exemplar);
    const live = templateFromNode(exemplar, source);
    return { ...live, origins: originsFrom('live', live, names), ...attachLimits(sku, exemplar.attachLimits) };
  }
  if (learned !== undefined) return { ...templateFromRecord(learned, source, pool, names), ...attachLimits(sku, learned.attachLimits) };
  if (estimate !== undefined) return withTaintsOfYoungNode(estimate, stopgap);
  return stopgap === undefined ? undefined : templateFromFallback(stopgap, source, { uncordon: options.scaleFromUnschedulable === true });
}

/** Whether a template made from the one would be a template made from the other. */
export function isSameTemplateInput(left: GroupTemplateInput | undefined, right: GroupTemplateInput): boolean {
  if (left === undefined) return false;
  return (
    left.row?.value === right.row?.value &&
    left.size === right.size &&
    left.sku === right.sku &&
    left.pool === right.pool &&
    left.exemplar === right.exemplar &&
    left.learned === right.learned &&
    left.fallback === right.fallback &&
    left.clusterLabels === right.clusterLabels &&
    left.startupTaints === right.startupTaints
  );
}

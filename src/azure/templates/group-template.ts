/** What a group's next node will be: from a node that is, from one that was, or from what its size and AKS promise. */
import type { Row } from '../../cache/table/row.ts';
import type { Labels } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { allFrom, learnedTemplate, withExperience, withoutPassing, type LearnedTemplate } from './learned-templates.ts';
import { lastResort, liveTemplate, withLastingTaints, withTaintsOf } from './from-node.ts';
import type { AzureOptions } from '../arm/options.ts';
import { drawsOf } from '../sizes/core-quotas.ts';
import type { Registered } from '../groups/registry.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { closedZonesOf, retirementOf, type Sku } from '../sizes/sku-catalog.ts';
import type { TemplateMemory } from './template-memory.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { attachLimits, cloudTemplate } from './from-size.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';

/** Everything that a template is made from. */
export interface TemplateInputs {
  readonly group: Registered;
  readonly row: Row<ScaleSetRow> | undefined;
  /** Instead of `row`, for one size of a VMs pool. */
  readonly size: PoolSizeRow | undefined;
  readonly pool: AgentPoolRow | undefined;
  readonly sku: Sku | undefined;
  readonly exemplar: Node | undefined;
  /** Instead of an exemplar, for want of everything else. */
  readonly stopgap: Node | undefined;
  /** What nodes of other groups tell of this one's. */
  readonly clusterLabels: Labels;
  /** What is known of nodes that the group had, as far as it still holds. */
  readonly learned: LearnedTemplate | undefined;
  /** Keys of taints that AKS states for the start of its nodes alone, joined by commas. */
  readonly passing: string;
}

export interface TemplateParts {
  readonly options: AzureOptions;
  readonly names: ResourceNames;
  readonly memory: TemplateMemory;
}

/** With what a node takes of the quotas, which no node tells. undefined: nothing is known of the group. */
export function groupTemplate(parts: TemplateParts, inputs: TemplateInputs, source: TemplateSource | undefined): NodeTemplate | undefined {
  const raw = source === undefined ? undefined : rawTemplate(parts, inputs, source);
  if (raw === undefined || source === undefined) return undefined;
  const lasting = withLastingTaints(raw, parts.options.taints ?? {});
  const template = withoutPassing(withExperience(lasting, inputs.learned, parts.names), keysOf(inputs.passing));
  const { sku, pool } = inputs;
  const cautions = [...(pool?.cautions ?? []), ...retirementOf(sku)];
  return {
    ...template,
    zones: openZones(template.zones, sku),
    ...(cautions.length === 0 ? {} : { cautions }),
    ...(sku === undefined ? {} : { draws: drawsOf(sku, source.priority) }),
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
function rawTemplate({ names, options, memory }: TemplateParts, inputs: TemplateInputs, source: TemplateSource): NodeTemplate | undefined {
  const { group, sku, pool, exemplar, stopgap, learned, clusterLabels } = inputs;
  const { nodeResourceGroup } = options;
  const estimate = sku === undefined ? undefined : cloudTemplate(source, { sku, pool, names, nodeResourceGroup, clusterLabels });
  if (exemplar !== undefined) {
    if (estimate !== undefined) memory.compare(group.id, estimate, exemplar);
    const live = liveTemplate(exemplar, source);
    return { ...live, origins: allFrom('live', live, names), ...attachLimits(sku, exemplar.attachLimits) };
  }
  if (learned !== undefined) return { ...learnedTemplate(learned, source, pool, names), ...attachLimits(sku, learned.attachLimits) };
  if (estimate !== undefined) return withTaintsOf(estimate, stopgap);
  return stopgap === undefined ? undefined : lastResort(stopgap, source, { uncordon: options.scaleFromUnschedulable === true });
}

/** Whether a template made from the one would be a template made from the other. */
export function isSameTemplate(left: TemplateInputs | undefined, right: TemplateInputs): boolean {
  if (left === undefined) return false;
  return (
    left.row?.value === right.row?.value &&
    left.size === right.size &&
    left.sku === right.sku &&
    left.pool === right.pool &&
    left.exemplar === right.exemplar &&
    left.learned === right.learned &&
    left.stopgap === right.stopgap &&
    left.clusterLabels === right.clusterLabels &&
    left.passing === right.passing
  );
}

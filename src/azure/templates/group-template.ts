/**
 * Makes the template of a group's next node: from a current node, from a former node, or from its size and AKS's rules.
 * Must not know how rows and nodes are read.
 * Idea: template.
 */
import { NO_TAINT_RULES } from '../../domain/taints.ts';
import type { Row } from '../../cache/table/row.ts';
import type { Labels } from '../../domain/labels.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { originsFrom, templateFromRecord, withLearnedParts, withoutStartupTaints } from './learned-templates.ts';
import { templateFromFallback, templateFromNode, withLastingTaints, withTaintsOfYoungNode } from './from-node.ts';
import type { AzureOptions } from '../arm/options.ts';
import { quotaDrawsOf } from '../sizes/core-quotas.ts';
import { reservedCapacityNames } from '../rows/capacity-reservation.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { closedZonesOf, retirementWarnings, type Sku } from '../sizes/sku-catalog.ts';
import type { Evidence, NodeEvidence } from './evidence.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { nodeGroupOptionsOf } from '../rows/tags.ts';
import { withDeclaredDevices } from './declared-devices.ts';
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
  /** The zone numbers in which Azure may place its nodes, joined by commas. undefined: the row names the zones. */
  readonly placedZones: string | undefined;
  readonly evidence: Evidence;
  /** The user's options of groups: the same object until they change. */
  readonly namedOptions: AzureOptions['nodeGroupOptions'];
  /** Cluster-wide labels from nodes of other groups. */
  readonly clusterLabels: Labels;
}

interface GroupTemplateDeps {
  readonly options: AzureOptions;
  readonly names: ResourceNames;
  readonly evidence: Pick<NodeEvidence, 'measureEstimate'>;
}

/** The group's template, with the quota that a node uses, which no node shows. undefined: nothing is known of the group. */
export function buildGroupTemplate(
  deps: GroupTemplateDeps,
  input: GroupTemplateInput,
  source: TemplateSource | undefined,
): NodeTemplate | undefined {
  const raw = source === undefined ? undefined : rawTemplate(deps, input, source);
  if (raw === undefined || source === undefined) return undefined;
  const lasting = withLastingTaints(raw, deps.options.taints ?? NO_TAINT_RULES);
  const { sku, pool, evidence } = input;
  const { learned, customDaemons } = evidence;
  const template = withoutStartupTaints(withLearnedParts(lasting, learned, deps.names), keysOf(evidence.startupTaints));
  const reservationGroup = input.row?.value.reservationGroup ?? pool?.reservationGroup;
  const cautions = [...(pool?.warnings ?? []), ...retirementWarnings(sku)];
  const { devices } = nodeGroupOptionsOf(input.group.key, source.tags, input.namedOptions);
  const complete: NodeTemplate = {
    ...template,
    zones: openZones(template.zones, sku),
    customDaemons,
    cautions,
    draws: sku === undefined ? [] : quotaDrawsOf(sku, source.priority),
    // guard: Spot pools have no reserved capacity
    reservations:
      reservationGroup === undefined || source.priority === 'Spot' ? [] : reservedCapacityNames({ ...source, reservationGroup }),
  };
  return withDeclaredDevices(complete, devices);
}

/** Drops zones in which the subscription cannot use the size. If none remained, all are kept: then the group does not grow at all. */
function openZones(zones: readonly string[], sku: Sku | undefined): readonly string[] {
  const closed = closedZonesOf(sku);
  const open = closed.size === 0 ? zones : zones.filter((zone) => !closed.has(zone.slice(zone.lastIndexOf('-') + 1)));
  return open.length === 0 ? zones : open;
}

function keysOf(joined: string): readonly string[] {
  return joined === '' ? [] : joined.split(',');
}

/** A current node wins over a former one, and both win over the size. */
function rawTemplate(
  { names, options, evidence }: GroupTemplateDeps,
  input: GroupTemplateInput,
  source: TemplateSource,
): NodeTemplate | undefined {
  const { group, sku, pool, clusterLabels } = input;
  const { exemplar, fallback, learned } = input.evidence;
  const { nodeResourceGroup } = options;
  const estimate = sku === undefined ? undefined : templateFromSize(source, { sku, pool, names, nodeResourceGroup, clusterLabels });
  if (exemplar !== undefined) {
    if (estimate !== undefined) evidence.measureEstimate(group.id, estimate, exemplar);
    const live = templateFromNode(exemplar, source);
    return { ...live, origins: originsFrom('live', live, names), attachLimits: attachLimits(sku, exemplar.attachLimits) };
  }
  if (learned !== undefined)
    return { ...templateFromRecord(learned, source, pool, names), attachLimits: attachLimits(sku, learned.attachLimits) };
  if (estimate !== undefined) return withTaintsOfYoungNode(estimate, fallback);
  return fallback === undefined ? undefined : templateFromFallback(fallback, source, { uncordon: options.scaleFromUnschedulable === true });
}

/** Whether both inputs give the same template. */
export function isSameTemplateInput(left: GroupTemplateInput | undefined, right: GroupTemplateInput): boolean {
  if (left === undefined) return false;
  return (
    left.row?.value === right.row?.value &&
    left.size === right.size &&
    left.sku === right.sku &&
    left.placedZones === right.placedZones &&
    left.pool === right.pool &&
    left.evidence === right.evidence &&
    left.namedOptions === right.namedOptions &&
    left.clusterLabels === right.clusterLabels
  );
}

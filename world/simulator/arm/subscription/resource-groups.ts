/** The two resource groups of a cluster: its own, and that of its nodes, which AKS created. Read only: nothing else can be created here. */
import { armError } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { equalitiesOf } from '../http/odata-filter.ts';
import { answerPage } from '../http/paging.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { clusterId, groupPath } from '../state/resource-names.ts';

/** Those that have a tag, if the filter names one. */
export function listResourceGroups(world: ArmWorld, request: ArmRequest): ArmReply {
  const wanted = equalitiesOf(request.query['$filter']);
  if (wanted === undefined) return armError(400, 'InvalidFilterInQueryString', "Invalid $filter specified in the query string: ''.");
  const { clusterResourceGroup, nodeResourceGroup } = world.spec;
  return answerPage(request, {
    items: [clusterResourceGroup, nodeResourceGroup].map((name) => groupDocument(world, name)).filter((group) => hasTag(group, wanted)),
    keyOf: ({ id }) => id,
    pageSize: world.knobs.pageSize,
    render: (group) => group,
  });
}

/** The gateway has refused groups that do not exist. */
export function getResourceGroup(world: ArmWorld, request: ArmRequest): ArmReply {
  return { status: 200, body: groupDocument(world, param(request, 'rg')) };
}

/** HEAD: whether the group exists. */
export function headResourceGroup(): ArmReply {
  return { status: 204 };
}

/** AKS names the cluster in the tags of the node resource group, and as the manager of the group. */
function groupDocument({ spec }: ArmWorld, given: string): JsonObject & { readonly id: string } {
  const isNodes = given.toLowerCase() === spec.nodeResourceGroup.toLowerCase();
  const name = isNodes ? spec.nodeResourceGroup : spec.clusterResourceGroup;
  const tags = { 'aks-managed-cluster-name': spec.clusterName, 'aks-managed-cluster-rg': spec.clusterResourceGroup };
  return {
    id: groupPath(spec, name),
    name,
    type: 'Microsoft.Resources/resourceGroups',
    location: spec.location,
    ...(isNodes ? { managedBy: clusterId(spec), tags } : {}),
    properties: { provisioningState: 'Succeeded' },
  };
}

/** Whether a document has the tag that a filter names. */
export function hasTag({ tags }: JsonObject, wanted: ReadonlyMap<string, string>): boolean {
  const [name, value] = [wanted.get('tagname')?.toLowerCase(), wanted.get('tagvalue')];
  if (name === undefined) return true;
  return Object.entries(tags ?? {}).some(([key, own]) => key.toLowerCase() === name && (value === undefined || own === value));
}

/** Every resource of the subscription in one list, as the Resources provider keeps it: names, types and tags, without properties. */
import { renderCluster } from '../aks/managed-cluster.ts';
import { renderVm } from '../compute/instance-document.ts';
import { renderSet } from '../compute/scale-set-document.ts';
import { osDisks, renderDisk } from '../disks/disk-document.ts';
import { armError } from '../http/errors.ts';
import { isJsonObject, pickText, type JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { equalitiesOf } from '../http/odata-filter.ts';
import { answerPage } from '../http/paging.ts';
import { allVms, type ArmWorld } from '../state/arm-state.ts';
import { isLocation } from '../state/resource-names.ts';
import { hasTag } from './resource-groups.ts';
import { renderNetwork } from './virtual-networks.ts';

/** What the list shows of a resource. */
const SHOWN = ['id', 'name', 'type', 'kind', 'location', 'tags', 'sku', 'identity', 'zones', 'managedBy'] as const;

/** Of one resource group or of the subscription. The filter may name the group, the type, the name, the location or a tag. */
export function listResources(world: ArmWorld, request: ArmRequest): ArmReply {
  const wanted = equalitiesOf(request.query['$filter']);
  if (wanted === undefined) return armError(400, 'InvalidFilterInQueryString', "Invalid $filter specified in the query string: ''.");
  const group = request.params['rg'] ?? wanted.get('resourcegroup');
  return answerPage(request, {
    items: allResources(world).filter((resource) => isWanted(world, resource, wanted, group)),
    keyOf: (resource) => pickText(resource, 'id') ?? '',
    pageSize: world.knobs.pageSize,
    render: (resource) => Object.fromEntries(SHOWN.flatMap((key) => (resource[key] === undefined ? [] : [[key, resource[key]]]))),
  });
}

function isWanted(world: ArmWorld, resource: JsonObject, wanted: ReadonlyMap<string, string>, group: string | undefined): boolean {
  const fits = (key: string, own: string | undefined): boolean =>
    wanted.get(key) === undefined || wanted.get(key)?.toLowerCase() === own?.toLowerCase();
  const inGroup = group === undefined || (pickText(resource, 'id') ?? '').toLowerCase().includes(`/resourcegroups/${group.toLowerCase()}/`);
  const location = wanted.get('location');
  return (
    inGroup &&
    fits('resourcetype', pickText(resource, 'type')) &&
    fits('name', pickText(resource, 'name')) &&
    (location === undefined || isLocation(world.spec, location)) &&
    hasTag(resource, wanted)
  );
}

function allResources(world: ArmWorld): readonly JsonObject[] {
  const vms = allVms(world).filter(({ kind }) => kind !== 'uniform');
  return [
    renderCluster(world),
    ...[...world.documents.values()].filter(
      (document) => pickText(document, 'type') === 'Microsoft.ManagedIdentity/userAssignedIdentities',
    ),
    ...[...world.sets.values()].map(renderSet),
    ...vms.map((vm) => renderVm(world, vm, { set: undefined, expand: false })),
    ...osDisks(world).map(({ shown }) => shown),
    ...[...world.disks.values()].map((disk) => renderDisk(world, disk)),
    renderNetwork(world),
  ];
}

/** The names of all tags with their values and how often each is used (`az tag list`). */
export function listTagNames(world: ArmWorld): ArmReply {
  const values = new Map<string, Map<string, number>>();
  for (const { tags } of allResources(world)) {
    for (const [name, value] of isJsonObject(tags) ? Object.entries(tags) : []) {
      if (typeof value !== 'string') continue;
      const counts = values.get(name) ?? new Map<string, number>();
      values.set(name, counts.set(value, (counts.get(value) ?? 0) + 1));
    }
  }
  const root = `/subscriptions/${world.spec.subscriptionId}/tagNames`;
  const total = (value: number): JsonObject => ({ type: 'Total', value });
  const value = [...values].map(([tagName, counts]) => ({
    id: `${root}/${tagName}`,
    tagName,
    count: total([...counts.values()].reduce((sum, count) => sum + count, 0)),
    values: [...counts].map(([tagValue, count]) => ({ id: `${root}/${tagName}/tagValues/${tagValue}`, tagValue, count: total(count) })),
  }));
  return { status: 200, body: { value } };
}

/**
 * Maintenance configurations of the managed cluster: when AKS may work on it. This AKS keeps them as written and does nothing by itself at these
 * times (REST reference of Microsoft.ContainerService: "Maintenance Configurations"; Microsoft Learn, "Use planned maintenance").
 */
import type { MaintenanceSpec } from '../../base/world-spec.ts';
import { resourceNotFound } from '../http/errors.ts';
import { isJsonObject, pick, pickObject, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { answerPage } from '../http/paging.ts';
import { notSupported } from '../compute/instance-actions.ts';
import { clusterId } from '../state/resource-names.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { clusterNotFound, isCluster } from '../aks/managed-cluster.ts';

const TYPE = 'Microsoft.ContainerService/managedClusters/maintenanceConfigurations';
/** AKS accepts these names alone. */
const NAMES = ['default', 'aksManagedAutoUpgradeSchedule', 'aksManagedNodeOSUpgradeSchedule'];

/** The configurations that a world begins with, by name in lower case. */
export function maintenanceAtStart(
  specs: readonly MaintenanceSpec[] = [],
): Map<string, { readonly name: string; readonly properties: JsonObject }> {
  return new Map(specs.map(({ name, ...properties }) => [name.toLowerCase(), { name, properties: propertiesOf(properties) }]));
}

export function listMaintenance(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  return answerPage(request, {
    items: [...world.maintenance.values()],
    keyOf: ({ name }) => name,
    pageSize: world.knobs.pageSize,
    render: (each) => documentOf(world, each),
  });
}

export function getMaintenance(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  const found = world.maintenance.get(param(request, 'configuration').toLowerCase());
  return found === undefined
    ? resourceNotFound(TYPE, param(request, 'configuration'), param(request, 'rg'))
    : { status: 200, body: documentOf(world, found) };
}

/** Answers 200 for a new one, too. */
export function putMaintenance(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  const given = param(request, 'configuration');
  const name = NAMES.find((each) => each.toLowerCase() === given.toLowerCase());
  if (name === undefined) return notSupported(request, `A maintenance configuration named ${given}`);
  const made = { name, properties: propertiesOf(pickObject(request.body, 'properties')) };
  world.maintenance.set(name.toLowerCase(), made);
  return { status: 200, body: documentOf(world, made) };
}

export function deleteMaintenance(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  return { status: world.maintenance.delete(param(request, 'configuration').toLowerCase()) ? 200 : 204 };
}

/** With the documented default of the offset. */
function propertiesOf(given: JsonObject): JsonObject {
  const window = pick(given, 'maintenanceWindow');
  return isJsonObject(window) ? { ...given, maintenanceWindow: { utcOffset: '+00:00', ...window } } : given;
}

function documentOf({ spec }: ArmWorld, { name, properties }: { readonly name: string; readonly properties: JsonObject }): JsonObject {
  return { id: `${clusterId(spec)}/maintenanceConfigurations/${name}`, type: TYPE, name, properties };
}

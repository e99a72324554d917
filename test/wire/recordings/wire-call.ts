/** Which of the daemon's calls a recorded request is. Other requests are not compared. Must not know answers. */
import type { ArmOperation } from '../../../src/azure/arm/call-list.ts';
import type { Interaction } from './interaction.ts';

/**
 * Calls of the daemon, reads of an operation by its `Location`, and reads of a cluster, which only `doctor` and `init` make. The daemon
 * reads an operation by either address.
 */
export type WireKind = ArmOperation | 'getOperationResult' | 'getCluster';

export interface WireCall {
  readonly kind: WireKind;
  readonly provider: 'compute' | 'aks' | 'other';
  /** Names in the address by their place: `rg`, `set`, `instance`, `pool`, `cluster`, `vm`, `location`, `group`. */
  readonly names: Readonly<Record<string, string>>;
  /** `$expand`, folded; empty if there is none. */
  readonly expand: string;
}

const RG = '/subscriptions/{sub}/resourceGroups/{rg}';
const COMPUTE = 'providers/Microsoft.Compute';
const AKS = 'providers/Microsoft.ContainerService';
const SET = `${RG}/${COMPUTE}/virtualMachineScaleSets/{set}`;
const VMS = `${RG}/${COMPUTE}/virtualMachines`;
const CLUSTER = `${RG}/${AKS}/managedClusters/{cluster}`;
const POOL = `${CLUSTER}/agentPools/{pool}`;
const RESERVATIONS = `${RG}/${COMPUTE}/capacityReservationGroups/{group}`;

const TEMPLATES: readonly (readonly [kind: WireKind, method: string, template: string])[] = [
  ['listScaleSets', 'GET', `${RG}/${COMPUTE}/virtualMachineScaleSets`],
  ['getScaleSet', 'GET', SET],
  ['putScaleSet', 'PUT', SET],
  ['countInstances', 'GET', `${SET}/instanceView`],
  ['deleteInstances', 'POST', `${SET}/delete`],
  ['listInstances', 'GET', `${SET}/virtualMachines`],
  ['getInstance', 'GET', `${SET}/virtualMachines/{instance}`],
  ['listVms', 'GET', VMS],
  ['getVm', 'GET', `${VMS}/{vm}`],
  ['listSkus', 'GET', `/subscriptions/{sub}/${COMPUTE}/skus`],
  ['listUsages', 'GET', `/subscriptions/{sub}/${COMPUTE}/locations/{location}/usages`],
  ['getReservationGroup', 'GET', RESERVATIONS],
  ['listReservations', 'GET', `${RESERVATIONS}/capacityReservations`],
  ['listAgentPools', 'GET', `${CLUSTER}/agentPools`],
  ['listMaintenance', 'GET', `${CLUSTER}/maintenanceConfigurations`],
  ['getAgentPool', 'GET', POOL],
  ['putAgentPool', 'PUT', POOL],
  ['deleteMachines', 'POST', `${POOL}/deleteMachines`],
  ['getCluster', 'GET', CLUSTER],
  ['getOperation', 'GET', `/subscriptions/{sub}/${COMPUTE}/locations/{location}/operations/{id}`],
  ['getOperation', 'GET', `/subscriptions/{sub}/${AKS}/locations/{location}/operations/{id}`],
  ['getOperationResult', 'GET', `/subscriptions/{sub}/${AKS}/locations/{location}/operationresults/{id}`],
  ['getSubnet', 'GET', `${RG}/providers/Microsoft.Network/virtualNetworks/{network}/subnets/{subnet}`],
  ['listActivityLog', 'GET', '/subscriptions/{sub}/providers/Microsoft.Insights/eventtypes/management/values'],
  ['listAutoscaleSettings', 'GET', `${RG}/providers/Microsoft.Insights/autoscaleSettings`],
];

const ROUTES = TEMPLATES.map(([kind, method, template]) => ({ kind, method, segments: template.split('/') }));

/** undefined: the daemon makes no such call. */
export function wireCallOf({ method, uri }: Pick<Interaction, 'method' | 'uri'>): WireCall | undefined {
  // An answer to it has a part of each resource alone. The daemon asks for whole ones.
  if (uri.searchParams.has('$select')) return undefined;
  const segments = uri.pathname
    .replace(/\/{2,}/g, '/')
    .replace(/\/$/, '')
    .split('/');
  for (const route of ROUTES) {
    const names = route.method === method ? namesIn(route.segments, segments) : undefined;
    if (names === undefined) continue;
    const path = uri.pathname.toLowerCase();
    const provider = path.includes('/microsoft.compute/') ? 'compute' : path.includes('/microsoft.containerservice/') ? 'aks' : 'other';
    // Compute has one address for both: `monitor=true` asks for the result.
    const isMonitor = route.kind === 'getOperation' && uri.searchParams.get('monitor')?.toLowerCase() === 'true';
    return { kind: isMonitor ? 'getOperationResult' : route.kind, provider, names, expand: expandOf(uri) };
  }
  return undefined;
}

function expandOf(uri: URL): string {
  return (uri.searchParams.get('$expand') ?? '').toLowerCase();
}

/** Literals match in any case, as Azure's do. */
function namesIn(template: readonly string[], segments: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (template.length !== segments.length) return undefined;
  const names: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const given = segments[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name !== undefined && given !== '') names[name] = decodeURIComponent(given);
    else if (part.toLowerCase() !== given.toLowerCase()) return undefined;
  }
  return names;
}

/** Checks whether the identity may do what the configuration needs, from what was read of its roles. Pure. */
import type { ReadResult, RoleGrant } from './azure/diagnosis.ts';
import type { DiagnosedPool } from './azure/pool-diagnosis.ts';
import type { Config } from '../../config/types/config.ts';
import { shell } from '../../lib/shown-text.ts';
import { AZURE_ROLES, definitionCommand, roleDefinition, roleName, type RoleKey } from './azure-roles.ts';
import { failed, ok, skipped, warning, type Check } from './check.ts';

type Azure = Config['azure'];

const COMPUTE = 'Microsoft.Compute';
const SETS = `${COMPUTE}/virtualMachineScaleSets`;
/** Actions on scale sets and their instances. */
export const NODE_GROUP_ACTIONS: readonly string[] = [
  `${SETS}/read`,
  `${SETS}/instanceView/read`,
  `${SETS}/write`,
  `${SETS}/delete/action`,
  `${SETS}/virtualMachines/read`,
  `${COMPUTE}/virtualMachines/read`,
];
/** For pools that deallocate nodes. */
export const STOP_ACTIONS: readonly string[] = [`${SETS}/deallocate/action`, `${SETS}/start/action`];
/** The same of pools of type VirtualMachines whose counts include stopped machines. */
export const START_MACHINE_ACTION = `${COMPUTE}/virtualMachines/start/action`;
/** For pools whose sick nodes are reimaged. */
export const REIMAGE_ACTION = `${SETS}/virtualMachines/reimage/action`;
const AGENT_POOLS = 'Microsoft.ContainerService/managedClusters/agentPools';
export const AGENT_POOL_READ: readonly string[] = [`${AGENT_POOLS}/read`];
/** Only if removals of a pool keep out of the hours of AKS or to them. */
export const MAINTENANCE_READ: readonly string[] = ['Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read'];
/** For pools that are written through AKS. */
export const AGENT_POOL_WRITE: readonly string[] = [`${AGENT_POOLS}/write`, `${AGENT_POOLS}/deleteMachines/action`];

/** Operations are resources of the subscription. */
export const OPERATIONS_READ = `${COMPUTE}/locations/operations/read`;
export const AKS_OPERATIONS_READ = 'Microsoft.ContainerService/locations/operations/read';

const RESERVATION_GROUPS = `${COMPUTE}/capacityReservationGroups`;
/** Only for capacity reservation groups that pools name. */
export const RESERVATION_READS: readonly string[] = [`${RESERVATION_GROUPS}/read`, `${RESERVATION_GROUPS}/capacityReservations/read`];

/** Whether a capacity reservation group can be read. Decisions do not need it. */
export function reservationCheck(armId: string, result: ReadResult<readonly RoleGrant[]>, azure: Azure, objectId: string): Check {
  const name = armId.split('/').at(-1) ?? '';
  if ('error' in result) return skipped('role', `unknown whether capacity reservation group ${name} can be read: ${result.error.message}`);
  const missing = RESERVATION_READS.filter((action) => !isGranted(result.value, action));
  if (missing.length === 0) return ok('role', `${RESERVATION_READS.join(' and ')} are allowed on capacity reservation group ${name}`);
  const message = `${missing.join(' and ')} is not allowed on capacity reservation group ${name}, so pools with unused reserved VMs do not grow beyond the quota`;
  return warning('role', message, assignmentFix({ role: 'subscription', azure, objectId }, `/subscriptions/${azure.subscriptionId}`));
}

/** Only for pools whose sick nodes are reimaged. Without it they are replaced. */
export function reimageCheck(
  result: ReadResult<readonly RoleGrant[]>,
  { resourceGroup }: Pick<RequiredActions, 'resourceGroup'>,
  azure: Azure,
  objectId: string,
): readonly Check[] {
  const pools = azure.nodeGroupOptions.filter(({ options }) => options.sickNodes?.remedy === 'reimage').map(({ name }) => name);
  if (pools.length === 0 || 'error' in result) return [];
  if (isGranted(result.value, REIMAGE_ACTION)) return [ok('role', `${REIMAGE_ACTION} is allowed on resource group ${resourceGroup}`)];
  const message = `${REIMAGE_ACTION} is not allowed on resource group ${resourceGroup}, so sick nodes of ${pools.join(', ')} are replaced, not reimaged`;
  const scope = `/subscriptions/${azure.subscriptionId}/resourceGroups/${resourceGroup}`;
  return [warning('role', message, fixFor(REIMAGE_ACTION, { role: 'nodes', azure, objectId }, scope))];
}

export interface RequiredActions {
  readonly role: RoleKey;
  readonly resourceGroup: string;
  readonly actions: readonly string[];
  /** Actions on the subscription that read the result of writes. */
  readonly resultReads: readonly string[];
}

/** One check per action. @param objectId the id that `az` expects. */
export function roleChecks(
  result: ReadResult<readonly RoleGrant[]>,
  { role, resourceGroup, actions }: RequiredActions,
  azure: Azure,
  objectId: string,
): readonly Check[] {
  const scope = `/subscriptions/${azure.subscriptionId}/resourceGroups/${resourceGroup}`;
  if ('error' in result) {
    return [
      failed(
        'role',
        `the permissions on resource group ${resourceGroup} cannot be read: ${result.error.message}`,
        assignmentFix({ role, azure, objectId }, scope),
      ),
    ];
  }
  return actions.map((action) =>
    isGranted(result.value, action)
      ? ok('role', `${action} is allowed on resource group ${resourceGroup}`)
      : failed('role', `${action} is not allowed on resource group ${resourceGroup}`, fixFor(action, { role, azure, objectId }, scope)),
  );
}

interface Assignee {
  readonly role: RoleKey;
  readonly azure: Azure;
  readonly objectId: string;
}

const OPTIONAL_ROLE = AZURE_ROLES.find(({ key }) => key === 'instances');

/** What is off by default has a role of its own, which `init` does not define. */
function fixFor(action: string, assignee: Assignee, scope: string): string {
  if (OPTIONAL_ROLE === undefined || !OPTIONAL_ROLE.actions.some((allowed) => allowed.action === action))
    return assignmentFix(assignee, scope);
  const definition = roleDefinition(OPTIONAL_ROLE, assignee.azure.subscriptionId ?? 'SUBSCRIPTION');
  return `${definitionCommand(definition)}; ${assignmentFix({ ...assignee, role: 'instances' }, scope)}`;
}

function assignmentFix({ role, azure, objectId }: Assignee, scope: string): string {
  return assignmentCommand(roleName(role, azure.subscriptionId ?? 'SUBSCRIPTION'), objectId, scope);
}

function assignmentCommand(role: string, objectId: string, scope: string): string {
  return shell`az role assignment create --assignee-object-id ${objectId === '' ? 'OBJECT_ID' : objectId} --role ${role} --scope ${scope}`;
}

const ACTIVITY_LOG_READ = 'Microsoft.Insights/eventtypes/values/Read';

/** Only for `azure.activityLog`. Decisions do not need it. */
export function activityLogCheck(
  result: ReadResult<readonly RoleGrant[]>,
  { resourceGroup }: Pick<RequiredActions, 'resourceGroup'>,
  azure: Azure,
  objectId: string,
): readonly Check[] {
  if (!azure.activityLog || 'error' in result) return [];
  if (isGranted(result.value, ACTIVITY_LOG_READ)) return [ok('role', `${ACTIVITY_LOG_READ} is allowed on resource group ${resourceGroup}`)];
  const message = `${ACTIVITY_LOG_READ} is not allowed on resource group ${resourceGroup}, so other writers have no name (azure.activityLog)`;
  const scope = `/subscriptions/${azure.subscriptionId}/resourceGroups/${resourceGroup}`;
  return [warning('role', message, assignmentCommand('Monitoring Reader', objectId, scope))];
}

const PLACEMENT_ACTION = `${COMPUTE}/locations/placementScores/generate/action`;
/** Azure's own role with this action alone. An assignment above the subscription does not suffice. */
const PLACEMENT_ROLE = 'Compute Recommendations Role';

/** Only for the expander `placement`, checked by asking. Without a score it prefers no pool. */
export function placementCheck(vmSize: string, result: ReadResult<readonly unknown[]>, azure: Azure, objectId: string): Check {
  if ('value' in result) return ok('role', `${PLACEMENT_ACTION} is allowed on the subscription`);
  const message = `the placement score of ${vmSize} cannot be read, so the expander placement prefers no pool: ${result.error.message}`;
  return warning('role', message, assignmentCommand(PLACEMENT_ROLE, objectId, `/subscriptions/${azure.subscriptionId}`));
}

/** A read of the subscription, checked by making it. */
export function subscriptionReadCheck(result: ReadResult<unknown>, action: string, azure: Azure, objectId: string): Check {
  if ('value' in result) return ok('role', `${action} is allowed on the subscription`);
  const message = `${action} failed on the subscription, so VM sizes or quotas are unknown: ${result.error.message}`;
  return warning('role', message, assignmentFix({ role: 'subscription', azure, objectId }, `/subscriptions/${azure.subscriptionId}`));
}

/**
 * The result of a write is read at the subscription. The permissions of a resource group include inherited ones, so they
 * show whether a role above grants the read. A role on the group alone looks the same, and is not enough.
 */
export function resultReadChecks(
  result: ReadResult<readonly RoleGrant[]>,
  { resultReads }: RequiredActions,
  azure: Azure,
  objectId: string,
): readonly Check[] {
  // `roleChecks` has reported this error.
  if ('error' in result) return [];
  const fix = assignmentFix({ role: 'subscription', azure, objectId }, `/subscriptions/${azure.subscriptionId}`);
  return resultReads.map((action) =>
    isGranted(result.value, action)
      ? ok('role', `${action} is allowed`)
      : warning('role', `${action} is not allowed, so the result of writes is unknown and a lack of capacity is noticed late`, fix),
  );
}

/** Patterns ignore case. `notActions` limits its own grant only: another grant may still allow the action. */
function isGranted(grants: readonly RoleGrant[], action: string): boolean {
  const covers = (pattern: string): boolean => {
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
  };
  return grants.some(({ actions, notActions }) => actions.some(covers) && !notActions.some(covers));
}

/**
 * A subnet or an identity that scale sets use. A write that names it needs a right on it, or Azure refuses the write with
 * `LinkedAuthorizationFailed`. A write of the capacity names neither; a write of an agent pool names its subnet.
 */
interface LinkedResource {
  readonly armId: string;
  readonly action: string;
  /** A built-in role with the action. */
  readonly role: string;
  /** The daemon's writes name the resource. */
  readonly isNamed: boolean;
}

/** The distinct subnets and identities of these pools. */
export function linkedResources(pools: readonly DiagnosedPool[], writesAgentPools: boolean): readonly LinkedResource[] {
  const subnets = uniqueIds(pools.flatMap(({ subnetId }) => subnetId ?? []));
  const identities = uniqueIds(pools.flatMap(({ identityIds }) => identityIds));
  return [
    ...subnets.map((armId) => ({
      armId,
      action: 'Microsoft.Network/virtualNetworks/subnets/join/action',
      role: 'Network Contributor',
      isNamed: writesAgentPools,
    })),
    ...identities.map((armId) => ({
      armId,
      action: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
      role: 'Managed Identity Operator',
      isNamed: false,
    })),
  ];
}

/** Resource ids ignore case. */
function uniqueIds(ids: readonly string[]): readonly string[] {
  return [...new Map(ids.map((id) => [id.toLowerCase(), id])).values()];
}

/** @param objectId the id that `az` expects. */
export function linkedCheck(
  { armId, action, role, isNamed }: LinkedResource,
  result: ReadResult<readonly RoleGrant[]>,
  objectId: string,
): Check {
  const name = armId.split('/').slice(-2).join('/');
  if ('error' in result) return skipped('role', `unknown whether ${action} is allowed on ${name}: ${result.error.message}`);
  if (isGranted(result.value, action)) return ok('role', `${action} is allowed on ${name}`);
  const fix = assignmentCommand(role, objectId, armId);
  const refusal = `${action} is not allowed on ${name}`;
  if (isNamed)
    return warning('role', `${refusal}, and writes of agent pools name it: Azure may refuse them with LinkedAuthorizationFailed`, fix);
  return skipped('role', `${refusal}; needed only if Azure refuses a write with LinkedAuthorizationFailed; then: ${fix}`);
}

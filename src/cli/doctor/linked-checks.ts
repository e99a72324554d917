/**
 * Rights on what scale sets stand on. Azure asks for them where a write names a subnet or an identity, and refuses with
 * `LinkedAuthorizationFailed`. A write of the capacity alone names neither; that of an agent pool names its subnet.
 */
import type { RoleGrant, Told } from '../../adapters/azure/diagnosis.ts';
import type { PoolFacts } from '../../adapters/azure/pool-diagnosis.ts';
import type { Config } from '../../config/config.ts';
import { isGranted } from './azure-checks.ts';
import { ok, skipped, warning, type Check } from './check.ts';

export interface LinkedResource {
  readonly armId: string;
  readonly action: string;
  /** A built-in role that has the action. */
  readonly role: string;
  /** Writes of the daemon name it. */
  readonly isNamed: boolean;
}

/** Subnets and identities of these pools, each once. */
export function linkedResources(pools: readonly PoolFacts[], writePath: Config['azure']['writePath']): readonly LinkedResource[] {
  const subnets = unique(pools.flatMap(({ subnetId }) => subnetId ?? []));
  const identities = unique(pools.flatMap(({ identityIds }) => identityIds));
  return [
    ...subnets.map((armId) => ({
      armId,
      action: 'Microsoft.Network/virtualNetworks/subnets/join/action',
      role: 'Network Contributor',
      isNamed: writePath === 'agentPool',
    })),
    ...identities.map((armId) => ({
      armId,
      action: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
      role: 'Managed Identity Operator',
      isNamed: false,
    })),
  ];
}

/** Ids are compared without case. */
function unique(ids: readonly string[]): readonly string[] {
  return [...new Map(ids.map((id) => [id.toLowerCase(), id])).values()];
}

/** `who` is the object id, as `az` wants it. */
export function linkedCheck({ armId, action, role, isNamed }: LinkedResource, told: Told<readonly RoleGrant[]>, who: string): Check {
  const name = armId.split('/').slice(-2).join('/');
  if ('error' in told) return skipped('role', `whether ${action} is allowed on ${name} is not known: ${told.error.message}`);
  if (isGranted(told.value, action)) return ok('role', `${action} is allowed on ${name}`);
  const assignee = who === '' ? 'OBJECT_ID' : who;
  const fix = `az role assignment create --assignee-object-id ${assignee} --role "${role}" --scope ${armId}`;
  const refusal = `${action} is not allowed on ${name}`;
  if (isNamed) return warning('role', `${refusal}, and writes of agent pools name it: Azure may answer LinkedAuthorizationFailed`, fix);
  return skipped('role', `${refusal}: not needed, unless Azure answers a write with LinkedAuthorizationFailed; then: ${fix}`);
}

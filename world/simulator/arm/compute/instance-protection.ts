/** Refuses actions on protected instances and forced deletions on hosts that are not shared. */
import { armError } from '../http/errors.ts';
import { pick } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import type { ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

/** Protection from actions includes protection from scale-in. */
export function protectionOf({ own }: Vm): { readonly fromScaleIn: boolean; readonly fromActions: boolean } {
  const policy = pick(own, 'properties', 'protectionPolicy');
  const fromActions = pick(policy, 'protectFromScaleSetActions') === true;
  return { fromScaleIn: fromActions || pick(policy, 'protectFromScaleIn') === true, fromActions };
}

export function refuseProtected(vm: Vm): ArmReply {
  const message = `The instance '${vm.key}' is protected from scale set actions by its protection policy.`;
  return armError(409, 'OperationNotAllowed', message, { target: vm.key });
}

export function isForced({ query }: ArmRequest): boolean {
  return query['forcedeletion']?.toLowerCase() === 'true';
}

/** A forced deletion is refused for isolated sizes and on dedicated hosts. */
export function refuseForce(set: ScaleSet | undefined, vms: readonly Vm[]): ArmReply | undefined {
  const isDedicated = pick(set?.document, 'properties', 'hostGroup', 'id') !== undefined;
  const alone = vms.find(({ vmSize }) => isDedicated || findVmSize(vmSize)?.isIsolated === true);
  if (alone === undefined) return undefined;
  const message = `Force deletion is not supported for VM '${alone.name}', which is of an isolated size or on a dedicated host.`;
  return armError(409, 'OperationNotAllowed', message, { target: alone.key });
}

/** Instances that their owner protects: from scale-in alone, or from every action on the scale set. */
import { armError } from './errors.ts';
import { pick } from './json.ts';
import type { ArmReply } from './messages.ts';
import type { Vm } from './vm.ts';

/** Protection from actions includes that from scale-in. */
export function protectionOf({ own }: Vm): { readonly fromScaleIn: boolean; readonly fromActions: boolean } {
  const policy = pick(own, 'properties', 'protectionPolicy');
  const fromActions = pick(policy, 'protectFromScaleSetActions') === true;
  return { fromScaleIn: fromActions || pick(policy, 'protectFromScaleIn') === true, fromActions };
}

export function refuseProtected(vm: Vm): ArmReply {
  const message = `The instance '${vm.key}' is protected from scale set actions by its protection policy.`;
  return armError(409, 'OperationNotAllowed', message, { target: vm.key });
}

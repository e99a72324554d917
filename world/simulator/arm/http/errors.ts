/** The refusals of ARM, Compute and AKS in their two envelopes. */
import type { Json, JsonObject } from './json.ts';
import type { ArmReply } from './messages.ts';

/** `{"error":{...}}`, the form of the gateway and of Compute. */
export function armError(status: number, code: string, message: string, extra: JsonObject = {}): ArmReply {
  return { status, body: { error: { code, message, ...extra } } };
}

/** A refusal of the gateway itself. */
export function gatewayError(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}): ArmReply {
  return { status, body: { error: { code, message } }, headers: { 'x-ms-failure-cause': 'gateway', ...headers } };
}

/** The root-level form of the AKS resource provider. */
export function aksError(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}): ArmReply {
  return { status, body: { code, details: null, message, subcode: '' }, headers };
}

export function resourceNotFound(type: string, name: string, group: string): ArmReply {
  const message =
    `The Resource '${type}/${name}' under resource group '${group}' was not found. ` +
    'For more details please go to https://aka.ms/ARMResourceNotFoundFix';
  return gatewayError(404, 'ResourceNotFound', message);
}

export function entityNotFound(): ArmReply {
  return armError(404, 'NotFound', 'The entity was not found.');
}

/** An instance of a Uniform set was named by something else (recorded by cloud-provider-azure, January 2026). */
export function notInstanceNumber(): ArmReply {
  return invalidParameter('instanceId', 'Virtual Machine Scale Set VM instanceId must be a number.');
}

export function invalidParameter(target: string, message: string): ArmReply {
  return armError(400, 'InvalidParameter', message, { target });
}

/** Names the given tag in quotes, whether it came with them or not (recorded by cloud-provider-azure, January 2026). */
export function preconditionFailed(given: string, current: string): ArmReply {
  const quoted = /^".*"$/.test(given) ? given : `"${given}"`;
  return armError(412, 'PreconditionFailed', `Etag provided in if-match header ${quoted} does not match etag ${current} of resource.`);
}

export function conflict(): ArmReply {
  const message =
    'The request failed due to conflict with a concurrent request. To resolve it, please refer to ' +
    'https://aka.ms/activitylog to get more details on the conflicting requests.';
  return armError(409, 'Conflict', message);
}

/** The refusal of AKS while another operation runs on an agent pool. */
export function scaleInProgress(by: string, operation: string): JsonObject {
  return inProgress(`agentpool operation (${by} - ${operation})`);
}

/** The same while AKS works on the whole cluster, also by itself and unseen in the state of its pools (Azure/telescope 1213, June 2026). */
export function clusterInProgress(operation: string): JsonObject {
  return inProgress(`operation (${operation})`);
}

function inProgress(what: string): JsonObject {
  const message =
    `Operation is not allowed: Another ${what} is in progress, ` +
    'please wait for it to finish before starting a new operation. See https://aka.ms/aks-pending-operation for more details';
  return { code: 'OperationNotAllowed', details: null, message, subcode: '' };
}

export interface QuotaShortage {
  /** `standardDSv5Family`, `Total Regional` or `LowPriority`. */
  readonly name: string;
  readonly location: string;
  readonly limit: number;
  readonly usage: number;
  readonly required: number;
}

/** Clients recognise the quota by the words "exceeding approved ... Cores quota" and read the four numbers. */
export function quotaExceeded({ name, location, limit, usage, required }: QuotaShortage): ArmReply {
  const subject = name === 'LowPriority' ? 'LowPriorityCores' : `${name} Cores`;
  const message =
    `Operation could not be completed as it results in exceeding approved ${subject} quota. ` +
    `Additional details - Deployment Model: Resource Manager, Location: ${location}, Current Limit: ${limit}, ` +
    `Current Usage: ${usage}, Additional Required: ${required}, (Minimum) New Limit Required: ${usage + required}. ` +
    'Setup Alerts when Quota reaches threshold. Submit a request for Quota increase in the portal ' +
    'by specifying parameters listed in the ‘Details’ section for deployment to succeed.';
  return armError(409, 'OperationNotAllowed', message);
}

export interface OperationFailure {
  readonly code: string;
  readonly message: string;
  readonly target?: string;
}

const ALLOCATION_ADVICE = 'Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance';

/** A VM could not be allocated: its region or its zone is out of capacity. */
export function allocationFailure(zone: string | undefined, target: string): OperationFailure {
  const where = zone === undefined ? 'region' : 'zone';
  return {
    code: zone === undefined ? 'AllocationFailed' : 'ZonalAllocationFailed',
    message: `Allocation failed. We do not have sufficient capacity for the requested VM size in this ${where}. ${ALLOCATION_ADVICE}`,
    target,
  };
}

/** The bootstrap of a node failed in the guest, as AKS's extension reports it. */
export function bootstrapFailure(target: string): OperationFailure {
  const message =
    "VM has reported a failure when processing extension 'vmssCSE'. Error message: 'Enable failed: failed to execute command: command terminated with exit status=50'";
  return { code: 'VMExtensionProvisioningError', message, target };
}

export function osTimeout(target: string): OperationFailure {
  const message = `OS Provisioning for VM '${target}' did not finish in the allotted time. The VM may still finish provisioning successfully.`;
  return { code: 'OSProvisioningTimedOut', message, target };
}

/** The refusal of a size that is not available in the location. */
export function skuNotAvailable(vmSize: string, location: string): ArmReply {
  const message =
    `The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: ${vmSize}' is currently not available ` +
    `in location '${location}'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.`;
  return armError(409, 'SkuNotAvailable', message);
}

export function failureBody(failures: readonly OperationFailure[]): Json | undefined {
  const first = failures[0];
  return first === undefined ? undefined : { ...first, details: failures.map((failure) => ({ ...failure })) };
}

/** The calls this adapter makes, and the rate limit each is charged to. The names are metric labels: a closed set. */

export type ArmOperation =
  | 'listScaleSets'
  | 'getScaleSet'
  | 'countInstances'
  | 'putScaleSet'
  | 'deleteInstances'
  | 'deallocateInstances'
  | 'startInstances'
  | 'startVm'
  | 'reimageInstance'
  | 'listInstances'
  | 'getInstance'
  | 'listVms'
  | 'getVm'
  | 'listSkus'
  | 'listUsages'
  | 'getReservationGroup'
  | 'listReservations'
  | 'getPlacementScores'
  | 'listAgentPools'
  | 'listMaintenance'
  | 'getAgentPool'
  | 'putAgentPool'
  | 'deleteMachines'
  | 'getOperation'
  | 'listPermissions'
  | 'listAutoscaleSettings'
  | 'getSubnet'
  | 'listActivityLog';

interface OperationRateLimit {
  /** Stem of the policy names in `x-ms-ratelimit-remaining-resource`, as Azure's CLI recorded them from 2024 on. */
  readonly family: string;
  readonly access: 'read' | 'write';
  /** AKS answers it after 6 to 11 s, as its own client recorded from 2024 to 2026. If absent, an answer takes a second or less. */
  readonly isSlow?: true;
}

export const OPERATIONS: Readonly<Record<ArmOperation, OperationRateLimit>> = {
  listScaleSets: { family: 'HighCostGetVMScaleSet', access: 'read' },
  getScaleSet: { family: 'GetVMScaleSet', access: 'read' },
  countInstances: { family: 'HighCostGetVMScaleSet', access: 'read' },
  // Azure charges a PUT on an existing set like a creation: 12 at once, then 4 per minute and set.
  putScaleSet: { family: 'CreateVMScaleSet', access: 'write' },
  // Counted by subscription alone.
  deleteInstances: { family: 'VMScaleSetActions', access: 'write' },
  // Only of groups that deallocate instances.
  deallocateInstances: { family: 'VMScaleSetActions', access: 'write' },
  startInstances: { family: 'VMScaleSetActions', access: 'write' },
  // Only of pools of type VirtualMachines whose counts include stopped machines.
  startVm: { family: 'UpdateVM', access: 'write' },
  // Only of pools whose sick nodes are reimaged.
  reimageInstance: { family: 'VMScaleSetVMActions', access: 'write' },
  listInstances: { family: 'HighCostGetVMScaleSet', access: 'read' },
  getInstance: { family: 'GetVMScaleSetVM', access: 'read' },
  listVms: { family: 'HighCostGet', access: 'read' },
  getVm: { family: 'LowCostGet', access: 'read' },
  listSkus: { family: 'Skus', access: 'read' },
  listUsages: { family: 'GetSubscriptionInfo', access: 'read' },
  // Only if a pool names a capacity reservation group.
  getReservationGroup: { family: 'GetCapacityReservation', access: 'read' },
  listReservations: { family: 'GetCapacityReservation', access: 'read' },
  // Only if an expander compares placement scores. A POST that changes nothing; its limit has no documented name.
  getPlacementScores: { family: 'SpotPlacementScores', access: 'read' },
  listAgentPools: { family: 'AgentPools', access: 'read' },
  // Only if a pool keeps out of AKS's maintenance windows, or to them.
  listMaintenance: { family: 'MaintenanceConfigurations', access: 'read' },
  getAgentPool: { family: 'GetAgentPool', access: 'read' },
  // A burst of 20, then one per minute and pool.
  putAgentPool: { family: 'PutAgentPool', access: 'write', isSlow: true },
  deleteMachines: { family: 'DeleteMachines', access: 'write', isSlow: true },
  getOperation: { family: 'GetOperation', access: 'read' },
  // Calls to other resource providers; only `doctor` makes them.
  listPermissions: { family: 'Permissions', access: 'read' },
  listAutoscaleSettings: { family: 'AutoscaleSettings', access: 'read' },
  getSubnet: { family: 'Subnets', access: 'read' },
  // Only if azure.activityLog is on, and after a change by another writer.
  listActivityLog: { family: 'ActivityLog', access: 'read' },
};

/** One call and the scale set, machine or pool it is about; `resource` is empty for calls about none in particular. */
export interface ArmCall {
  readonly operation: ArmOperation;
  readonly resource: string;
  /** Called when the request could be sent at once, after all waits. If it throws, nothing is sent. If absent, nothing is asked. */
  readonly beforeSend?: () => Promise<void>;
}

export function isWrite(call: ArmCall): boolean {
  return OPERATIONS[call.operation].access === 'write';
}

export function isSlow(call: ArmCall): boolean {
  return OPERATIONS[call.operation].isSlow === true;
}

export function describeCall(call: ArmCall): string {
  return call.resource === '' ? call.operation : `${call.operation} ${call.resource}`;
}

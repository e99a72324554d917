/** The calls this adapter makes, and the budget each is charged to. Names are labels of metrics: a closed set. */

export type ArmOperation =
  | 'listScaleSets'
  | 'getScaleSet'
  | 'countInstances'
  | 'putScaleSet'
  | 'deleteInstances'
  | 'listInstances'
  | 'getInstance'
  | 'listVms'
  | 'getVm'
  | 'listSkus'
  | 'listUsages'
  | 'listAgentPools'
  | 'getAgentPool'
  | 'putAgentPool'
  | 'deleteMachines'
  | 'getOperation'
  | 'listPermissions'
  | 'listAutoscaleSettings'
  | 'getSubnet';

export interface OperationBudget {
  /** Stem of the policy names in `x-ms-ratelimit-remaining-resource`, as the Compute documentation lists them. */
  readonly family: string;
  readonly access: 'read' | 'write';
}

export const OPERATIONS: Readonly<Record<ArmOperation, OperationBudget>> = {
  listScaleSets: { family: 'HighCostGetVMScaleSet', access: 'read' },
  getScaleSet: { family: 'GetVMScaleSet', access: 'read' },
  countInstances: { family: 'HighCostGetVMScaleSet', access: 'read' },
  // A PUT on a set that exists is charged like its creation: 12 at once, then 4 per minute and set.
  putScaleSet: { family: 'CreateVMScaleSet', access: 'write' },
  deleteInstances: { family: 'DeleteVMScaleSet', access: 'write' },
  listInstances: { family: 'HighCostGetVMScaleSet', access: 'read' },
  getInstance: { family: 'GetVMScaleSetVM', access: 'read' },
  listVms: { family: 'HighCostGetVM', access: 'read' },
  getVm: { family: 'LowCostGetVM', access: 'read' },
  listSkus: { family: 'Skus', access: 'read' },
  listUsages: { family: 'Usages', access: 'read' },
  listAgentPools: { family: 'AgentPools', access: 'read' },
  getAgentPool: { family: 'GetAgentPool', access: 'read' },
  // 20 at once, then one per minute and pool.
  putAgentPool: { family: 'PutAgentPool', access: 'write' },
  deleteMachines: { family: 'DeleteMachines', access: 'write' },
  getOperation: { family: 'GetOperation', access: 'read' },
  // Of other providers, read by the doctor alone.
  listPermissions: { family: 'Permissions', access: 'read' },
  listAutoscaleSettings: { family: 'AutoscaleSettings', access: 'read' },
  getSubnet: { family: 'Subnets', access: 'read' },
};

/** One call: what it does and to which scale set, machine or pool (empty: none in particular). */
export interface ArmCall {
  readonly operation: ArmOperation;
  readonly resource: string;
}

export function isWrite(call: ArmCall): boolean {
  return OPERATIONS[call.operation].access === 'write';
}

export function describeCall(call: ArmCall): string {
  return call.resource === '' ? call.operation : `${call.operation} ${call.resource}`;
}

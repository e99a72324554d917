/** Words that the daemon or the world has a meaning for. A recorded word that is not among them is a finding. */

/** Words that end an operation, and those that recordings of AKS and Compute show between (Azure's CLI, July 2026). */
const OPERATION_WORDS = [
  'succeeded',
  'failed',
  'canceled',
  'cancelled',
  'inprogress',
  'reconcilingappsecuritygroup',
  'provisioningcontrolplane',
  'reconcilingdns',
];

const COMPUTE_STATES = ['succeeded', 'failed', 'canceled', 'creating', 'updating', 'deleting', 'migrating'];
/** As the documentation of agent pools lists them. */
const POOL_STATES = [
  'succeeded',
  'failed',
  'canceled',
  'creating',
  'updating',
  'deleting',
  'scaling',
  'upgrading',
  'upgradingnodeimageversion',
  'starting',
  'stopping',
  'migrating',
  'reimaging',
  'canceling',
];

export function isOperationWord(word: string): boolean {
  return OPERATION_WORDS.includes(word.toLowerCase());
}

export function isComputeState(word: string): boolean {
  return COMPUTE_STATES.includes(word.toLowerCase());
}

export function isPoolState(word: string): boolean {
  return POOL_STATES.includes(word.toLowerCase());
}

/** Fields without which the daemon cannot decide, by kind of resource. Dots go down. */
export const NEEDED = {
  scaleSet: ['name', 'id', 'location', 'sku.name', 'sku.capacity', 'properties.provisioningState', 'etag'],
  instance: ['id', 'instanceId', 'location', 'properties.provisioningState', 'properties.vmId', 'properties.timeCreated'],
  vm: ['id', 'location', 'properties.provisioningState', 'properties.vmId', 'properties.timeCreated', 'properties.hardwareProfile.vmSize'],
  agentPool: ['name', 'properties.type', 'properties.provisioningState', 'properties.eTag', 'properties.mode'],
  usage: ['name.value', 'currentValue', 'limit'],
  size: ['name', 'resourceType', 'family', 'locationInfo', 'capabilities'],
} as const;

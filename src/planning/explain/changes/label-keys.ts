/** Which labels a person can put on the nodes of a pool. Kubernetes, the cloud and AKS set all others themselves. */

const POOL_NAMES: ReadonlySet<string> = new Set(['agentpool', 'kubernetes.azure.com/agentpool']);
const NODE_NAMES: ReadonlySet<string> = new Set(['metadata.name', 'kubernetes.io/hostname']);
const ZONES: ReadonlySet<string> = new Set([
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.disk.csi.azure.com/zone',
]);

export function isPoolNameKey(key: string): boolean {
  return POOL_NAMES.has(key);
}

export function isNodeNameKey(key: string): boolean {
  return NODE_NAMES.has(key);
}

export function isZoneKey(key: string): boolean {
  return ZONES.has(key);
}

/** AKS refuses labels with these prefixes (`kubernetes.azure.com` and `kubernetes.io`), and its own short names. */
export function isSettable(key: string): boolean {
  const prefix = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const isReserved = /(^|\.)(kubernetes\.io|k8s\.io|kubernetes\.azure\.com|csi\.azure\.com)$/.test(prefix);
  return !isReserved && !POOL_NAMES.has(key) && !NODE_NAMES.has(key);
}

import { block, type DrainRule } from './drain-rule.ts';

/** What lies on the node's disk is lost with it, unless the owner named the volume as no loss. */
export const localStorage: DrainRule = (pod, { policy }) => {
  if (!policy.skipNodesWithLocalStorage) return undefined;
  const lost = pod.localVolumes.find((volume) => !pod.safeToEvictVolumes.includes(volume.name));
  return lost === undefined ? undefined : block('LocalStorageRequested', `${lost.kind} volume ${lost.name}`);
};

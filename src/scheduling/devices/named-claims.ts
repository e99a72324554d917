/**
 * Claims of pods that ask for devices by the name of a resource. kube-scheduler fills such a request with devices only on nodes without an amount of
 * their own (NodeResourcesFit `shouldDelegateResourceToDRA`, DynamicResources `filterExtendedResources`; 1.36.3).
 */
import type { DeviceClaim } from '../../domain/devices.ts';
import type { Node } from '../../domain/node.ts';
import type { Resources } from '../../domain/resources.ts';

/** By claim and the names that a node fills: the rest of the claim. The same object each time, since matches are kept by claim. */
const rests = new WeakMap<DeviceClaim, Map<string, DeviceClaim | undefined>>();

/** The claims that need devices on this node, or on a new node of this template. */
export function claimsFor(claims: readonly DeviceClaim[], nodeOf: () => Pick<Node, 'allocatable'>): readonly DeviceClaim[] {
  if (!claims.some(({ requests }) => requests.some(({ insteadOf }) => insteadOf !== undefined))) return claims;
  const { allocatable } = nodeOf();
  const has = (resource: Resources | undefined): boolean =>
    resource?.some((one, index) => one > 0 && (allocatable[index] ?? 0) > 0) === true;
  return claims.flatMap((claim) => restOf(claim, has) ?? []);
}

function restOf(claim: DeviceClaim, has: (resource: Resources | undefined) => boolean): DeviceClaim | undefined {
  const filled = claim.requests.filter(({ insteadOf }) => has(insteadOf));
  if (filled.length === 0) return claim;
  const key = filled.map(({ name }) => name).join();
  const known = rests.get(claim) ?? new Map<string, DeviceClaim | undefined>();
  rests.set(claim, known);
  if (!known.has(key)) {
    const requests = claim.requests.filter((request) => !filled.includes(request));
    known.set(key, requests.length === 0 ? undefined : { ...claim, requests });
  }
  return known.get(key);
}

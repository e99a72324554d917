/** The Kubernetes versions of the region with the upgrades of each (`az aks get-versions`). */
import { upgradesOf } from '../aks/version-rules.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { FIRST_KUBERNETES_VERSION, KUBERNETES_VERSIONS, minorOf } from '../state/node-versions.ts';
import { isLocation } from '../state/resource-names.ts';

export function listKubernetesVersions(world: ArmWorld, request: ArmRequest): ArmReply {
  const here = isLocation(world.spec, param(request, 'location')) ? KUBERNETES_VERSIONS : [];
  return { status: 200, body: { values: [...new Set(here.map(minorOf))].map(minorDocument) } };
}

function minorDocument(version: string): JsonObject {
  const patches = KUBERNETES_VERSIONS.filter((patch) => minorOf(patch) === version);
  return {
    version,
    capabilities: { supportPlan: ['KubernetesOfficial', 'AKSLongTermSupport'] },
    ...(version === minorOf(FIRST_KUBERNETES_VERSION) ? { isDefault: true } : {}),
    patchVersions: Object.fromEntries(patches.map((patch) => [patch, { upgrades: upgradesOf(patch) }])),
  };
}

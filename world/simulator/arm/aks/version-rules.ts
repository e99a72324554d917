/** Which Kubernetes versions AKS accepts for a pool and for the control plane, and in which words it refuses the others. */
import { aksError } from '../http/errors.ts';
import { pickText, type JsonObject } from '../http/json.ts';
import type { ArmReply } from '../http/messages.ts';
import { compareVersions, kubernetesVersionOf, KUBERNETES_VERSIONS, minorOf, resolveVersion } from '../state/node-versions.ts';
import type { AgentPool, ArmWorld } from '../state/arm-state.ts';

const SKEW = 'For more information, please check https://aka.ms/version-skew-policy';

/** The version to which a write upgrades a pool: the text of the client, and what it means. */
export interface VersionChange {
  readonly given: string;
  readonly version: string;
}

/**
 * The upgrade that the properties ask for, or why it is refused. undefined: the version stays. The minor version that a pool has is no upgrade, as
 * "Supported Kubernetes versions" says of aliases.
 */
export function versionChangeOf(world: ArmWorld, pool: AgentPool, properties: JsonObject): VersionChange | ArmReply | undefined {
  const given = pickText(properties, 'orchestratorVersion');
  const current = kubernetesVersionOf(world, pool.name);
  if (given === undefined || given === current || given === minorOf(current)) return undefined;
  const version = resolveVersion(given);
  if (version === undefined) return notSupported('AgentPoolK8sVersionNotSupported', given);
  const refusal = refusalOfSkew(version, world.kubernetesVersion) ?? refusalOfStep(current, version);
  return refusal ?? { given, version };
}

/** Why a pool of this version cannot be beside a control plane of that one (rancher 33426, azure-dev-docs 1034). */
export function refusalOfSkew(version: string, controlPlane: string): ArmReply | undefined {
  const [ours, theirs] = [version, controlPlane].map((text) => Number(text.split('.')[1]));
  const pair = `Node pool version ${version} and control plane version ${controlPlane} are incompatible.`;
  const refuse = (why: string): ArmReply => aksError(400, 'NodePoolMcVersionIncompatible', `${pair} ${why}`);
  if (ours === undefined || theirs === undefined) return undefined;
  if (ours > theirs) return refuse(`Minor version of node pool version ${ours} is bigger than control plane version ${theirs}. ${SKEW}`);
  if (compareVersions(version, controlPlane) > 0)
    return refuse(`Patch version of node pool is bigger than that of the control plane. ${SKEW}`);
  if (theirs - ours <= 2) return undefined;
  const why = "Minor version of node pool cannot be more than 2 versions less than control plane's version.";
  return refuse(`${why} Minor version of node pool is ${ours} and control plane is ${theirs}. ${SKEW}`);
}

/** nebari 524 */
function refusalOfStep(from: string, to: string): ArmReply | undefined {
  const [before, after] = [from, to].map((version) => Number(version.split('.')[1]));
  if (compareVersions(to, from) > 0 && (after ?? 0) - (before ?? 0) <= 1) return undefined;
  const message =
    `Upgrade agent pool version from ${from} to ${to} is not allowed, you can only upgrade one minor version at a time. ` +
    `Please use [az aks get-upgrades] command to get the supported upgrade paths. ${SKEW}`;
  return aksError(400, 'AgentPoolUpgradeVersionNotAllowed', message);
}

/** dspace-group/simphera-reference-architecture-azure 29 */
function notSupported(code: string, version: string): ArmReply {
  const message =
    `Version ${version} is not supported in this region. Please use [az aks get-versions] command to get the supported version list in this region. ` +
    'For more information, please check https://aka.ms/supported-version-list';
  return aksError(400, code, message);
}

/** The upgrade of the control plane that a PUT of the cluster asks for, or why it is refused. undefined: the version stays. */
export function controlPlaneChangeOf(
  { kubernetesVersion: current }: Pick<ArmWorld, 'kubernetesVersion'>,
  given: string | undefined,
): string | ArmReply | undefined {
  if (given === undefined || given === current || given === minorOf(current)) return undefined;
  const version = resolveVersion(given);
  if (version === undefined) return notSupported('K8sVersionNotSupported', given);
  const upgrades = upgradesOf(current);
  if (upgrades.includes(version)) return version;
  const verb = compareVersions(version, current) < 0 ? 'Downgrading' : 'Upgrading';
  // rancher 24071
  const message =
    `${verb} Kubernetes version ${current} to ${version} is not allowed. Available upgrades: ${upgrades.join(',')}. ` +
    'Please see https://aka.ms/aks-supported-k8s-ver for version details.';
  return aksError(400, 'OperationNotAllowed', message);
}

/** Newer versions up to the next minor version, at most `most`. */
export function upgradesOf(current: string, most?: string): readonly string[] {
  const next = Number(current.split('.')[1]) + 1;
  return KUBERNETES_VERSIONS.filter(
    (version) =>
      compareVersions(version, current) > 0 &&
      Number(version.split('.')[1]) <= next &&
      (most === undefined || compareVersions(version, most) <= 0),
  );
}

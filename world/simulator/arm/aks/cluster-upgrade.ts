/**
 * Upgrades of the control plane by a PUT of the cluster. A body that names every pool with its own version upgrades the control plane alone; one that
 * names none upgrades the pools after it, all at once here. The control plane has no nodes to replace: it is the new version after some minutes.
 */
import { beginOperation, recordDone } from '../compute/operations.ts';
import { aksError, resourceNotFound } from '../http/errors.ts';
import { pickText, type Json, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import { later, type AgentPool, type ArmWorld, type Operation } from '../state/arm-state.ts';
import { kubernetesVersionOf, minorOf } from '../state/node-versions.ts';
import { CLUSTER } from './aks-operations.ts';
import { isStopped } from './agent-pool-power.ts';
import { beginUpgrade, refuseSurge, upgradeOf } from './node-upgrades.ts';
import { clusterId } from '../state/resource-names.ts';
import { controlPlaneChangeOf, refusalOfSkew, upgradesOf } from './version-rules.ts';

/** An estimate. */
const CONTROL_PLANE_MS = 5 * 60_000;

export interface ClusterUpgrade {
  readonly version: string;
  /** The pools that follow. */
  readonly pools: readonly AgentPool[];
}

interface NamedPool {
  readonly pool: AgentPool;
  readonly given: JsonObject;
}

/** The upgrade that a body asks for, or why it is refused. undefined: the version stays. */
export function clusterUpgradeOf(
  world: ArmWorld,
  body: Json | undefined,
  named: readonly NamedPool[],
): ClusterUpgrade | ArmReply | undefined {
  const properties = (body as JsonObject | undefined)?.['properties'];
  const version = controlPlaneChangeOf(world, pickText(properties, 'kubernetesVersion'));
  if (version !== undefined && typeof version !== 'string') return version;
  const versions = named.map(({ pool, given }) => ({ pool, given: pickText(given, 'orchestratorVersion') }));
  const isApart = versions.some(({ pool, given }) => given !== undefined && !isOwn(world, pool, given) && given !== version);
  if (version === undefined) return isApart ? notAllUnchanged() : undefined;
  const specified = versions.filter(({ given }) => given !== undefined).length;
  if (isApart || (specified > 0 && specified < world.agentPools.size)) return notAllUnchanged();
  const pools = specified > 0 ? [] : [...world.agentPools.values()].filter((pool) => !isStopped(world, pool));
  return refusalOfPools(world, version, pools) ?? { version, pools };
}

function isOwn(world: ArmWorld, pool: AgentPool, given: string): boolean {
  const current = kubernetesVersionOf(world, pool.name);
  return given === current || given === minorOf(current);
}

function notAllUnchanged(): ArmReply {
  const message =
    "Using managed cluster api, all Agent pools' OrchestratorVersion must be all specified or all unspecified. If all specified, they must be stay " +
    'unchanged or the same with control plane. For agent pool specific change, please use per agent pool operations: https://aka.ms/agent-pool-rest-api';
  return aksError(400, 'NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged', message);
}

function refusalOfPools(world: ArmWorld, version: string, upgraded: readonly AgentPool[]): ArmReply | undefined {
  const staying = [...world.agentPools.values()].filter((pool) => !upgraded.includes(pool));
  const refusals = [
    ...staying.map((pool) => refusalOfSkew(kubernetesVersionOf(world, pool.name), version)),
    ...upgraded.map((pool) => refuseSurge(world, pool)),
  ];
  return refusals.find((refusal) => refusal !== undefined);
}

/** Begins the upgrade of the control plane, and of its pools after it. */
export function beginClusterUpgrade(world: ArmWorld, { version, pools }: ClusterUpgrade, { clientId }: Principal): Operation {
  world.clusterWork = 'Upgrading';
  const what = `control plane ${version}`;
  const operation = beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: CLUSTER,
    principal: clientId,
    pending: [],
    awaits: [what, ...pools.map(upgradeOf)],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
  later(world, CONTROL_PLANE_MS, () => {
    // An aborted upgrade leaves the control plane as it was.
    if (operation.endMs !== undefined) return;
    world.kubernetesVersion = version;
    for (const pool of pools) beginUpgrade(world, pool, { as: 'Upgrading', version, atEnd: { orchestratorVersion: version } });
    recordDone(world, what);
  });
  return operation;
}

/** The versions to which the control plane can go, and each pool (`az aks get-upgrades`). */
export function getClusterUpgradeProfile(world: ArmWorld, request: ArmRequest): ArmReply {
  const { spec } = world;
  if (param(request, 'cluster').toLowerCase() !== spec.clusterName.toLowerCase())
    return resourceNotFound('Microsoft.ContainerService/managedClusters', param(request, 'cluster'), param(request, 'rg'));
  const upgradesTo = (current: string, most?: string): readonly JsonObject[] =>
    upgradesOf(current, most).map((kubernetesVersion) => ({ kubernetesVersion }));
  const pools = [...world.agentPools.values()].map((pool) => {
    const kubernetesVersion = kubernetesVersionOf(world, pool.name);
    const osType = pickText(pool.properties, 'osType') ?? 'Linux';
    return { name: pool.name, osType, kubernetesVersion, upgrades: upgradesTo(kubernetesVersion, world.kubernetesVersion) };
  });
  const current = world.kubernetesVersion;
  return {
    status: 200,
    body: {
      id: `${clusterId(spec)}/upgradeprofiles/default`,
      name: 'default',
      type: 'Microsoft.ContainerService/managedClusters/upgradeprofiles',
      properties: {
        controlPlaneProfile: { kubernetesVersion: current, osType: 'Linux', upgrades: upgradesTo(current) },
        agentPoolProfiles: pools,
      },
    },
  };
}

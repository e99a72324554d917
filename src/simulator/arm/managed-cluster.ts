/** The managed cluster as AKS shows it, and the one write to it that everyone makes: its tags. */
import { reconcilePool } from './agent-pools.ts';
import { aksError, scaleInProgress } from './errors.ts';
import { isJsonObject, pick, type JsonObject } from './json.ts';
import { param, type ArmReply, type ArmRequest } from './messages.ts';
import { clusterId } from './names.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { isIdle } from './pool-checks.ts';
import type { ArmWorld } from './world-state.ts';

/** Operations on the cluster belong to no pool. */
const CLUSTER = '';

function isCluster(world: ArmWorld, request: ArmRequest): boolean {
  return param(request, 'cluster').toLowerCase() === world.spec.clusterName.toLowerCase();
}

function clusterNotFound(request: ArmRequest): ArmReply {
  return aksError(404, 'ResourceNotFound', `The managed cluster '${param(request, 'cluster')}' was not found.`);
}

/** Whatever moves a pool moves the cluster, too. */
function clusterEtag(world: ArmWorld): string {
  const etag = [...world.agentPools.values()].reduce((sum, pool) => sum + pool.etagCounter, 0);
  return world.draws.guid(`cluster|eTag|${etag}|${JSON.stringify(world.clusterTags)}`);
}

/** Tags are replaced as a set. Like every operation on a cluster it sets all scale sets back to their counts, and moves all tags. */
export function patchCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  const ifMatch = request.headers['if-match'];
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== clusterEtag(world))
    return aksError(412, 'PreConditionFailed', `The If-Match header ${ifMatch} does not match the current eTag of the managed cluster.`);
  const tags = pick(request.body, 'tags');
  if (!isJsonObject(tags)) return aksError(400, 'BadRequest', 'tags is missing.');
  const pools = [...world.agentPools.values()];
  const busy = pools.find((pool) => !isIdle(pool));
  if (busy !== undefined) return { status: 409, body: scaleInProgress(busy.name, busy.provisioningState) };
  world.clusterTags = tags;
  const operation = beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: CLUSTER,
    principal: request.principal.clientId,
    pending: [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
  for (const pool of pools) reconcilePool(world, pool);
  return {
    status: 200,
    headers: operationHeaders(world, request, operation, 'write'),
    body: renderCluster(world),
    trace: { opId: operation.id },
  };
}

export function getCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  return isCluster(world, request) ? { status: 200, body: renderCluster(world) } : clusterNotFound(request);
}

export function listClusters(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = request.params['rg']?.toLowerCase();
  const shown = group === undefined || group === world.spec.clusterResourceGroup.toLowerCase();
  return { status: 200, body: { value: shown ? [renderCluster(world)] : [] } };
}

function renderCluster(world: ArmWorld): JsonObject {
  const { spec } = world;
  const busy = [...world.operations.values()].some(({ pool, endMs }) => pool === CLUSTER && endMs === undefined);
  const pools = [...world.agentPools.values()];
  return {
    id: clusterId(spec),
    name: spec.clusterName,
    type: 'Microsoft.ContainerService/ManagedClusters',
    location: spec.location,
    tags: world.clusterTags,
    eTag: clusterEtag(world),
    sku: { name: 'Base', tier: 'Standard' },
    properties: {
      provisioningState: busy ? 'Updating' : 'Succeeded',
      powerState: { code: 'Running' },
      kubernetesVersion: '1.33',
      currentKubernetesVersion: '1.33.2',
      nodeResourceGroup: spec.nodeResourceGroup,
      agentPoolProfiles: pools.map((pool) => ({ name: pool.name, ...pool.properties, provisioningState: pool.provisioningState })),
      networkProfile: { networkPlugin: 'azure', networkPluginMode: 'overlay', networkPolicy: 'none', loadBalancerSku: 'standard' },
      autoScalerProfile: { 'scan-interval': '10s', expander: 'random', 'scale-down-unneeded-time': '10m' },
      nodeProvisioningProfile: { mode: 'Manual' },
      maxAgentPools: 100,
    },
  };
}

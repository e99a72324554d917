/** The managed cluster as AKS shows it, and the operations on it as a whole: write, tag, stop and start. */
import { findAgentPool, isVmsPool, shownProperties } from '../state/agent-pool-document.ts';
import { acceptPool, vmsInTransition, nextProperties, reconcilePool } from './agent-pools.ts';
import { profileProblem, PUBLISHED_PROFILE, takeProfile } from './autoscaler-profile.ts';
import { aksError, resourceNotFound, scaleInProgress } from '../http/errors.ts';
import { notSupported } from '../compute/instance-actions.ts';
import { isJsonObject, pick, pickObject, pickText, type Json, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { clusterId, identityId, kubeletIdentityName } from '../state/resource-names.ts';
import { beginOperation, cancelOperation } from '../compute/operations.ts';
import { beginAbort } from './pool-version.ts';
import { aksOperationHeaders, CLUSTER, runningOnCluster } from './aks-operations.ts';
import { isIdle, refuseDuringClusterWork, refuseProperties, refuseEtagCondition } from './agent-pool-validation.ts';
import { refusePower } from './agent-pool-power.ts';
import { beginClusterUpgrade, clusterUpgradeOf, type ClusterUpgrade } from './cluster-upgrade.ts';
import { FIRST_KUBERNETES_VERSION, minorOf } from '../state/node-versions.ts';
import type { AgentPool, ArmWorld, Operation } from '../state/arm-state.ts';

export function isCluster(world: ArmWorld, request: ArmRequest): boolean {
  return param(request, 'cluster').toLowerCase() === world.spec.clusterName.toLowerCase();
}

export function clusterNotFound(request: ArmRequest): ArmReply {
  return resourceNotFound('Microsoft.ContainerService/managedClusters', param(request, 'cluster'), param(request, 'rg'));
}

/** Every change of a pool also changes the cluster's etag. */
function clusterEtag(world: ArmWorld): string {
  const etag = [...world.agentPools.values()].reduce((sum, pool) => sum + pool.etagCounter, 0);
  const marks = `${profileMark(world)}${versionMark(world)}${settingsMark(world)}`;
  return world.draws.guid(`cluster|eTag|${etag}|${JSON.stringify(world.clusterTags)}${marks}`);
}

/** A changed profile changes the etag, too. */
function profileMark({ autoScalerProfile }: ArmWorld): string {
  return autoScalerProfile === PUBLISHED_PROFILE ? '' : JSON.stringify(autoScalerProfile);
}

/** So does another version of the control plane. */
function versionMark({ spec, kubernetesVersion }: ArmWorld): string {
  return kubernetesVersion === (spec.kubernetesVersion ?? FIRST_KUBERNETES_VERSION) ? '' : kubernetesVersion;
}

/** So do settings that AKS keeps as written. */
function settingsMark({ clusterSettings }: ArmWorld): string {
  return Object.keys(clusterSettings).length === 0 ? '' : JSON.stringify(clusterSettings);
}

/** Refuses a write with an outdated eTag, or during an operation on one of the pools or on the cluster. */
function refuseWrite(world: ArmWorld, request: ArmRequest): ArmReply | undefined {
  if (!isCluster(world, request)) return clusterNotFound(request);
  const stale = refuseEtagCondition(request, { current: clusterEtag(world), what: 'managed cluster' });
  if (stale !== undefined) return stale;
  const busy = [...world.agentPools.values()].find((pool) => !isIdle(pool));
  return busy === undefined ? refuseDuringClusterWork(world) : { status: 409, body: scaleInProgress(busy.name, busy.provisioningState) };
}

/** PATCH replaces the tags as a set. */
export function patchCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  const tags = pick(request.body, 'tags');
  const refusal = refuseWrite(world, request);
  if (refusal !== undefined && refusal.status !== 409) return refusal;
  if (!isJsonObject(tags)) return aksError(400, 'BadRequest', 'tags is missing.');
  if (refusal !== undefined) return refusal;
  world.clusterTags = tags;
  return acceptedReply(world, request, operateOnAllPools(world, request), 'write');
}

/**
 * PUT of the existing cluster: its tags, and the settings of the pools that its body names. Omitted pools stay unchanged. It
 * creates neither another cluster nor a pool.
 */
export function putCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return notSupported(request, 'The creation of a managed cluster');
  const refusal = refuseWrite(world, request) ?? (world.clusterStopped ? clusterIsStopped() : undefined);
  if (refusal !== undefined) return refusal;
  if (pickText(request.body, 'location') === undefined)
    return aksError(400, 'LocationRequired', 'The location property is required for this definition.');
  const profiles = profilesOf(world, request.body);
  const unknown = profiles.find(({ pool }) => pool === undefined);
  if (unknown !== undefined) return notSupported(request, `The creation of agent pool '${unknown.name}' together with its cluster`);
  const known = profiles.flatMap(({ pool, given }) => (pool === undefined ? [] : [{ pool, given }]));
  const refused = refusalOfProfiles(world, known);
  if (refused !== undefined) return refused;
  const problem = profileProblem(request.body);
  if (problem !== undefined) return aksError(400, 'InvalidParameter', problem);
  const upgrade = clusterUpgradeOf(world, request.body, known);
  return upgrade !== undefined && 'status' in upgrade ? upgrade : acceptCluster(world, request, { known, upgrade });
}

interface NamedPool {
  readonly pool: AgentPool;
  readonly given: JsonObject;
}

function refusalOfProfiles(world: ArmWorld, known: readonly NamedPool[]): ArmReply | undefined {
  return known
    .map(({ pool, given }) => refusePower(world, pool, { ...pool.properties, ...given }) ?? refuseProperties(world, pool, given))
    .find((refusal) => refusal !== undefined);
}

interface ClusterWrite {
  readonly known: readonly NamedPool[];
  readonly upgrade: ClusterUpgrade | undefined;
}

function acceptCluster(world: ArmWorld, request: ArmRequest, { known, upgrade }: ClusterWrite): ArmReply {
  const tags = pick(request.body, 'tags');
  if (isJsonObject(tags)) world.clusterTags = tags;
  takeProfile(world, request.body);
  takeSettings(world, request.body);
  if (upgrade !== undefined) return acceptedReply(world, request, beginClusterUpgrade(world, upgrade, request.principal), 'write');
  for (const { pool, given } of known) acceptPool(world, pool, nextProperties(pool, given), request.principal);
  return acceptedReply(world, request, operateOnAllPools(world, request), 'write');
}

/** Properties that AKS keeps as a client wrote them, as far as clients of this world set them. */
const KEPT_SETTINGS = ['securityProfile', 'autoUpgradeProfile', 'disableLocalAccounts', 'apiServerAccessProfile'] as const;

/** The issuer of a cluster that has one stays on: it cannot be switched off (learn.microsoft.com, "Create an OpenID Connect provider on AKS"). */
function takeSettings(world: ArmWorld, body: Json | undefined): void {
  const given = pickObject(body, 'properties');
  const kept = KEPT_SETTINGS.flatMap((key) => (given[key] === undefined || given[key] === null ? [] : [[key, given[key]] as const]));
  const hasIssuer = [given, world.clusterSettings].some((settings) => pick(settings, 'oidcIssuerProfile', 'enabled') === true);
  world.clusterSettings = {
    ...world.clusterSettings,
    ...Object.fromEntries(kept),
    ...(hasIssuer ? { oidcIssuerProfile: { enabled: true } } : {}),
  };
}

function profilesOf(world: ArmWorld, body: Json | undefined) {
  const list = pick(body, 'properties', 'agentPoolProfiles');
  return (Array.isArray(list) ? list : []).filter(isJsonObject).map((profile) => {
    const { name: _name, ...given } = profile;
    const name = pickText(profile, 'name') ?? '';
    return { name, pool: findAgentPool(world, name), given };
  });
}

/** Stops the cluster: all VMs are deleted and all counts stay. Only clusters whose pools have scale sets can be stopped. */
export function stopCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  const refusal = refuseWrite(world, request);
  if (refusal !== undefined) return refusal;
  if (world.clusterStopped) return clusterIsStopped();
  if ([...world.agentPools.values()].some(isVmsPool))
    return aksError(400, 'BadRequest', 'Only clusters whose agent pools are of type VirtualMachineScaleSets can be stopped.');
  world.clusterStopped = true;
  return acceptedReply(world, request, operateOnAllPools(world, request, 'Stopping'), 'action');
}

/** Starts the cluster: as many VMs as before are created, with new names. A running cluster is refused. */
export function startCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  const refusal = refuseWrite(world, request);
  if (refusal !== undefined) return refusal;
  if (!world.clusterStopped) return aksError(409, 'OperationNotAllowed', 'The managed cluster is running.');
  world.clusterStopped = false;
  return acceptedReply(world, request, operateOnAllPools(world, request, 'Starting'), 'action');
}

/**
 * `POST .../managedClusters/NAME/abort`: the cluster and its pools are `Canceling`, then `Canceled`, and stay as the operation left them. The answer has the
 * whole cluster (recorded by Azure's CLI, May 2025). Without a running operation on the cluster: 409.
 */
export function abortCluster(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!isCluster(world, request)) return clusterNotFound(request);
  const running = runningOnCluster(world);
  if (running.length === 0)
    return aksError(409, 'OperationNotAllowed', 'The managed cluster has no running operation that could be aborted.');
  for (const operation of running) cancelOperation(world, operation);
  for (const pool of world.agentPools.values()) beginAbort(world, pool, request.principal);
  world.clusterWork = 'Canceling';
  const operation = beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: CLUSTER,
    principal: request.principal.clientId,
    pending: [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
  return { ...acceptedReply(world, request, operation, 'action'), body: renderCluster(world) };
}

function clusterState(world: ArmWorld): string {
  if (runningOnCluster(world).length > 0) return world.clusterWork;
  return world.clusterWork === 'Canceling' ? 'Canceled' : 'Succeeded';
}

function clusterIsStopped(): ArmReply {
  return aksError(409, 'OperationNotAllowed', 'The managed cluster is stopped.');
}

type ClusterChange = Exclude<ArmWorld['clusterWork'], 'Upgrading' | 'Canceling'>;

/**
 * Every operation on a cluster sets all scale sets to the counts of their pools, changes all etags and lasts until the VMs are
 * there.
 */
function operateOnAllPools(world: ArmWorld, request: ArmRequest, as: ClusterChange = 'Updating'): Operation {
  const pools = [...world.agentPools.values()];
  for (const pool of pools) reconcilePool(world, pool, as);
  world.clusterWork = as;
  return beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: CLUSTER,
    principal: request.principal.clientId,
    pending: pools.flatMap((pool) => vmsInTransition(world, pool)),
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
}

function acceptedReply(world: ArmWorld, request: ArmRequest, operation: Operation, form: 'write' | 'action'): ArmReply {
  return {
    status: form === 'write' ? 200 : 202,
    headers: aksOperationHeaders(world, request, operation, form),
    ...(form === 'write' ? { body: renderCluster(world) } : {}),
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

export function renderCluster(world: ArmWorld): JsonObject {
  const { spec, draws } = world;
  const identity = { principalId: draws.guid('cluster|identity'), tenantId: spec.tenantId };
  const pools = [...world.agentPools.values()];
  return {
    id: clusterId(spec),
    name: spec.clusterName,
    type: 'Microsoft.ContainerService/ManagedClusters',
    location: spec.location,
    tags: world.clusterTags,
    eTag: clusterEtag(world),
    kind: 'Base',
    sku: { name: 'Base', tier: 'Standard' },
    identity: { type: 'SystemAssigned', ...identity },
    properties: {
      provisioningState: clusterState(world),
      powerState: { code: world.clusterStopped ? 'Stopped' : 'Running' },
      kubernetesVersion: minorOf(world.kubernetesVersion),
      currentKubernetesVersion: world.kubernetesVersion,
      ...addressesOf(world),
      // That of a cluster with a managed identity.
      servicePrincipalProfile: { clientId: 'msi' },
      nodeResourceGroup: spec.nodeResourceGroup,
      enableRBAC: true,
      supportPlan: 'KubernetesOfficial',
      agentPoolProfiles: pools.map((pool) => ({ name: pool.name, ...shownProperties(world, pool) })),
      networkProfile: { networkPlugin: 'azure', networkPluginMode: 'overlay', networkPolicy: 'none', loadBalancerSku: 'standard' },
      identityProfile: { kubeletidentity: kubeletIdentityOf(world) },
      autoScalerProfile: world.autoScalerProfile,
      disableLocalAccounts: false,
      securityProfile: {},
      ...world.clusterSettings,
      oidcIssuerProfile: issuerOf(world),
      resourceUID: draws.hex('cluster|resourceUID', 24),
      nodeProvisioningProfile: { mode: 'Manual' },
      maxAgentPools: 100,
    },
  };
}

/** The identity with which kubelets pull images; AKS creates it in the node resource group. */
function kubeletIdentityOf({ spec, documents }: ArmWorld): JsonObject {
  const resourceId = identityId(spec, kubeletIdentityName(spec));
  const { clientId, principalId } = pickObject(documents.get(resourceId.toLowerCase()), 'properties');
  // AKS writes this segment of the id in lower case (recorded by azure-service-operator, August 2026).
  return { resourceId: resourceId.replace('/resourceGroups/', '/resourcegroups/'), clientId, objectId: principalId };
}

/** Names of the API server, as AKS forms them from the prefix that Azure's CLI chooses. */
function addressesOf({ spec, draws }: ArmWorld): JsonObject {
  const short = (text: string, most: number): string => text.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, most);
  const dnsPrefix = `${short(spec.clusterName, 10)}-${short(spec.clusterResourceGroup, 16)}-${short(spec.subscriptionId, 6)}`;
  const host = `${dnsPrefix}-${draws.hex('cluster|fqdn', 8)}`.toLowerCase();
  return {
    dnsPrefix,
    fqdn: `${host}.hcp.${spec.location}.azmk8s.io`,
    azurePortalFQDN: `${host}.portal.hcp.${spec.location}.azmk8s.io`,
  };
}

function issuerOf({ spec, draws, clusterSettings }: ArmWorld): JsonObject {
  if (pick(clusterSettings, 'oidcIssuerProfile', 'enabled') !== true) return { enabled: false };
  const issuerURL = `https://${spec.location}.oic.prod-aks.azure.com/${spec.tenantId}/${draws.guid('cluster|issuer')}/`;
  return { enabled: true, issuerURL };
}

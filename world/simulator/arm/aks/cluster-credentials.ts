/**
 * The credentials of the managed cluster: kubeconfig files in base64, as `az aks get-credentials` fetches them (Microsoft.ContainerService REST
 * reference, Managed Clusters, List Cluster User Credentials). All roles sign in with the one token of this world.
 */
import { notSupported } from '../compute/instance-actions.ts';
import type { Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import type { ApiServerAccess, ArmWorld } from '../state/arm-state.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import { clusterNotFound, isCluster } from './managed-cluster.ts';

/** By the action of the request: the name of the file in the response, and the end of the name of its context. */
const ROLES = {
  listClusterUserCredential: { name: 'clusterUser', suffix: '' },
  listClusterAdminCredential: { name: 'clusterAdmin', suffix: '-admin' },
  listClusterMonitoringUserCredential: { name: 'clusterMonitoringUser', suffix: '' },
} as const;

type Credential = keyof typeof ROLES;

export const CREDENTIALS = Object.keys(ROLES) as readonly Credential[];

export function listCredentials(action: Credential) {
  return (world: ArmWorld, request: ArmRequest): ArmReply => {
    if (!isCluster(world, request)) return clusterNotFound(request);
    const { apiServer, spec } = world;
    if (apiServer === undefined) return notSupported(request, 'A managed cluster without an API server');
    const { name, suffix } = ROLES[action];
    const user = `${name}_${spec.clusterResourceGroup}_${spec.clusterName}`;
    const value = Buffer.from(`${JSON.stringify(kubeconfig(spec, apiServer, { user, suffix }), undefined, 2)}\n`).toString('base64');
    return { status: 200, body: { kubeconfigs: [{ name, value }] } };
  };
}

/** JSON, which is also YAML. */
function kubeconfig(
  { clusterName }: WorldSpec,
  { url, caPem, token }: ApiServerAccess,
  { user, suffix }: { readonly user: string; readonly suffix: string },
): Json {
  const context = `${clusterName}${suffix}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    clusters: [{ name: clusterName, cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: context, context: { cluster: clusterName, user } }],
    'current-context': context,
  };
}

/** Rules of the Azure section: identity, cloud endpoints and caching agents. */
import * as z from 'zod';
import { isGlob, matchesGlob } from '../../lib/glob.ts';
import { flag, text } from './value-types.ts';

type CredentialConfig =
  | { readonly method: 'client-secret'; readonly clientId: string; readonly clientSecret: string }
  | { readonly method: 'workload-identity'; readonly clientId: string; readonly tokenFile: string }
  /** Without a client id, the system-assigned identity is used. */
  | { readonly method: 'managed-identity'; readonly clientId: string | undefined }
  | {
      readonly method: 'client-certificate';
      readonly clientId: string;
      readonly certificatePath: string;
      readonly certificatePassword: string | undefined;
    }
  | { readonly method: 'azure-cli' };

interface GivenCredential {
  readonly method?: CredentialConfig['method'] | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly certificatePath?: string | undefined;
  readonly certificatePassword?: string | undefined;
  readonly useManagedIdentity: boolean;
  readonly userAssignedIdentityId?: string | undefined;
  readonly useWorkloadIdentity: boolean;
}

export type CredentialOutcome =
  | { readonly credential: CredentialConfig }
  /** The missing key (below `azure.credential`), and what is accepted there. */
  | { readonly missing: string; readonly accepts: string };

/**
 * Chooses the identity. An explicit method wins. Otherwise the given values decide, in the order of the Cluster Autoscaler's
 * provider: workload identity, managed identity, secret, certificate. As an exception, a token file in the environment alone
 * does not override an explicit managed identity.
 */
export function chooseCredential(given: GivenCredential): CredentialOutcome {
  const method = given.method ?? impliedMethod(given);
  if (method === undefined) {
    return {
      missing: 'method',
      accepts:
        'an identity: ARM_CLIENT_ID with ARM_CLIENT_SECRET, AZURE_CLIENT_ID with AZURE_FEDERATED_TOKEN_FILE, a managed identity ' +
        '(ARM_USE_MANAGED_IDENTITY_EXTENSION=true), a client certificate, or azure-cli',
    };
  }
  return build(method, given);
}

function impliedMethod(given: GivenCredential): CredentialConfig['method'] | undefined {
  if (given.useWorkloadIdentity) return 'workload-identity';
  if (given.useManagedIdentity) return 'managed-identity';
  if (given.tokenFile !== undefined) return 'workload-identity';
  if (given.clientSecret !== undefined) return 'client-secret';
  return given.certificatePath === undefined ? undefined : 'client-certificate';
}

function build(method: CredentialConfig['method'], given: GivenCredential): CredentialOutcome {
  const { clientId, clientSecret, tokenFile, certificatePath, certificatePassword } = given;
  if (method === 'azure-cli') return { credential: { method } };
  if (method === 'managed-identity') {
    // azure.json of AKS says "msi" as a placeholder for "no client id".
    const named = given.method === undefined || clientId === 'msi' ? undefined : clientId;
    return { credential: { method, clientId: given.userAssignedIdentityId ?? named } };
  }
  if (clientId === undefined) return { missing: 'clientId', accepts: `a client id, which ${method} needs` };
  switch (method) {
    case 'client-secret':
      return clientSecret === undefined
        ? { missing: 'clientSecret', accepts: `a secret, which ${method} needs` }
        : { credential: { method, clientId, clientSecret } };
    case 'workload-identity':
      return tokenFile === undefined
        ? { missing: 'tokenFile', accepts: `a file path, which ${method} needs` }
        : { credential: { method, clientId, tokenFile } };
    case 'client-certificate':
      return certificatePath === undefined
        ? { missing: 'certificatePath', accepts: `a file path, which ${method} needs` }
        : { credential: { method, clientId, certificatePath, certificatePassword } };
  }
}

/** Endpoints of one Azure cloud. */
interface Cloud {
  readonly armEndpoint: string;
  readonly authorityHost: string;
}

const PUBLIC: Cloud = { armEndpoint: 'https://management.azure.com', authorityHost: 'https://login.microsoftonline.com' };
const CHINA: Cloud = { armEndpoint: 'https://management.chinacloudapi.cn', authorityHost: 'https://login.chinacloudapi.cn' };
const GOVERNMENT: Cloud = { armEndpoint: 'https://management.usgovcloudapi.net', authorityHost: 'https://login.microsoftonline.us' };

const CLOUDS: ReadonlyMap<string, Cloud> = new Map([
  ['azurepubliccloud', PUBLIC],
  ['azurecloud', PUBLIC],
  ['azurechinacloud', CHINA],
  ['azureusgovernmentcloud', GOVERNMENT],
  ['azureusgovernment', GOVERNMENT],
]);

export const CLOUD_NAMES = 'AzurePublicCloud, AzureChinaCloud, AzureUSGovernmentCloud, or AzureStackCloud with its endpoints';

/** The cloud without known endpoints: they must be configured. */
export const STACK = 'azurestackcloud';

/** Finds a cloud by the names that azure.json and ARM_CLOUD use, in any letter case. */
export function cloudByName(name: string): Cloud | undefined {
  return CLOUDS.get(name.trim().toLowerCase());
}

/** Whether Resource Manager is that of the public cloud, and not of another cloud or an imitation. */
export function isPublicEndpoint(armEndpoint: string): boolean {
  return armEndpoint.replace(/\/+$/, '') === PUBLIC.armEndpoint;
}

/** Caching agents that decisions need. */
export const REQUIRED_AGENTS = ['scaleSets', 'agentPools', 'skus', 'vms'] as const;
export const OPTIONAL_AGENTS = ['spotSizes', 'usage', 'capacityReservations', 'maintenance', 'prices'] as const;
/** Prefix of the agents of instances, one per scale set. */
export const INSTANCES_PREFIX = 'instances/';

const KNOWN: readonly string[] = [...REQUIRED_AGENTS, ...OPTIONAL_AGENTS];
const ACCEPTED = `one of ${KNOWN.join(', ')}, ${INSTANCES_PREFIX}SCALE-SET, or a pattern of them with * and ?`;

function isKnown(entry: string): boolean {
  return isGlob(entry) || KNOWN.includes(entry) || (entry.startsWith(INSTANCES_PREFIX) && entry.length > INSTANCES_PREFIX.length);
}

const entries = (byDefault: readonly string[]) =>
  z.array(text(ACCEPTED).refine(isKnown, { error: ACCEPTED }), { error: 'a list of agents' }).default([...byDefault]);

interface Selection {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
}

/** The first required agent that the selection stops. Scale sets are found later, so any name stands for theirs. */
function stopped({ enabled, disabled }: Selection): string | undefined {
  const exact = [...enabled, ...disabled].filter((entry) => !isGlob(entry) && isKnown(entry) && entry.startsWith(INSTANCES_PREFIX));
  return [...REQUIRED_AGENTS, ...exact, `${INSTANCES_PREFIX}any`].find(
    (id) => !enabled.some((entry) => matchesGlob(entry, id)) || disabled.some((entry) => matchesGlob(entry, id)),
  );
}

export const agents = z
  .strictObject({ enabled: entries(['*']), disabled: entries([]), allowDegraded: flag(false) })
  .refine((given) => given.allowDegraded || stopped(given) === undefined, {
    error: `a selection that keeps ${REQUIRED_AGENTS.join(', ')} and ${INSTANCES_PREFIX}* running, unless azure.agents.allowDegraded (--allow-degraded) is true`,
    path: ['disabled'],
  })
  .prefault({});

/**
 * Which identity the program uses. An explicit method wins; otherwise what was given decides, in the order of today's
 * provider (workload identity, managed identity, secret, certificate), save that a token file in the environment alone
 * does not override an explicit wish for a managed identity.
 */
import type { CredentialConfig } from './config.ts';

export interface GivenCredential {
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
  /** The key (below `azure.credential`) that is missing, and what would be accepted there. */
  | { readonly missing: string; readonly accepts: string };

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

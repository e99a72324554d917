/**
 * Explains in one sentence why Azure denies access, and what to do about it. The credential libraries and Entra ID return
 * paragraphs of trace ids. Classifies only sign-in failures and missing permissions; errors.ts does the rest.
 */
import { defined } from '../../lib/defined.ts';
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import { shownText } from '../../lib/shown-text.ts';
import { isRecord } from '../../lib/json.ts';

interface SignInRule {
  readonly pattern: RegExp;
  readonly explain: (match: RegExpExecArray) => string;
  /** If absent, `auth`. */
  readonly detail?: ErrorKind;
  /** If absent, the code in the matched text. */
  readonly code?: string;
}

/** Codes of our own for the metadata endpoint that issues tokens for managed identities. */
const NO_METADATA = 'MetadataEndpointUnreachable';
const METADATA_TROUBLE = 'MetadataEndpointTroubled';

const UNREACHABLE: ErrorKind = { kind: 'unavailable', effect: 'none' };

/** Codes as Entra ID documents them. The first match wins. */
const RULES: readonly SignInRule[] = [
  {
    pattern: /AADSTS(?:90006|90012|90024|90033|50196)\b/,
    explain: ([code]) => `Entra ID has a temporary problem (${code}); the sign-in will be tried again`,
    detail: UNREACHABLE,
  },
  {
    pattern: /AADSTS7000222/,
    explain: () =>
      'the client secret or certificate has expired (AADSTS7000222); create a new one for the application and configure it here',
  },
  {
    pattern: /AADSTS7000215/,
    explain: () => 'the client secret is wrong (AADSTS7000215); it must be the secret itself, not its id, and belong to this application',
  },
  {
    pattern: /AADSTS700016/,
    explain: () => 'the tenant has no application with this client id (AADSTS700016); check the client id and the tenant id',
  },
  {
    pattern: /AADSTS(?:90002|900023)/,
    explain: () => 'there is no such tenant in this cloud (AADSTS90002); check the tenant id and the authority host',
  },
  {
    pattern: /AADSTS700024/,
    explain: () =>
      'the federated token has expired or is not valid yet (AADSTS700024); check that the token file is renewed and that the clock is right',
  },
  {
    pattern: /AADSTS(70021|700211|700212|700213|700223)\b/,
    explain: ([, code = '']) =>
      `the identity has no federated credential for this issuer, service account and audience (AADSTS${code}); ` +
      'check its subject, system:serviceaccount:<namespace>:<name>, and the issuer of the cluster',
  },
  {
    pattern: /AADSTS700027/,
    explain: () => 'the application does not have this certificate (AADSTS700027); register it, or use the one that is registered',
  },
  {
    pattern: /AADSTS7000112/,
    explain: () => 'the application is disabled in this tenant (AADSTS7000112); enable it, or use another identity',
  },
  {
    pattern: /AADSTS500011/,
    explain: () =>
      'the tenant has no resource for the requested token scope (AADSTS500011); check azure.cloud, azure.scopes and the tenant id',
  },
  {
    pattern: /AADSTS(530\d\d)\b/,
    explain: ([code]) => `a Conditional Access policy blocks the identity's sign-in from here (${code}); exclude it from the policy`,
  },
  {
    pattern: /No content on the file (\S+?)\.?(?:\s|$)/,
    explain: ([, path = '']) => `the federated token file ${path} is empty; check the projected volume of the service account token`,
  },
  {
    pattern: /(ENOENT|EACCES)\b[^']*open '([^']+)'/,
    explain: ([, code = '', path = '']) =>
      `the file ${path} ${code === 'ENOENT' ? 'does not exist' : 'cannot be read'} (${code}); check its path and the volume it comes from`,
  },
  {
    pattern: /EISDIR\b/,
    explain: () => 'the configured token or certificate file is a folder (EISDIR); configure the file in it',
  },
  {
    pattern: /does not contain a PEM-encoded certificate/i,
    explain: () => 'the certificate file is not PEM; turn a PFX file into one with openssl pkcs12 -in cert.pfx -nodes -out cert.pem',
  },
  {
    pattern: /bad decrypt|passphrase|unsupported.*DECODER|interrupted or cancelled|secretOrPrivateKey/i,
    explain: () =>
      'the private key of the certificate file cannot be read; check the password of the certificate and that the file holds its key',
  },
  { pattern: /Azure CLI could not be found/i, explain: () => 'the Azure CLI is not installed here; install it or use another method' },
  { pattern: /az login/i, explain: () => 'the Azure CLI is not signed in; run az login' },
  {
    pattern: /is not valid JSON|Unexpected (?:end of JSON|token)|Traceback/,
    explain: () => 'the Azure CLI returned no token; run az account get-access-token to see why',
  },
  {
    pattern: /^ERROR: ([^\n]+?)\.?(?:\n|$)/,
    explain: ([, said = '']) => `the Azure CLI returned "${said}"; run az account get-access-token to see why`,
  },
  {
    pattern: /Response had no "expiresOn" property/,
    explain: () => 'the response has no token; check the authority host, or the stand-in for the metadata endpoint of this VM',
  },
  {
    pattern: /identity not found/i,
    explain: () => 'this VM has no such managed identity; assign it to the VM, or check the client id of the identity',
  },
  {
    pattern:
      /managed identity endpoint (?:was )?(?:not found|unavailable)|no managed identity endpoint|ManagedIdentityCredential: Network unreachable|169\.254\.169\.254/i,
    explain: () => 'the metadata endpoint for managed identities does not respond; it exists only on Azure VMs',
    detail: UNREACHABLE,
    code: NO_METADATA,
  },
  {
    pattern:
      /ManagedIdentityCredential: Authentication failed\. Message (?:invalid_|bad_request|unauthorized|unknown_source|forbidden)\S*.*Description: (.+?) - Correlation/,
    explain: ([, said = '']) => `the metadata endpoint of this VM refuses a token ("${said}"); check the id of the identity`,
  },
  {
    // The credential has already retried: 404 and 410 while the endpoint is updated, 429, and internal errors.
    pattern: /ManagedIdentityCredential: Authentication failed\. Message ([^\s:]+)/,
    explain: ([, said = '']) => `the metadata endpoint of this VM has a temporary problem ("${said}"); the sign-in will be tried again`,
    detail: UNREACHABLE,
    code: METADATA_TROUBLE,
  },
  {
    pattern:
      /endpoints_resolution_error|openid_config_error|network_error|temporarily|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN/,
    explain: () =>
      'the sign-in service did not respond or is another service; check the authority host, its certificate (azure.caFile), name resolution and the outbound network path',
    detail: UNREACHABLE,
  },
  {
    pattern: /(AADSTS\d+): ([^\n]+?)\.?(?: Trace ID|\n|$)/,
    explain: ([, code = '', said = '']) => `Entra ID returned "${said}" (${code})`,
  },
  { pattern: /([^\n]+?)\.?(?:\n|$)/, explain: ([, said = '']) => `the credential reports "${said}"` },
];

/** Whether the error already names its cause. Then the endpoint settings add nothing. */
function isSpecificSignInError({ code = '' }: { readonly code: string | undefined }): boolean {
  return code === NO_METADATA || code === METADATA_TROUBLE || code.startsWith('AADSTS');
}

/** Explains a sign-in failure in one sentence; undefined: another failure. No request had been sent to ARM. */
export function signInFailure(callName: string, thrown: unknown): AutoscalerError | undefined {
  if (!(thrown instanceof Error) || !isFromSignIn(thrown)) return undefined;
  for (const { pattern, explain, detail = { kind: 'auth' } as const, code: known } of RULES) {
    const match = pattern.exec(thrown.message);
    if (match === null) continue;
    const code = known ?? /AADSTS\d+/.exec(match[0])?.[0];
    const message = `Cannot sign in to Azure for ${callName}: ${shownText(explain(match))}.`;
    return new AutoscalerError(detail, message, code === undefined ? { cause: thrown } : { cause: thrown, code });
  }
  return undefined;
}

/** Errors of the credential libraries, and file-system errors of a certificate that cannot be opened. */
function isFromSignIn(thrown: Error): boolean {
  if (
    /^(?:Authentication|CredentialUnavailable|AggregateAuthentication|ClientAuth|ClientConfiguration|InteractionRequired|Server)\w*Error$/.test(
      thrown.name,
    )
  )
    return true;
  if (/PEM-encoded certificate/.test(thrown.message)) return true;
  const code = isRecord(thrown) ? thrown['code'] : undefined;
  return (
    (typeof code === 'string' && code.startsWith('ERR_OSSL')) || (isRecord(thrown) && (thrown['syscall'] === 'open' || code === 'EISDIR'))
  );
}

const REFUSED_TOKENS: Readonly<Record<string, string>> = {
  expiredauthenticationtoken: 'the token has expired; check the clock of this machine',
  invalidauthenticationtokentenant:
    'the token belongs to another tenant than the subscription; check the tenant id and the subscription id',
  invalidauthenticationtoken: 'the token is not valid for this Azure cloud; check azure.cloud, azure.scopes and the source of the token',
};

/** Azure's codes are words. */
const MAX_CODE_BYTES = 200;

/** Explains a 401, whose own message addresses a client. */
export function explainUnauthorized(callName: string, givenCode: string, cause: Error): AutoscalerError {
  const code = shownText(givenCode, MAX_CODE_BYTES);
  const known = REFUSED_TOKENS[code.toLowerCase()] ?? 'it does not accept the token; check the tenant id, azure.cloud and azure.scopes';
  return new AutoscalerError({ kind: 'auth' }, `Azure refused ${callName}: ${known} (${code}).`, { cause, code });
}

const FORBIDDEN = /The client '([^']+)'.* does not have authorization to perform action '([^']+)' over scope '([^']+)'/s;

/** Names the identity, the missing permission and the scope if a refusal has them. Other errors pass unchanged. */
export function explainForbidden(callName: string, error: AutoscalerError): AutoscalerError {
  const [, client, action, scope] = error.kind === 'auth' ? (FORBIDDEN.exec(error.message) ?? []) : [];
  if (client === undefined || action === undefined || scope === undefined) return error;
  const message =
    `Azure refused ${callName}: the identity ${client} lacks the permission ${action} on ${scope}; ` +
    'assign it a role with this permission. A new assignment takes some minutes to apply.';
  const rest = defined({ code: error.code, retryAfterMs: error.retryAfterMs });
  return new AutoscalerError(error.detail, message, { cause: error, context: error.context, ...rest });
}

/** Adds the endpoint settings to a first read that got no response. */
export function withEndpointSettings(
  error: AutoscalerError,
  { armEndpoint, authorityHost }: { readonly armEndpoint: string; readonly authorityHost: string },
): AutoscalerError {
  if (error.kind !== 'unavailable' || isSpecificSignInError(error)) return error;
  const settings =
    `azure.armEndpoint (AZURE_RESOURCE_MANAGER_ENDPOINT) is ${armEndpoint} and ` +
    `azure.authorityHost (AZURE_AUTHORITY_HOST) is ${authorityHost}; both must be https addresses that are reachable from here`;
  return new AutoscalerError(error.detail, `${error.message.replace(/\.$/, '')}: ${settings}.`, { cause: error });
}

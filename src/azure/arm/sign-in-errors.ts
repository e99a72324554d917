/**
 * Says in one sentence why Azure does not let us in, and what to do about it: the credential libraries and Entra ID answer
 * with paragraphs of trace ids. Classifies failures of sign-in and missing permissions only; the rest is arm-errors.ts.
 */
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import { isRecord } from './error-bodies.ts';

interface SignInRule {
  readonly words: RegExp;
  readonly sentence: (match: RegExpExecArray) => string;
  /** Default: `auth`. */
  readonly detail?: ErrorKind;
  /** Default: the code in the words that matched. */
  readonly code?: string;
}

/** Codes of ours for the endpoint that gives machines their identity. */
const NO_METADATA = 'MetadataEndpointUnreachable';
const METADATA_TROUBLE = 'MetadataEndpointTroubled';

const UNREACHABLE: ErrorKind = { kind: 'unavailable', effect: 'none' };

/** Codes as Entra ID documents them; the first that matches speaks. */
const RULES: readonly SignInRule[] = [
  {
    words: /AADSTS(?:90006|90012|90024|90033|50196)\b/,
    sentence: ([code]) => `Entra ID has a passing trouble (${code}); it will be asked again`,
    detail: UNREACHABLE,
  },
  {
    words: /AADSTS7000222/,
    sentence: () => 'the client secret or certificate has expired (AADSTS7000222); give the application a new one and the autoscaler too',
  },
  {
    words: /AADSTS7000215/,
    sentence: () => 'the client secret is wrong (AADSTS7000215); it must be the secret itself, not its id, and belong to this application',
  },
  {
    words: /AADSTS700016/,
    sentence: () => 'the tenant knows no application with this client id (AADSTS700016); check the client id and the tenant id',
  },
  {
    words: /AADSTS(?:90002|900023)/,
    sentence: () => 'there is no such tenant in this cloud (AADSTS90002); check the tenant id and the authority host',
  },
  {
    words: /AADSTS700024/,
    sentence: () =>
      'the federated token has expired or is not valid yet (AADSTS700024); check that the token file is renewed and that the clock is right',
  },
  {
    words: /AADSTS(70021|700211|700212|700213|700223)\b/,
    sentence: ([, code = '']) =>
      `the identity has no federated credential for this issuer, service account and audience (AADSTS${code}); ` +
      'check its subject, system:serviceaccount:<namespace>:<name>, and the issuer of the cluster',
  },
  {
    words: /AADSTS700027/,
    sentence: () => 'the application does not have this certificate (AADSTS700027); register it, or use the one that is registered',
  },
  {
    words: /AADSTS7000112/,
    sentence: () => 'the application is disabled in this tenant (AADSTS7000112); enable it, or use another identity',
  },
  {
    words: /AADSTS500011/,
    sentence: () =>
      'the tenant knows no resource by the scope that was asked for (AADSTS500011); check azure.cloud, azure.scopes and the tenant id',
  },
  {
    words: /AADSTS(530\d\d)\b/,
    sentence: ([code]) => `a Conditional Access policy does not let the identity sign in from here (${code}); exclude it from the policy`,
  },
  {
    words: /No content on the file (\S+?)\.?(?:\s|$)/,
    sentence: ([, path = '']) => `the federated token file ${path} is empty; check the projected volume of the service account token`,
  },
  {
    words: /(ENOENT|EACCES)\b[^']*open '([^']+)'/,
    sentence: ([, code = '', path = '']) =>
      `the file ${path} ${code === 'ENOENT' ? 'does not exist' : 'may not be read'} (${code}); check its path and the volume it comes from`,
  },
  {
    words: /EISDIR\b/,
    sentence: () => 'what should be the file of a token or a certificate is a folder (EISDIR); name the file in it',
  },
  {
    words: /does not contain a PEM-encoded certificate/i,
    sentence: () => 'the certificate file is not PEM; turn a PFX file into one with openssl pkcs12 -in cert.pfx -nodes -out cert.pem',
  },
  {
    words: /bad decrypt|passphrase|unsupported.*DECODER|interrupted or cancelled|secretOrPrivateKey/i,
    sentence: () =>
      'the private key of the certificate file cannot be read; check the password of the certificate and that the file holds its key',
  },
  { words: /Azure CLI could not be found/i, sentence: () => 'the Azure CLI is not installed here; install it or use another method' },
  { words: /az login/i, sentence: () => 'the Azure CLI is not signed in; run az login' },
  {
    words: /is not valid JSON|Unexpected (?:end of JSON|token)|Traceback/,
    sentence: () => 'the Azure CLI answered without a token; run az account get-access-token to see why',
  },
  {
    words: /^ERROR: ([^\n]+?)\.?(?:\n|$)/,
    sentence: ([, said = '']) => `the Azure CLI answered "${said}"; run az account get-access-token to see why`,
  },
  {
    words: /Response had no "expiresOn" property/,
    sentence: () => 'what answered gave no token; check the authority host, or what stands for the metadata endpoint of this machine',
  },
  {
    words: /identity not found/i,
    sentence: () => 'this machine has no such managed identity; assign it to the machine, or check the client id of the identity',
  },
  {
    words:
      /managed identity endpoint (?:was )?(?:not found|unavailable)|no managed identity endpoint|ManagedIdentityCredential: Network unreachable|169\.254\.169\.254/i,
    sentence: () => 'the metadata endpoint that gives out managed identities does not answer; it exists on Azure machines only',
    detail: UNREACHABLE,
    code: NO_METADATA,
  },
  {
    words:
      /ManagedIdentityCredential: Authentication failed\. Message (?:invalid_|bad_request|unauthorized|unknown_source|forbidden)\S*.*Description: (.+?) - Correlation/,
    sentence: ([, said = '']) => `the metadata endpoint of this machine refuses a token ("${said}"); check the id of the identity`,
  },
  {
    // After tries of its own: 404 and 410 while it is renewed, 429, and whatever is wrong inside it.
    words: /ManagedIdentityCredential: Authentication failed\. Message ([^\s:]+)/,
    sentence: ([, said = '']) => `the metadata endpoint of this machine is troubled ("${said}"); it will be asked again`,
    detail: UNREACHABLE,
    code: METADATA_TROUBLE,
  },
  {
    words: /endpoints_resolution_error|openid_config_error|network_error|temporarily|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN/,
    sentence: () =>
      'the sign-in service did not answer or is not one; check the authority host, its certificate (azure.caFile), name resolution and the way out',
    detail: UNREACHABLE,
  },
  { words: /(AADSTS\d+): ([^\n]+?)\.?(?: Trace ID|\n|$)/, sentence: ([, code = '', said = '']) => `Entra ID says "${said}" (${code})` },
  { words: /([^\n]+?)\.?(?:\n|$)/, sentence: ([, said = '']) => `the credential says "${said}"` },
];

/** Whose address was wrong, or whether any was, is known: which of ours were asked says nothing. */
export function isExplained({ code = '' }: { readonly code: string | undefined }): boolean {
  return code === NO_METADATA || code === METADATA_TROUBLE || code.startsWith('AADSTS');
}

/** The failure of a sign-in in one sentence; undefined: something else. No request to ARM had left then. */
export function signInFailure(what: string, thrown: unknown): AutoscalerError | undefined {
  if (!(thrown instanceof Error) || !isFromSignIn(thrown)) return undefined;
  for (const { words, sentence, detail = { kind: 'auth' } as const, code: known } of RULES) {
    const match = words.exec(thrown.message);
    if (match === null) continue;
    const code = known ?? /AADSTS\d+/.exec(match[0])?.[0];
    const message = `Cannot sign in to Azure for ${what}: ${sentence(match)}.`;
    return new AutoscalerError(detail, message, code === undefined ? { cause: thrown } : { cause: thrown, code });
  }
  return undefined;
}

/** Errors of the credential libraries, and of a certificate that cannot be opened, which comes as the file system's own. */
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
  expiredauthenticationtoken: 'the token had expired on its way; check the clock of this machine',
  invalidauthenticationtokentenant: 'the token is of another tenant than the subscription; check the tenant id and the subscription id',
  invalidauthenticationtoken: 'the token is none for this Azure; check azure.cloud, azure.scopes and where the token comes from',
};

/** The sentence for a 401, whose own words are a client's. */
export function explainUnauthorized(what: string, code: string, cause: Error): AutoscalerError {
  const known = REFUSED_TOKENS[code.toLowerCase()] ?? 'it does not accept the token; check the tenant id, azure.cloud and azure.scopes';
  return new AutoscalerError({ kind: 'auth' }, `Azure refused ${what}: ${known} (${code}).`, { cause, code });
}

const FORBIDDEN = /The client '([^']+)'.* does not have authorization to perform action '([^']+)' over scope '([^']+)'/s;

/** Names who lacks which permission where, when a refusal says so; other errors pass unchanged. */
export function explainForbidden(what: string, error: AutoscalerError): AutoscalerError {
  const [, client, action, scope] = error.kind === 'auth' ? (FORBIDDEN.exec(error.message) ?? []) : [];
  if (client === undefined || action === undefined || scope === undefined) return error;
  const message =
    `Azure refused ${what}: the identity ${client} may not do ${action} on ${scope}; ` +
    'assign it a role that allows this, and give a new assignment some minutes.';
  const code = error.code === undefined ? {} : { code: error.code };
  return new AutoscalerError(error.detail, message, { cause: error, context: error.context, ...code });
}

/** A first read that nobody answered says who was asked, and which settings say so. */
export function whereAsked(
  error: AutoscalerError,
  { armEndpoint, authorityHost }: { readonly armEndpoint: string; readonly authorityHost: string },
): AutoscalerError {
  if (error.kind !== 'unavailable' || isExplained(error)) return error;
  const asked =
    `azure.armEndpoint (AZURE_RESOURCE_MANAGER_ENDPOINT) is ${armEndpoint} and ` +
    `azure.authorityHost (AZURE_AUTHORITY_HOST) is ${authorityHost}; accepted are https addresses that answer from here`;
  return new AutoscalerError(error.detail, `${error.message.replace(/\.$/, '')}: ${asked}.`, { cause: error });
}

/**
 * The azure.json of `--cloud-config`. Clusters share it with the cloud controller and others, so unrelated keys are ignored.
 * The other keys have the names of the Cluster Autoscaler's Azure provider, including the old ones.
 */
import { parseDocument } from 'yaml';
import { EMPTY_LAYER, type Document, type Layer, type Setting } from './layers.ts';
import { retiredLayer } from './retired-settings.ts';
import { isUnset, settingFromText, type TextKind } from './text-values.ts';
import { isRecord } from '../../lib/json.ts';

/** In order: if two keys set one setting, the later wins. It is the old name, as in the Cluster Autoscaler's provider. */
export const KEYS: readonly { readonly key: string; readonly path: string; readonly kind: TextKind }[] = [
  { key: 'cloud', path: 'azure.cloud', kind: 'text' },
  { key: 'vmType', path: 'azure.vmType', kind: 'text' },
  { key: 'tenantId', path: 'azure.tenantId', kind: 'text' },
  { key: 'subscriptionId', path: 'azure.subscriptionId', kind: 'text' },
  { key: 'resourceGroup', path: 'azure.resourceGroup', kind: 'text' },
  { key: 'location', path: 'azure.location', kind: 'text' },
  { key: 'clusterName', path: 'azure.clusterName', kind: 'text' },
  { key: 'clusterResourceGroup', path: 'azure.clusterResourceGroup', kind: 'text' },
  { key: 'aadClientId', path: 'azure.credential.clientId', kind: 'text' },
  { key: 'aadClientSecret', path: 'azure.credential.clientSecret', kind: 'secret' },
  { key: 'aadClientCertPath', path: 'azure.credential.certificatePath', kind: 'text' },
  { key: 'aadClientCertPassword', path: 'azure.credential.certificatePassword', kind: 'secret' },
  { key: 'useManagedIdentityExtension', path: 'azure.credential.useManagedIdentity', kind: 'boolean' },
  { key: 'userAssignedIdentityID', path: 'azure.credential.userAssignedIdentityId', kind: 'text' },
  { key: 'useFederatedWorkloadIdentityExtension', path: 'azure.credential.useWorkloadIdentity', kind: 'boolean' },
  { key: 'useWorkloadIdentityExtension', path: 'azure.credential.useWorkloadIdentity', kind: 'boolean' },
  { key: 'aadFederatedTokenFile', path: 'azure.credential.tokenFile', kind: 'text' },
  { key: 'vmssCacheTTLInSeconds', path: 'azure.cache.vmssTtl', kind: 'seconds' },
  { key: 'vmssCacheTTL', path: 'azure.cache.vmssTtl', kind: 'seconds' },
  { key: 'getVmssSizeRefreshPeriod', path: 'azure.cache.spotSizeTtl', kind: 'seconds' },
  { key: 'vmssVirtualMachinesCacheTTLInSeconds', path: 'azure.cache.vmssVmsTtl', kind: 'seconds' },
  { key: 'vmssVmsCacheTTL', path: 'azure.cache.vmssVmsTtl', kind: 'seconds' },
  { key: 'vmssVmsCacheJitter', path: 'azure.cache.vmssVmsJitter', kind: 'seconds' },
  { key: 'enableVMSSEtag', path: 'azure.enableVmssEtag', kind: 'boolean' },
  { key: 'enableForceDelete', path: 'azure.enableForceDelete', kind: 'boolean' },
  { key: 'cloudProviderRateLimit', path: 'azure.rateLimit.enabled', kind: 'boolean' },
  { key: 'cloudProviderRateLimitQPS', path: 'azure.rateLimit.readQps', kind: 'number' },
  { key: 'cloudProviderRateLimitBucket', path: 'azure.rateLimit.readBurst', kind: 'integer' },
  { key: 'cloudProviderRateLimitQPSWrite', path: 'azure.rateLimit.writeQps', kind: 'number' },
  { key: 'cloudProviderRateLimitBucketWrite', path: 'azure.rateLimit.writeBurst', kind: 'integer' },
  { key: 'cloudProviderBackoff', path: 'azure.readRetries.enabled', kind: 'boolean' },
  { key: 'cloudProviderBackoffRetries', path: 'azure.readRetries.retries', kind: 'integer' },
  { key: 'cloudProviderBackoffExponent', path: 'azure.readRetries.exponent', kind: 'number' },
  { key: 'cloudProviderBackoffDuration', path: 'azure.readRetries.first', kind: 'seconds' },
  { key: 'cloudProviderBackoffJitter', path: 'azure.readRetries.jitter', kind: 'number' },
];

export function cloudConfigLayer(file: string, text: string): Layer {
  const outcome = parseJson(text);
  const content = 'content' in outcome ? outcome.content : undefined;
  if (!isRecord(content)) {
    const problem = 'problem' in outcome ? `is not valid JSON (${outcome.problem})` : 'does not hold a JSON object';
    return { ...EMPTY_LAYER, errors: [`The file of --cloud-config, ${file}, ${problem}.`] };
  }
  const given = keysOf(content);
  const retired = retiredLayer(
    ({ key }) => key,
    (key) => writtenAs(given(key)?.value),
    (key) => `key ${given(key)?.name ?? key} of ${file}`,
  );
  return {
    ...retired,
    settings: [...authMethod(given('authMethod'), file), ...KEYS.flatMap((entry) => settingOf(entry, given(entry.key), file))],
  };
}

/** A key as the file spells it, and its value. */
interface GivenKey {
  readonly name: string;
  readonly value: unknown;
}

/** The Cluster Autoscaler's provider accepts keys in any letter case (`tenantID`, `aadClientID`). The exact key wins. */
function keysOf(content: Document): (key: string) => GivenKey | undefined {
  const folded = new Map(Object.entries(content).map(([name, value]) => [name.toLowerCase(), { name, value }]));
  return (key) => (Object.hasOwn(content, key) ? { name: key, value: content[key] } : folded.get(key.toLowerCase()));
}

function parseJson(text: string): { readonly content: unknown } | { readonly problem: string } {
  try {
    return { content: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? reasonOf(error, text) : 'it cannot be read' };
  }
}

/** Leaves out the parser's excerpt, which could contain an unquoted secret. */
function reasonOf({ message }: SyntaxError, text: string): string {
  const what = message.endsWith('is not valid JSON') ? 'Unexpected token' : (message.split(/ in JSON| at position/)[0] ?? '');
  const position = / at position (\d+)/.exec(message)?.[1];
  const at = position === undefined ? firstMistake(text) : Number(position);
  return at === undefined ? what : `${what}, line ${text.slice(0, at).split('\n').length}`;
}

/** Returns the position where a stricter parser stops. JSON is YAML except for unquoted words. */
function firstMistake(text: string): number | undefined {
  return parseDocument(text, { schema: 'json', prettyErrors: false }).errors[0]?.pos[0];
}

function settingOf(entry: (typeof KEYS)[number], given: GivenKey | undefined, file: string): readonly Setting[] {
  const value = given?.value;
  if (value === undefined || value === null) return [];
  const label = `key ${given?.name ?? entry.key} of ${file}`;
  const path = entry.path.split('.');
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (isScalar && isUnset(entry.path, String(value))) return [];
  return [isScalar ? settingFromText(path, entry.kind, String(value), label) : { path, value, origin: { label } }];
}

function writtenAs(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** With `principal` or an empty method, the other keys decide. */
function authMethod(given: GivenKey | undefined, file: string): readonly Setting[] {
  const method = typeof given?.value === 'string' ? given.value.trim().toLowerCase() : given?.value;
  if (given === undefined || method === undefined || method === null || method === '' || method === 'principal') return [];
  const path = ['azure', 'credential', 'method'];
  const origin = {
    label: `key ${given.name} of ${file}`,
    written: typeof given.value === 'string' ? given.value : JSON.stringify(given.value),
  };
  if (method === 'cli') return [{ path, value: 'azure-cli', origin }];
  return [{ path, value: null, origin: { ...origin, unread: 'principal or cli' } }];
}

/**
 * Names the endpoints file of an Azure Stack, as the Azure SDKs for Go read it: JSON with the addresses of one cloud. It
 * applies to AzureStackCloud only, whose endpoints are not known.
 */
export const ENDPOINTS_VARIABLE = 'AZURE_ENVIRONMENT_FILEPATH';

const ENDPOINT_KEYS: readonly { readonly key: string; readonly path: string }[] = [
  { key: 'resourceManagerEndpoint', path: 'azure.armEndpoint' },
  { key: 'activeDirectoryEndpoint', path: 'azure.authorityHost' },
];
const AUDIENCE = 'tokenAudience';

export function endpointsLayer(file: string, text: string): Layer {
  const content = parseObject(text);
  if (content === undefined)
    return { ...EMPTY_LAYER, errors: [`The file of ${ENDPOINTS_VARIABLE}, ${file}, does not hold a JSON object.`] };
  const given = new Map(Object.entries(content).map(([key, value]) => [key.toLowerCase(), value]));
  const label = (key: string): string => `key ${key} of ${file}`;
  const settings = ENDPOINT_KEYS.flatMap(({ key, path }) => {
    const value = given.get(key.toLowerCase());
    if (typeof value === 'string') return value === '' ? [] : [settingFromText(path.split('.'), 'text', value, label(key))];
    return value === undefined || value === null ? [] : [{ path: path.split('.'), value, origin: { label: label(key) } }];
  });
  const audience = given.get(AUDIENCE.toLowerCase());
  if (typeof audience !== 'string' || audience === '') return { ...EMPTY_LAYER, settings };
  const scopes = [`${audience.replace(/\/+$/, '')}/.default`];
  return { ...EMPTY_LAYER, settings: [...settings, { path: ['azure', 'scopes'], value: scopes, origin: { label: label(AUDIENCE) } }] };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const content: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isRecord(content) ? content : undefined;
  } catch {
    // The caller reports the error in one sentence.
    return undefined;
  }
}

/** The endpoints file of an Azure Stack, as the Azure SDKs for Go read it: JSON with the addresses of one cloud. */
import { EMPTY_LAYER, isDocument, type Layer } from '../layer.ts';
import { settingFromText } from './text-values.ts';

/** Names the file. Counts for AzureStackCloud alone, which has no endpoints of its own. */
export const ENDPOINTS_VARIABLE = 'AZURE_ENVIRONMENT_FILEPATH';

const KEYS: readonly { readonly key: string; readonly path: string }[] = [
  { key: 'resourceManagerEndpoint', path: 'azure.armEndpoint' },
  { key: 'activeDirectoryEndpoint', path: 'azure.authorityHost' },
];
const AUDIENCE = 'tokenAudience';

export function endpointsLayer(file: string, text: string): Layer {
  const content = parse(text);
  if (content === undefined)
    return { ...EMPTY_LAYER, errors: [`The file of ${ENDPOINTS_VARIABLE}, ${file}, does not hold a JSON object.`] };
  const given = new Map(Object.entries(content).map(([key, value]) => [key.toLowerCase(), value]));
  const label = (key: string): string => `key ${key} of ${file}`;
  const settings = KEYS.flatMap(({ key, path }) => {
    const value = given.get(key.toLowerCase());
    if (typeof value === 'string') return value === '' ? [] : [settingFromText(path.split('.'), 'text', value, label(key))];
    return value === undefined || value === null ? [] : [{ path: path.split('.'), value, origin: { label: label(key) } }];
  });
  const audience = given.get(AUDIENCE.toLowerCase());
  if (typeof audience !== 'string' || audience === '') return { ...EMPTY_LAYER, settings };
  const scopes = [`${audience.replace(/\/+$/, '')}/.default`];
  return { ...EMPTY_LAYER, settings: [...settings, { path: ['azure', 'scopes'], value: scopes, origin: { label: label(AUDIENCE) } }] };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const content: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isDocument(content) ? content : undefined;
  } catch {
    // Told by the caller in one sentence, whatever is wrong with it.
    return undefined;
  }
}

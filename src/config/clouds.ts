/** Endpoints of the Azure clouds, by the names that azure.json and ARM_CLOUD use (compared without case). */

export interface Cloud {
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

/** Has no endpoints of its own: they are given. */
export const STACK = 'azurestackcloud';

export function cloudNamed(name: string): Cloud | undefined {
  return CLOUDS.get(name.trim().toLowerCase());
}

/** The endpoints of the cloud, which clients discover without a token. */
import type { JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';

/** Since this version the response is the cloud of the endpoint alone. Older versions list all clouds (github.com/Azure/azure-cli, `az cloud register`). */
const ONE_CLOUD_SINCE = '2022-09-01';

/** Sign-in, ARM and the directory are all in this world; the other services are those of the public cloud. */
export function cloudMetadata({ base, query }: ArmRequest): ArmReply {
  const cloud: JsonObject = {
    name: 'AzureCloud',
    portal: 'https://portal.azure.com',
    authentication: {
      loginEndpoint: `${base}/`,
      audiences: ['https://management.core.windows.net/', 'https://management.azure.com/'],
      tenant: 'common',
      identityProvider: 'AAD',
    },
    resourceManager: `${base}/`,
    microsoftGraphResourceId: `${base}/`,
    graphAudience: 'https://graph.windows.net/',
    graph: 'https://graph.windows.net/',
    media: 'https://rest.media.azure.net',
    batch: 'https://batch.core.windows.net/',
    suffixes: {
      acrLoginServer: 'azurecr.io',
      storage: 'core.windows.net',
      keyVaultDns: 'vault.azure.net',
      sqlServerHostname: 'database.windows.net',
    },
  };
  return { status: 200, body: (query['api-version'] ?? '') < ONE_CLOUD_SINCE ? [cloud] : cloud };
}

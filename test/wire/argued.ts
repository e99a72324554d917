/**
 * Differences that are meant: by route and by what differs, `*` standing for any characters. Each has a reason and the day it was argued.
 * Nothing that was recorded stands here.
 */
import type { ArguedDifference } from './finding.ts';

const OLD_NAMES =
  'Names of limits before 2024. The daemon leaves out their endings, and the world has them with its option olderBudgetNames.';

export const ARGUED: readonly ArguedDifference[] = [
  { route: '*', what: 'the world lacks limit *?Min', reason: OLD_NAMES, date: '2026-11-23' },
  {
    route: '*',
    what: 'unknown rate limit: VMScaleSetBatchedVMRequests*',
    reason: 'It counts VMs that the set requests, which no call of the daemon can spare. It is published as a metric.',
    date: '2026-11-23',
  },
  {
    route: '*',
    what: 'unknown rate limit: VmssQueuedVMOperations',
    reason: 'The length of a queue, which is 0 at rest: no number of calls that are left. It is published as a metric.',
    date: '2026-11-23',
  },
  {
    route: 'getOperation aks *',
    what: 'unknown word for the state of an operation: CreatingAgentPool*',
    reason: 'AKS shows in this word how far it is. The daemon takes every word but those of an end for an operation that runs.',
    date: '2026-11-23',
  },
  {
    route: 'getOperation aks *',
    what: 'unknown word for the state of an operation: ProvisioningNetworkResources',
    reason: 'A step of a new cluster. The daemon takes every word but those of an end for an operation that runs.',
    date: '2026-11-23',
  },
  {
    route: '* 4??',
    what: 'error code known by its status alone: InvalidParameter',
    reason: 'A request that Azure cannot read is a mistake of the daemon, whatever the code says. The status decides.',
    date: '2026-11-23',
  },
  {
    route: '*AgentPool*',
    what: 'agent pool with a field that the typed model of our version lacks: properties.enableCustomCATrust',
    reason: 'A field of preview versions. The daemon reads agent pools from their untouched documents and knows it.',
    date: '2026-11-23',
  },
  {
    route: '*',
    what: 'the world lacks header x-ms-need-to-refresh-epl-cache',
    reason: 'A note of Compute to the gateway in front of it. No client reads it.',
    date: '2026-11-23',
  },
  {
    route: '*',
    what: 'the world lacks header x-ms-original-request-ids',
    reason: 'Ids of requests that the gateway sent for a list. No client reads them.',
    date: '2026-11-23',
  },
];

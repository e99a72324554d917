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
  {
    route: '*AgentPool*',
    what: 'agentPool without properties.eTag',
    reason: 'AKS had no entity tags of agent pools before 2026. Without one the daemon writes nothing through AKS, and doctor says so.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.eTag',
    reason: 'As above: a field that recorded documents are too old for.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'agent pool with a field that the typed model of our version lacks: properties.upgradeStrategy',
    reason: 'A field of preview versions. The daemon writes untouched documents back.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.upgradeStrategy',
    reason: 'A field of preview versions.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'an agent pool of type VirtualMachines has no size',
    reason: 'A preview of 2023, before such pools had a profile of their sizes.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'body properties.count is number, in the world null',
    reason: 'The same preview. Since 2026 such pools have no count.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.virtualMachine*',
    reason: 'As above: a preview of 2023.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.tags',
    reason: 'Pools of the world have the tags by which they are found; the recorded ones had none.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.node*',
    reason: 'Recorded pools had neither labels nor taints. A pool of the world without them does not show them.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.scaleDownMode',
    reason: 'Documents of 2023 do not have it; those of 2026 do.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.upgradeSettings.*',
    reason: 'Documents of 2023 do not have them; those of 2026 do.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'only the world has body properties.securityProfile*',
    reason: 'As above: documents of 2026 have it.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.upgradeSettings.*',
    reason: 'Settings of drains that somebody made; pools of the world have the defaults.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.enable*',
    reason: 'Documents before 2026 show switches that are off; those of July 2026 do not.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.networkProfile',
    reason: 'The same: an empty object before 2026.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.workloadRuntime',
    reason: 'The same: always OCIContainer before 2026.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.creationData',
    reason: 'Only in pools that are made from a snapshot, which the world does not have.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.messageOfTheDay',
    reason: 'A setting that no pool of the world has.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.windowsProfile',
    reason: 'Settings of Windows pools that no pool of the world has.',
    date: '2026-11-24',
  },
  {
    route: '*AgentPool*',
    what: 'the world lacks body properties.availabilityZones',
    reason: 'The recorded pool was created with zones, that of the world without.',
    date: '2026-11-24',
  },
  {
    route: '*',
    what: 'only the world has header x-ms-ratelimit-remaining-subscription-global-*',
    reason: 'Global limits came in 2024.',
    date: '2026-11-24',
  },
  {
    route: '*',
    what: 'only the world has header x-cache',
    reason: 'A header of the network in front of ARM since 2024.',
    date: '2026-11-24',
  },
  {
    route: '*',
    what: 'the world lacks header server',
    reason: 'It names the web server of AKS, and changes. No client reads it.',
    date: '2026-11-24',
  },
  {
    route: '*',
    what: 'only the world has header x-ms-operation-identifier',
    reason: 'Answers have it since 2024.',
    date: '2026-11-24',
  },
  {
    route: 'getOperation aks *',
    what: 'the world lacks body error',
    reason: 'AKS may write an error beside the word Succeeded. The daemon reads the word.',
    date: '2026-11-24',
  },
  {
    route: 'getOperationResult aks 204',
    what: 'the world lacks content type',
    reason: 'An answer without content. No client reads its type.',
    date: '2026-11-24',
  },
  {
    route: 'getCluster 404',
    what: '*',
    reason: 'Two answers, that of ARM for a cluster that never was and that of AKS for one that was deleted. The world has the first.',
    date: '2026-11-24',
  },
  {
    route: 'getCluster 200',
    what: 'the world lacks body properties.*',
    reason: "The daemon reads nothing of it, and the commands of Azure's CLI work with what the world shows.",
    date: '2026-11-24',
  },
  {
    route: 'getCluster 200',
    what: 'only the world has body properties.agentPoolProfiles*',
    reason: 'Recorded clusters had pools with neither limits, labels, taints nor tags.',
    date: '2026-11-24',
  },
  {
    route: 'getCluster 200',
    what: 'only the world has body *',
    reason: 'Recorded clusters had no tags and no profile of an autoscaler, or their documents are older than the field.',
    date: '2026-11-24',
  },
  {
    route: '*ScaleSet*',
    what: 'scaleSet without etag',
    reason: 'Documents of api-versions before 2024. The daemon asks for one of 2026, and writes nothing without a tag.',
    date: '2026-11-24',
  },
  {
    route: 'putScaleSet 201*',
    what: 'the world lacks body properties.timeCreated',
    reason: 'Documents of api-versions before 2024.',
    date: '2026-11-24',
  },
  {
    route: 'getVm 200',
    what: 'vm without properties.timeCreated',
    reason: 'Documents of api-versions before 2021.',
    date: '2026-11-24',
  },
  {
    route: 'getVm 404',
    what: 'only the world has *',
    reason: 'Of a machine in a group that is gone, which ARM answers without asking Compute.',
    date: '2026-11-24',
  },
  {
    route: 'getReservationGroup 200',
    what: '*',
    reason: 'Of a group without reservations, read without its instance view. The daemon reads both.',
    date: '2026-11-24',
  },
];

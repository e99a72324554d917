/** Changes of limits that hold for many pools: of our configuration, of CapacityQuotas and of Azure. */
import { defined } from '../../../lib/defined.ts';
import { shell } from '../../../lib/shown-text.ts';
import { formatAmount } from '../amounts.ts';
import { kind, type World } from './change.ts';
import { withCloud, withCluster } from './edits.ts';

type ClusterLimit = keyof typeof LIMITS;

/** The key of each limit in `scaleUp` of files and of the policy. */
const LIMITS = {
  nodes: { key: 'maxNodesTotal', policy: 'maxNodesTotal' },
  cores: { key: 'maxCoresTotal', policy: 'maxCoresTotal' },
  memory: { key: 'maxMemoryTotalGib', policy: 'maxMemoryTotalBytes' },
} as const;

interface RemovalSettingText {
  /** As in docs/configuration.md. */
  readonly flag: string;
  /** What is lost beside the intended effect. If absent, there is no other effect. */
  readonly warning?: string;
}

const REMOVAL_SETTINGS = {
  'scaleDown.enabled': {
    flag: '--scale-down-enabled',
    warning: 'it applies to the whole cluster: every unneeded node may be removed from then on',
  },
  'scaleDown.unreadyEnabled': {
    flag: '--scale-down-unready-enabled',
    warning: 'it applies to the whole cluster: what pods keep on a node that is not ready for long is lost with it',
  },
  'scaleDown.minCoresTotal': { flag: '--cores-total' },
  'scaleDown.minMemoryTotalGib': { flag: '--memory-total' },
  'scaleDown.minReplicaCount': {
    flag: '--min-replica-count',
    warning: 'it applies to the whole cluster: other workloads with as few replicas may be interrupted, too',
  },
} satisfies Readonly<Record<string, RemovalSettingText>>;

interface Raise {
  readonly from: number;
  readonly to: number;
}

/** Keys of our configuration, as files spell them. */
export type RemovalSetting = keyof typeof REMOVAL_SETTINGS;

export const LIMIT_CHANGES = {
  /** A limit of our own configuration: nodes, cores or bytes. */
  'raise-cluster-limit': kind<{ readonly limit: ClusterLimit } & Raise>({
    describe: ({ limit, from, to }) => `raise scaleUp.${LIMITS[limit].key} from ${inUnit(limit, from)} to ${inUnit(limit, to)}`,
    steps: ({ limit, to }) => [{ where: 'the configuration', patch: `scaleUp: {${LIMITS[limit].key}: ${inUnit(limit, to)}}` }],
    apply: (world, { limit, to }) => withScaleUp(world, { [LIMITS[limit].policy]: to }),
  }),
  /** `scaleUp.maxNodesPerScaleUp`. */
  'raise-nodes-per-scale-up': kind<Raise>({
    describe: ({ from, to }) => `raise scaleUp.maxNodesPerScaleUp from ${from} to ${to}`,
    steps: ({ to }) => [{ where: 'the configuration, or the flag --max-nodes-per-scaleup', patch: `scaleUp: {maxNodesPerScaleUp: ${to}}` }],
    apply: (world, { to }) => withScaleUp(world, { maxNodesPerScaleUp: to }),
  }),
  /** `quota` is its title, such as `family standardDSv5Family`. */
  'raise-azure-quota': kind<{ readonly quota: string } & Raise>({
    describe: ({ quota, from, to }) => `request an Azure quota of ${to} cores for ${quota}, which has ${from}`,
    steps: () => [{ where: 'the quotas of the subscription in Azure, for the region of the cluster' }],
    apply: (world, { quota, to }) =>
      withCloud(world, ({ quotas }) => ({ quotas: quotas.map((each) => (each.title === quota ? { ...each, limit: to } : each)) })),
  }),
  /** A CapacityQuota object by its name. */
  'raise-capacity-quota': kind<{ readonly quota: string; readonly resource: string } & Raise>({
    describe: ({ quota, resource, from, to }) =>
      `raise ${resource} of CapacityQuota ${quota} from ${quotaAmount(resource, from)} to ${quotaAmount(resource, to)}`,
    steps: ({ quota, resource, to }) => {
      const patch = JSON.stringify({ spec: { limits: { resources: { [resource]: String(to) } } } });
      return [{ where: `CapacityQuota ${quota}`, command: shell`kubectl patch capacityquota ${quota} --type=merge -p ${patch}` }];
    },
    apply: (world, { quota, resource, to }) =>
      withCluster(world, ({ capacity }) => {
        const quotas = capacity.quotas.map((each) =>
          each.ref.name === quota ? { ...each, limits: { ...each.limits, [resource]: to } } : each,
        );
        return { capacity: { ...capacity, quotas } };
      }),
  }),
  'set-removal-setting': kind<{ readonly setting: RemovalSetting; readonly to: number | boolean }>({
    describe: ({ setting, to }) => `set ${setting} to ${to}`,
    steps: ({ setting, to }) => {
      const { flag, warning }: RemovalSettingText = REMOVAL_SETTINGS[setting];
      const patch = `scaleDown: {${setting.replace('scaleDown.', '')}: ${to}}`;
      return [{ where: `the configuration, or the flag ${flag}`, patch, ...defined({ warning }) }];
    },
    apply: (world, { setting, to }) => {
      const key = setting.replace('scaleDown.', '');
      const edit = key === 'minMemoryTotalGib' && typeof to === 'number' ? { minMemoryTotalBytes: to * 2 ** 30 } : { [key]: to };
      return { ...world, policy: { ...world.policy, scaleDown: { ...world.policy.scaleDown, ...edit } } };
    },
  }),
};

function withScaleUp(world: World, edit: Readonly<Record<string, number>>): World {
  return { ...world, policy: { ...world.policy, scaleUp: { ...world.policy.scaleUp, ...edit } } };
}

/** In nodes, cores or GiB. */
function inUnit(limit: ClusterLimit, value: number): number {
  return limit === 'memory' ? Math.ceil((value / 2 ** 30) * 10) / 10 : value;
}

/** A quota counts whole cores, not millicores. */
function quotaAmount(resource: string, value: number): string {
  return resource === 'cpu' ? String(value) : formatAmount(resource, value);
}

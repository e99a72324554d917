/**
 * The parts of the documentation that the program itself knows: settings and metrics. Settings and defaults come from
 * config/aks-autoscaler.yaml, which a test holds to the schema; flags and variables from the parser's own tables.
 */
import { notObeyed } from './not-obeyed.ts';
import { LIVE_SECTIONS, RESTART_KEYS } from '../src/config/live-keys.ts';
import { VARIABLES } from '../src/config/sources/environment.ts';
import { FLAGS } from '../src/config/sources/flag-table.ts';
import { createCompatibleMetrics } from '../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';

export interface SettingRow {
  readonly key: string;
  /** As written in the configuration file; undefined: there is none. */
  readonly default: string | undefined;
  readonly flags: readonly string[];
  readonly variables: readonly string[];
  readonly meaning: string;
}

/** Where neither a flag nor the sample file says it. */
const MEANINGS: Readonly<Record<string, string>> = {
  'azure.cache.vmssTtl': 'how long a read of the scale sets is good for',
  'azure.cache.spotSizeTtl': 'how long a read of the size of a Spot set is good for; 0s: as long as a list of the sets',
  'azure.cache.vmssVmsTtl': 'how long a read of the instances of a scale set is good for',
  'azure.cache.vmssVmsJitter': 'spreads those reads over time',
  'azure.cache.skuTtl': 'how long a read of the VM sizes of the region is good for',
  'azure.cache.skuFolder': 'folder that keeps the VM sizes for later processes; clusters of one subscription may share it (default: none)',
  'scaleUp.retailPrices.currency': 'currency of those prices, three letters',
  'azure.agents.enabled': 'agents that keep answers of Azure (/debug/agents names them), or patterns with * and ?',
  'azure.agents.disabled': 'agents that do not run; goes before enabled',
  'azure.agents.allowDegraded': 'let agents be disabled that decisions wait for: nothing is removed then, and in the end nothing added',
  'azure.clusterName': 'name of the AKS cluster, to read its agent pools',
  'azure.clusterResourceGroup': 'resource group of the AKS cluster resource',
  'azure.subscriptionId': 'subscription that holds the nodes; not set: the one of this machine, by its metadata endpoint',
  'azure.tenantId': 'directory that the identity belongs to',
  'azure.location': 'region of the cluster; not set: the one of this machine, by its metadata endpoint',
  'azure.enableForceDelete': 'delete instances with forceDeletion',
  'azure.requestTimeout': 'longest wait for one answer of Azure',
  'azure.maxConcurrentCalls': 'calls to Azure at the same time at most',
  'azure.writePath':
    'vmss: sizes are written at the scale set; agentPool: through AKS, which keeps its own count true (tag k8s.io_cluster-autoscaler_write-path per set)',
  'azure.rateLimit.enabled': "hold calls back by a limit of one's own, below Azure's",
  'azure.rateLimit.readQps': 'reads a second at most, in the long run',
  'azure.rateLimit.readBurst': 'reads at once at most',
  'azure.rateLimit.writeQps': 'writes a second at most, in the long run; not given: as reads',
  'azure.rateLimit.writeBurst': 'writes at once at most; not given: as reads',
  'azure.readRetries.enabled': 'send a read again that got no usable answer; writes never',
  'azure.readRetries.retries': 'how often at most',
  'azure.readRetries.exponent': 'by how much each wait is longer than the one before',
  'azure.readRetries.first': 'the first wait',
  'azure.readRetries.jitter': 'random part on top of each wait, at most',
  'azure.credential.method': 'workload-identity, managed-identity, client-secret, client-certificate or azure-cli',
  'azure.credential.clientId': 'client id of the identity',
  'azure.credential.clientSecret': 'secret, for client-secret',
  'azure.credential.certificatePath': 'PEM file with certificate and key, for client-certificate',
  'azure.credential.certificatePassword': 'password of that file',
  'azure.credential.tokenFile': 'file with the projected token, for workload-identity',
  'azure.credential.useManagedIdentity': 'chooses managed-identity',
  'azure.credential.useWorkloadIdentity': 'chooses workload-identity',
  'azure.credential.userAssignedIdentityId': 'client id or ARM id of a user-assigned managed identity',
  'azure.vmType': 'vmss; nothing else is supported',
  'azure.metadataEndpoint': 'where this machine tells its subscription, when none is configured',
  'azure.armEndpoint': 'Azure Resource Manager, where it is not the one of the cloud',
  'azure.authorityHost': 'where tokens come from, where it is not the one of the cloud',
  'azure.caFile': 'PEM file of a further certificate authority to trust for Azure',
  'azure.userAgentSuffix': 'added to the user agent of calls to Azure',
  'kubernetes.apiServer': 'URL of the API server inside a cluster; the kubelet says it',
  'kubernetes.identity': 'name in the lease, unique per replica',
  'kubernetes.eventSource': 'component that events are reported by',
  'scaleUp.maxCoresTotal': 'cores in the cluster at most',
  'scaleUp.maxMemoryTotalGib': 'GiB of memory in the cluster at most',
  'scaleDown.minCoresTotal': 'cores in the cluster at least; removals stop there',
  'scaleUp.randomSeed': 'seed of the random expander',
  'scaleDown.removalWindow': 'time in which maxRemovalsPerWindow counts',
  'scaleDown.minMemoryTotalGib': 'GiB of memory in the cluster at least; removals stop there',
  'drain.evictionRetry': 'pause between two tries of one eviction',
  'loop.batchMax': 'and at the latest this long after the first',
  'loop.startEarly': 'whether loops start early at all; false: one per scan interval',
  'loop.maxPlansPerLoop': 'plans made in one loop at most, when a write met a conflict',
  'loop.shutdownTimeout': 'longest clean stop',
};

/** What most people set. */
const MOST_USED: readonly string[] = [
  'azure.subscriptionId',
  'azure.tenantId',
  'azure.resourceGroup',
  'azure.location',
  'azure.credential.method',
  'azure.cache.vmssTtl',
  'azure.cache.vmssVmsTtl',
  'azure.enableVmssEtag',
  'nodeGroups',
  'discovery',
  'scaleUp.expanders',
  'scaleUp.maxNodesTotal',
  'scaleUp.balanceSimilarGroups',
  'scaleUp.maxProvisionTime',
  'scaleDown.enabled',
  'scaleDown.utilizationThreshold',
  'scaleDown.unneededTime',
  'scaleDown.delayAfterAdd',
  'scaleDown.skipNodesWithSystemPods',
  'scaleDown.skipNodesWithLocalStorage',
  'drain.maxGracefulTermination',
  'loop.scanInterval',
  'http.address',
  'kubernetes.leaderElect',
  'logLevel',
];

const LINE = /^(?<indent> *)(?<key>[A-Za-z]+):(?: (?<value>[^#]*?))?(?:\s+#\s*(?<comment>.*))?$/;
/** Lists of objects: told in one row each. */
const LISTS: Readonly<Record<string, string>> = {
  nodeGroups: 'scale sets (by their name or that of their agent pool) and sizes of VMs pools (POOL/SIZE): a list of {name, min, max}',
  nodeGroupOptions: 'what holds for some groups only: a list of {name, scaleDownUnneededTime, ...}; see the sample file',
  discovery: 'scale sets and pools by tag, any rule that matches: a list of {selectors, min, max}',
};

/** Every setting of the sample file, then those that only flags and variables name. */
export function settingRows(sample: string): readonly SettingRow[] {
  const rows = new Map(leavesOf(sample).map((leaf) => [leaf.key, leafRow(leaf)]));
  for (const name of [...FLAGS, ...VARIABLES].flatMap(pathsOf)) {
    if (name !== '' && !rows.has(name)) rows.set(name, rowOf(name, undefined, ''));
  }
  return [...rows.values()];
}

interface Leaf {
  readonly key: string;
  readonly value: string;
  readonly comment: string;
}

/** The lines of a YAML file that give a value, with the whole path of their key. Lists of objects count as one. */
function leavesOf(sample: string): readonly Leaf[] {
  const path: string[] = [];
  return sample.split('\n').flatMap((line) => {
    const { indent = '', key, value = '', comment = '' } = LINE.exec(line)?.groups ?? {};
    if (key === undefined) return [];
    path.splice(indent.length / 2, path.length, key);
    const [top = ''] = path;
    if (Object.hasOwn(LISTS, top)) return [{ key: top, value: '', comment: '' }];
    return value === '' ? [] : [{ key: path.join('.'), value: value.trim(), comment }];
  });
}

function leafRow({ key, value, comment }: Leaf): SettingRow {
  const list = LISTS[key];
  return list === undefined ? rowOf(key, isDefault(key, comment) ? value : undefined, comment) : rowOf(key, undefined, list);
}

function isDefault(key: string, comment: string): boolean {
  return key !== 'azure.credential.method' && !/^(required|example)\b/.test(comment);
}

/** A flag of the form MIN:MAX sets two. */
function pathsOf({ path }: { readonly path: string }): readonly string[] {
  return path.split(':');
}

function rowOf(key: string, value: string | undefined, comment: string): SettingRow {
  const flags = FLAGS.filter((flag) => pathsOf(flag).includes(key));
  const help = flags[0]?.help.replace(/ \(default[^)]*\)$/, '');
  // A comment that only names a variable or says that the value is an example is no meaning.
  const said = comment
    .replace(/(^|;? )[A-Z][A-Z_]+( \(seconds\))?(?=;|$)/g, '')
    .replace(/^(example|required)\b[:;]? ?/, '')
    .replace(/^[;,] ?/, '');
  return {
    key,
    default: value,
    flags: flags.map((flag) => `--${flag.name}`),
    variables: VARIABLES.filter((variable) => variable.path === key).map((variable) => variable.name),
    meaning: MEANINGS[key] ?? (LISTS[key] === undefined ? (help ?? said) : said),
  };
}

function mostUsed(sample: string): string {
  const rows = new Map(settingRows(sample).map((row) => [row.key, row]));
  return table(
    ['Setting', 'Flag or variable', 'Default', 'Meaning'],
    MOST_USED.flatMap((key) => {
      const row = rows.get(key);
      if (row === undefined) throw new Error(`there is no setting ${key}`);
      const ways = [...row.flags.slice(0, 1), ...row.variables.slice(-1)].map(code).join(', ');
      return [[code(key), ways, defaultOf(row), row.meaning]];
    }),
  );
}

export function configurationDocument(sample: string): string {
  const groups = Map.groupBy(settingRows(sample), ({ key }) => key.split('.')[0] ?? '');
  const parts = [...groups].map(([section, rows]) => {
    const cells = rows.map((row) => [
      code(row.key),
      defaultOf(row),
      row.flags.map(code).join(', '),
      row.variables.map(code).join(', '),
      row.meaning,
    ]);
    return `## ${section}\n\n${table(['Setting', 'Default', 'Flag', 'Environment', 'Meaning'], cells)}`;
  });
  const ignored = FLAGS.filter(({ kind }) => kind === 'ignored').map(({ name, help }) => `- ${code(`--${name}`)}: ${help}`);
  const head = [
    '# Configuration',
    '',
    '<!-- Generated by `npm run docs`. -->',
    '',
    "Later wins: defaults, `--cloud-config` (the JSON file of the Cluster Autoscaler's Azure provider), `--config` (YAML or JSON, the",
    'settings below), environment variables, flags. An unknown key is a mistake; every mistake is told in one sentence, with exit code 2.',
    'Durations are written `250ms`, `10s`, `10m`, `1h30m` or `1d`.',
    '',
  ];
  head.push(
    'A changed `--config` file is taken while the daemon runs, within ten seconds of the kubelet showing it; timers, back-offs and learned',
    'templates stay. One with a mistake, an empty one and one that is gone are refused with line and reason, and the one before goes on;',
    '`{}` is a file without settings. Events, log and metrics say which',
    `generation is live. Live are ${code('azure.agents')}, ${[...LIVE_SECTIONS, ...Object.keys(RESTART_KEYS)].map(code).join(', ')}; of the last two not`,
    `${Object.entries(RESTART_KEYS)
      .flatMap(([section, keys]) => keys.map((key) => code(`${section}.${key}`)))
      .join(
        ', ',
      )} (but a chain of expanders is live where neither \`priority\` nor the public price list comes or goes with it). Everything else waits for a restart, and is named.`,
    '',
    '## The most used',
    '',
    mostUsed(sample),
  );
  return `${head.join('\n')}\n${parts.join('\n')}\n## Accepted without effect\n\n${ignored.join('\n')}\n${notObeyed()}`;
}

interface CatalogueEntry {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** Every metric that can be served. */
export async function catalogue(): Promise<readonly CatalogueEntry[]> {
  const metrics = createMetrics();
  createCompatibleMetrics(metrics);
  const labels = new Map(
    metrics.registry.getMetricsAsArray().map((metric) => [metric.name, 'labelNames' in metric ? metric.labelNames : []]),
  );
  return (await metrics.registry.getMetricsAsJSON()).map(({ name, help, type }) => ({
    name,
    help,
    type: String(type),
    labels: (labels.get(name) ?? []) as readonly string[],
  }));
}

export async function metricsDocument(): Promise<string> {
  const entries = await catalogue();
  const part = (prefix: string): string =>
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      entries
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
    );
  return [
    '# Metrics',
    '',
    '<!-- Generated by `npm run docs`. -->',
    '',
    'Served at `/metrics`. Labels come from closed sets and from the names of node groups, never from pods, nodes or ids: the number of',
    'series grows with the number of pools and with nothing else. `node_group` is the name of a scale set.',
    '',
    '## Native',
    '',
    part('aks_autoscaler_'),
    '## Under the names of the Cluster Autoscaler',
    '',
    'On by default; `--cluster-autoscaler-metrics=false` turns them off. Buckets are fewer than there; the metrics of node groups, of removal',
    'latency and of skipped nodes need no flag. `findUnneeded` and `scaleDown`, and `cloudProviderRefresh` and `updateClusterState`, are one step',
    'here and tell the same time. Beyond four VM sizes `instance_type` is `other`.',
    '',
    part('cluster_autoscaler_'),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

function defaultOf(row: SettingRow): string {
  return row.default === undefined ? '' : code(row.default);
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}

/**
 * Generates the reference of settings and metrics from the program itself. Settings and defaults come from
 * config/aks-autoscaler.yaml, which a test compares with the schema; flags and variables from the parser's own tables.
 */
import { monitoringSection } from './monitoring-section.ts';
import { notObeyed } from './not-obeyed.ts';
import { poolOptionRows } from './pool-options.ts';
import { LIVE_SECTIONS, RESTART_KEYS } from '../src/config/live-keys.ts';
import { VARIABLES } from '../src/config/sources/environment.ts';
import { FLAGS } from '../src/config/sources/flag-table.ts';
import { createCompatibleMetrics } from '../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';

export interface SettingRow {
  readonly key: string;
  /** In the form of the configuration file. If absent, the setting has no default. */
  readonly default: string | undefined;
  readonly flags: readonly string[];
  readonly variables: readonly string[];
  readonly meaning: string;
}

/** Meanings that neither a flag nor the sample file has. */
const MEANINGS: Readonly<Record<string, string>> = {
  'azure.cache.vmssTtl': 'maximum age of a read of the scale sets',
  'azure.cache.spotSizeTtl': 'maximum age of a read of the size of a Spot set; 0s: same as vmssTtl',
  'azure.cache.vmssVmsTtl': 'maximum age of a read of the instances of a scale set',
  'azure.cache.vmssVmsJitter': 'random part by which those reads come earlier, so that those of many pools and clusters do not stay together (default: a tenth of vmssVmsTtl; 0s: none)',
  'azure.cache.skuTtl': 'maximum age of a read of the VM sizes of the region',
  'azure.cache.redis.url':
    'Redis or Valkey server where clusters of one subscription share VM sizes and quota usage: `redis://HOST:PORT`, or `rediss://` with TLS, which `azure.caFile` may verify (default: none)',
  'azure.cache.redis.username': 'its user (default: none)',
  'azure.cache.redis.keyPrefix': 'beginning of each key in it (default: `aks-autoscaler`); another for each environment that shares a server',
  'azure.cache.redis.password': 'its password; set the variable from a Secret',
  'azure.cache.readOnChange':
    'skip the lists of instances, agent pools and usages while nothing in the cluster or in the tags of Azure moves, for up to 15 minutes (usages: an hour); see [fewer calls at rest](troubleshooting.md#fewer-calls-at-rest)',
  'azure.cache.skuFolder': 'folder that stores the VM sizes for later processes; clusters of one subscription may share it (default: none)',
  'scaleUp.priceDiscounts':
    'what is taken off list prices: a list of `{sizes, percent, priority}`; the first that matches a size holds; see [saving money](saving-money.md#discounts)',
  'scaleUp.paidNodes':
    'nodes that reservations or savings plans pay already: a list of `{size, count}`; see [saving money](saving-money.md#nodes-that-are-paid-already)',
  'scaleUp.retailPrices.endpoint': 'URL of the public price list (default: `https://prices.azure.com/api/retail/prices`)',
  'scaleUp.retailPrices.currency': 'currency of those prices, three letters',
  'azure.agents.enabled': 'caching agents that run (/debug/agents lists them), or patterns with * and ?',
  'azure.agents.disabled': 'caching agents that do not run; wins over enabled',
  'azure.agents.allowDegraded': 'allow required agents to be disabled: then no node is removed, and in the end none is added',
  'azure.clusterName': 'name of the AKS cluster, to read its agent pools',
  'azure.clusterResourceGroup': 'resource group of the AKS cluster resource',
  'azure.subscriptionId': 'subscription of the nodes; if absent, that of this node, from its metadata endpoint',
  'azure.tenantId': 'directory that the identity belongs to',
  'azure.location': 'region of the cluster; if absent, that of this node, from its metadata endpoint',
  'azure.enableForceDelete': 'delete instances with forceDeletion',
  'azure.requestTimeout': 'timeout of one call to Azure',
  'azure.maxConcurrentCalls': 'maximum number of concurrent calls to Azure; writes that AKS answers slowly have as many of their own',
  'azure.writePath':
    'vmss: sizes are written to the scale set; agentPool: through AKS, so that the count of AKS stays correct (tag k8s.io_cluster-autoscaler_write-path per set)',
  'azure.syncAgentPoolCount':
    "bring AKS's own count of a pool in step with its scale set after ten minutes at rest, so that AKS operations keep its size; needs the role for pools",
  'azure.activityLog':
    "look up in Azure's activity log which name changed the capacity of a pool beside this autoscaler, at most 12 calls an hour; needs the right Microsoft.Insights/eventtypes/values/Read",
  'azure.rateLimit.enabled': "limit calls below Azure's own limits; for compatibility with the Cluster Autoscaler",
  'azure.rateLimit.readQps': 'maximum reads per second, on average',
  'azure.rateLimit.readBurst': 'maximum reads at once',
  'azure.rateLimit.writeQps': 'maximum writes per second, on average; if absent, as for reads',
  'azure.rateLimit.writeBurst': 'maximum writes at once; if absent, as for reads',
  'azure.readRetries.enabled': 'repeat a read that got no usable answer, never a write; for compatibility with the Cluster Autoscaler',
  'azure.readRetries.retries': 'maximum number of retries',
  'azure.readRetries.exponent': 'factor by which each wait is longer than the previous one',
  'azure.readRetries.first': 'first wait',
  'azure.readRetries.jitter': 'maximum random part of each wait, as a share of it',
  'azure.credential.method': 'workload-identity, managed-identity, client-secret, client-certificate or azure-cli',
  'azure.credential.clientId': 'client id of the identity',
  'azure.credential.clientSecret': 'secret, for client-secret',
  'azure.credential.certificatePath': 'PEM file with certificate and key, for client-certificate',
  'azure.credential.certificatePassword': 'password of that file',
  'azure.credential.tokenFile': 'file with the projected token, for workload-identity',
  'azure.credential.useManagedIdentity': 'selects managed-identity',
  'azure.credential.useWorkloadIdentity': 'selects workload-identity',
  'azure.credential.userAssignedIdentityId': 'client id or ARM id of a user-assigned managed identity',
  'azure.vmType': 'vmss; nothing else is supported',
  'azure.metadataEndpoint': 'metadata endpoint of this node, for an absent subscription or location',
  'azure.armEndpoint': 'URL of Azure Resource Manager, if not that of the cloud',
  'azure.authorityHost': 'URL that issues tokens, if not that of the cloud',
  'azure.caFile': 'PEM file of a further certificate authority to trust for Azure',
  'azure.userAgentSuffix': 'added to the user agent of calls to Azure',
  'kubernetes.apiServer': 'URL of the API server inside a cluster; the kubelet sets it',
  'kubernetes.identity': 'name in the lease, unique per replica',
  'kubernetes.eventSource': 'source component of events',
  'scaleUp.maxCoresTotal': 'maximum cores in the cluster',
  'scaleUp.maxMemoryTotalGib': 'maximum memory in the cluster, in GiB',
  'scaleDown.minCoresTotal': 'minimum cores in the cluster; removals stop there',
  'scaleUp.randomSeed': 'seed of the random expander',
  'scaleDown.removalWindow': 'time window of maxRemovalsPerWindow and maxEmptyRemovalsPerWindow',
  'scaleDown.minMemoryTotalGib': 'minimum memory in the cluster, in GiB; removals stop there',
  'drain.evictionRetry': 'pause between two tries to evict a pod',
  'loop.batchMax': 'longest wait for further pods before an early loop starts',
  'loop.startEarly': 'start loops early; false: exactly one loop per scan interval',
  'loop.maxPlansPerLoop': 'maximum number of plans in one loop, after write conflicts',
  'loop.shutdownTimeout': 'timeout of a clean stop',
};

/** The settings that most people change. */
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
/** Lists of objects; each has one row. */
const LISTS: Readonly<Record<string, string>> = {
  nodeGroups: 'scale sets (by their name or that of their agent pool) and sizes of VMs pools (POOL/SIZE): a list of {name, min, max}',
  nodeGroupOptions: 'options of single groups: a list of {name, scaleDownUnneededTime, ...}',
  discovery: 'scale sets and pools by tag; any matching rule selects: a list of {selectors, min, max}',
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

/** A flag of the form MIN:MAX sets two settings. */
function pathsOf({ path }: { readonly path: string }): readonly string[] {
  return path.split(':');
}

function rowOf(key: string, value: string | undefined, comment: string): SettingRow {
  const flags = FLAGS.filter((flag) => pathsOf(flag).includes(key));
  const help = flags[0]?.help.replace(/ \(default[^)]*\)$/, '');
  // A comment that only names a variable or marks an example is not a meaning.
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

function poolOptions(): string {
  return [
    'An entry names a scale set, an agent pool, or `POOL/SIZE`; an entry for the group wins over one for its agent pool, and both over the',
    'tag `k8s.io_cluster-autoscaler_node-template_autoscaling-options_<option>` of the scale set or agent pool. For example:',
    '',
    '```yaml',
    'nodeGroupOptions:',
    '  - name: gpu',
    '    scaleDownUnneededTime: 5m',
    '    maxGracefulTermination: 1h',
    '    skipNodesWithLocalStorage: true',
    '```',
    '',
    table(['Option', 'A pool without it inherits'], poolOptionRows()),
  ].join('\n');
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
    const settings = `## ${section}\n\n${table(['Setting', 'Default', 'Flag', 'Environment', 'Meaning'], cells)}`;
    return section === 'nodeGroupOptions' ? `${settings}\n${poolOptions()}` : settings;
  });
  const ignored = FLAGS.filter(({ kind }) => kind === 'ignored').map(({ name, help }) => `- ${code(`--${name}`)}: ${help}`);
  const head = [
    '# Configuration',
    '',
    '<!-- Generated by `npm run docs`. -->',
    '',
    'To change a setting, put it into the file of `--config` (with the chart: `config`), or use its flag or variable.',
    '',
    "Later wins: defaults, `--cloud-config` (the JSON file of the Cluster Autoscaler's Azure provider), `--config` (YAML or JSON, the",
    'settings below), environment variables, flags. An unknown key is an error. Each error is one sentence, and the exit code is 2.',
    'Durations are written `250ms`, `10s`, `10m`, `1h30m` or `1d`.',
    '',
  ];
  head.push(
    'The daemon applies a changed `--config` file while it runs, within ten seconds after the kubelet shows it. Timers, back-offs and learned',
    'templates are kept. A file with an error, an empty file and a missing file are refused with line and reason, and the previous settings',
    'stay in force; `{}` is a file without settings. Events, log and metrics show which generation is in force.',
    '',
    `These sections apply without a restart: ${code('azure.agents')}, ${[...LIVE_SECTIONS, ...Object.keys(RESTART_KEYS)].map(code).join(', ')}; but not`,
    `${Object.entries(RESTART_KEYS)
      .flatMap(([section, keys]) => keys.map((key) => code(`${section}.${key}`)))
      .join(
        ', ',
      )}. A changed chain of expanders still applies if neither \`priority\` nor the public price list is added or removed by it. Everything else waits for a restart, and the log names it.`,
    '',
    '## Most used settings',
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

/** Every metric that the daemon can serve. */
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
    'To watch the autoscaler, scrape `/metrics`. Label values come from closed sets and from the names of node groups, never from pods, nodes or ids: the number of',
    'series grows only with the number of pools. `node_group` is the name of a scale set.',
    '',
    '[Dashboards, alerts and recorded series](#dashboards-alerts-and-recorded-series) are below the tables.',
    '',
    '## Native',
    '',
    part('aks_autoscaler_'),
    '## Under the names of the Cluster Autoscaler',
    '',
    'On by default; `--cluster-autoscaler-metrics=false` turns them off. Histograms have fewer buckets than in the Cluster Autoscaler. The',
    'metrics of node groups, of removal latency and of skipped nodes need no flag. `findUnneeded` and `scaleDown` are one step here and show',
    'the same duration, and so do `cloudProviderRefresh` and `updateClusterState`. Beyond four VM sizes `instance_type` is `other`.',
    '',
    part('cluster_autoscaler_'),
    ...monitoringSection(),
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

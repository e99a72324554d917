/**
 * The page of defaults that differ from the Cluster Autoscaler's. Its flags and defaults are facts of one commit (upstream-defaults.json);
 * each is applied here as a flag, and the page lists those that change this program's configuration.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config/load.ts';
import { FLAGS } from '../src/config/sources/flag-table.ts';
import { RETIRED_FLAGS } from '../src/config/sources/retired-settings.ts';
import { isConfigErrors, type Config } from '../src/config/types/config.ts';
import { settingRows } from './reference.ts';

interface Upstream {
  readonly repository: string;
  readonly commit: string;
  readonly date: string;
  readonly defaults: Readonly<Record<string, string>>;
}

/** Why a default differs, by flag. */
const REASONS: Readonly<Record<string, string>> = {
  'capacity-buffer-pod-dry-run-enabled':
    'a dry run needs the right to create pods, which would let its owner run any pod; it is granted by who turns it on',
  'skip-nodes-with-local-storage':
    'an `emptyDir` used as a cache, or a `hostPath` that reads the files of the node, would block the removal for ever; **the data in it is lost**',
  'enforce-node-group-min-size': 'a pool below its minimum is increased to it',
  'max-binpacking-time': 'a late plan is cut short, and the next one continues from there',
  'scale-down-simulation-timeout': 'nodes that were not simulated keep their timers and are simulated in the next loop',
  'node-deletion-candidate-ttl':
    'idle timers survive a restart if they were last saved within this time; they are saved in a ConfigMap, and soft taints of an earlier process are not read',
  address: 'nothing listens on the network unless configured; the chart configures it',
  'leader-elect-resource-name': 'both can run beside each other for a while, one of them with `--dry-run`',
};

/** Limits that have no flag there. */
const WITHOUT_FLAG: readonly (readonly string[])[] = [
  [
    '`azure.cache.vmssVmsJitter` (`AZURE_VMSS_VMS_CACHE_JITTER`), no flag',
    '`0s`',
    'a tenth of `azure.cache.vmssVmsTtl`',
    'lists of instances that one event begins together, such as a refresh, do not stay together; `0s` turns it off',
  ],
  [
    '`scaleDown.maxRemovalsPerWindow`, no flag',
    'no limit',
    '100 in 10 minutes',
    'a wrong plan cannot empty a cluster; nodes with pods, broken nodes, and instances that never registered',
  ],
  [
    '`scaleDown.maxEmptyRemovalsPerWindow`, no flag',
    'no limit',
    '1000 in 10 minutes',
    'the same for empty nodes: 1,000 idle nodes are gone within half an hour',
  ],
];

const BASE = { ARM_SUBSCRIPTION_ID: 's', ARM_TENANT_ID: 't', ARM_RESOURCE_GROUP: 'g', LOCATION: 'l', ARM_CLIENT_ID: 'c', ARM_CLIENT_SECRET: 'x' };

/** The configuration with these arguments. @throws Error if it is refused. */
function configWith(argv: readonly string[]): Config {
  const config = loadConfig({ argv: ['--nodes=0:1:pool', ...argv], env: BASE, readFile: () => '', hostname: 'h' });
  if (isConfigErrors(config)) throw new Error(`${argv.join(' ')}: ${config.errors.join(' ')}`);
  return config;
}

/** Comparable: a warning about a flag is no setting. */
function settingsOf(config: Config): string {
  const { warnings: _warnings, ...settings } = config as Config & { readonly warnings?: unknown };
  return JSON.stringify(settings);
}

export interface DefaultComparison {
  readonly same: readonly string[];
  readonly different: readonly string[];
  /** Known by name, and without effect or refused here. */
  readonly retired: readonly string[];
  /** An empty default there: nothing is set. */
  readonly unset: readonly string[];
}

/** Sorts every flag of the other program by how its default compares. @throws Error if a flag is not known here at all. */
export function compareDefaults({ defaults }: Upstream): DefaultComparison {
  const usual = settingsOf(configWith([]));
  const own = new Set(FLAGS.filter(({ kind }) => kind !== 'retired' && kind !== 'ignored').map(({ name }) => name));
  const known = new Set([...FLAGS, ...RETIRED_FLAGS].map(({ name }) => name));
  const sorted: Record<keyof DefaultComparison, string[]> = { same: [], different: [], retired: [], unset: [] };
  for (const [name, value] of Object.entries(defaults)) {
    if (!known.has(name)) throw new Error(`the flag --${name} is not known here`);
    if (!own.has(name)) sorted.retired.push(name);
    else if (value === '') sorted.unset.push(name);
    else sorted[settingsOf(configWith([`--${name}=${value}`])) === usual ? 'same' : 'different'].push(name);
  }
  return sorted;
}

export function readUpstream(root: string): Upstream {
  return JSON.parse(readFileSync(join(root, 'docs', 'upstream-defaults.json'), 'utf8')) as Upstream;
}

/** @throws Error if a default differs without a reason, or if a reason is left over. */
export function differingDefaultsDocument(root: string): string {
  const upstream = readUpstream(root);
  const { same, different, retired, unset } = compareDefaults(upstream);
  const rows = new Map(settingRows(readFileSync(join(root, 'config', 'aks-autoscaler.yaml'), 'utf8')).flatMap((row) => row.flags.map((flag) => [flag, row.default ?? ''] as const)));
  const listed = different.map((name) => {
    const reason = REASONS[name];
    if (reason === undefined) throw new Error(`the default of --${name} differs, and no reason is given`);
    return [`\`--${name}\``, `\`${upstream.defaults[name] ?? ''}\``, `\`${rows.get(`--${name}`) ?? ''}\``, reason];
  });
  const spare = Object.keys(REASONS).filter((name) => !different.includes(name));
  if (spare.length > 0) throw new Error(`the default of ${spare.join(', ')} no longer differs`);
  return [
    '# Defaults that differ from the Cluster Autoscaler',
    '',
    '<!-- Generated by `npm run docs` from docs/upstream-defaults.json. -->',
    '',
    'To keep the behaviour that you have, set the value in the second column for each flag that you do not set today:',
    '',
    line(['Flag', 'Cluster Autoscaler', 'Here', 'Why']),
    line(['---', '---', '---', '---']),
    ...[...listed, ...WITHOUT_FLAG].map(line),
    '',
    `Compared with [${upstream.repository}](https://github.com/${upstream.repository}/tree/${upstream.commit}) of ${upstream.date}:`,
    `each of its ${Object.keys(upstream.defaults).length} flags was set to its default there, and the resulting configuration was compared with that without the flag.`,
    '',
    `- ${same.length} flags have the same default.`,
    `- ${unset.length} flags are empty there by default, and set nothing here either.`,
    `- ${retired.length} flags are known by name, and [have no effect or are refused](configuration.md#flags-of-the-cluster-autoscaler-that-are-known-and-have-no-effect),`,
    '  each with what to use instead.',
    '- Flags that only exist here are in [configuration](configuration.md).',
    '',
  ].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/**
 * `plan`: shows what the autoscaler would do and why, for a cluster in a file, a live cluster or a recorded decision.
 * The room calls the daemon's own planner. Must not know how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { isConfigErrors } from '../../config/types/config.ts';
import { expandersOf } from '../../config/schema/expanders.ts';
import { loadConfig, loadPolicy, type LoadedPolicy } from '../../config/load.ts';
import { readObjects, type FileObject } from './files/objects-file.ts';
import { readPools, type PoolSpec } from './files/pools-file.ts';
import { configError } from '../../lib/errors.ts';
import type { Policy } from '../../domain/policy.ts';
import { ResourceNames } from '../../domain/resources.ts';
import { emptyLoopState, reduceObservation } from '../../planning/state/loop-state.ts';
import { createLog } from '../../telemetry/log.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { planReport, type PlanInput } from './plan-report.ts';
import { affectsPods, podsToAdd } from './added-pods.ts';
import { clusterOf, newestMoment, createObjectReader, type ObjectReader } from './cluster-from-file.ts';
import { recordedInput, withoutTimeLimits } from './from-dump.ts';
import { expiredTimers, stateWithoutHistory, storedPrices } from './assumed-history.ts';
import { cloudOf, daemonsOf, regionOf } from './pools-from-file.ts';
import { renderTables } from './report-table.ts';
import { applyWhatIf, hasChanges, type WhatIf } from './what-if.ts';
import { stopSignals, systemClock, EXIT_OK, type Terminal } from '../process/process.ts';

const HELP = `Show what the autoscaler would do, and why. Changes nothing.

Usage:
  plan --cluster FILE --pools FILE [--config FILE] [--now TIME] [--json]
  plan --live [SETTINGS] [--json]
  plan --dump FILE [--json]

Options:
  --cluster FILE    Kubernetes objects, as written by this command:
      kubectl get nodes,pods,pdb,daemonsets,replicasets,pvc,pv,storageclasses,csinodes,namespaces,priorityclasses -A -o json
                    For pods with device claims, also get
                    resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates
  --pools FILE      YAML or JSON: a list of pools with name, vmSize, min and max. Optional:
                    targetSize, zones, labels, taints, maxPods, allocatable, priority, price, tags
  --config FILE     the daemon's configuration. Only the settings of decisions are read, and the
                    list prices that the daemon has stored in scaleUp.retailPrices.file
  --now TIME        the time of the plan, such as 2026-11-21T10:00:00Z (default: the newest time in the file)
  --live            plan for the cluster and Azure as they are now. SETTINGS are those of the command
                    run: --config, --cloud-config, --kubeconfig, environment variables, all other flags
  --dump FILE       a decision that the daemon recorded (--dump-directory), with its timers and
                    configuration: repeats that decision, and adds the decision that its loop
                    did not make (increases or removals)
  --json            print everything as JSON. 'explained' has for each node the blocker, since when it is
                    unneeded and the next check, and for each blocker the cores, GiB and money per hour

What if (may be repeated):
  --add-pods FILE   add pods, or the pods of workloads, from manifests
  --set-max POOL=N  let a pool have up to N nodes
  --cordon NODE     cordon a node

Controllers of kinds that the file does not contain are assumed to exist.
A file and a live view have no history: all timers count as expired, so every node that could be removed is shown.
`;

const MOST_CLUSTER_MIB = 400;
const MOST_MANIFEST_MIB = 20;

const OPTIONS = {
  cluster: { type: 'string' },
  pools: { type: 'string' },
  config: { type: 'string' },
  now: { type: 'string' },
  live: { type: 'boolean' },
  dump: { type: 'string' },
  json: { type: 'boolean' },
  'what-if': { type: 'boolean' },
  'add-pods': { type: 'string', multiple: true },
  'set-max': { type: 'string', multiple: true },
  cordon: { type: 'string', multiple: true },
  help: { type: 'boolean' },
} as const;

/** @returns the exit code 0. @throws AutoscalerError `config` with one sentence for invalid input. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { own, settings } = argv.includes('--live') ? splitSettings(argv) : { own: argv, settings: [] };
  const given = readOptions(own);
  if (given.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const manifests = (given['add-pods'] ?? []).flatMap((file) => readObjects(file, readFile(file, terminal), MOST_MANIFEST_MIB));
  const { input, reader } = await readInput(given, { settings, manifests }, terminal);
  const addPods = manifests.length === 0 ? [] : podsToAdd(manifests, reader, input.observation.cluster);
  const whatIf = { addPods, setMax: given['set-max'] ?? [], cordon: given.cordon ?? [] };
  const report = planReport(hasChanges(whatIf) ? changedInput(input, whatIf) : input);
  terminal.out(given.json === true ? `${JSON.stringify(report, undefined, 2)}\n` : renderTables(report));
  return EXIT_OK;
}

/** The daemon did not have this input, so the time limits of its recorded loop do not apply. */
function changedInput(input: PlanInput, whatIf: WhatIf): PlanInput {
  const { recorded, ...rest } = input;
  const unlimited = recorded === undefined ? {} : { recorded: withoutTimeLimits(recorded) };
  return { ...rest, ...unlimited, observation: applyWhatIf(input.observation, whatIf) };
}

interface OtherSources {
  readonly settings: readonly string[];
  readonly manifests: readonly FileObject[];
}

async function readInput(given: PlanOptions, { settings, manifests }: OtherSources, terminal: Terminal): Promise<InputWithReader> {
  if (given.live !== true) return given.dump === undefined ? fromFiles(given, manifests, terminal) : fromDump(given.dump, terminal);
  if (given.cluster !== undefined || given.pools !== undefined || given.dump !== undefined || given.now !== undefined)
    throw configError('--live cannot be combined with --cluster, --pools, --dump or --now: it reads the cluster itself.');
  return fromLive(settings, terminal);
}

/** Separates the options of `plan` from the settings of the daemon. `--config` is a setting. */
function splitSettings(argv: readonly string[]): { readonly own: readonly string[]; readonly settings: readonly string[] } {
  const own: string[] = [];
  const settings: string[] = [];
  let isValueNext = false;
  for (const text of argv) {
    const [, name = '', value] = /^--([^=]+)(=.*)?$/s.exec(text) ?? [];
    const isOwn: boolean = isValueNext || (name !== 'config' && Object.hasOwn(OPTIONS, name));
    (isOwn ? own : settings).push(text);
    isValueNext = !isValueNext && isOwn && value === undefined && OPTIONS[name as keyof typeof OPTIONS].type === 'string';
  }
  return { own, settings };
}

async function fromLive(settings: readonly string[], terminal: Terminal): Promise<InputWithReader> {
  const config = loadConfig({ argv: settings, env: terminal.env, readFile: terminal.readFile, hostname: `plan_${process.pid}` });
  if (isConfigErrors(config)) throw configError(config.errors[0] ?? 'The configuration is invalid.');
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    // Loaded only now: a plan from files needs no SDK.
    const { observeLive } = await import('./live-cluster.ts');
    const deps = { clock: systemClock, random: Math.random, log: createLog('silent'), metrics: createMetrics() };
    const { observation, policy, names } = await observeLive({ config, ...deps }, stop.signal);
    const withoutDelays = { ...policy, scaleUp: { ...policy.scaleUp, newPodDelayMs: 0, newGpuPodDelayMs: 0 } };
    const state = { ...reduceObservation(emptyLoopState(observation.nowMs), observation, withoutDelays), ...expiredTimers(observation) };
    return {
      input: { observation, state, policy: withoutDelays, names },
      reader: withoutStorage(createObjectReader(names, [], observation.nowMs), 'a live view'),
    };
  } finally {
    signals.release();
  }
}

type PlanOptions = ReturnType<typeof readOptions>;

function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    const message = (cause instanceof Error ? cause.message : String(cause)).split(/\. |\n/)[0] ?? '';
    throw configError(`${message.replace(/\.$/, '')}; see plan --help.`);
  }
}

interface InputWithReader {
  readonly input: PlanInput;
  /** Reads the manifests of --add-pods. */
  readonly reader: ObjectReader;
}

function fromDump(file: string, terminal: Terminal): InputWithReader {
  const names = new ResourceNames();
  const input = recordedInput(file, readFile(file, terminal), names);
  return { input, reader: withoutStorage(createObjectReader(names, [], input.observation.nowMs), 'a dump') };
}

function withoutStorage(reader: ObjectReader, source: string): ObjectReader {
  reader.storage.setTrouble(`${source} contains no claims or volumes`);
  return reader;
}

function fromFiles(given: PlanOptions, manifests: readonly FileObject[], terminal: Terminal): InputWithReader {
  const { cluster: clusterFile, pools: poolsFile } = given;
  if (clusterFile === undefined || poolsFile === undefined)
    throw configError('plan needs --cluster FILE and --pools FILE, or --live, or --dump FILE; see plan --help.');
  const names = new ResourceNames();
  const objects = readObjects(clusterFile, readFile(clusterFile, terminal), MOST_CLUSTER_MIB);
  const pools = readPools(poolsFile, readFile(poolsFile, terminal));
  const config = given.config === undefined ? undefined : { name: given.config, text: readFile(given.config, terminal) };
  const arePriced = pools.some(({ price }) => price !== undefined);
  const loaded = loadPolicy(config, arePriced);
  const taints = loaded.policy.cluster?.taints;
  const nowMs = given.now === undefined ? newestMoment(objects) : timeOf(given.now);
  // Objects of the cluster come last: they override manifests of the same name.
  const reader = createObjectReader(names, [...manifests.filter(affectsPods), ...objects], nowMs, taints);
  const { cluster: present, assumedOwnerKinds, deletedPods } = clusterOf(objects, reader);
  const cluster = { ...present, daemonSets: [...present.daemonSets, ...daemonsOf(pools, present)] };
  const region = regionOf(cluster, pools, objects);
  const observation = { loopId: 1, nowMs, cluster, cloud: cloudOf(pools, cluster, { names, nowMs, region, taints }) };
  return {
    input: {
      observation,
      state: stateWithoutHistory(observation),
      policy: policyFor(loaded, { pools, region }, terminal),
      names,
      assumedOwnerKinds,
      deletedPods,
    },
    reader,
  };
}

/** The daemon's policy without delays for new pods, and with the priorities and prices of the pools file. */
function policyFor(
  { policy, retailPrices, hasChain }: LoadedPolicy,
  { pools, region }: { readonly pools: readonly PoolSpec[]; readonly region: string },
  terminal: Terminal,
): Policy {
  const levels = pools.flatMap(({ name, priority }) =>
    typeof priority === 'number' ? [{ priority, patterns: [exactPattern(name)] }] : [],
  );
  const priorities = [...(policy.scaleUp.priorities ?? []), ...levels];
  const groupPrices = Object.fromEntries(pools.flatMap(({ name, price }) => (price === undefined ? [] : [[name, price] as const])));
  const prices = Object.keys(groupPrices).length === 0 ? policy.scaleUp.prices : { ...policy.scaleUp.prices };
  const chain = expandersOf({
    ...(hasChain ? { expanders: policy.scaleUp.expanders } : {}),
    priorities: priorities.length === 0 ? undefined : priorities,
    prices,
    retailPrices,
  });
  const listPrices = storedPrices(retailPrices, region, terminal);
  return {
    ...policy,
    scaleUp: { ...policy.scaleUp, ...chain, ...listPrices, groupPrices, newPodDelayMs: 0, newGpuPodDelayMs: 0 },
  };
}

function exactPattern(name: string): string {
  return `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}

function timeOf(text: string): number {
  // A time without a zone is UTC, so the result does not depend on the machine.
  const ms = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(ms))
    throw configError(`--now is "${text}"; it must be a time such as 2026-11-21T10:00:00Z.`);
  return ms;
}

function readFile(file: string, terminal: Terminal): string {
  try {
    return terminal.readFile(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw configError(code === 'ENOENT' ? `File "${file}" not found.` : `File "${file}" cannot be read (${code}).`, { cause });
  }
}

/** `plan`: what would be done and why, for a cluster in a file, the real one, or a dumped decision. Reads, decides as the daemon does, writes nothing. */
import { parseArgs } from 'node:util';
import { isConfigErrors } from '../../config/types/config.ts';
import { expandersOf } from '../../config/schema/expanders.ts';
import { loadConfig, loadPolicy, type LoadedPolicy } from '../../config/load.ts';
import { readObjects, type FileObject } from './files/objects-file.ts';
import { readPools, type PoolSpec } from './files/pools-file.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Policy } from '../../domain/policy.ts';
import { ResourceNames } from '../../domain/resources.ts';
import { emptyLoopState, reduceObservation } from '../../planning/state/loop-state.ts';
import { createLog } from '../../telemetry/log.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { answer, type Question } from './question.ts';
import { isOfUse, podsToAdd } from './added-pods.ts';
import { clusterOf, newestMoment, startReading, type Reading } from './cluster-from-file.ts';
import { dumpedQuestion, withoutCuts } from './from-dump.ts';
import { timersRunOut, withoutHistory, keptPrices } from './assumed-history.ts';
import { cloudOf, daemonsOf, regionOf } from './pools-from-file.ts';
import { tableOf } from './report-table.ts';
import { changed, isEmpty, type WhatIf } from './what-if.ts';
import { stopSignals, systemClock, EXIT_OK, type Terminal } from '../process/process.ts';

const HELP = `Says what the autoscaler would do, and why. Nothing is written.

  plan --cluster FILE --pools FILE [--config FILE] [--now TIME] [--json]
  plan --live [SETTINGS] [--json]
  plan --dump FILE [--json]

  --cluster FILE   a List in JSON, as written by
                   kubectl get nodes,pods,pdb,daemonsets,replicasets,pvc,pv,storageclasses,csinodes,namespaces,priorityclasses -A -o json
                   (with claimed devices also resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates)
  --pools FILE     YAML or JSON: a list of {name, vmSize, min, max, targetSize, zones, labels, taints, maxPods, allocatable,
                   priority, price, tags}; the first four are needed
  --config FILE    the daemon's configuration; only what decides is read, and the list prices that the daemon kept in
                   scaleUp.retailPrices.file
  --now TIME       such as 2026-11-21T10:00:00Z (default: the newest time in the file)
  --live           the cluster and Azure as they are now; nothing is written to either. SETTINGS are those of the command run:
                   --config, --cloud-config, --kubeconfig, environment variables and all other flags
  --dump FILE      a decision dumped by the daemon (--dump-directory), with its own timers and configuration: what is answered is
                   that decision, and beside it the one that the loop did not get to
  --json           the whole answer as JSON; 'explained' has of every node the blocker, since when it could go and when it
                   is looked at again, and adds up what each kind of blocker holds in cores, GiB and money per hour

What if:
  --add-pods FILE  pods, or workloads whose pods, are added
  --set-max POOL=N a pool may grow to N
  --cordon NODE    a node takes no more pods

A kind of object that the file lacks is not held against anybody: controllers of such a kind are taken to exist.
Neither a file nor a look has a history: all timers count as run out, and the nodes named are those that would go then.
`;

const CLUSTER_MOST_MIB = 400;
const MANIFESTS_MOST_MIB = 20;

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

/** @returns the exit code: 0 answered. @throws AutoscalerError `config` with one sentence for input that cannot be used. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { own, settings } = argv.includes('--live') ? splitSettings(argv) : { own: argv, settings: [] };
  const given = readOptions(own);
  if (given.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const manifests = (given['add-pods'] ?? []).flatMap((file) => readObjects(file, readFile(file, terminal), MANIFESTS_MOST_MIB));
  const { question, reading } = await asked(given, { settings, manifests }, terminal);
  const addPods = manifests.length === 0 ? [] : podsToAdd(manifests, reading, question.observation.cluster);
  const whatIf = { addPods, setMax: given['set-max'] ?? [], cordon: given.cordon ?? [] };
  const found = answer(isEmpty(whatIf) ? question : askedOtherwise(question, whatIf));
  terminal.out(given.json === true ? `${JSON.stringify(found, undefined, 2)}\n` : tableOf(found));
  return EXIT_OK;
}

/** Another question than the daemon had: it is answered whole, whatever time the daemon ran out of. */
function askedOtherwise(question: Question, whatIf: WhatIf): Question {
  const { decided, ...rest } = question;
  const whole = decided === undefined ? {} : { decided: withoutCuts(decided) };
  return { ...rest, ...whole, observation: changed(question.observation, whatIf) };
}

interface Beside {
  readonly settings: readonly string[];
  readonly manifests: readonly FileObject[];
}

async function asked(given: Options, { settings, manifests }: Beside, terminal: Terminal): Promise<Asked> {
  if (given.live !== true) return given.dump === undefined ? fromFiles(given, manifests, terminal) : fromDump(given.dump, terminal);
  if (given.cluster !== undefined || given.pools !== undefined || given.dump !== undefined || given.now !== undefined)
    throw mistake('--live goes without --cluster, --pools, --dump and --now: it asks the cluster itself.');
  return fromLive(settings, terminal);
}

/** What is not an option of this command is a setting of the daemon, `--config` included. */
function splitSettings(argv: readonly string[]): { readonly own: readonly string[]; readonly settings: readonly string[] } {
  const own: string[] = [];
  const settings: string[] = [];
  let takesNext = false;
  for (const text of argv) {
    const [, name = '', value] = /^--([^=]+)(=.*)?$/s.exec(text) ?? [];
    const isOwn: boolean = takesNext || (name !== 'config' && Object.hasOwn(OPTIONS, name));
    (isOwn ? own : settings).push(text);
    takesNext = !takesNext && isOwn && value === undefined && OPTIONS[name as keyof typeof OPTIONS].type === 'string';
  }
  return { own, settings };
}

async function fromLive(settings: readonly string[], terminal: Terminal): Promise<Asked> {
  const config = loadConfig({ argv: settings, env: terminal.env, readFile: terminal.readFile, hostname: `plan_${process.pid}` });
  if (isConfigErrors(config)) throw mistake(config.errors[0] ?? 'The configuration is not valid.');
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    // Loaded only now: files need no SDK.
    const { observeLive } = await import('./live-cluster.ts');
    const parts = { clock: systemClock, random: Math.random, log: createLog('silent'), metrics: createMetrics() };
    const { observation, policy, names } = await observeLive({ config, ...parts }, stop.signal);
    const patient = { ...policy, scaleUp: { ...policy.scaleUp, newPodDelayMs: 0, newGpuPodDelayMs: 0 } };
    const state = { ...reduceObservation(emptyLoopState(observation.nowMs), observation, patient), ...timersRunOut(observation) };
    return {
      question: { observation, state, policy: patient, names },
      reading: withoutStorage(startReading(names, [], observation.nowMs), 'a look'),
    };
  } finally {
    signals.release();
  }
}

type Options = ReturnType<typeof readOptions>;

function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    const message = (cause instanceof Error ? cause.message : String(cause)).split(/\. |\n/)[0] ?? '';
    throw mistake(`${message.replace(/\.$/, '')}; plan --help lists what is accepted.`);
  }
}

interface Asked {
  readonly question: Question;
  readonly reading: Reading;
}

function fromDump(file: string, terminal: Terminal): Asked {
  const names = new ResourceNames();
  const question = dumpedQuestion(file, readFile(file, terminal), names);
  return { question, reading: withoutStorage(startReading(names, [], question.observation.nowMs), 'a dump') };
}

function withoutStorage(reading: Reading, what: string): Reading {
  reading.storage.setTrouble(`${what} holds no claims or volumes`);
  return reading;
}

function fromFiles(given: Options, manifests: readonly FileObject[], terminal: Terminal): Asked {
  const { cluster: clusterFile, pools: poolsFile } = given;
  if (clusterFile === undefined || poolsFile === undefined)
    throw mistake('plan needs --cluster FILE and --pools FILE, or --live, or --dump FILE; plan --help says more.');
  const names = new ResourceNames();
  const objects = readObjects(clusterFile, readFile(clusterFile, terminal), CLUSTER_MOST_MIB);
  const pools = readPools(poolsFile, readFile(poolsFile, terminal));
  const config = given.config === undefined ? undefined : { name: given.config, text: readFile(given.config, terminal) };
  const arePriced = pools.some(({ price }) => price !== undefined);
  const loaded = loadPolicy(config, arePriced);
  const taints = loaded.policy.cluster?.taints;
  const nowMs = given.now === undefined ? newestMoment(objects) : timeOf(given.now);
  // What the cluster has goes before what a manifest says of it.
  const reading = startReading(names, [...manifests.filter(isOfUse), ...objects], nowMs, taints);
  const { cluster: present, trusted, leaving } = clusterOf(objects, reading);
  const cluster = { ...present, daemonSets: [...present.daemonSets, ...daemonsOf(pools, present)] };
  const region = regionOf(cluster, pools, objects);
  const observation = { loopId: 1, nowMs, cluster, cloud: cloudOf(pools, cluster, { names, nowMs, region, taints }) };
  return {
    question: {
      observation,
      state: withoutHistory(observation),
      policy: policyFor(loaded, { pools, region }, terminal),
      names,
      trusted,
      leaving,
    },
    reading,
  };
}

/** The daemon's policy, young pods old enough, and with what the pools say of priority and price. */
function policyFor(
  { policy, retailPrices, hasChain }: LoadedPolicy,
  { pools, region }: { readonly pools: readonly PoolSpec[]; readonly region: string },
  terminal: Terminal,
): Policy {
  const levels = pools.flatMap(({ name, priority }) => (typeof priority === 'number' ? [{ priority, patterns: [exactly(name)] }] : []));
  const priorities = [...(policy.scaleUp.priorities ?? []), ...levels];
  const groupPrices = Object.fromEntries(pools.flatMap(({ name, price }) => (price === undefined ? [] : [[name, price] as const])));
  const prices = Object.keys(groupPrices).length === 0 ? policy.scaleUp.prices : { ...policy.scaleUp.prices };
  const chain = expandersOf({
    ...(hasChain ? { expanders: policy.scaleUp.expanders } : {}),
    priorities: priorities.length === 0 ? undefined : priorities,
    prices,
    retailPrices,
  });
  const listPrices = keptPrices(retailPrices, region, terminal);
  return {
    ...policy,
    scaleUp: { ...policy.scaleUp, ...chain, ...listPrices, groupPrices, newPodDelayMs: 0, newGpuPodDelayMs: 0 },
  };
}

function exactly(name: string): string {
  return `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}

function timeOf(text: string): number {
  // Without a zone it is UTC: the same answer wherever it is asked.
  const ms = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(ms))
    throw mistake(`--now is "${text}"; accepted is a time such as 2026-11-21T10:00:00Z.`);
  return ms;
}

function readFile(file: string, terminal: Terminal): string {
  try {
    return terminal.readFile(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new AutoscalerError(
      { kind: 'config' },
      code === 'ENOENT' ? `There is no file "${file}".` : `"${file}" cannot be read (${code}).`,
      { cause },
    );
  }
}

function mistake(sentence: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, sentence);
}

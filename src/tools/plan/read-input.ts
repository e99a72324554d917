/** The input of a plan from files, from a recorded decision, or from a live cluster. */
import { isConfigErrors } from '../../config/types/config.ts';
import { expandersOf } from '../../config/schema/expanders.ts';
import { loadConfig, loadPolicy, type LoadedPolicy } from '../../config/load.ts';
import { readObjectStream } from './files/object-stream.ts';
import type { FileObject } from './files/objects-file.ts';
import { readPools, type PoolSpec } from './files/pools-file.ts';
import { defined } from '../../lib/defined.ts';
import { AutoscalerError, configError } from '../../lib/errors.ts';
import { keptConditions } from '../../domain/repack.ts';
import type { Policy } from '../../domain/policy.ts';
import { ResourceNames } from '../../domain/resources.ts';
import { emptyLoopState, reduceObservation } from '../../planning/state/loop-state.ts';
import { createPodProjection } from '../../kubernetes/projection/pod.ts';
import { createLog } from '../../telemetry/log.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import type { PlanInput } from './report/plan-loop.ts';
import { affectsPods } from './added-pods.ts';
import { clusterOf, createObjectReader, type ObjectReader } from './cluster-from-file.ts';
import { ObjectCollector } from './collect-objects.ts';
import { recordedInput } from './from-dump.ts';
import { expiredTimers, stateWithoutHistory, storedPrices } from './assumed-history.ts';
import { isUnranked } from './read-pod.ts';
import { withSchedules } from './scheduled-pools.ts';
import { cloudOf, daemonsOf, regionOf } from './pools-from-file.ts';
import { stopSignals, systemClock, type Terminal } from '../../cli/process/process.ts';
import type { Observation } from '../../domain/observation.ts';
import type { LoopState, SavedMemory } from '../../domain/loop-state.ts';
import { recallMemory } from '../../planning/state/after-restart.ts';

/** The options that name a source; all are absent with `--live`. */
export interface PlanSources {
  readonly cluster?: string | undefined;
  readonly pools?: string | undefined;
  readonly config?: string | undefined;
  readonly now?: string | undefined;
  readonly live?: boolean | undefined;
  readonly dump?: string | undefined;
}

export interface OtherSources {
  readonly settings: readonly string[];
  readonly manifests: readonly FileObject[];
}

/** @throws AutoscalerError `config` with one sentence if the sources are invalid or contradict each other. */
export async function readPlanInput(
  given: PlanSources,
  { settings, manifests }: OtherSources,
  terminal: Terminal,
): Promise<InputWithReader> {
  if (given.live !== true) return given.dump === undefined ? fromFiles(given, manifests, terminal) : fromDump(given.dump, terminal);
  if (given.cluster !== undefined || given.pools !== undefined || given.dump !== undefined || given.now !== undefined)
    throw configError('--live cannot be combined with --cluster, --pools, --dump or --now: it reads the cluster itself.');
  return fromLive(settings, terminal);
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
    const { observation, policy, names, memory } = await observeLive({ config, ...deps }, stop.signal);
    const withoutDelays = { ...policy, scaleUp: { ...policy.scaleUp, newPodDelayMs: 0, newGpuPodDelayMs: 0 } };
    const state = liveState(observation, withoutDelays, memory);
    return {
      input: {
        observation,
        state,
        policy: withoutDelays,
        names,
        source: `read from the cluster and Azure${describeMemory(memory)}`,
        ...currencyOf(config.azure),
      },
      reader: withoutStorage(createObjectReader(names, [], observation), 'a live view'),
      lacksMemory: memory === undefined,
      ...defined({ memorySavedAtMs: memory?.savedAtMs }),
    };
  } finally {
    signals.release();
  }
}

/** With what the leader remembers. Without idle timers of its own, every node that could be removed is shown. */
function liveState(observation: Observation, policy: Policy, memory: SavedMemory | undefined): LoopState {
  const empty = emptyLoopState(observation.nowMs);
  if (memory === undefined) return { ...reduceObservation(empty, observation, policy), ...expiredTimers(observation) };
  const state = reduceObservation(recallMemory(empty, memory, observation, policy.scaleDown), observation, policy);
  return state.unneededSince.size > 0 ? state : { ...state, unneededSince: expiredTimers(observation).unneededSince };
}

/** The age would tick. */
function describeMemory(memory: SavedMemory | undefined): string {
  if (memory === undefined) return '';
  return `, with the back-offs and timers that the leader saved at ${new Date(memory.savedAtMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export interface InputWithReader {
  /** Set for a live view without the memory of the leader. */
  readonly lacksMemory?: boolean;
  /** When the leader saved the memory that is used, milliseconds since the epoch. */
  readonly memorySavedAtMs?: number;
  readonly input: PlanInput;
  /** Reads the manifests of --add-pods. */
  readonly reader: ObjectReader;
}

function fromDump(file: string, terminal: Terminal): InputWithReader {
  const names = new ResourceNames();
  const input = recordedInput(file, readFile(file, terminal), names);
  const source = `loop ${input.observation.loopId} of ${file}`;
  return { input: { ...input, source }, reader: withoutStorage(createObjectReader(names, [], input.observation), 'a dump') };
}

function withoutStorage(reader: ObjectReader, source: string): ObjectReader {
  reader.storage.setTrouble(`${source} contains no claims or volumes`);
  return reader;
}

async function fromFiles(given: PlanSources, manifests: readonly FileObject[], terminal: Terminal): Promise<InputWithReader> {
  const { cluster: clusterFile, pools: poolsFile } = given;
  if (clusterFile === undefined || poolsFile === undefined)
    throw configError('plan needs --cluster FILE and --pools FILE, or --live, or --dump FILE; see plan --help.');
  const names = new ResourceNames();
  const pools = readPools(poolsFile, readFile(poolsFile, terminal));
  const config = given.config === undefined ? undefined : { name: given.config, text: readFile(given.config, terminal) };
  const arePriced = pools.some(({ price }) => price !== undefined);
  const loaded = loadPolicy(config, { pricedElsewhere: arePriced, readFile: terminal.readFile });
  const taints = loaded.policy.cluster?.taints;
  const givenMs = given.now === undefined ? undefined : timeOf(given.now);
  const shared = createPodProjection(names, {
    affinity: loaded.policy.scaleUp.expanders.includes('preferences'),
    containers: loaded.policy.cluster.verticalPodAutoscalers,
  });
  const content = await readCluster(clusterFile, new ObjectCollector(shared), terminal);
  const { objects } = content;
  // Rules at the epoch are of no use.
  const isTimeless = givenMs === undefined && content.newestMs <= 0 && loaded.schedules.rules.length > 0;
  const nowMs = givenMs ?? (isTimeless ? systemClock.now() : content.newestMs);
  // Objects of the cluster come last: they override manifests of the same name.
  const conditions = new Set(keptConditions(loaded.nodeGroupOptions));
  const reader = createObjectReader(names, [...manifests.filter(affectsPods), ...objects], { nowMs, taints, conditions, pods: shared });
  const { cluster: present, assumedOwnerKinds, deletedPods } = clusterOf(content, reader);
  const cluster = { ...present, daemonSets: [...present.daemonSets, ...daemonsOf(pools, present)] };
  const region = regionOf(cluster, pools, objects);
  const observation = {
    loopId: 1,
    nowMs,
    cluster,
    cloud: withSchedules(
      cloudOf(pools, cluster, { names, nowMs, region, taints, namedOptions: loaded.nodeGroupOptions }),
      loaded.schedules,
      nowMs,
    ),
  };
  return {
    input: {
      observation,
      state: stateWithoutHistory(observation),
      policy: policyFor(loaded, { pools, region }, terminal),
      names,
      assumedOwnerKinds,
      deletedPods,
      source: isTimeless
        ? 'now, since the file has no time'
        : given.now === undefined
          ? 'the newest time in the file'
          : 'as given with --now',
      file: { kinds: content.kinds, unrankedPods: content.podObjects.filter((pod) => isUnranked(pod, reader)).length },
      ...currencyOf(loaded),
    },
    reader,
  };
}

/** Prices of a table or a file have no currency. */
function currencyOf({ retailPrices }: Pick<LoadedPolicy, 'retailPrices'>): Pick<PlanInput, 'currency'> {
  return retailPrices === undefined ? {} : { currency: retailPrices.currency };
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
    retailPrices: { enabled: retailPrices !== undefined && retailPrices.byDefault !== true },
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

/** `-` is the standard input. */
async function readCluster(file: string, collector: ObjectCollector, terminal: Terminal): Promise<ObjectCollector> {
  try {
    await readObjectStream(file === '-' ? 'The standard input' : file, terminal.readChunks(file), (object) => collector.add(object));
    return collector;
  } catch (cause) {
    throw cause instanceof AutoscalerError ? cause : unreadable(file, cause);
  }
}

export function readFile(file: string, terminal: Terminal): string {
  try {
    return terminal.readFile(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

function unreadable(file: string, cause: unknown): AutoscalerError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return configError(code === 'ENOENT' ? `File "${file}" not found.` : `File "${file}" cannot be read (${code}).`, { cause });
}

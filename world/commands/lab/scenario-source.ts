/** Finds the scenario that the command line names: a generated one, or a recording. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { configError } from '../../../src/lib/errors.ts';
import type { Scenario } from '../../lab/loads/load.ts';
import { describePool, poolsOf, withLimits, type LimitsByPool } from '../../lab/loads/pool-limits.ts';
import { readRecording } from '../../lab/loads/recording-file.ts';
import { sliceScenario } from '../../lab/loads/slice-scenario.ts';
import { generateScenario, nearestScenario, SCENARIO_NAMES } from '../../lab/loads/scenario-catalogue.ts';
import type { ScenarioSource } from './run-orders.ts';

/** @throws AutoscalerError `config` if there is neither such a scenario nor such a file. */
export function findScenario(
  given: string,
  days: number | undefined,
): Omit<ScenarioSource, 'window' | 'limits'> & { readonly what: string } {
  const generated = SCENARIO_NAMES.find(({ name }) => name === given);
  if (generated !== undefined) return { name: given, path: undefined, days, what: generated.what };
  if (statSync(given, { throwIfNoEntry: false })?.isFile() !== true) throw unknownScenario(given);
  if (days !== undefined) throw configError('--days is for generated scenarios; a recording has its own length.');
  const name = basename(given).replace(/(\.jsonl)?(\.gz)?$/, '');
  return { name, path: given, days, what: `the recording ${basename(given)}` };
}

function unknownScenario(given: string): Error {
  const nearest = nearestScenario(given);
  const names = SCENARIO_NAMES.map(({ name }) => name).join(', ');
  const hint = nearest === undefined ? `the scenarios are ${names}, or a file of \`record\`` : `did you mean ${nearest}?`;
  return configError(`"${given}" is neither a scenario nor a file; ${hint}${hint.endsWith('?') ? '' : '.'}`);
}

/** @throws AutoscalerError `config` if there are limits for pools that it does not have, or none for pools that need them. */
function limited(scenario: Scenario, limits: LimitsByPool): Scenario {
  const names = new Set(poolsOf(scenario).map(({ name }) => name));
  const unknown = Object.keys(limits).find((name) => !names.has(name));
  if (unknown !== undefined)
    throw configError(`--limits names the pool ${unknown}, which ${scenario.name} does not have; its pools are ${[...names].join(', ')}.`);
  const complete = withLimits(scenario, limits);
  const missing = new Map(poolsOf(complete).flatMap((pool) => (pool.limitsUnknown === true ? [[pool.name, pool] as const] : [])));
  if (missing.size === 0) return complete;
  const example = `--limits ${[...missing.keys()][0] ?? ''}=1:10`;
  throw configError(
    `${scenario.name} does not say the minimum and maximum of ${[...missing.values()].map(describePool).join(', ')}; add them, such as ${example}.`,
  );
}

export interface LoadedScenario {
  readonly scenario: Scenario;
  /** What a reader must know about it, as sentences. */
  readonly notes: readonly string[];
}

/** A recording is the same for every seed: the seed changes how Azure behaves. @throws AutoscalerError `config` if it cannot be read. */
export async function loadScenario(source: ScenarioSource, seed: number): Promise<LoadedScenario> {
  const found = source.path === undefined ? generated(source, seed) : await recorded(source, source.path);
  const { notes } = found;
  const scenario = limited(found.scenario, source.limits);
  const played = source.window === undefined ? scenario : sliceScenario(scenario, source.window);
  if (played.durationMs <= 0)
    throw configError(`${source.name} lasts ${shownMinutes(scenario.durationMs)}; the part to play begins later.`);
  return { scenario: played, notes };
}

function generated({ name, days }: ScenarioSource, seed: number): LoadedScenario {
  const scenario = generateScenario(name, seed, days);
  if (scenario === undefined) throw unknownScenario(name);
  return { scenario, notes: [] };
}

async function recorded({ name }: ScenarioSource, path: string): Promise<LoadedScenario> {
  const { scenario, isComplete, gaps, notes } = await readRecording(path);
  return {
    scenario: { ...scenario, name },
    notes: [
      ...(isComplete ? [] : ['The recording has no end: it was interrupted, or is still being written.']),
      ...notes,
      ...gaps.map(
        ({ fromMs, untilMs }) => `The recording has a gap of ${shownMinutes(untilMs - fromMs)}, ${shownMinutes(fromMs)} after its start.`,
      ),
    ],
  };
}

function shownMinutes(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 100 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** Finds the scenario that the command line names: a generated one, or a recording. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { configError } from '../../lib/errors.ts';
import type { Scenario } from '../../lab/loads/load.ts';
import { readRecording } from '../../lab/loads/recording-file.ts';
import { generateScenario, nearestScenario, SCENARIO_NAMES } from '../../lab/loads/scenario-catalogue.ts';
import type { ScenarioSource } from './run-orders.ts';

/** @throws AutoscalerError `config` if there is neither such a scenario nor such a file. */
export function findScenario(given: string, days: number | undefined): ScenarioSource & { readonly what: string } {
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

/** A recording is the same for every seed: the seed changes how Azure behaves. @throws AutoscalerError `config` if it cannot be read. */
export async function loadScenario({ name, path, days }: ScenarioSource, seed: number): Promise<Scenario> {
  if (path !== undefined) return { ...(await readRecording(path)).scenario, name };
  const scenario = generateScenario(name, seed, days);
  if (scenario === undefined) throw unknownScenario(name);
  return scenario;
}

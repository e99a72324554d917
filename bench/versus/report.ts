/** The results of all races as Markdown. */
import type { VersusCase } from './cases.ts';
import type { RaceResult } from './race.ts';

export interface CaseResults {
  readonly scene: Pick<VersusCase, 'name' | 'what' | 'notForRivals'>;
  readonly results: readonly RaceResult[];
}

/** One table for a case with pods, another one for the programs at rest. */
export function renderVersus(all: readonly CaseResults[]): string {
  const idle = all.filter(({ scene }) => scene.name === 'idle');
  const cases = all.filter(({ scene }) => scene.name !== 'idle');
  return [...cases.flatMap(renderCase), ...idle.flatMap(renderIdle)].join('\n');
}

function renderCase({ scene, results }: CaseResults): readonly string[] {
  return [
    `### ${capitalized(scene.name)}`,
    '',
    [scene.what, ...(scene.notForRivals === undefined ? [] : [scene.notForRivals])].join(' '),
    '',
    '| Program | First write | Done | ARM calls | Writes refused | Lost updates | Nodes too many |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...results.map(
      (result) =>
        `| ${result.contestant} | ${seconds(result, result.firstWriteSeconds)} | ${seconds(result, result.doneSeconds)} | ${result.armCalls} | ` +
        `${result.refusedWrites} | ${result.lostUpdates} | ${result.surplusNodes} |`,
    ),
    '',
  ];
}

function renderIdle({ scene, results }: CaseResults): readonly string[] {
  return [
    `### ${capitalized(scene.name)}`,
    '',
    scene.what,
    '',
    '| Program | ARM calls a minute | CPU milliseconds a minute | Memory, MiB |',
    '| --- | --- | --- | --- |',
    ...results.map(({ contestant, armCallsPerMinute, cpuSecondsPerMinute, memoryMiB, failed }) =>
      failed
        ? `| ${contestant} | ended | | |`
        : `| ${contestant} | ${armCallsPerMinute.toFixed(1)} | ${Math.round(cpuSecondsPerMinute * 1000)} | ${Math.round(memoryMiB)} |`,
    ),
    '',
  ];
}

function seconds({ failed }: RaceResult, value: number | undefined): string {
  if (failed) return 'ended';
  return value === undefined ? 'never' : `${value.toFixed(1)} s`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

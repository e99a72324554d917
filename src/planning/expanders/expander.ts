/**
 * Expanders choose among the options of a scale-up. Each narrows a list of options and keeps ties. Must not know pods, clouds,
 * or how an option was estimated.
 */
import { configError, type AutoscalerError } from '../../lib/errors.ts';
import { PLACEMENT_SCORES } from '../../domain/node-group.ts';
import type { ScoredOption } from '../../domain/plan.ts';
import type { ExpanderName } from '../../domain/policy.ts';
import type { Random } from '../../lib/random.ts';
import { keepBestPriced } from './price.ts';
import { keepHighestPriority } from './priority.ts';
import { compareText } from '../../lib/comparison.ts';

export type Expander = (options: readonly ScoredOption[]) => readonly ScoredOption[];

/** Fewest idle cores, bytes and devices; exact ties are kept. */
const keepLeastWaste: Expander = (options) => keepLeast(options, (option) => option.waste);

/** Fewest new nodes. Ignores options without nodes. */
const keepLeastNodes: Expander = (options) =>
  keepLeast(
    options.filter((option) => option.nodes > 0),
    (option) => option.nodes,
  );

/** Most pods helped. */
const keepMostPods: Expander = (options) => keepLeast(options, (option) => -option.pods);

/** The nodes that come closest to what the pods prefer. */
const keepMostPreferred: Expander = (options) => keepLeast(options, ({ preference = 0 }) => -preference);

/** What Azure's placement scores put behind another option goes. An option without a score stays: nothing is known against it. */
const keepBestPlaced: Expander = (options) => {
  const best = PLACEMENT_SCORES.find((score) => options.some(({ placementScore }) => placementScore === score));
  // guard: an option without a placement score is not dropped for its placement
  return options.filter(({ placementScore: score }) => score === undefined || score === best);
};

/** A random option. The same seed chooses the same option in whatever order the options come. */
function keepRandom(random: Random): Expander {
  return (options) => {
    const sorted = [...options].sort(byGroup);
    const chosen = sorted[Math.floor(random() * sorted.length)];
    return chosen === undefined ? [] : [chosen];
  };
}

/** @throws AutoscalerError `config` if a name is listed twice, or after `random`, which leaves no choice. */
export function checkExpanderChain(names: readonly ExpanderName[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw invalidChain(`"${duplicate}" is listed twice`);
  if (names.includes('random') && names.at(-1) !== 'random') throw invalidChain('"random" must come last');
}

/** The expanders of a configured chain; it throws like {@link checkExpanderChain}. */
export function createExpanders(names: readonly ExpanderName[], random: Random): readonly Expander[] {
  checkExpanderChain(names);
  return names.map((name) => createExpander(name, random));
}

/** Runs the chain. Of options that are still tied, the first by group id is chosen. */
export function chooseOption(chain: readonly Expander[], options: readonly ScoredOption[]): ScoredOption | undefined {
  const kept = chain.reduce((left, narrow) => (left.length > 1 ? narrow(left) : left), options);
  return [...kept].sort(byGroup)[0];
}

function createExpander(name: ExpanderName, random: Random): Expander {
  switch (name) {
    case 'least-waste':
      return keepLeastWaste;
    case 'least-nodes':
      return keepLeastNodes;
    case 'most-pods':
      return keepMostPods;
    case 'random':
      return keepRandom(random);
    case 'priority':
      return keepHighestPriority;
    case 'price':
      return keepBestPriced;
    case 'placement':
      return keepBestPlaced;
    case 'preferences':
      return keepMostPreferred;
  }
}

function invalidChain(problem: string): AutoscalerError {
  return configError(
    `scaleUp.expanders: ${problem}. Accepted: priority, price, placement, preferences, least-waste, least-nodes and most-pods, each once, and random as the last.`,
  );
}

function keepLeast(options: readonly ScoredOption[], score: (option: ScoredOption) => number): readonly ScoredOption[] {
  const least = options.reduce((best, option) => Math.min(best, score(option)), Number.POSITIVE_INFINITY);
  return options.filter((option) => score(option) === least);
}

function byGroup(left: ScoredOption, right: ScoredOption): number {
  return compareText(left.group, right.group);
}

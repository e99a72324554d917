/** Picks among the ways to grow. An expander narrows a list of options and keeps ties; it must not know pods or clouds. */
import { AutoscalerError } from '../../lib/errors.ts';
import type { ScoredOption } from '../../domain/plan.ts';
import type { ExpanderName } from '../../domain/policy.ts';
import type { Random } from '../../lib/random.ts';
import { keepBestPriced } from './price.ts';
import { keepHighestPriority } from './priority.ts';
import { compareText } from '../../lib/comparison.ts';

export type Expander = (options: readonly ScoredOption[]) => readonly ScoredOption[];

/** Fewest idle cores, bytes and devices; exact ties are kept. */
export const keepLeastWaste: Expander = (options) => keepLeast(options, (option) => option.waste);

/** Fewest new nodes; an option without nodes is none. */
export const keepLeastNodes: Expander = (options) =>
  keepLeast(
    options.filter((option) => option.nodes > 0),
    (option) => option.nodes,
  );

/** Most pods helped. */
export const keepMostPods: Expander = (options) => keepLeast(options, (option) => -option.pods);

/** One of them, by chance; the same sequence of chances picks the same one whatever order the options come in. */
export function keepRandom(random: Random): Expander {
  return (options) => {
    const sorted = [...options].sort(byGroup);
    const chosen = sorted[Math.floor(random() * sorted.length)];
    return chosen === undefined ? [] : [chosen];
  };
}

/**
 * The expanders of a configured chain.
 * @throws AutoscalerError `config` for a name that is twice there, or behind `random`, which leaves no choice.
 */
export function createExpanders(names: readonly ExpanderName[], random: Random): readonly Expander[] {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw invalidChain(`"${duplicate}" is named twice`);
  if (names.includes('random') && names.at(-1) !== 'random') throw invalidChain('"random" must come last');
  return names.map((name) => createExpander(name, random));
}

/** Runs the chain; what is still tied at the end goes by group id. */
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
  }
}

function invalidChain(what: string): AutoscalerError {
  return new AutoscalerError(
    { kind: 'config' },
    `The list of expanders is not valid: ${what}; accepted are priority, price, least-waste, least-nodes, most-pods and, last, random.`,
  );
}

function keepLeast(options: readonly ScoredOption[], score: (option: ScoredOption) => number): readonly ScoredOption[] {
  const least = options.reduce((best, option) => Math.min(best, score(option)), Number.POSITIVE_INFINITY);
  return options.filter((option) => score(option) === least);
}

function byGroup(left: ScoredOption, right: ScoredOption): number {
  return compareText(left.group, right.group);
}

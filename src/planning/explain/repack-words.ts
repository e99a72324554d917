/** Sentences about repacking, for people. */
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { isForSickNodes } from '../../domain/repack.ts';
import type { EndedRepack, RepackBlocker, RepackEstimate, RepackSet, RunningRepack, Saved } from '../../domain/repack.ts';

const HOURS_OF_WEEK = 168;
const MOST_NAMED = 3;

/** `41 nodes, 29 would do: 480 EUR a week less`. */
export function describeEstimate(
  estimate: Pick<RepackEstimate, 'nodes' | 'needed' | 'saved' | 'cutShort' | 'sets'>,
  currency?: string,
): string {
  const { nodes, needed, saved, cutShort, sets } = estimate;
  const all = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
  if (sets.length === 0) return `${all}, and no fewer or cheaper ones would do${cutShort ? ', as far as was searched' : ''}`;
  const instead = needed === nodes ? 'cheaper ones would do' : `${needed} would do`;
  return `${all}, ${instead}: ${cutShort ? 'at least ' : ''}${describeSaved(saved, currency)}`;
}

/** `480 EUR a week less`, or without prices `12 nodes and 96 CPU less`. */
function describeSaved({ nodes, cpuMillis, perHour }: Saved, currency?: string): string {
  if (perHour !== undefined) return `${perWeek(perHour)}${currency === undefined ? '' : ` ${currency}`} a week less`;
  return `${nodes} ${nodes === 1 ? 'node' : 'nodes'} and ${Math.round(cpuMillis / 100) / 10} CPU less`;
}

function perWeek(perHour: number): string {
  const amount = perHour * HOURS_OF_WEEK;
  return Math.abs(amount) >= 10 ? String(Math.round(amount)) : amount.toFixed(2);
}

/** `pool-0 and pool-1 make way for 1 new node of spot: 12.10 EUR a week less, 9 pods move, score 4.2`. */
export function describeSet({ remove, add, saved, pods, score }: RepackSet, currency?: string): string {
  const names = remove.map(({ node }) => node);
  const shown = names.length > MOST_NAMED ? [...names.slice(0, MOST_NAMED), `${names.length - MOST_NAMED} others`] : names;
  const instead = add === undefined ? 'go' : `make way for ${add.nodes} new ${add.nodes === 1 ? 'node' : 'nodes'} of ${add.group}`;
  const move = `${pods} ${pods === 1 ? 'pod moves' : 'pods move'}`;
  const conditions = new Set(remove.flatMap(({ condition = [] }) => condition));
  const verb = names.length === 1 ? instead.replace(/^go$/, 'goes').replace(/^make/, 'makes') : instead;
  if (conditions.size > 0) return `${listed(shown)} ${verb}: sick (${[...conditions].join(', ')}), ${move}`;
  return `${listed(shown)} ${verb}: ${describeSaved(saved, currency)}, ${move}, score ${rounded(score)}`;
}

export const STAGES: Readonly<Record<RunningRepack['stage'], string>> = {
  checked: 'is checked again before anything is done',
  adding: 'waits until its new nodes are ready',
  draining: 'drains the nodes that go',
};

export function describeRunning({ set, stage }: RunningRepack, currency?: string): string {
  return `${isForSickNodes(set) ? 'a replacement' : 'a repack'} ${STAGES[stage]}: ${describeSet(set, currency)}`;
}

const OUTCOMES: Readonly<Record<EndedRepack['outcome'], string>> = {
  done: 'is done',
  undone: 'was undone',
  withheld: 'was withheld by the dry run',
};

export function describeEnded({ set, outcome, why }: EndedRepack): string {
  return `${isForSickNodes(set) ? 'a replacement' : 'a repack'} ${OUTCOMES[outcome]}: ${why === undefined ? '' : `${why}; `}${describeSet(set)}`;
}

/** `3 nodes stay: BlockedByPod, NotReplicated (6.2 CPU unused)`. */
export function describeRepackBlocker({ reason, blocker, nodes, unused }: RepackBlocker, currency?: string): string {
  const what = blocker === undefined ? reason : `${reason}, ${blocker}`;
  const money = unused.perHour === undefined ? '' : `, ${perWeek(unused.perHour)}${currency === undefined ? '' : ` ${currency}`} a week`;
  return `${nodes} ${nodes === 1 ? 'node stays' : 'nodes stay'}: ${what} (${Math.round(unused.cpuMillis / 100) / 10} CPU unused${money})`;
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

function rounded(score: number): number {
  return Math.round(score * 10) / 10;
}

/** What repacks do in a pool. undefined: it is off there, and none is under way. */
export function describeRepacking(
  group: NodeGroup,
  { repacks: { running, search } }: Pick<LoopState, 'repacks'>,
  policy: Policy,
): string | undefined {
  const savings = running.filter(({ set }) => !isForSickNodes(set));
  const own = savings.find(({ set }) => set.add?.group === group.id || set.remove.some((node) => node.group === group.id));
  if (own !== undefined) return describeRunning(own);
  if (!optionsOf(group, policy).repack) return undefined;
  if (search === undefined) return 'on; nothing was searched yet';
  const at = `${new Date(search.atMs).toISOString().slice(11, 16)} UTC`;
  return search.why === undefined ? `on; a repack began at ${at}` : `on; nothing began at ${at}: ${search.why}`;
}

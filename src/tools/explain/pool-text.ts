/** The answer about a pool as text: limits and counts, what it waits for, its next node, and who changed its size. */
import type { PoolAnswer } from '../../planning/explain/answers/pool-answer.ts';
import {
  describeDiscount,
  describePaid,
  describePlacement,
  describeReservedRoom,
  formatAmount,
  formatPerHour,
} from '../../planning/explain/amounts.ts';
import { formatMoment, formatSpan } from '../../planning/explain/spans.ts';
import { type Fact, increaseRuleInput, type TextLook, waitFacts } from './answer-facts.ts';
import { facts, paragraph, table, text } from '../../cli/text/text-layout.ts';

export function poolParts(answer: PoolAnswer, { nowMs, width, currency }: TextLook): readonly string[] {
  const { min, max, target, ready, unready, upcoming, vmSize, priority, zones, perHour, discount, template } = answer;
  const size = [
    vmSize,
    priority,
    zones.length === 0 ? 'no zones' : `zones ${zones.join(', ')}`,
    perHour === undefined ? 'price unknown' : `${formatPerHour(perHour, currency, 3)} per node${describeDiscount(discount)}`,
  ];
  return [
    paragraph(answer.sentence, width),
    facts(
      [
        ['Nodes', `min ${min}  ready ${ready}  not ready ${unready}  upcoming ${upcoming}  target ${target ?? 'unknown'}  max ${max}`],
        [
          'Never joined',
          answer.overdue === 0
            ? ''
            : `${answer.overdue} ${answer.overdue === 1 ? 'instance has' : 'instances have'} no node for longer than one may take`,
        ],
        ['Stopped', answer.deallocation ?? describeStopped(answer)],
        ['Counts', describeCounts(answer)],
        ['Paused', answer.paused ?? ''],
        ['Health', answer.health ?? ''],
        ...scheduleFacts(answer),
        ['Repacking', answer.repacking ?? ''],
        ['Size', size.filter((part) => part !== '').join(', ')],
        ['Placement', describePlacement(answer.placementScore) ?? ''],
        ['Paid', answer.paid === undefined ? '' : describePaid(answer.paid)],
        ...roomFacts(answer),
        ['Pending pods', `${answer.podsHelped} get a node of it, ${answer.podsWaiting} would fit but it cannot grow`],
        ...waitFacts(answer.waits, nowMs),
        ...readyFacts(answer.readyTime),
        ...answer.stockouts.map(({ zone, code, since, until }): readonly [string, string] => [
          'Out of capacity',
          `${zone === undefined ? 'everywhere' : `zone ${zone}`}: ${code} since ${formatMoment(Date.parse(since), nowMs)}, next try ${formatMoment(Date.parse(until), nowMs)}`,
        ]),
        ...answer.quotas.map(({ title, used, limit, room }): readonly [string, string] => [
          'Quota',
          `${title}: ${used} of ${limit} cores used, room for ${room} ${room === 1 ? 'node' : 'nodes'}`,
        ]),
        ...reservationFacts(answer),
        ['Writes left', describeTokens(answer, nowMs)],
        ...(answer.changes.length > 0 ? [] : increaseRuleInput(answer.increases, nowMs)),
        ['Template', template === undefined ? 'unknown: no pod can be planned for it' : describeTemplate(template)],
      ],
      width,
    ),
    table([text('WHEN'), text('CHANGE'), text('BY'), text('WHY')], changeLines(answer.changes, nowMs), width),
    noChanges(answer, nowMs),
  ];
}

function scheduleFacts({ schedule, ahead = [] }: PoolAnswer): readonly Fact[] {
  if (schedule === undefined) return [];
  return [
    ['Schedule', schedule.length === 0 ? 'no rule holds now' : schedule.join('; ')],
    ...ahead.slice(0, 3).map(({ local, text: says }): Fact => ['Next', `${local}: ${says}`]),
  ];
}

function readyFacts(time: PoolAnswer['readyTime']): readonly Fact[] {
  if (time === undefined) return [];
  const { count, p50Ms, p90Ms } = time;
  return [
    ['Time to ready', `${formatSpan(p50Ms)} (p50), ${formatSpan(p90Ms)} (p90), of ${count} ${count === 1 ? 'increase' : 'increases'}`],
  ];
}

function changeLines(changes: PoolAnswer['changes'], nowMs: number): readonly (readonly string[])[] {
  return changes.map(({ at, from, to, by, why }) => [formatMoment(Date.parse(at), nowMs).replace(/, .*/, ''), `${from} -> ${to}`, by, why]);
}

function noChanges({ changes, changesSince }: PoolAnswer, nowMs: number): string {
  if (changes.length > 0 || changesSince === undefined) return '';
  return `\nNo change of its capacity since ${formatMoment(Date.parse(changesSince), nowMs)}.`;
}

function describeTokens({ writeTokens }: PoolAnswer, nowMs: number): string {
  if (writeTokens === undefined) return '';
  const { left, of, at } = writeTokens;
  return `${left} of ${of} capacity writes left in the rate limit of the pool at ${formatMoment(Date.parse(at), nowMs)}`;
}

/** What is deallocated looks like capacity in every count, but runs no pods. */
function describeStopped({ stopped = 0 }: PoolAnswer): string {
  if (stopped === 0) return '';
  const [what, it] = stopped === 1 ? ['instance is deallocated and counts', 'it'] : ['instances are deallocated and count', 'them'];
  return `${stopped} ${what} in target and max; Azure bills the disks, and the autoscaler does not start ${it}`;
}

/** Three sources count the nodes of a pool. */
function describeCounts({ target, aksCount, registered }: PoolAnswer): string {
  const counts = [target, aksCount, registered].filter((count) => count !== undefined);
  const named = `Azure ${target ?? 'unknown'}, AKS ${aksCount ?? 'unknown'}, nodes ${registered}`;
  // One number agrees with nothing.
  if (counts.length < 2) return `are not comparable: ${named}`;
  return `${new Set(counts).size === 1 ? 'agree' : 'differ'}: ${named}`;
}

const SOURCES = {
  'live-node': 'from a live node',
  learned: 'learned from an earlier node',
  cloud: 'from Azure, no node was seen yet',
} as const;

function describeTemplate({
  source,
  cpuMillis,
  memoryBytes,
  taints,
  cautions,
  devices,
  realLess,
}: NonNullable<PoolAnswer['template']>): string {
  const amounts = `${formatAmount('cpu', cpuMillis)} CPU, ${formatAmount('memory', memoryBytes)} memory allocatable`;
  const tainted = taints.length === 0 ? '' : `, taints ${taints.join(', ')}`;
  const claimable = devices === undefined ? '' : `, ${devices}`;
  return [`${SOURCES[source]}: ${amounts}${tainted}${claimable}`, ...describeDifference(realLess), ...cautions].join('. ');
}

function describeDifference(less: NonNullable<PoolAnswer['template']>['realLess']): readonly string[] {
  if (less === undefined || (less.cpuMillis === 0 && less.memoryBytes === 0)) return [];
  const of = (amount: number, text: string): readonly string[] => (amount === 0 ? [] : [`${text} ${amount < 0 ? 'less' : 'more'}`]);
  const cpu = of(less.cpuMillis, `${formatAmount('cpu', Math.abs(less.cpuMillis))} CPU`);
  return [
    `The smallest real node has ${[...cpu, ...of(less.memoryBytes, `${formatAmount('memory', Math.abs(less.memoryBytes))} memory`)].join(' and ')}`,
  ];
}

function reservationFacts({ reservation }: PoolAnswer): readonly Fact[] {
  return reservation === undefined ? [] : [['Reserved', describeReservedRoom(reservation)]];
}

function roomFacts({ headroom = [], cancelling = '' }: PoolAnswer): readonly Fact[] {
  return [...headroom.map(({ sentence }): Fact => ['Headroom', sentence]), ['Cancelling', cancelling]];
}

/** Renders answers for a terminal: the answer, the fix, the evidence, then the source. Lines are at most 100 characters where words allow it. */
import type { RememberedIncrease } from '../../planning/explain/answers/accepted.ts';
import type { Answer } from '../../planning/explain/answers/answer.ts';
import type { NodeAnswer } from '../../planning/explain/answers/node-answer.ts';
import type { PodAnswer } from '../../planning/explain/answers/pod-answer.ts';
import type { PoolAnswer } from '../../planning/explain/answers/pool-answer.ts';
import type { DecisionAnswer } from '../../planning/explain/answers/decision-answer.ts';
import { type Advice, describeSavings, type Fix, type FixStep } from '../../planning/explain/fix.ts';
import { formatAmount } from '../../planning/explain/amounts.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import { formatMoment, formatSpan } from '../../planning/explain/spans.ts';
import { facts, paragraph, table, text, number } from './text-layout.ts';

export interface AnswerSource {
  /** The time of the decision, milliseconds since the epoch. */
  readonly nowMs: number;
  /** The last line: where the answer comes from. */
  readonly from: string;
  /** What the source lacks; the first line. Absent if it lacks nothing. */
  readonly lacks?: string;
}

export function renderAnswer(answer: Answer, { nowMs, from, lacks }: AnswerSource): string {
  const parts = [...(lacks === undefined ? [] : [lacks]), ...partsOf(answer, nowMs), from];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function partsOf(answer: Answer, nowMs: number): readonly string[] {
  switch (answer.kind) {
    case 'pod':
      return podParts(answer, nowMs);
    case 'node':
      return nodeParts(answer, nowMs);
    case 'pool':
      return poolParts(answer, nowMs);
    case 'decision':
      return decisionParts(answer);
  }
}

function podParts({ sentence, advice, pools, ...answer }: PodAnswer, nowMs: number): readonly string[] {
  const since = answer.unschedulableSince === undefined ? '' : formatMoment(Date.parse(answer.unschedulableSince), nowMs);
  return [
    paragraph(sentence),
    ...adviceParts(advice, nowMs),
    table([text('POOL'), text('FITS'), text('OBSTACLES')], poolLines(pools)),
    facts([
      ['Unschedulable', since],
      ['Owner', answer.owner ?? ''],
      ['Equal pods', answer.equalPods === 0 ? '' : `${answer.equalPods} more wait for the same`],
      ...waitFacts(answer.waits, nowMs),
      ...increaseFacts(answer.increases, nowMs),
    ]),
  ];
}

/** More rows help no reader; the nearest pools come first. */
const MOST_POOL_ROWS = 12;

function poolLines(rows: PodAnswer['pools']): readonly (readonly string[])[] {
  const lines = rows
    .slice(0, MOST_POOL_ROWS)
    .map(({ pools, fits, obstacles }) => [namesWithin(pools, POOL_WIDTH), fits ? 'yes' : 'no', obstacles.join('; ')]);
  const left = rows.slice(MOST_POOL_ROWS).reduce((sum, { pools }) => sum + pools.length, 0);
  return left === 0 ? lines : [...lines, [`${left} others`, '', '--json shows all']];
}

/** So that the obstacles keep most of the line. */
const POOL_WIDTH = 40;

/** At least one name; then as many as fit, and the number of the others. */
function namesWithin(names: readonly string[], width: number): string {
  const shown = names.filter((_, at) => names.slice(0, at + 1).join(', ').length <= width);
  return namePools(names, Math.max(1, shown.length));
}

function adviceParts(advice: PodAnswer['advice'], nowMs: number): readonly string[] {
  if (advice === undefined) return [];
  if (advice.wait !== undefined && advice.fix === undefined)
    return [paragraph(`No change is needed: ${describeWait(advice.wait, nowMs)}.`)];
  if (advice.fix === undefined) return [paragraph(`${capitalized(advice.text)}.`)];
  return [paragraph(`Fix that works: ${advice.text}. ${describeProof(advice.fix.proof)}`), ...advice.fix.steps.flatMap(stepLines)];
}

function removalAdviceParts(advice: NodeAnswer['advice']): readonly string[] {
  if (advice === undefined) return [];
  if (advice.wait !== undefined) return [paragraph(`No change is needed: ${advice.text}.`)];
  if (advice.fix === undefined) return [paragraph(`${capitalized(advice.text)}.`)];
  return [paragraph(`Fix that works: ${advice.text}. ${describeSavings(advice.fix.proof)}`), ...advice.fix.steps.flatMap(stepLines)];
}

/** Commands and texts to copy stand on lines of their own, whatever their length. */
function stepLines({ where, command, patch, warning }: FixStep): readonly string[] {
  const before = warning === undefined ? [] : [`  Before: ${warning}.`];
  const what = [command, patch].filter((line) => line !== undefined);
  return [...before, `  In ${where}${what.length === 0 ? '' : ':'}`, ...what.map((line) => `    ${line}`)];
}

function describeWait({ group, untilMs }: NonNullable<Advice['wait']>, nowMs: number): string {
  return untilMs === undefined ? `${group} only needs time` : `${group} is tried again at ${formatMoment(untilMs, nowMs)}`;
}

function describeProof({ pods, of, others, nodes, perHour }: Fix['proof']): string {
  const cost = perHour === undefined ? '' : `, ${signed(perHour)} per hour`;
  const more = others === 0 ? '' : `, and ${others} other ${others === 1 ? 'pod' : 'pods'},`;
  return `Places ${pods} of ${of} ${of === 1 ? 'pod' : 'pods'}${more} with ${nodes} more ${nodes === 1 ? 'node' : 'nodes'}${cost}.`;
}

function signed(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(2)}`;
}

function increaseFacts(increases: readonly RememberedIncrease[], nowMs: number): readonly (readonly [string, string])[] {
  return increases.map(({ group, nodes, acceptedAt, stage, since, expectedBy, pendingPods }) => {
    const come = stage === 'accepted' ? 'none is known to have joined yet' : `${stage} since ${formatMoment(Date.parse(since), nowMs)}`;
    const until = expectedBy === undefined ? '' : `, expected by ${formatMoment(Date.parse(expectedBy), nowMs)}`;
    const left = `${pendingPods} of its pods ${pendingPods === 1 ? 'is' : 'are'} still pending`;
    return ['Before', `${formatMoment(Date.parse(acceptedAt), nowMs)}: ${group} +${nodes}, ${come}${until}; ${left}`];
  });
}

function waitFacts(waits: PodAnswer['waits'], nowMs: number): readonly (readonly [string, string])[] {
  return waits.map(({ group, until, cause, message }) => {
    const retry = until === undefined ? '' : `, next try ${formatMoment(Date.parse(until), nowMs)}`;
    return [`Wait for ${group}`, `${cause}${retry}${message === undefined ? '' : `. Azure: ${message}`}`];
  });
}

function nodeParts(answer: NodeAnswer, nowMs: number): readonly string[] {
  const { pool, vmSize, zone, perHour, requested, utilization, unneededSince, nextCheck, taints } = answer;
  const place = [
    pool ?? 'no managed pool',
    vmSize,
    zone === undefined ? undefined : `zone ${zone}`,
    perHour === undefined ? undefined : `${perHour.toFixed(2)} per hour`,
  ];
  const since = unneededSince === undefined ? 'needed, or unknown' : formatMoment(Date.parse(unneededSince), nowMs);
  return [
    paragraph(answer.sentence),
    ...removalAdviceParts(answer.advice),
    facts([
      ['Pool', place.filter((part) => part !== undefined && part !== '').join(', ')],
      ['Requested', `${percent(requested.cpu)} of CPU, ${percent(requested.memory)} of memory`],
      ['Utilization', utilization === undefined ? '' : percent(utilization)],
      ['Unneeded since', `${since}; removable after ${formatSpan(answer.removableAfterMs)}`],
      ['Blocked by', answer.blocker === undefined ? '' : `pod ${answer.blocker.pod} (${answer.blocker.reason})`],
      ['Next check', nextCheck === undefined ? 'in every loop' : formatMoment(Date.parse(nextCheck), nowMs)],
      ['State', `${answer.ready ? 'ready' : 'not ready'}, ${answer.cordoned ? 'cordoned' : 'not cordoned'}`],
      ['Taints', taints.length === 0 ? 'none' : taints.map(({ taint, by }) => `${taint} (${by})`).join(', ')],
      ['Pods', describePods(answer.pods)],
    ]),
  ];
}

function describePods(pods: readonly string[]): string {
  return pods.length === 0 ? 'none' : `${pods.length}: ${namePools(pods)}`;
}

function poolParts(answer: PoolAnswer, nowMs: number): readonly string[] {
  const { min, max, target, ready, unready, upcoming, vmSize, priority, zones, perHour, template } = answer;
  const size = [
    vmSize,
    priority,
    zones.length === 0 ? 'no zones' : `zones ${zones.join(', ')}`,
    perHour === undefined ? 'price unknown' : `${perHour.toFixed(3)} per hour and node`,
  ];
  return [
    paragraph(answer.sentence),
    facts([
      ['Nodes', `min ${min}  ready ${ready}  not ready ${unready}  upcoming ${upcoming}  target ${target ?? 'unknown'}  max ${max}`],
      [
        'Never joined',
        answer.overdue === 0
          ? ''
          : `${answer.overdue} ${answer.overdue === 1 ? 'instance has' : 'instances have'} no node for longer than one may take`,
      ],
      ['Counts', describeCounts(answer)],
      ['Size', size.filter((part) => part !== '').join(', ')],
      ['Pending pods', `${answer.podsHelped} get a node of it, ${answer.podsWaiting} would fit but it cannot grow`],
      ...waitFacts(answer.waits, nowMs),
      ...answer.stockouts.map(({ zone, code, since, until }): readonly [string, string] => [
        'Out of capacity',
        `${zone === undefined ? 'everywhere' : `zone ${zone}`}: ${code} since ${formatMoment(Date.parse(since), nowMs)}, next try ${formatMoment(Date.parse(until), nowMs)}`,
      ]),
      ...answer.quotas.map(({ title, used, limit, room }): readonly [string, string] => [
        'Quota',
        `${title}: ${used} of ${limit} cores used, room for ${room} ${room === 1 ? 'node' : 'nodes'}`,
      ]),
      ...increaseFacts(answer.increases, nowMs),
      ['Template', template === undefined ? 'unknown: no pod can be planned for it' : describeTemplate(template)],
    ]),
  ];
}

/** Three sources count the nodes of a pool. */
function describeCounts({ target, aksCount, registered }: PoolAnswer): string {
  const counts = [target, aksCount, registered].filter((count) => count !== undefined);
  const named = `Azure ${target ?? 'unknown'}, AKS ${aksCount ?? 'unknown'}, nodes ${registered}`;
  return `${new Set(counts).size === 1 ? 'agree' : 'differ'}: ${named}`;
}

const SOURCES = {
  'live-node': 'from a live node',
  learned: 'learned from an earlier node',
  cloud: 'from Azure, no node was seen yet',
} as const;

function describeTemplate({ source, cpuMillis, memoryBytes, taints, cautions, realLess }: NonNullable<PoolAnswer['template']>): string {
  const amounts = `${formatAmount('cpu', cpuMillis)} CPU, ${formatAmount('memory', memoryBytes)} memory allocatable`;
  const tainted = taints.length === 0 ? '' : `, taints ${taints.join(', ')}`;
  return [`${SOURCES[source]}: ${amounts}${tainted}`, ...describeDifference(realLess), ...cautions].join('. ');
}

function describeDifference(less: NonNullable<PoolAnswer['template']>['realLess']): readonly string[] {
  if (less === undefined || (less.cpuMillis === 0 && less.memoryBytes === 0)) return [];
  const of = (amount: number, text: string): readonly string[] => (amount === 0 ? [] : [`${text} ${amount < 0 ? 'less' : 'more'}`]);
  const cpu = of(less.cpuMillis, `${formatAmount('cpu', Math.abs(less.cpuMillis))} CPU`);
  return [
    `The smallest real node has ${[...cpu, ...of(less.memoryBytes, `${formatAmount('memory', Math.abs(less.memoryBytes))} memory`)].join(' and ')}`,
  ];
}

function decisionParts(answer: DecisionAnswer): readonly string[] {
  return [
    paragraph(answer.sentence),
    table(
      [text('INCREASE'), text('NODES'), number('PODS'), text('FOR')],
      answer.increases.map(({ group, from, to, cause, pods }) => [
        group,
        `${from} -> ${to}`,
        `${pods.length}`,
        pods.length === 0 ? cause : namePools(pods),
      ]),
    ),
    table(
      [text('OPTION'), number('NODES'), number('PODS'), number('WASTE'), number('PRIORITY'), number('PER HOUR'), text('RESULT')],
      answer.options.map(({ group, nodes, pods, waste, priority, perHour, lostBy }) => [
        group,
        `${nodes}`,
        `${pods}`,
        waste.toFixed(3),
        priority === undefined ? '' : `${priority}`,
        perHour === undefined ? '' : perHour.toFixed(2),
        lostBy === undefined ? 'chosen' : `lost on ${lostBy}`,
      ]),
    ),
    table(
      [text('POOL WITHOUT INCREASE'), text('WHY')],
      answer.notGrown.map(({ group, detail }) => [group, detail]),
    ),
    table(
      [text('REMOVAL'), text('POOL'), text('CAUSE')],
      answer.removals.map(({ node, group, cause }) => [node, group, cause]),
    ),
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function capitalized(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

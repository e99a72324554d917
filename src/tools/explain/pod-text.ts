/** The answer about a pod as text: the sentence, the fix with its steps, every pool, then times and what happened before. */
import type { PastChange } from '../../planning/explain/answers/past-changes.ts';
import type { PodAnswer } from '../../planning/explain/answers/pod-answer.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import { formatMoment, formatSpan } from '../../planning/explain/spans.ts';
import { type Fact, increaseRuleInput, type TextLook, waitFacts } from './answer-facts.ts';
import { adviceParts } from './fix-text.ts';
import { facts, paragraph, table, text } from '../../cli/text/text-layout.ts';

export function podParts({ sentence, advice, pools, ...answer }: PodAnswer, look: TextLook): readonly string[] {
  const { nowMs, all, width } = look;
  return [
    paragraph(sentence, width),
    ...adviceParts(advice, look),
    table(
      [all ? text('POOL') : { ...text('POOL'), flex: 'shorten' }, text('FITS'), { ...text('OBSTACLES'), flex: 'wrap' }],
      poolLines(pools, all),
      width,
    ),
    facts(
      [
        [answer.unschedulableSince === undefined ? 'Workload' : 'Unschedulable', describeSince(answer, nowMs)],
        ...expectedFacts(answer.expected, nowMs),
        ...waitFacts(answer.waits, nowMs),
        ...answer.before.map((change): Fact => ['Before', describePast(change, nowMs)]),
        ...(answer.before.length > 0 ? [] : increaseRuleInput(answer.increases, nowMs)),
      ],
      width,
    ),
  ];
}

function describeSince(
  { unschedulableSince, owner, equalPods }: Pick<PodAnswer, 'unschedulableSince' | 'owner' | 'equalPods'>,
  nowMs: number,
): string {
  const since = unschedulableSince === undefined ? [] : [formatMoment(Date.parse(unschedulableSince), nowMs)];
  const equal = equalPods === 0 ? 'a pod' : `with ${equalPods} equal ${equalPods === 1 ? 'pod' : 'pods'}`;
  if (owner === undefined) return [...since, ...(equalPods === 0 ? [] : [equal])].join(', ');
  return [...since, `${equal} of ${owner}`].join(', ');
}

function expectedFacts(expected: PodAnswer['expected'], nowMs: number): readonly Fact[] {
  if (expected === undefined) return [];
  const { pool, requestedAt, readyAt, lateAfter, seen, p50Ms = 0, p90Ms = 0 } = expected;
  const requested = `requested ${formatMoment(Date.parse(requestedAt), nowMs)}`;
  if (readyAt === undefined || lateAfter === undefined)
    return [['Expected', `unknown: no earlier increase of ${pool} was seen; ${requested}`]];
  const of = `${seen} earlier ${seen === 1 ? 'increase' : 'increases'} of ${pool} took ${formatSpan(p50Ms)} (p50) and ${formatSpan(p90Ms)} (p90)`;
  const late = Date.parse(lateAfter) < nowMs ? 'later than p90: ' : '';
  return [['Expected', `${late}${formatMoment(Date.parse(readyAt), nowMs)}; ${of}; ${requested}`]];
}

function describePast({ at, pool, from, to, by, why, decision }: PastChange, nowMs: number): string {
  const who = by === 'autoscaler' ? '' : `, by ${by}`;
  const id = decision === undefined ? '' : ` (decision ${decision})`;
  return `${formatMoment(Date.parse(at), nowMs)}: ${pool} ${from} -> ${to}${who}, ${why}${id}`;
}

/** More rows help no reader; the nearest pools come first. */
const MOST_POOL_ROWS = 12;

function poolLines(rows: PodAnswer['pools'], all: boolean): readonly (readonly string[])[] {
  const most = all ? rows.length : MOST_POOL_ROWS;
  const lines = rows
    .slice(0, most)
    .map(({ pools, fits, obstacles }) => [
      all ? pools.join(', ') : namesWithin(pools, POOL_WIDTH),
      fits ? 'yes' : 'no',
      obstacles.join('; '),
    ]);
  const left = rows.slice(most).reduce((sum, { pools }) => sum + pools.length, 0);
  return left === 0 ? lines : [...lines, [`${left} others`, '', 'names: --all']];
}

/** So that the obstacles keep most of the line. */
const POOL_WIDTH = 40;

/** At least one name; then as many as fit, and the number of the others. */
function namesWithin(names: readonly string[], width: number): string {
  const shown = names.filter((_, at) => names.slice(0, at + 1).join(', ').length <= width);
  return namePools(names, Math.max(1, shown.length));
}

/** What a dry run would have done against what the other autoscaler did: totals, kinds of disagreement, and each of them with both reasons. */
import { useState } from 'preact/hooks';
import type { Disagreement, DisagreementKind, ShadowReport, SideTotals } from '../../planning/shadow/report.ts';
import {
  answerOf,
  costTitle,
  DISAGREEMENT_TITLES,
  formatAmount,
  OTHER_AUTOSCALER,
  signedAmount,
  signedMoney,
} from '../../planning/shadow/report-words.ts';
import { Panel, Segments, Time } from '../parts/parts.tsx';
import { counted, formatAge, formatCount, hashFor, poolLabel } from '../parts/text.ts';
import { useDocument } from '../parts/use-document.ts';

const SPANS = ['1d', '7d'] as const;
type Span = (typeof SPANS)[number];

const SPAN_WORDS: Readonly<Record<Span, string>> = { '1d': 'day', '7d': '7 days' };
const FIRST_ROWS = 30;
/** A shorter time without loops is a restart. */
const LEAST_GAP_MS = 600_000;

/** `minute`: another value means that there is a newer report. */
export function ShadowReportPanel({ minute }: { readonly minute: number }) {
  const [span, setSpan] = useState<Span>('7d');
  const { document: report, refusal } = useDocument<ShadowReport>(`report?since=${span}`, minute);
  return (
    <Panel
      id="report"
      title={`Dry run against the ${OTHER_AUTOSCALER}, last ${SPAN_WORDS[span]}`}
      tools={<Segments label="Span" values={SPANS.map((each) => [each, SPAN_WORDS[each]] as const)} value={span} onChange={setSpan} />}
    >
      {report !== undefined ? (
        <Compared report={report} span={span} />
      ) : refusal === undefined ? (
        <p class="sk" />
      ) : (
        <p class="none">{'message' in refusal ? refusal.message : 'The report cannot be read now; the page tries again.'}</p>
      )}
    </Panel>
  );
}

function Compared({ report, span }: { readonly report: ShadowReport; readonly span: Span }) {
  const [kind, setKind] = useState<DisagreementKind>();
  const { disagreements, assumptions, sizesWithoutPrice, currency, repacking } = report;
  return (
    <>
      <div class="lead">
        <h1>{answerOf(report)}</h1>
        <p>
          <Scope report={report} />
        </p>
        {repacking !== undefined && (
          <p title={repacking.leftOut.join('\n')}>
            With repacking, as of <Clock ms={repacking.atMs} />: {repacking.text}, with what is removed anyway.
          </p>
        )}
      </div>
      <div class="scroll">
        <Totals report={report} />
      </div>
      {disagreements.length > 0 && <Kinds all={disagreements} kind={kind} setKind={setKind} />}
      {disagreements.length > 0 && (
        <OneByOne all={disagreements.filter((each) => kind === undefined || each.kind === kind)} currency={currency} />
      )}
      <p class="none">
        Estimated: {assumptions.join('; ')}.
        {sizesWithoutPrice.length > 0 && ` Without a price, so not in any sum: ${sizesWithoutPrice.join(', ')}.`} The same in a terminal:{' '}
        <code>aks-autoscaler report --since {span} --all</code>
      </p>
    </>
  );
}

function Scope({ report: { fromMs, toMs, isPartial, seenMs, pools, disagreements } }: { readonly report: ShadowReport }) {
  const spanMs = toMs - fromMs;
  return (
    <>
      Since <Clock ms={fromMs} />
      {isPartial && ', when the record begins'}: {counted(pools, 'pool')}, {counted(disagreements.length, 'disagreement')}. Nothing was
      written. {spanMs - seenMs > LEAST_GAP_MS && `Loops were recorded for ${formatAge(seenMs)} of ${formatAge(spanMs)}.`}
    </>
  );
}

function Clock({ ms }: { readonly ms: number }) {
  return <Time at={new Date(ms).toISOString()} as="clock" />;
}

function Totals({ report: { ours, theirs, currency } }: { readonly report: ShadowReport }) {
  const money = ({ cost }: SideTotals): string => (cost === undefined ? 'unknown' : formatAmount(cost, 2));
  const isPriced = ours.cost !== undefined && theirs.cost !== undefined;
  const rows: readonly (readonly [string, string, string, string])[] = [
    [costTitle(currency), money(theirs), money(ours), isPriced ? signedAmount((ours.cost ?? 0) - (theirs.cost ?? 0), 2) : ''],
    [
      'Pending, pod-minutes',
      formatAmount(theirs.podMinutes, 0),
      formatAmount(ours.podMinutes, 0),
      signedAmount(ours.podMinutes - theirs.podMinutes, 0),
    ],
    ['Longest wait', formatAge(theirs.longestWaitMs), 'unknown', ''],
    ['Nodes added', formatCount(theirs.nodesAdded), formatCount(ours.nodesAdded), signedAmount(ours.nodesAdded - theirs.nodesAdded, 0)],
    [
      'Nodes removed',
      formatCount(theirs.nodesRemoved),
      formatCount(ours.nodesRemoved),
      signedAmount(ours.nodesRemoved - theirs.nodesRemoved, 0),
    ],
  ];
  return (
    <table class="t sides">
      <thead>
        <tr>
          <th scope="col">
            <span class="vh">Quantity</span>
          </th>
          {[OTHER_AUTOSCALER, 'aks-autoscaler', 'Difference'].map((name) => (
            <th key={name} scope="col" class="num">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, ...cells]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {cells.map((cell, at) => (
              <td key={at} class="num">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface KindsProps {
  readonly all: readonly Disagreement[];
  /** Only these are listed. undefined: all. */
  readonly kind: DisagreementKind | undefined;
  readonly setKind: (kind: DisagreementKind | undefined) => void;
}

function Kinds({ all, kind, setKind }: KindsProps) {
  const kinds = [...Map.groupBy(all, (each) => each.kind)].toSorted(([, left], [, right]) => right.length - left.length);
  return (
    <div class="kinds" role="group" aria-label="Only one kind of disagreement">
      {kinds.map(([each, of]) => (
        <button key={each} type="button" class="btn" aria-pressed={each === kind} onClick={() => setKind(each === kind ? undefined : each)}>
          {formatCount(of.length)} × {DISAGREEMENT_TITLES[each]}
        </button>
      ))}
    </div>
  );
}

/** The newest first. */
function OneByOne({ all, currency }: { readonly all: readonly Disagreement[]; readonly currency: string | undefined }) {
  const [most, setMost] = useState(FIRST_ROWS);
  return (
    <>
      <ol class="sides-list">
        {all
          .toReversed()
          .slice(0, most)
          .map((each) => (
            <Row key={`${each.atMs} ${each.kind} ${each.pools.join()} ${each.ours}`} of={each} currency={currency} />
          ))}
      </ol>
      {all.length > most && (
        <p class="foot">
          <button type="button" class="btn" onClick={() => setMost(most + 100)}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}

function Row({ of, currency }: { readonly of: Disagreement; readonly currency: string | undefined }) {
  const { kind, atMs, pools, nodes, ours, theirs, cost, podMinutes } = of;
  const [first = '', ...others] = pools;
  return (
    <li>
      <p class="what">
        <span class="muted">
          <Clock ms={atMs} />
        </span>{' '}
        <a href={hashFor('pool', first)} title={first} data-row>
          {poolLabel(first)}
        </a>
        {others.length > 0 && `, not ${others.map(poolLabel).join(', ')}`}, {counted(nodes, 'node')}: <b>{DISAGREEMENT_TITLES[kind]}</b>
        <span class="cost">
          {signedMoney(cost, currency)}, {signedAmount(podMinutes, 0)} pod-minutes
        </span>
      </p>
      <dl>
        <dt>aks-autoscaler</dt>
        <dd>{ours}</dd>
        <dt>{OTHER_AUTOSCALER}</dt>
        <dd>{theirs}</dd>
      </dl>
    </li>
  );
}

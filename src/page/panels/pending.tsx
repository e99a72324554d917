/**
 * Pending pods by class: what waits and why, what helps, and for how long. What needs a change by a person comes first. The room has a file
 * per panel. Must not know how documents are read, nor the other panels' state.
 */
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Overview } from '../../api/documents/overview.ts';
import type { ObstaclesDocument, PendingClass } from '../../api/documents/pending-classes.ts';
import { readDocument } from '../parts/api-client.ts';
import { localNow } from '../parts/browser.ts';
import { memo } from '../parts/memo.ts';
import { labelOf, type Verdict } from '../../planning/explain/verdicts.ts';
import { Command, Page, Time, VerdictChip } from '../parts/parts.tsx';
import { useStableOrder } from '../parts/stable-order.ts';
import { counted, formatCount, hashFor, headline, poolLabel, SHOWN_VERDICTS, simulatedText, verdictWords } from '../parts/text.ts';

export function Pending({ overview }: { readonly overview: Overview }) {
  const { pending, classes, dryRun } = overview;
  const list = useRef<HTMLUListElement>(null);
  const rows = useStableOrder(classes, ({ id }) => id, list);
  return (
    <section class="panel" id="pending" aria-labelledby="headline" tabIndex={-1}>
      <div class="lead">
        <Headline text={headline(overview)} />
        <p>
          <Below overview={overview} />
        </p>
        {pending.total > 0 && <Proportions overview={overview} />}
      </div>
      {rows.length > 0 && (
        <ul class="rows" ref={list}>
          {rows.map((each) => (
            <ClassRow key={each.id} of={each} dryRun={dryRun} />
          ))}
        </ul>
      )}
      <Hidden pending={pending} />
    </section>
  );
}

const LEAST_GAP_MS = 15_000;

/** The largest text. It is read out at most once in fifteen seconds. */
function Headline({ text }: { readonly text: string }) {
  const [said, setSaid] = useState(text);
  const last = useRef(0);
  useEffect(() => {
    const now = localNow();
    if (now - last.current < LEAST_GAP_MS) return;
    last.current = now;
    setSaid(text);
  }, [text]);
  return (
    <>
      <h1 id="headline">{text}</h1>
      <span class="vh" aria-live="polite">
        {said}
      </span>
    </>
  );
}

function Below({ overview: { pending, lastChange } }: { readonly overview: Overview }) {
  const ignored = pending.byNeed.ignored;
  return (
    <>
      {pending.oldestNeedingChangeSince !== undefined && (
        <>
          Oldest that needs a change: <Time at={pending.oldestNeedingChangeSince} as="age" />.{' '}
        </>
      )}
      {ignored > 0 && `Ignored: ${counted(ignored, 'pod')} that never cause a scale-up. `}
      {pending.cutShortAfter !== undefined && `The plan ended early, after ${counted(pending.cutShortAfter, 'estimate')}. `}
      {pending.total === 0 && lastChange !== undefined && (
        <>
          Last change: <a href={hashFor('pool', lastChange.pool)}>{poolLabel(lastChange.pool)}</a> {lastChange.from} → {lastChange.to},{' '}
          {lastChange.why}, <Time at={lastChange.at} />.
        </>
      )}
    </>
  );
}

const SHADES: Readonly<Record<Verdict, string>> = {
  impossible: 'k-bad',
  'blocked-by-max': 'k-warn',
  'blocked-by-quota': 'k-warn v',
  'blocked-by-backoff': 'k-warn h',
  helped: 'k-go',
  coming: 'k-come',
  ignored: 'k-come',
};

function Proportions({ overview: { pending } }: { readonly overview: Overview }) {
  const parts = SHOWN_VERDICTS.flatMap((verdict) => {
    const pods = pending.byVerdict[verdict] ?? 0;
    return pods === 0 ? [] : [{ verdict, pods }];
  });
  return (
    <>
      <div class="prop" role="img" aria-label={parts.map(({ verdict, pods }) => `${pods} ${labelOf(verdict)}`).join(', ')}>
        {parts.map(({ verdict, pods }) => (
          <i key={verdict} class={SHADES[verdict]} style={{ flex: String(pods) }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map(({ verdict, pods }) => (
          <li key={verdict}>
            <i class={SHADES[verdict]} />
            <span>
              <b>{formatCount(pods)}</b> {verdictWords(verdict)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const ClassRow = memo(function ClassRow({ of, dryRun }: { readonly of: PendingClass; readonly dryRun: boolean }) {
  const { namespace, owner, requests, verdict, pods, sentence, oldestSince, retryAt, expectedReadyAt, need } = of;
  return (
    <li class={need === 'coming' ? 'ok' : ''}>
      <div>
        <VerdictChip verdict={verdict} dryRun={dryRun} />
        <span class="n">{counted(pods, 'pod')}</span>
      </div>
      <div>
        <h3>
          <a href={hashFor('pod', of.sample)} data-row>
            {namespace}/{owner}
          </a>{' '}
          <span class="muted">
            {requests}
            {pods > 1 ? ' each' : ''}
          </span>
        </h3>
        <p class="why">{sentence}</p>
        <FixBlock of={of} />
        <Azure of={of} />
        {need !== 'coming' && (of.obstacleRows ?? 0) > 1 && <Obstacles id={of.id} />}
      </div>
      <div class="when">
        {oldestSince !== undefined && (
          <span class="nw">
            <span class="faint">waits</span> <Time at={oldestSince} as="age" />
          </span>
        )}
        {retryAt !== undefined && (
          <span class="nw">
            try <Time at={retryAt} />
          </span>
        )}
        {expectedReadyAt !== undefined && (
          <span class="nw">
            ready <Time at={expectedReadyAt} />
          </span>
        )}
      </div>
    </li>
  );
});

/** Only a change that was simulated and works is called a fix. */
export function FixBlock({ of: { fix } }: { readonly of: Pick<PendingClass, 'fix'> }) {
  const { currency } = useContext(Page);
  if (fix === undefined) return null;
  if (!fix.proved)
    return (
      <div class="fix none">
        <b>No single change helps.</b> {fix.nearest !== undefined && `Nearest pool: ${fix.nearest}. `}
        {counted(fix.tried, 'change was', 'changes were')} tried.
      </div>
    );
  return (
    <div class="fix">
      <b>Fix that works:</b> {fix.text}.{' '}
      {fix.simulated !== undefined && <span class="muted">Simulated: {simulatedText(fix.simulated, currency)}.</span>}
      <Steps steps={fix.steps} />
    </div>
  );
}

/** Each with its own command: what one step warns of must not be copied with another. */
export function Steps({ steps }: { readonly steps: NonNullable<PendingClass['fix']>['steps'] }) {
  return (
    <>
      {steps.map(({ where, command, patch, warning }) => (
        <div key={where}>
          <span class="muted">Where: {where}.</span> {warning !== undefined && <strong>Before: {warning}.</strong>}
          {command !== undefined && <Command text={command} />}
          {patch !== undefined && <Command text={patch.trimEnd()} />}
        </div>
      ))}
    </>
  );
}

function Azure({ of: { azure } }: { readonly of: PendingClass }) {
  if (azure === undefined) return null;
  const { group, since, cause, message, correlationId } = azure;
  return (
    <details>
      <summary>What holds the pool</summary>
      <p class="muted">
        <code>{cause}</code> for {group}
        {since !== undefined && (
          <>
            , <Time at={since} />
          </>
        )}
        . {message}{' '}
        {correlationId !== undefined && (
          <>
            Correlation ID <code>{correlationId}</code>
          </>
        )}
      </p>
    </details>
  );
}

/** Read when it is opened. */
function Obstacles({ id }: { readonly id: string }) {
  const [rows, setRows] = useState<ObstaclesDocument['rows'] | string>();
  const toggled = (isOpen: boolean): void => {
    if (!isOpen || rows !== undefined) return;
    void readDocument<ObstaclesDocument>(`pending/${id}/obstacles`).then((answer) =>
      setRows('refusal' in answer ? 'These pods no longer wait for this reason.' : answer.document.rows),
    );
  };
  return (
    <details onToggle={(event) => toggled(event.currentTarget.open)}>
      <summary>Why not the other pools</summary>
      {typeof rows === 'string' ? <p class="muted">{rows}</p> : rows === undefined ? <p class="sk" /> : <ObstacleTable rows={rows} />}
    </details>
  );
}

export function ObstacleTable({ rows }: { readonly rows: ObstaclesDocument['rows'] }) {
  return (
    <table class="obs">
      <tbody>
        {rows.map(({ pools, obstacles }, at) => (
          <tr key={pools.join()} class={at === 0 ? 'near' : ''}>
            <th scope="row">{pools.length <= 3 ? pools.join(', ') : <PoolNames pools={pools} />}</th>
            <td>{obstacles.join('; ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function PoolNames({ pools }: { readonly pools: readonly string[] }) {
  return <span title={pools.join(', ')}>{counted(pools.length, 'pool')}</span>;
}

function Hidden({ pending }: { readonly pending: Overview['pending'] }) {
  const links = SHOWN_VERDICTS.flatMap((verdict) => {
    const rest = pending.hidden[verdict];
    return rest === undefined ? [] : [{ verdict, ...rest }];
  });
  if (links.length === 0) return null;
  return (
    <ul class="more">
      {links.map(({ verdict, classes, pods }) => (
        <li key={verdict}>
          <a href={hashFor('pending', verdict)} data-row>
            and {counted(classes, 'more class', 'more classes')}, {counted(pods, 'pod')}
          </a>{' '}
          <span class="muted">{verdictWords(verdict)}</span>
        </li>
      ))}
    </ul>
  );
}

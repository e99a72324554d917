/** Decisions and the changes of other writers, searchable; and how long increases take, by pool. */
import { useEffect, useState } from 'preact/hooks';
import type { DecisionRow, DecisionsDocument } from '../../api/documents/decisions.ts';
import type { PoolStages } from '../../api/documents/scale-ups.ts';
import { readDocument } from '../parts/api-client.ts';
import { after, parameter, setParameter } from '../parts/browser.ts';
import type { Selection } from './changes.tsx';
import { memo } from '../parts/memo.ts';
import { Glyph, type GlyphName, Panel, Time } from '../parts/parts.tsx';
import { counted, formatAge, formatCount, formatFull, hashFor, poolLabel, withArrows } from '../parts/text.ts';
import { useDocument } from '../parts/use-document.ts';

const LOOKS: Readonly<Record<DecisionRow['kind'], { readonly glyph: GlyphName; readonly css: string; readonly words: string }>> = {
  increase: { glyph: 'up', css: 'up', words: 'increase' },
  removal: { glyph: 'down', css: 'dn', words: 'removal' },
  pending: { glyph: 'ring', css: 'q', words: 'no pool helps' },
  withheld: { glyph: 'ring', css: 'ot', words: 'withheld by the dry run' },
  failed: { glyph: 'cross', css: 'xx', words: 'failed' },
  'other-writer': { glyph: 'diamond', css: 'ot', words: 'another writer' },
  eviction: { glyph: 'hollow', css: 'ev', words: 'eviction' },
};

const FIRST_ROWS = 12;
const TYPING_MS = 200;

interface DecisionsProps {
  /** Another value means that there are newer decisions. */
  readonly newest: unknown;
  readonly selection: Selection | undefined;
}

export const Decisions = memo(function Decisions({ newest, selection }: DecisionsProps) {
  const [text, setText] = useState(() => parameter('q') ?? '');
  const { since, all, shown, hasOlder, more, isFiltered } = useRows(text, newest, selection);
  return (
    <Panel
      id="decisions"
      title="Decisions"
      tools={
        <>
          <input
            aria-label="Search decisions"
            placeholder="pod, pool, code, writer"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <span class="muted">
            {selection === undefined ? '' : 'in the selection, '}
            {counted(all, 'row')}
            {hasOlder ? ' and older ones' : ''}
          </span>
        </>
      }
    >
      {since === undefined && <p class="sk" />}
      {since !== undefined && all === 0 && <None since={since} isFiltered={isFiltered} />}
      <ol class="dec">
        {shown.map((row) => (
          <DecisionLine key={`${row.id} ${row.at} ${row.kind}`} row={row} />
        ))}
      </ol>
      {(all > shown.length || hasOlder) && (
        <p class="foot">
          <button type="button" class="btn" onClick={more}>
            Show more
          </button>
        </p>
      )}
    </Panel>
  );
});

interface ShownRows {
  /** undefined: nothing was read yet. */
  readonly since: string | undefined;
  readonly all: number;
  readonly shown: readonly DecisionRow[];
  readonly hasOlder: boolean;
  readonly more: () => void;
  readonly isFiltered: boolean;
}

function useRows(text: string, newest: unknown, selection: Selection | undefined): ShownRows {
  const q = useSettled(text);
  const [most, setMost] = useState(FIRST_ROWS);
  const [older, setOlder] = useState<readonly DecisionRow[]>([]);
  const from = selection === undefined ? '' : `&from=${new Date(selection.fromMs).toISOString()}`;
  const query = `decisions?q=${encodeURIComponent(q)}${from}`;
  const { document } = useDocument<DecisionsDocument>(query, newest);
  useEffect(() => setOlder([]), [query]);
  const rows = [...(document?.items ?? []), ...older].filter(({ at }) => selection === undefined || Date.parse(at) <= selection.toMs);
  const readOlder = async (): Promise<void> => {
    const last = rows.at(-1);
    if (document?.next === undefined || last === undefined || rows.length > most) return;
    const answer = await readDocument<DecisionsDocument>(`${query}&cursor=${Date.parse(last.at)}`);
    if ('document' in answer) setOlder([...older, ...answer.document.items]);
  };
  const more = (): void => {
    setMost(most + 100);
    void readOlder();
  };
  const hasOlder = document?.next !== undefined && older.length === 0;
  return {
    since: document?.knownSince,
    all: rows.length,
    shown: rows.slice(0, most),
    hasOlder,
    more,
    isFiltered: q !== '' || selection !== undefined,
  };
}

/** The text when the typing has paused; it is part of the address. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(
    () =>
      after(TYPING_MS, () => {
        setSettled(text);
        setParameter('q', text);
      }),
    [text],
  );
  return settled;
}

function None({ since, isFiltered }: { readonly since: string; readonly isFiltered: boolean }) {
  return (
    <p class="none">
      {isFiltered ? 'No decision matches. ' : 'No decision changed anything. '}
      History since <Time at={since} as="clock" />.
    </p>
  );
}

const DecisionLine = memo(function DecisionLine({ row: { id, at, kind, sentence, pools, dumpFile } }: { readonly row: DecisionRow }) {
  const { glyph, css, words } = LOOKS[kind];
  const isOwn = kind !== 'other-writer' && kind !== 'eviction' && !id.includes('@');
  return (
    <li>
      <span class="tm">
        <Time at={at} as="clock" />
      </span>
      <span class={`g ${css}`} title={words}>
        <Glyph name={glyph} />
        <span class="vh">{words}</span>
      </span>
      <span class="tx">
        {isOwn ? (
          <a class="plain" href={hashFor('decision', id)} data-row>
            {withArrows(sentence)}
          </a>
        ) : (
          withArrows(sentence)
        )}
      </span>
      <span class="id faint" title={dumpFile === undefined ? pools.join(', ') : `replay ${dumpFile}`}>
        {isOwn ? <a href={hashFor('decision', id)}>{id}</a> : ''}
      </span>
    </li>
  );
});

export const Latency = memo(function Latency({ newest }: { readonly newest: unknown }) {
  const { document } = useDocument<{ readonly items: readonly PoolStages[] }>('stages', newest);
  const rows = document?.items ?? [];
  return (
    <Panel id="latency" title="From the write to a ready node" note="by pool">
      {document !== undefined && rows.length === 0 && <p class="none">No increase was followed to its end yet.</p>}
      {rows.length > 0 && (
        <table class="t">
          <thead>
            <tr>
              <th scope="col">Pool</th>
              {['Count', 'p50', 'p90', 'Failed'].map((name) => (
                <th key={name} scope="col" class="num">
                  {name}
                </th>
              ))}
              <th scope="col">Slowest</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ pool, ready, failed, slowest }) => (
              <tr key={pool}>
                <th scope="row">
                  <a href={hashFor('pool', pool)} title={pool}>
                    {poolLabel(pool)}
                  </a>
                </th>
                <td class="num">{formatCount(ready?.count ?? 0)}</td>
                <td class="num">{ready === undefined ? '' : formatAge(ready.p50Ms)}</td>
                <td class="num">{ready === undefined ? '' : formatAge(ready.p90Ms)}</td>
                <td class="num">{failed > 0 ? <b>{failed}</b> : 0}</td>
                <td>{slowest ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
});

export interface Withheld {
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  readonly lastAtMs: number;
  readonly times: number;
}

/** What a dry run would have written, from the document under /debug. */
export function WithheldWrites({ rows }: { readonly rows: readonly Withheld[] }) {
  return (
    <Panel id="withheld" title={`${counted(rows.length, 'write')} withheld by the dry run`}>
      <ol class="dec">
        {rows
          .toReversed()
          .slice(0, FIRST_ROWS)
          .map(({ kind, subject, detail, lastAtMs, times }) => (
            <li key={`${kind} ${subject} ${detail}`}>
              <span class="tm">
                <Time at={new Date(lastAtMs).toISOString()} as="clock" />
              </span>
              <span class="g ot">
                <Glyph name="ring" />
              </span>
              <span class="tx">
                {kind} {subject}: {detail}
              </span>
              <span class="id faint" title={formatFull(lastAtMs)}>
                {counted(times, 'time')}
              </span>
            </li>
          ))}
      </ol>
    </Panel>
  );
}

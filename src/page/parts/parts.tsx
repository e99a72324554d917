/**
 * Small pieces that every panel uses: times that count, chips with a glyph and a word, commands to copy, bars of pools.
 * Must not know any panel.
 */
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { PoolRowDocument } from '../../api/documents/pools.ts';
import { after, copyText, every, localNow } from './browser.ts';
import { labelOf, type Verdict } from '../../planning/explain/verdicts.ts';
import { formatAge, formatClock, formatCount, formatDistance, formatFull, perHour } from './text.ts';

/** What all panels know. */
export interface PageContext {
  /** The daemon's clock less this machine's, in milliseconds. */
  readonly offsetMs: number;
  readonly currency: string | undefined;
  /** Whether times are shown as clock times instead of distances. */
  readonly absolute: boolean;
}

export const Page = createContext<PageContext>({ offsetMs: 0, currency: undefined, absolute: false });

/** One timer for all times of the page. */
const ticking = new Set<() => void>();
every(1000, () => {
  for (const tick of ticking) tick();
});

/** What `compute` makes of the daemon's time, in milliseconds since the epoch. Draws again only if it differs. */
function useTicking<Value>(compute: (now: number) => Value): Value {
  const { offsetMs } = useContext(Page);
  const current = useRef(compute);
  current.current = compute;
  const value = compute(localNow() + offsetMs);
  const shown = useRef(value);
  shown.current = value;
  const [, redraw] = useState(0);
  useEffect(() => {
    const tick = (): void => {
      if (current.current(localNow() + offsetMs) !== shown.current) redraw((count) => count + 1);
    };
    ticking.add(tick);
    return () => ticking.delete(tick);
  }, [offsetMs]);
  return value;
}

/** The daemon's time, and again each second. */
export function useNow(): number {
  return useTicking((now) => Math.round(now / 1000) * 1000);
}

interface TimeProps {
  readonly at: string;
  /** `distance`: 24 min ago. `age`: 24 min. `clock`: 03:14:20. */
  readonly as?: 'distance' | 'age' | 'clock';
}

/** The title has the full time in UTC. */
export function Time({ at, as = 'distance' }: TimeProps) {
  const { absolute } = useContext(Page);
  const ms = Date.parse(at);
  const isClock = absolute || as === 'clock';
  const text = useTicking((now) =>
    isClock ? formatClock(ms, now) : as === 'age' ? formatAge(Math.abs(now - ms)) : formatDistance(ms, now),
  );
  return (
    <time dateTime={at} title={formatFull(ms)}>
      {text}
    </time>
  );
}

export function Money({ perHour: amount }: { readonly perHour: number }) {
  return <>{perHour(amount, useContext(Page).currency)}</>;
}

/** Shapes that say the same as the colour. */
const GLYPHS = {
  cross: <path d="M2 2L8 8M8 2L2 8" fill="none" stroke="currentColor" stroke-width="1.8" />,
  square: <path d="M1.5 1.5H8.5V8.5H1.5Z" fill="currentColor" />,
  box: <path d="M1.5 1.5H8.5V8.5H1.5ZM1.5 5H8.5" fill="none" stroke="currentColor" stroke-width="1.5" />,
  bars: <path d="M2 1H4V9H2ZM6 1H8V9H6Z" fill="currentColor" />,
  up: <path d="M5 1L9.4 9H.6Z" fill="currentColor" />,
  down: <path d="M5 9L9.4 1H.6Z" fill="currentColor" />,
  right: <path d="M1 5H8.6M5.6 2L8.6 5L5.6 8" fill="none" stroke="currentColor" stroke-width="1.8" />,
  diamond: <path d="M5 .6L9.4 5L5 9.4L.6 5Z" fill="currentColor" />,
  hollow: <path d="M5 1.4L8.6 5L5 8.6L1.4 5Z" fill="none" stroke="currentColor" stroke-width="1.6" />,
  ring: <circle cx="5" cy="5" r="3.4" fill="none" stroke="currentColor" stroke-width="1.6" />,
} as const;

export type GlyphName = keyof typeof GLYPHS;

export function Glyph({ name }: { readonly name: GlyphName }) {
  return (
    <svg class="gi" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
      {GLYPHS[name]}
    </svg>
  );
}

export type Tone = 'bad' | 'warn' | 'go' | 'ok' | 'q' | 'other';

export function Chip({ tone, glyph, children }: { readonly tone: Tone; readonly glyph: GlyphName; readonly children: ComponentChildren }) {
  return (
    <span class={`chip ${tone}`}>
      <Glyph name={glyph} />
      {children}
    </span>
  );
}

const CHIPS: Readonly<Record<Verdict, { readonly tone: Tone; readonly glyph: GlyphName }>> = {
  impossible: { tone: 'bad', glyph: 'cross' },
  'blocked-by-max': { tone: 'warn', glyph: 'square' },
  'blocked-by-quota': { tone: 'warn', glyph: 'box' },
  'blocked-by-backoff': { tone: 'warn', glyph: 'bars' },
  helped: { tone: 'go', glyph: 'up' },
  coming: { tone: 'q', glyph: 'right' },
  ignored: { tone: 'q', glyph: 'ring' },
};

export function VerdictChip({ verdict, dryRun = false }: { readonly verdict: Verdict; readonly dryRun?: boolean }) {
  return <Chip {...CHIPS[verdict]}>{dryRun && verdict === 'helped' ? 'Would increase' : labelOf(verdict)}</Chip>;
}

const COPIED_MS = 1_500;

function Copy({ text }: { readonly text: string }) {
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text)) ? 'Copied' : 'Select and copy');
    after(COPIED_MS, () => setSaid(''));
  };
  return (
    <button type="button" class="btn" onClick={() => void copy()} aria-live="polite">
      {said === '' ? 'Copy' : said}
    </button>
  );
}

export function Command({ text }: { readonly text: string }) {
  return (
    <div class="cmd">
      <code>{text}</code>
      <Copy text={text} />
    </div>
  );
}

/** Ready is solid, upcoming hatched, the tick is the minimum, the track the maximum. The numbers stand beside it. */
export function PoolBar({ min, max, ready, upcoming = 0, target }: Pick<PoolRowDocument, 'min' | 'max' | 'ready' | 'upcoming' | 'target'>) {
  const scale = Math.max(max, ready + upcoming, 1);
  const share = (count: number): string => `${Math.min(100, (count / scale) * 100)}%`;
  const isFull = max > 0 && (target ?? ready) >= max;
  const label = `${formatCount(ready)} ready${upcoming > 0 ? `, ${formatCount(upcoming)} on the way` : ''}, of at most ${formatCount(max)}`;
  return (
    <div class={isFull ? 'pb full' : 'pb'} role="img" aria-label={label}>
      <i class="rd" style={{ width: share(ready) }} />
      {upcoming > 0 && <i class="up" style={{ left: share(ready), width: share(upcoming) }} />}
      {min > 0 && <i class="mn" style={{ left: share(min) }} />}
    </div>
  );
}

interface PanelProps {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Panel({ id, title, note, tools, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`h-${id}`} tabIndex={-1}>
      <div class="hd">
        <h2 id={`h-${id}`}>{title}</h2>
        {note !== undefined && <p>{note}</p>}
        {tools !== undefined && <div class="tools r">{tools}</div>}
      </div>
      {children}
    </section>
  );
}

export function Segments<Value extends string>({
  label,
  values,
  value,
  onChange,
}: {
  readonly label: string;
  readonly values: readonly (readonly [Value, string])[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}) {
  return (
    <div class="seg" role="group" aria-label={label}>
      {values.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** The last hours of each pool that changed: cause beside effect, on one time axis; or the same as a table. */
import { useRef, useState } from 'preact/hooks';
import type { Timeline, TimelineLane, TimelineMark, TimelineStep } from '../../api/documents/timeline.ts';
import { memo } from '../parts/memo.ts';
import { Glyph, Panel, Segments, Time } from '../parts/parts.tsx';
import { counted, formatClock, formatCount, hashFor, poolLabel } from '../parts/text.ts';
import { Mark, MARKS } from './timeline-mark.tsx';

export type Range = '15m' | '1h' | '6h' | '24h';

export const RANGE_MS: Readonly<Record<Range, number>> = { '15m': 900_000, '1h': 3_600_000, '6h': 6 * 3_600_000, '24h': 24 * 3_600_000 };

/** A part of the time axis, milliseconds since the epoch. */
export interface Selection {
  readonly fromMs: number;
  readonly toMs: number;
}

interface ChangesProps {
  /** undefined: not read yet. */
  readonly timeline: Timeline | undefined;
  readonly range: Range;
  readonly setRange: (range: Range) => void;
  readonly selection: Selection | undefined;
  readonly select: (selection: Selection | undefined) => void;
  readonly showAll: () => void;
}

const RANGE_WORDS: Readonly<Record<Range, string>> = { '15m': '15 minutes', '1h': 'hour', '6h': '6 hours', '24h': '24 hours' };

export const Changes = memo(function Changes(props: ChangesProps) {
  const { timeline, range, setRange, selection, select } = props;
  const [asTable, setAsTable] = useState(false);
  return (
    <Panel
      id="changes"
      title={`Changes, last ${RANGE_WORDS[range]}`}
      note={timeline === undefined ? '' : noteOf(timeline)}
      tools={
        <>
          {selection !== undefined && (
            <button type="button" class="btn" onClick={() => select(undefined)}>
              Clear selection
            </button>
          )}
          <button type="button" class="btn" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            {asTable ? 'Show as chart' : 'Show as table'}
          </button>
          <Segments
            label="Range"
            values={(['15m', '1h', '6h', '24h'] as const).map((each) => [each, each.replace('m', ' min').replace('h', ' h')] as const)}
            value={range}
            onChange={setRange}
          />
        </>
      }
    >
      {timeline === undefined ? (
        <p class="sk" />
      ) : timeline.lanes.length === 0 ? (
        <Nothing timeline={timeline} range={range} />
      ) : asTable ? (
        <Table timeline={timeline} />
      ) : (
        <Chart {...props} timeline={timeline} />
      )}
      {timeline?.ahead !== undefined && <Ahead steps={timeline.ahead} nowMs={Date.parse(timeline.to)} />}
    </Panel>
  );
});

const AHEAD_MS = 24 * 3_600_000;
const NAMED = 3;

/** The next day, as schedules have it: marks on an axis that goes on where the chart ends, and each step in words. */
function Ahead({ steps, nowMs }: { readonly steps: readonly TimelineStep[]; readonly nowMs: number }) {
  return (
    <div class="ahead" role="group" aria-label="Ahead by schedules">
      <div class="lane">
        <div class="nm">
          Ahead <small>by schedules, 24 h</small>
        </div>
        <div class="plot" aria-hidden="true">
          {steps.map(({ at, text }) => (
            <span key={`${at} ${text}`} class="step" style={{ left: `${((Date.parse(at) - nowMs) / AHEAD_MS) * 100}%` }} />
          ))}
        </div>
        <div class="val" />
      </div>
      <ol>
        {steps.map(({ at, local, pools, text }) => (
          <li key={`${at} ${text}`}>
            <b class="nw">{local}</b> {pools.slice(0, NAMED).map(poolLabel).join(', ')}
            {pools.length > NAMED && ` and ${formatCount(pools.length - NAMED)} more`}: {text}
          </li>
        ))}
      </ol>
    </div>
  );
}

function noteOf({ lanes, more, otherWriters }: Timeline): string {
  if (lanes.length === 0) return '';
  const others = otherWriters === 0 ? '' : `. ${counted(otherWriters, 'change')} came from other writers`;
  const pools = lanes.reduce(
    (sum, { siblings, marks }) => sum + (siblings === undefined ? 1 : new Set(marks.map(({ pool }) => pool)).size),
    more,
  );
  return `${counted(pools, 'pool')} changed or tried to${others}`;
}

function Nothing({ timeline: { knownSince, from }, range }: { readonly timeline: Timeline; readonly range: Range }) {
  return (
    <p class="none">
      No pool changed in the last {RANGE_WORDS[range]}
      {knownSince > from && (
        <>
          . History since <Time at={knownSince} as="clock" /> (this process)
        </>
      )}
      .
    </p>
  );
}

function Chart({ timeline, selection, select, showAll }: ChangesProps & { readonly timeline: Timeline }) {
  const fromMs = Date.parse(timeline.from);
  const toMs = Date.parse(timeline.to);
  const plots = useRef<HTMLDivElement>(null);
  const drag = useDrag(plots, { fromMs, toMs }, select);
  return (
    <>
      <div class="tlkey" aria-hidden="true">
        {Object.values(MARKS).map(({ glyph, css, words }) => (
          <span key={words} class={`g ${css}`}>
            <Glyph name={glyph} /> {words}
          </span>
        ))}
        <span>┄ maximum</span>
        {timeline.knownSince > timeline.from && (
          <span>
            hatched: before <Time at={timeline.knownSince} as="clock" />, when this process started
          </span>
        )}
      </div>
      <div class="tl" ref={plots} {...drag}>
        {timeline.lanes.map((lane) => (
          <Lane key={lane.pool} lane={lane} fromMs={fromMs} toMs={toMs} knownMs={Date.parse(timeline.knownSince)} selection={selection} />
        ))}
        <Axis fromMs={fromMs} toMs={toMs} />
        {timeline.more > 0 && (
          <button type="button" class="link" onClick={showAll}>
            {formatCount(timeline.more)} more changed
          </button>
        )}
      </div>
    </>
  );
}

/** Shorter drags are clicks. */
const LEAST_DRAG = 0.01;

function useDrag(
  plots: { readonly current: HTMLElement | null },
  { fromMs, toMs }: Selection,
  select: (selection: Selection | undefined) => void,
) {
  const start = useRef<number | undefined>(undefined);
  const shareAt = (x: number): number => {
    const box = plots.current?.querySelector('.plot')?.getBoundingClientRect();
    return box === undefined ? 0 : Math.min(1, Math.max(0, (x - box.left) / box.width));
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.pointerType === 'mouse' && !(event.target as Element).closest('button, a')) start.current = shareAt(event.clientX);
    },
    onPointerUp: (event: PointerEvent) => {
      const first = start.current;
      start.current = undefined;
      if (first === undefined) return;
      const [low = 0, high = 0] = [first, shareAt(event.clientX)].sort((left, right) => left - right);
      if (high - low > LEAST_DRAG) select({ fromMs: fromMs + low * (toMs - fromMs), toMs: fromMs + high * (toMs - fromMs) });
    },
  };
}

interface LaneProps extends Selection {
  readonly lane: TimelineLane;
  readonly knownMs: number;
  readonly selection: Selection | undefined;
}

const HEIGHT = 54;
const PAD = 9;

function Lane({ lane, fromMs, toMs, knownMs, selection }: LaneProps) {
  const [shown, setShown] = useState<number>();
  const share = (ms: number): number => Math.min(1, Math.max(0, (ms - fromMs) / Math.max(1, toMs - fromMs)));
  const top = Math.max(lane.max, ...lane.steps.map(([, target, ready]) => Math.max(target, ready)), 1);
  // A lane far below its maximum is drawn on a scale of its own.
  const high = Math.max(...lane.steps.map(([, target, ready]) => Math.max(target, ready)), 1);
  const scale = top > high * 3 ? high * 1.5 : top;
  const y = (size: number): number => HEIGHT - PAD - (Math.min(size, scale) / scale) * (HEIGHT - 2 * PAD);
  const path = stepPath(lane, { share, y, toMs });
  const band = (from: number, to: number): { readonly left: string; readonly width: string } => ({
    left: `${share(from) * 100}%`,
    width: `${(share(to) - share(from)) * 100}%`,
  });
  return (
    <div class="lane">
      <div class="nm">
        <a href={hashFor('pool', lane.siblings?.[0] ?? lane.pool)} data-row>
          <span title={lane.siblings?.join(', ') ?? lane.pool}>{poolLabel(lane.pool)}</span>
        </a>
        <small>
          max {formatCount(lane.max)}
          {lane.siblings !== undefined && `, ${formatCount(lane.siblings.length)} zones`}
        </small>
      </div>
      <div class="plot">
        {knownMs > fromMs && <div class="band old" style={band(fromMs, knownMs)} title="Before this process" />}
        {lane.spans.map((span) => (
          <div
            key={`${span.from} ${span.cause}`}
            class="band"
            style={band(Date.parse(span.from), span.to === undefined ? toMs : Date.parse(span.to))}
            title={`${span.kind === 'frozen' ? 'Frozen' : 'Backing off'}: ${span.cause}`}
          />
        ))}
        {selection !== undefined && <div class="band sel" style={band(selection.fromMs, selection.toMs)} />}
        <svg viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {path !== '' && <path class="ar" d={`${path}L1000 ${HEIGHT}L${path.slice(1, path.indexOf(' '))} ${HEIGHT}Z`} />}
          {path !== '' && <path class="ln" d={path} />}
          {lane.max <= scale && <line class="mx" x1="0" x2="1000" y1={y(lane.max)} y2={y(lane.max)} />}
        </svg>
        {lane.marks.map((mark, at) => (
          <Mark
            key={`${mark.pool ?? ''} ${mark.at} ${mark.from} ${mark.to}`}
            mark={mark}
            left={share(Date.parse(mark.at))}
            top={y(mark.level ?? (mark.kind === 'try' ? mark.from : mark.to))}
            isLabelled={isLabelled(lane.marks, at, share)}
            isOpen={shown === at}
            toggle={(isOpen) => setShown(isOpen ? at : undefined)}
          />
        ))}
      </div>
      <div class="val">
        {lane.target === undefined ? 'unknown' : formatCount(lane.target)}
        <small>{lane.target === lane.ready ? 'ready' : `${formatCount(lane.ready)} ready`}</small>
      </div>
    </div>
  );
}

function stepPath(
  { steps, target }: TimelineLane,
  { share, y, toMs }: { readonly share: (ms: number) => number; readonly y: (size: number) => number; readonly toMs: number },
): string {
  const points = steps.map(([ms, size]) => [share(ms) * 1000, y(size)] as const);
  const last = target ?? steps.at(-1)?.[1];
  const [first] = points;
  if (first === undefined || last === undefined) return '';
  const drawn = points.slice(1).map(([left, top]) => `H${left.toFixed(1)}V${top.toFixed(1)}`);
  return `M${first[0].toFixed(1)} ${first[1].toFixed(1)}${drawn.join('')}V${y(last).toFixed(1)}H${(share(toMs) * 1000).toFixed(1)}`;
}

/** Labels that would lie on each other are left out: the last of the lane always has one. */
const LABEL_SHARE = 0.2;

function isLabelled(marks: readonly TimelineMark[], at: number, share: (ms: number) => number): boolean {
  let free = Number.POSITIVE_INFINITY;
  for (let index = marks.length - 1; index >= at; index--) {
    const own = share(Date.parse(marks[index]?.at ?? ''));
    const fits = free - own > LABEL_SHARE;
    if (index === at) return fits;
    if (fits) free = own;
  }
  return false;
}

const TICKS = 6;

function Axis({ fromMs, toMs }: Selection) {
  const times = Array.from({ length: TICKS + 1 }, (_, at) => fromMs + (at / TICKS) * (toMs - fromMs));
  return (
    <div class="lane ax" aria-hidden="true">
      <div class="nm" />
      <div class="axis">
        {times.map((ms, at) => (
          <span key={ms} style={{ left: `${(at / TICKS) * 100}%` }}>
            {at === TICKS ? 'now' : formatClock(ms, ms).slice(0, 5)}
          </span>
        ))}
      </div>
      <div class="val" />
    </div>
  );
}

function Table({ timeline }: { readonly timeline: Timeline }) {
  const nowMs = Date.parse(timeline.to);
  const rows = timeline.lanes
    .flatMap(({ pool, marks }) => marks.map((mark) => ({ pool: mark.pool ?? pool, mark })))
    .toSorted((left, right) => (left.mark.at < right.mark.at ? 1 : -1));
  return (
    <div class="scroll">
      <table class="t">
        <thead>
          <tr>
            {['When (UTC)', 'Pool', 'What', 'Change', 'Cause', 'By'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ pool, mark }) => (
            <tr key={`${pool} ${mark.at} ${mark.to}`}>
              <td class="nw">{formatClock(Date.parse(mark.at), nowMs)}</td>
              <th scope="row">{pool}</th>
              <td>{MARKS[mark.kind].words}</td>
              <td class="nw">
                {formatCount(mark.from)} → {formatCount(mark.to)}
              </td>
              <td>{mark.cause}</td>
              <td>{mark.actorName ?? mark.actor}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

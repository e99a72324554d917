/**
 * The page at `/`: what waits and why, what already happens, what changed before. It only reads `/api/v1`. Must not know the daemon: it
 * sees documents, and never computes a decision.
 */
import { render } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { Overview } from '../api/documents/overview.ts';
import type { Timeline } from '../api/documents/timeline.ts';
import { readDocument } from './parts/api-client.ts';
import { parameter, setParameter } from './parts/browser.ts';
import { AzureReads } from './panels/azure-reads.tsx';
import { Changes, type Range, RANGE_MS, type Selection } from './panels/changes.tsx';
import { Decisions, Latency, type Withheld, WithheldWrites } from './panels/decisions.tsx';
import { useKeyboard, useOpenedThing } from './keyboard.ts';
import { LiveOverview, type LiveState } from './parts/live-overview.ts';
import { OnTheWay } from './panels/on-the-way.tsx';
import { Page, Time } from './parts/parts.tsx';
import { Pending } from './panels/pending.tsx';
import { Pools } from './panels/pools.tsx';
import { Sheet } from './panels/sheet.tsx';
import { counted, headline } from './parts/text.ts';
import { Absent } from './panels/absent.tsx';
import { ActLine, TopBar } from './panels/top.tsx';
import { useDocument } from './parts/use-document.ts';
import { ShadowReportPanel } from './panels/shadow-report.tsx';
import { Waste } from './panels/waste.tsx';

const live = new LiveOverview();

function useLive(): LiveState {
  const [state, setState] = useState(live.state);
  // Several changes may come in one frame: the page is drawn once.
  useEffect(() => {
    let frame = 0;
    const stop = live.subscribe(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setState(live.state));
      if (document.visibilityState !== 'visible') setState(live.state);
    });
    // Effects run after the first drawing: an answer may have come before, and a refusal for want of a token is the last one.
    setState(live.state);
    return stop;
  }, []);
  return state;
}

function App() {
  const state = useLive();
  const [absolute, setAbsolute] = useState(() => parameter('times') === 'utc');
  const [thing, close] = useOpenedThing();
  useKeyboard(close);
  const { overview, refusal, offsetMs } = state;
  const isReadable = overview !== undefined && (refusal === undefined || refusal.kind === 'lost' || refusal.kind === 'starting');
  useEffect(() => {
    const place = overview?.cluster === undefined ? '' : ` · ${overview.cluster}`;
    document.title = overview === undefined ? 'aks-autoscaler' : `${headline(overview)}${place}`;
  }, [overview]);
  const currency = overview?.cost?.currency;
  // A new object would draw every time and every amount again.
  const context = useMemo(() => ({ offsetMs, currency, absolute }), [offsetMs, currency, absolute]);
  const changeTimes = (): void => {
    setAbsolute(!absolute);
    setParameter('times', absolute ? undefined : 'utc');
  };
  return (
    <Page.Provider value={context}>
      <a class="skip" href="#pending">
        Skip to pending pods
      </a>
      <TopBar live={live} state={state} />
      {isReadable ? (
        <>
          <ActLine overview={overview} lost={refusal !== undefined} />
          <Views overview={overview} isStale={refusal !== undefined} />
          <Footer overview={overview} absolute={absolute} changeTimes={changeTimes} />
        </>
      ) : (
        <Absent refusal={refusal} live={live} />
      )}
      {thing !== undefined && <Sheet thing={thing} close={close} loop={overview?.loopId} />}
    </Page.Provider>
  );
}

/** A dry run has a second view: what it would have done against what was done. */
function Views({ overview, isStale }: PanelsProps) {
  const [isReport, setReport] = useState(() => parameter('view') === 'report');
  const show = (report: boolean): void => {
    setReport(report);
    setParameter('view', report ? 'report' : undefined);
  };
  if (!overview.dryRun) return <Panels overview={overview} isStale={isStale} />;
  return (
    <>
      <nav class="wrap views" aria-label="Views">
        <button type="button" aria-pressed={!isReport} onClick={() => show(false)}>
          Now
        </button>
        <button type="button" id="show-report" aria-pressed={isReport} onClick={() => show(true)}>
          Report
        </button>
      </nav>
      {isReport ? (
        <main class={isStale ? 'wrap stale' : 'wrap'}>
          <ShadowReportPanel minute={Math.floor(Date.parse(overview.observedAt) / 60_000)} />
        </main>
      ) : (
        <Panels overview={overview} isStale={isStale} />
      )}
    </>
  );
}

/** With as many pools, their state comes before the changes. */
const MANY_POOLS = 30;
const ALL_LANES = 60;

interface PanelsProps {
  readonly overview: Overview;
  readonly isStale: boolean;
}

function Panels({ overview, isStale }: PanelsProps) {
  const [range, setRange] = useState<Range>(() => rangeIn(parameter('range')) ?? rangeFor(overview));
  const [lanes, setLanes] = useState(8);
  const [selection, select] = useState<Selection>();
  const newest = `${overview.newestDecision ?? ''} ${overview.lastChange?.at ?? ''}`;
  // The axis ends now: it moves on every half minute although nothing changed.
  const tick = Math.floor(Date.parse(overview.observedAt) / 30_000);
  const timeline = useTimeline({ fromMs: Date.parse(overview.observedAt) - RANGE_MS[range], range, lanes, key: `${newest} ${tick}` });
  const choose = useCallback((next: Range): void => {
    setRange(next);
    select(undefined);
    setParameter('range', next);
  }, []);
  const showAll = useCallback(() => setLanes(ALL_LANES), []);
  const changes = <Changes timeline={timeline} range={range} setRange={choose} selection={selection} select={select} showAll={showAll} />;
  // A panel is drawn again only if its own part of the overview changed.
  const { classes, pending: counts, lastChange, dryRun, nodes, removals, cost } = overview;
  const pending = useMemo(() => <Pending overview={overview} />, [classes, counts, lastChange, dryRun]);
  const onTheWay = useMemo(() => <OnTheWay overview={overview} />, [overview.onTheWay, nodes, removals, cost, overview.waste]);
  const pools = useMemo(() => <Pools overview={overview} />, [overview.pools]);
  const waste = useMemo(() => <Waste overview={overview} />, [overview.waste, cost]);
  const isMany = overview.pools.length >= MANY_POOLS;
  return (
    <main class={isStale ? 'wrap stale' : 'wrap'}>
      <div class="grid">
        {pending}
        {onTheWay}
      </div>
      {!isMany && changes}
      {pools}
      {isMany && changes}
      {waste}
      {overview.dryRun && <DryRun loop={overview.loopId} />}
      <div class="grid even">
        <Decisions newest={newest} selection={selection} />
        <Latency newest={newest} />
      </div>
      <AzureReads tick={tick} />
    </main>
  );
}

function rangeIn(text: string | undefined): Range | undefined {
  return text !== undefined && Object.hasOwn(RANGE_MS, text) ? (text as Range) : undefined;
}

/** After a start there is little to see in six hours. */
function rangeFor({ memorySince, observedAt }: Overview): Range {
  const knownMs = Date.parse(observedAt) - Date.parse(memorySince);
  return knownMs < 2 * RANGE_MS['15m'] ? '15m' : knownMs < 2 * RANGE_MS['1h'] ? '1h' : '6h';
}

interface TimelineOptions {
  /** By the daemon's clock. */
  readonly fromMs: number;
  readonly range: Range;
  readonly lanes: number;
  /** Another value means that there may be a newer one. */
  readonly key: string;
}

function useTimeline({ fromMs, range, lanes, key }: TimelineOptions): Timeline | undefined {
  const from = new Date(fromMs).toISOString();
  const [shown, setShown] = useState<Timeline>();
  useEffect(() => {
    const stop = new AbortController();
    void readDocument<Timeline>(`timeline?from=${from}&lanes=${lanes}`, stop.signal).then((answer) => {
      if (!stop.signal.aborted && 'document' in answer) setShown(answer.document);
    });
    return () => stop.abort();
  }, [range, lanes, key]);
  return shown;
}

function DryRun({ loop }: { readonly loop: number }) {
  const { document } = useDocument<readonly Withheld[]>('../../debug/withheld', loop);
  return document === undefined ? null : <WithheldWrites rows={document} />;
}

interface FooterProps {
  readonly overview: Overview;
  readonly absolute: boolean;
  readonly changeTimes: () => void;
}

function Footer({
  overview: { cost, pricesUnreachableSince, version, replica, memorySince, observedAt },
  absolute,
  changeTimes,
}: FooterProps) {
  return (
    <footer class="wrap">
      <span>
        aks-autoscaler {version}, {replica}
      </span>
      <span>
        History since <Time at={memorySince} as="clock" />
      </span>
      <span>
        Values of <Time at={observedAt} as="clock" /> UTC
      </span>
      {pricesUnreachableSince !== undefined && (
        <span>
          Prices: list not reachable since <Time at={pricesUnreachableSince} />
        </span>
      )}
      {cost === undefined && pricesUnreachableSince === undefined && <span>No prices: set scaleUp.retailPrices or node prices</span>}
      {cost?.listReadAt !== undefined && (
        <span>
          List prices read <Time at={cost.listReadAt} />, {cost.discounted ? 'less configured discounts' : 'without discounts'}
        </span>
      )}
      {cost !== undefined && cost.listReadAt === undefined && <span>Prices from the configuration</span>}
      {cost !== undefined && cost.unpriced.length > 0 && (
        <span>
          {counted(cost.unpriced.length, 'size has', 'sizes have')} no price: {cost.unpriced.join(', ')}
        </span>
      )}
      <button type="button" class="link" aria-pressed={absolute} onClick={changeTimes}>
        {absolute ? 'Show times as distances' : 'Show times in UTC'}
      </button>
      <a href="api/v1/openapi.json">API</a>
      <a href="#keys">
        Keys <kbd>?</kbd>
      </a>
    </footer>
  );
}

const theme = parameter('theme');
if (theme === 'dark' || theme === 'light') document.documentElement.dataset['theme'] = theme;
live.start();
render(<App />, document.getElementById('page') ?? document.body);

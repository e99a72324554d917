/** The bar with the question box and the live sign, and whether the autoscaler may act, with the reason. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Overview } from '../../api/documents/overview.ts';
import type { FoundSubject } from '../../api/documents/search.ts';
import { readDocument } from '../parts/api-client.ts';
import { after, localNow } from '../parts/browser.ts';
import { memo } from '../parts/memo.ts';
import type { LiveOverview, LiveState } from '../parts/live-overview.ts';
import { Command, Time, useNow } from '../parts/parts.tsx';
import { counted, formatAge, formatCount, hashFor } from '../parts/text.ts';

export function TopBar({ live, state }: { readonly live: LiveOverview; readonly state: LiveState }) {
  const { overview } = state;
  const place = [overview?.cluster, overview?.location].filter((part) => part !== undefined).join(', ');
  return (
    <header class="top">
      <div class="wrap">
        <div class="who">
          <b>aks-autoscaler</b> <span>{place}</span>
        </div>
        <WhyBox />
        <LiveSign live={live} state={state} />
      </div>
    </header>
  );
}

const TYPING_MS = 150;

/** Completes from the API; Enter opens. */
const WhyBox = memo(function WhyBox() {
  const [text, setText] = useState('');
  const [found, setFound] = useState<readonly FoundSubject[]>();
  const [chosen, setChosen] = useState(0);
  const asked = useRef(0);
  useEffect(() => {
    asked.current += 1;
    const turn = asked.current;
    if (text.trim().length < 2) return setFound(undefined);
    return after(TYPING_MS, () => {
      void readDocument<{ readonly items: readonly FoundSubject[] }>(`search?q=${encodeURIComponent(text)}`).then((answer) => {
        if (turn !== asked.current || 'refusal' in answer) return;
        setFound(answer.document.items);
        setChosen(0);
      });
    });
  }, [text]);
  const open = (subject: FoundSubject | undefined): void => {
    if (subject === undefined) return;
    location.hash = hashFor(subject.kind, subject.id);
    setText('');
  };
  const keyed = (event: KeyboardEvent): void => {
    const count = found?.length ?? 0;
    if (event.key === 'ArrowDown' && count > 0) setChosen((chosen + 1) % count);
    else if (event.key === 'ArrowUp' && count > 0) setChosen((chosen + count - 1) % count);
    else if (event.key === 'Enter') open(found?.[chosen]);
    else if (event.key === 'Escape' && text === '') (event.currentTarget as HTMLElement).blur();
    else if (event.key === 'Escape') setText('');
    else return;
    event.preventDefault();
  };
  return (
    <div class="find">
      <label class="vh" for="q">
        Ask why: pod, node, pool or decision
      </label>
      <span class="muted" aria-hidden="true">
        Why
      </span>
      <input
        id="q"
        role="combobox"
        aria-expanded={found !== undefined}
        aria-controls="found"
        aria-autocomplete="list"
        {...(found === undefined || found.length === 0 ? {} : { 'aria-activedescendant': `found-${chosen}` })}
        placeholder="pod, node, pool or decision"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={keyed}
      />
      <kbd>/</kbd>
      {found !== undefined && <Found found={found} chosen={chosen} open={open} />}
    </div>
  );
});

function Found({
  found,
  chosen,
  open,
}: {
  readonly found: readonly FoundSubject[];
  readonly chosen: number;
  readonly open: (subject: FoundSubject) => void;
}) {
  return (
    <ul class="found" id="found" role="listbox" aria-label="Found">
      {found.length === 0 && <li class="muted">Nothing has this name.</li>}
      {found.map((subject, at) => (
        <li
          key={`${subject.kind}/${subject.id}`}
          id={`found-${at}`}
          role="option"
          aria-selected={at === chosen}
          onPointerDown={(event) => {
            event.preventDefault();
            open(subject);
          }}
        >
          <span class="faint">{subject.kind}</span> <b>{subject.id}</b> <span class="muted">{subject.line}</span>
        </li>
      ))}
    </ul>
  );
}

function LiveSign({ live, state }: { readonly live: LiveOverview; readonly state: LiveState }) {
  const { paused, overview } = state;
  return (
    <div class="live">
      <span class={`sign ${signClass(state)}`}>
        <i />
        <SignText state={state} />
      </span>
      {overview !== undefined && (
        <button type="button" class="btn" aria-pressed={paused} onClick={() => live.setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause updates'}
        </button>
      )}
    </div>
  );
}

function signClass({ refusal, paused }: LiveState): string {
  return refusal !== undefined ? 'off' : paused ? 'held' : 'on';
}

function SignText({ state: { overview, refusal, lostSinceMs, retryAtMs, paused, newer } }: { readonly state: LiveState }) {
  useNow();
  const now = localNow();
  if (refusal?.kind === 'lost' && lostSinceMs !== undefined)
    return <>{`Connection lost ${formatAge(now - lostSinceMs)} ago, ${retryText(retryAtMs, now)}`}</>;
  if (refusal?.kind === 'standby') return <>standby</>;
  if (overview === undefined) return <>starting</>;
  if (paused) return <>{`paused, ${counted(newer, 'newer loop')}`}</>;
  const { loop } = overview;
  return (
    <>
      live
      <span class="x">
        , loop {formatCount(loop.id)}, <Time at={loop.startedAt} />, took{' '}
        {loop.durationMs < 1000 ? `${loop.durationMs} ms` : `${(loop.durationMs / 1000).toFixed(1)} s`}
      </span>
    </>
  );
}

function retryText(retryAtMs: number | undefined, now: number): string {
  return retryAtMs === undefined || retryAtMs <= now ? 'retrying' : `retry in ${formatAge(retryAtMs - now)}`;
}

/** Older than this many intervals, a loop is late. */
const LATE_INTERVALS = 3;
/** Loops are not late before this, however short the interval. */
const LEAST_LATE_MS = 15_000;

function isLate({ loop }: Pick<Overview, 'loop'>, now: number): boolean {
  return now - Date.parse(loop.startedAt) - loop.durationMs > Math.max(LEAST_LATE_MS, LATE_INTERVALS * loop.intervalMs);
}

type ActWord = 'yes' | 'no' | 'unk' | 'q';

export function ActLine({ overview, lost }: { readonly overview: Overview; readonly lost: boolean }) {
  const now = useNow();
  const late = lost || isLate(overview, now);
  const tone: ActWord = late ? 'unk' : overview.act.allowed === 'yes' ? 'yes' : overview.act.allowed === 'dry-run' ? 'q' : 'no';
  return (
    <div class={`act ${tone}-edge`} id="act">
      <div class="wrap">
        <p>{late ? <LateText overview={overview} lost={lost} /> : <ActText overview={overview} />}</p>
        <Facts overview={overview} />
        {!late && overview.act.missingRights.length > 0 && <MissingRights rights={overview.act.missingRights} />}
      </div>
    </div>
  );
}

/** The exact action, and what to add so that it is allowed. */
function MissingRights({ rights }: { readonly rights: Overview['act']['missingRights'] }) {
  return (
    <ul class="rights">
      {rights.map(({ side, action, scope, identity, rule }) => (
        <li key={`${action} ${scope ?? ''}`}>
          Missing right: <b>{action}</b>
          {scope !== undefined && <> on {scope}</>}
          {identity !== undefined && <span class="muted"> for {identity}</span>}.{' '}
          <span class="muted">
            {side === 'azure'
              ? 'Add this line to the actions of its role; aks-autoscaler doctor names the role. It takes some minutes to apply:'
              : 'Add this rule to its ClusterRole, or update the chart, which has it:'}
          </span>
          <Command text={rule} />
        </li>
      ))}
    </ul>
  );
}

function LateText({ overview: { loop }, lost }: { readonly overview: Overview; readonly lost: boolean }) {
  const ended = new Date(Date.parse(loop.startedAt) + loop.durationMs).toISOString();
  return (
    <>
      <span class="unk">? Allowed to act: unknown</span>, because {lost ? 'the daemon does not answer' : 'no loop ended since'}
      {lost ? '. Values are of ' : ' '}
      <Time at={ended} as="clock" />
      {lost ? '.' : ', '}
      {!lost && (
        <>
          <Time at={ended} />, usually every {formatAge(loop.intervalMs)}.
        </>
      )}
    </>
  );
}

function ActText({ overview: { act, nodes } }: { readonly overview: Overview }) {
  if (act.allowed === 'no')
    return (
      <>
        <span class="no">✕ Allowed to act: no</span>, because {act.because}.
      </>
    );
  if (act.allowed === 'dry-run')
    return (
      <>
        <span class="q">○ Allowed to act: no</span>, by design: this is a dry run. Nothing is written.
      </>
    );
  const ready = readyText(nodes);
  return (
    <>
      <span class="yes">✓ Allowed to act: yes</span>, because this replica leads, the cluster was read <Time at={act.clusterReadAt} />
      {act.azureReadAt !== undefined && (
        <>
          {' '}
          and Azure <Time at={act.azureReadAt} />
        </>
      )}
      , and {ready}. <Exceptions exceptions={act.exceptions} />
    </>
  );
}

function readyText({ total, ready, unready }: Overview['nodes']): string {
  if (total === 0) return 'the cluster has no nodes';
  if (total === 1 && ready === 1) return 'its node is ready';
  return unready === 0 ? `all ${formatCount(ready)} nodes are ready` : `${formatCount(ready)} of ${formatCount(total)} nodes are ready`;
}

/** More names than this would hide the answer. */
const MOST_NAMED = 3;

function Exceptions({ exceptions }: { readonly exceptions: Overview['act']['exceptions'] }) {
  if (exceptions.length === 0) return null;
  const [first] = exceptions;
  if (exceptions.length === 1 && first !== undefined)
    return (
      <>
        One pool is not: <a href={hashFor('pool', first.pool)}>{first.pool}</a>.
      </>
    );
  const more = exceptions.length - MOST_NAMED;
  return (
    <>
      {exceptions.length} pools are not:{' '}
      {exceptions
        .slice(0, MOST_NAMED)
        .map(({ pool }) => pool)
        .join(', ')}
      {more > 0 ? ` and ${more} more` : ''}.
    </>
  );
}

function Facts({ overview: { leader, configuration, nodes } }: { readonly overview: Overview }) {
  return (
    <dl>
      <Fact name="Leader">
        <span title={leader.name}>{leader.name.length > 14 ? `…${leader.name.slice(-11)}` : leader.name}</span>,{' '}
        <Time at={leader.since} as="age" />
      </Fact>
      <Fact name="Configuration">
        generation {configuration.generation}, <Time at={configuration.since} as="age" /> old
      </Fact>
      <Fact name="Nodes">
        {formatCount(nodes.ready)} ready{nodes.upcoming > 0 ? `, +${formatCount(nodes.upcoming)}` : ''}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What already happens: increases by stage, removals, and what all of it costs. */
import { useContext, useState } from 'preact/hooks';
import type { CostDocument, RepackingDocument } from '../../api/documents/cost.ts';
import type { Overview, RemovalsDocument } from '../../api/documents/overview.ts';
import type { ScaleUpDocument, StageDocument } from '../../api/documents/scale-ups.ts';
import type { WasteDocument } from '../../api/documents/blockers.ts';
import { Money, Page, Panel, Time, useNow } from '../parts/parts.tsx';
import { counted, formatAge, formatCount, formatMoney, hashFor, poolLabel } from '../parts/text.ts';

export function OnTheWay({ overview }: { readonly overview: Overview }) {
  const { onTheWay, nodes } = overview;
  const [chosen, setChosen] = useState<string>();
  const now = useNow();
  const shown = onTheWay.find(({ id }) => id === chosen) ?? furthestBehind(onTheWay, now);
  return (
    <div>
      <Panel
        id="way"
        title={nodes.upcoming === 0 && onTheWay.length === 0 ? 'No nodes are on the way' : `${counted(nodes.upcoming, 'node')} on the way`}
        {...(onTheWay.length > 0 ? { tools: counted(onTheWay.length, 'scale-up') } : {})}
      >
        {onTheWay.length > 0 && (
          <ul class="way">
            {onTheWay.map((each) => (
              <Increase key={each.id} of={each} isShown={each.id === shown?.id} choose={() => setChosen(each.id)} />
            ))}
          </ul>
        )}
      </Panel>
      {shown !== undefined && <StageByStage of={shown} />}
      <Removals removals={overview.removals} repacking={overview.repacking} />
      {overview.cost !== undefined && <Cost cost={overview.cost} waste={overview.waste} />}
    </div>
  );
}

function furthestBehind(all: readonly ScaleUpDocument[], now: number): ScaleUpDocument | undefined {
  const lateness = ({ expectedAt }: ScaleUpDocument): number =>
    expectedAt === undefined ? Number.NEGATIVE_INFINITY : now - Date.parse(expectedAt);
  return all.toSorted((left, right) => lateness(right) - lateness(left))[0];
}

/** The first stage that not all nodes have reached. */
function presentStage({ stages, from, to, pods }: ScaleUpDocument): number {
  const at = stages.findIndex(
    ({ name, count, at: time }) =>
      time === undefined || count < (name === 'bound' ? pods : name === 'decided' || name === 'accepted' ? 0 : to - from),
  );
  return at < 0 ? stages.length - 1 : at;
}

function Increase({ of, isShown, choose }: { readonly of: ScaleUpDocument; readonly isShown: boolean; readonly choose: () => void }) {
  const now = useNow();
  const present = presentStage(of);
  const stage = of.stages[present];
  const nodes = of.to - of.from;
  const isLate = of.lateAfter !== undefined && Date.parse(of.lateAfter) < now;
  return (
    <li>
      <div class="t">
        <b>
          <a href={hashFor('decision', of.decision)} data-row>
            <span title={of.pool}>{poolLabel(of.pool)}</span> {of.from} → {of.to}
          </a>
        </b>
        <span>{of.expectedAt === undefined ? 'no earlier one to compare' : <Expected at={of.expectedAt} />}</span>
      </div>
      <div class="dots" role="img" aria-label={`stage ${present + 1} of ${of.stages.length}: ${stage?.name ?? ''}`}>
        {of.stages.map(({ name }, at) => (
          <i key={name} class={at < present ? 'd' : at === present ? (of.failure === undefined ? 'now' : 'x') : ''} />
        ))}
      </div>
      <div class="dl" aria-hidden="true">
        {of.stages.map(({ name }, at) => (
          <span key={name} class={at === present ? 'c' : ''}>
            {name}
          </span>
        ))}
      </div>
      <p>
        {stage !== undefined && stage.name !== 'bound' && `${formatCount(stage.count)} of ${counted(nodes, 'node')} ${stage.name}. `}
        {stage?.name === 'bound' && `${formatCount(stage.count)} of ${counted(of.pods, 'pod')} bound. `}
        For {of.cause}. {isLate && <span class="unk">Later than nine of ten earlier ones. </span>}
        {!isShown && (
          <button type="button" class="link" onClick={choose}>
            Stage by stage
          </button>
        )}
      </p>
    </li>
  );
}

function Expected({ at }: { readonly at: string }) {
  const now = useNow();
  return Date.parse(at) > now ? (
    <>
      ready <Time at={at} />
    </>
  ) : (
    <>
      expected <Time at={at} />
    </>
  );
}

interface StageSpan extends StageDocument {
  readonly startMs: number;
  readonly endMs: number;
  readonly state: 'done' | 'now' | 'later';
}

/** Stages that are not over end at `now`; later ones have no length. */
function spansOf(of: ScaleUpDocument, now: number): readonly StageSpan[] {
  const present = presentStage(of);
  const end = of.endedAt === undefined ? now : Date.parse(of.endedAt);
  let lastMs = Date.parse(of.stages[0]?.at ?? new Date(now).toISOString());
  return of.stages.map((stage, at) => {
    const startMs = lastMs;
    const isOver = at < present && stage.at !== undefined;
    lastMs = isOver ? Math.max(lastMs, Date.parse(stage.at ?? '')) : at === present ? Math.max(lastMs, end) : lastMs;
    return { ...stage, startMs, endMs: lastMs, state: isOver ? 'done' : at === present ? 'now' : 'later' };
  });
}

function StageByStage({ of }: { readonly of: ScaleUpDocument }) {
  const now = useNow();
  const spans = spansOf(of, now);
  const startMs = spans[0]?.startMs ?? now;
  const usualMs = spans.reduce((sum, { p90Ms = 0 }) => sum + p90Ms, 0);
  const totalMs = Math.max(usualMs, (spans.at(-1)?.endMs ?? now) - startMs, 1000);
  const share = (ms: number): string => `${Math.min(100, Math.max(0, (ms / totalMs) * 100))}%`;
  return (
    <section class="panel" aria-labelledby="h-stages">
      <div class="hd">
        <h2 id="h-stages">
          {poolLabel(of.pool)} {of.from} → {of.to}, stage by stage
        </h2>
      </div>
      <table class="st">
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col">
              <span class="vh">Share of the time</span>
            </th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col" class="num">
              p50 / p90
            </th>
          </tr>
        </thead>
        <tbody>
          {spans.map(({ name, startMs: from, endMs: to, state, p50Ms, p90Ms }) => (
            <tr key={name}>
              <th scope="row">{state === 'now' ? <b>{name}</b> : name}</th>
              <td>
                <div class="sb" aria-hidden="true">
                  {state !== 'later' && (
                    <i class={state === 'now' ? 'now' : ''} style={{ left: share(from - startMs), width: share(to - from) }} />
                  )}
                  {p50Ms !== undefined && state !== 'later' && <u style={{ left: share(from - startMs + p50Ms) }} />}
                  {p90Ms !== undefined && state !== 'later' && <u class="p9" style={{ left: share(from - startMs + p90Ms) }} />}
                </div>
              </td>
              <td class="num">{state === 'later' || name === 'decided' ? '' : formatAge(to - from)}</td>
              <td class="num muted">{p50Ms === undefined || p90Ms === undefined ? '' : `${formatAge(p50Ms)} / ${formatAge(p90Ms)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="stn">
        <Slowest spans={spans} />
      </p>
    </section>
  );
}

function Slowest({ spans }: { readonly spans: readonly StageSpan[] }) {
  const slow = spans
    .filter(({ state, p50Ms }) => state !== 'later' && p50Ms !== undefined)
    .map((span) => ({ span, overMs: span.endMs - span.startMs - (span.p50Ms ?? 0) }))
    .toSorted((left, right) => right.overMs - left.overMs)[0];
  if (slow === undefined) return <span class="muted">No earlier scale-up of this pool was seen to its end.</span>;
  if (slow.overMs <= 0) return <span class="muted">Not slower than usual. Ticks: p50 dark, p90 light.</span>;
  return (
    <span class="muted">
      {slow.span.name} is slower than usual by {formatAge(slow.overMs)}. Ticks: p50 dark, p90 light.
    </span>
  );
}

interface RemovalsProps {
  readonly removals: RemovalsDocument;
  readonly repacking: RepackingDocument | undefined;
}

function Removals({ removals: { enabled, inhibited, removing, candidates, perHour, last }, repacking }: RemovalsProps) {
  const title = !enabled
    ? 'Removals are off (scaleDown.enabled)'
    : removing > 0
      ? `Removing ${counted(removing, 'node')}`
      : inhibited === undefined
        ? 'Removals are on'
        : 'No removals now';
  return (
    <section class="panel" aria-labelledby="h-removals">
      <div class="hd">
        <h2 id="h-removals">{title}</h2>
      </div>
      <dl class="kv">
        {inhibited !== undefined && enabled && (
          <div>
            <dt>Because</dt>
            <dd>{inhibited}</dd>
          </div>
        )}
        <div>
          <dt>Unneeded now</dt>
          <dd>
            {counted(candidates, 'node')}
            {perHour !== undefined && (
              <>
                , <Money perHour={perHour} />
              </>
            )}
          </dd>
        </div>
        {repacking !== undefined && <Repacking of={repacking} />}
        {last !== undefined && (
          <div>
            <dt>Last removal</dt>
            <dd>
              <a href={hashFor('pool', last.pool)}>{poolLabel(last.pool)}</a> {last.from} → {last.to}, <Time at={last.at} />
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

/** What it would save, also where it is off; then what is under way. */
function Repacking({ of: { text, blockers, on, running } }: { readonly of: RepackingDocument }) {
  const left = blockers.map((blocker) => blocker.text).join('\n');
  return (
    <>
      {text !== undefined && (
        <div>
          <dt>With repacking</dt>
          <dd title={left}>
            {text}
            {on.length === 0 && <span class="muted">. Repacking is off.</span>}
          </dd>
        </div>
      )}
      {running.map((repack) => (
        <div key={repack.text}>
          <dt>Repack</dt>
          <dd>
            {repack.text}, since <Time at={repack.since} />
          </dd>
        </div>
      ))}
    </>
  );
}

/** `at least 1.20` if a size has no price, `unknown` if none has. */
function idleText(idle: NonNullable<CostDocument['paid']>): string {
  const priced = idle.flatMap(({ idlePerHour }) => idlePerHour ?? []);
  if (priced.length === 0) return 'unknown';
  return `${priced.length < idle.length ? 'at least ' : ''}${formatMoney(priced.reduce((sum, each) => sum + each, 0))}`;
}

function Cost({ cost, waste }: { readonly cost: CostDocument; readonly waste: WasteDocument | undefined }) {
  const { currency } = useContext(Page);
  const isPartial = cost.unpriced.length > 0;
  const idle = (cost.paid ?? []).filter((size) => size.idle > 0);
  const total = `${isPartial ? 'at least ' : ''}${formatMoney(cost.perHour)}${currency === undefined ? '/h' : ` ${currency}/h`}`;
  const share = waste?.perHour === undefined || cost.perHour === 0 ? undefined : Math.round((waste.perHour / cost.perHour) * 100);
  return (
    <section class="panel" aria-labelledby="h-cost">
      <div class="hd">
        <h2
          id="h-cost"
          title={isPartial ? `${counted(cost.unpriced.length, 'size has', 'sizes have')} no price: ${cost.unpriced.join(', ')}` : undefined}
        >
          Cost {total}
        </h2>
      </div>
      <dl class="kv">
        <div>
          <dt>On the way</dt>
          <dd>+{formatMoney(cost.upcomingPerHour)}</dd>
        </div>
        {idle.length > 0 && (
          <div>
            <dt>Paid and idle</dt>
            <dd title={idle.map(({ vmSize, idle: nodes, count }) => `${vmSize}: ${nodes} of ${count} nodes`).join(', ')}>
              {idleText(idle)}
            </dd>
          </div>
        )}
        {waste?.perHour !== undefined && (
          <div>
            <dt>Underused, not removed</dt>
            <dd>
              <a href="#waste">{formatMoney(waste.perHour)}</a>
              {share === undefined ? '' : `, ${share} %`}
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

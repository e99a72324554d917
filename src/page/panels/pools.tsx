/** Every pool: problems first, then changes, then pools at rest, which become small cells when there are many. */
import { useMemo, useState } from 'preact/hooks';
import type { Overview } from '../../api/documents/overview.ts';
import { matchesPool, type PoolRowDocument, type PoolState } from '../../api/documents/pools.ts';
import { parameter, setParameter } from '../parts/browser.ts';
import { memo } from '../parts/memo.ts';
import { Chip, type GlyphName, Panel, PoolBar, Time, type Tone } from '../parts/parts.tsx';
import { counted, formatCount, formatMoney, hashFor, poolLabel } from '../parts/text.ts';

const STATES: Readonly<Record<PoolState, { readonly words: string; readonly tone: Tone; readonly glyph: GlyphName }>> = {
  'backing-off': { words: 'Backing off', tone: 'warn', glyph: 'bars' },
  'out-of-capacity': { words: 'Out of capacity', tone: 'warn', glyph: 'bars' },
  frozen: { words: 'Frozen', tone: 'bad', glyph: 'cross' },
  paused: { words: 'Paused', tone: 'q', glyph: 'bars' },
  unhealthy: { words: 'Unhealthy', tone: 'bad', glyph: 'cross' },
  'size-unknown': { words: 'Size unknown', tone: 'bad', glyph: 'cross' },
  quota: { words: 'Quota or limit', tone: 'warn', glyph: 'box' },
  'at-maximum': { words: 'At maximum', tone: 'warn', glyph: 'square' },
  drift: { words: 'Drift', tone: 'other', glyph: 'diamond' },
  increasing: { words: 'Increasing', tone: 'go', glyph: 'up' },
  removing: { words: 'Removing', tone: 'ok', glyph: 'down' },
  'at-rest': { words: 'At rest', tone: 'q', glyph: 'ring' },
};
const CHANGING: ReadonlySet<PoolState> = new Set(['increasing', 'removing']);
/** From here on, pools at rest are cells. */
const MANY = 30;

/** `size`, `zone`, or the key of a label after `label:`. */
type Grouping = 'size' | 'zone' | `label:${string}`;

const LABEL = 'label:';
/** More choices are not read. */
const MOST_LABELS = 12;

export function Pools({ overview }: { readonly overview: Overview }) {
  const { pools } = overview;
  const [filter, setFilter] = useState(() => parameter('pools') ?? '');
  const [grouping, setGrouping] = useState<Grouping>('size');
  const found = useMemo(() => pools.filter((pool) => matchesPool(pool, filter)), [pools, filter]);
  const isMany = pools.length >= MANY;
  const rows = isMany ? found.filter(({ state }) => state !== 'at-rest') : found;
  const cells = isMany ? found.filter(({ state }) => state === 'at-rest') : [];
  const changing = pools.filter(({ state }) => CHANGING.has(state)).length;
  const atRest = pools.filter(({ state }) => state === 'at-rest').length;
  const paused = pools.filter(({ state }) => state === 'paused').length;
  const problems = pools.length - changing - atRest - paused;
  const need = `${problems === 0 ? 'none' : formatCount(problems)} of ${counted(pools.length, 'pool')} ${problems > 1 ? 'need' : 'needs'} attention`;
  const note = `${need}${changing > 0 ? `, ${changing} changing` : ''}${paused > 0 ? `, ${paused} paused` : ''}`;
  const filtered = (text: string): void => {
    setFilter(text);
    setParameter('pools', text);
  };
  return (
    <Panel
      id="pools"
      title="Pools"
      note={note}
      tools={
        <>
          <input
            aria-label="Filter pools"
            placeholder="name, size, state:backing-off, zone:2, label=value"
            value={filter}
            onInput={(event) => filtered(event.currentTarget.value)}
          />
          {filter !== '' && <span class="muted">{counted(found.length, 'pool')} shown</span>}
          {isMany && (
            <select
              aria-label="Group pools at rest by"
              value={grouping}
              onChange={(event) => setGrouping(event.currentTarget.value as Grouping)}
            >
              <option value="size">by size</option>
              <option value="zone">by zone</option>
              {labelKeys(pools).map((key) => (
                <option key={key} value={`${LABEL}${key}`}>
                  by {key}
                </option>
              ))}
            </select>
          )}
        </>
      }
    >
      {rows.length > 0 && <Table rows={rows} />}
      {pools.length === 0 && <p class="none">No pools are managed. Discovery selects them: discovery, nodeGroups or --nodes.</p>}
      {pools.length > 0 && found.length === 0 && <p class="none">No pool matches the filter.</p>}
      {[...Map.groupBy(cells, (pool) => groupName(pool, grouping))].map(([name, members]) => (
        <Cells key={name} name={name} pools={members} />
      ))}
    </Panel>
  );
}

/** Keys with different values: a label that all pools have groups nothing. */
function labelKeys(pools: readonly PoolRowDocument[]): readonly string[] {
  const values = new Map<string, Set<string | undefined>>();
  for (const { labels = {} } of pools) for (const key of Object.keys(labels)) values.set(key, new Set());
  for (const { labels = {} } of pools) for (const [key, known] of values) known.add(labels[key]);
  return [...values]
    .flatMap(([key, known]) => (known.size > 1 ? [key] : []))
    .toSorted()
    .slice(0, MOST_LABELS);
}

function groupName(pool: PoolRowDocument, grouping: Grouping): string {
  if (grouping === 'size') return shortSize(`${pool.vmSize}${pool.spot === true ? ' Spot' : ''}`);
  if (grouping === 'zone') return `Zone ${zonesOf(pool) || 'unknown'}`;
  const key = grouping.slice(LABEL.length);
  const value = pool.labels?.[key];
  return value === undefined ? `without ${key}` : `${key}=${value}`;
}

function zonesOf({ zones }: Pick<PoolRowDocument, 'zones'>): string {
  return zones.map((zone) => zone.slice(zone.lastIndexOf('-') + 1)).join(' ');
}

function shortSize(size: string): string {
  return size.replace(/^Standard_/i, '');
}

function Table({ rows }: { readonly rows: readonly PoolRowDocument[] }) {
  const hasPrices = rows.some(({ perHour }) => perHour !== undefined);
  const hasTokens = rows.some(({ tokens }) => tokens !== undefined);
  const sum = (of: (pool: PoolRowDocument) => number): number => rows.reduce((total, pool) => total + of(pool), 0);
  const money = sum(costOf);
  return (
    <div class="scroll">
      <table class="t tb-pools">
        <thead>
          <tr>
            <th scope="col">Pool, size</th>
            <th scope="col">Share of its maximum</th>
            {['Min', 'Ready', 'Upcoming', 'Target', 'Max'].map((name) => (
              <th key={name} scope="col" class="num">
                {name}
              </th>
            ))}
            <th scope="col">State</th>
            <th scope="col">Why</th>
            {hasPrices && (
              <th scope="col" class="num" title="Of all its nodes">
                Per hour
              </th>
            )}
            <th scope="col" class="num">
              Zones
            </th>
            {hasTokens && (
              <th scope="col" class="num" title="Capacity writes that Azure's rate limit of the pool allows now">
                Tokens
              </th>
            )}
            <th scope="col" class="num" title="Nodes that AKS counts more or less than the scale set has">
              Drift
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((pool) => (
            <PoolRow key={pool.name} pool={pool} hasPrices={hasPrices} hasTokens={hasTokens} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" class="a-n">
              {counted(rows.length, 'pool')}
            </th>
            <td class="hide-s" />
            <td class="num hide-s">{formatCount(sum(({ min }) => min))}</td>
            <td class="num a-c">
              <b>{formatCount(sum(({ ready }) => ready))}</b>
              <span class="only-s"> ready</span>
            </td>
            <td class="num hide-s">{signed(sum(({ upcoming = 0 }) => upcoming))}</td>
            <td class="num hide-s">{formatCount(sum(({ target = 0 }) => target))}</td>
            <td class="num hide-s">{formatCount(sum(({ max }) => max))}</td>
            <td class="hide-s" />
            <td class="hide-s" />
            {hasPrices && (
              <td class="num a-p">
                <b>
                  {rows.some(({ perHour }) => perHour === undefined) ? 'at least ' : ''}
                  {formatMoney(money)}
                </b>
              </td>
            )}
            <td class="hide-s" colSpan={hasTokens ? 3 : 2} />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function costOf({ perHour = 0, ready, unready = 0, paid = 0 }: PoolRowDocument): number {
  return perHour * Math.max(0, ready + unready - paid);
}

function signed(count: number): string {
  return count > 0 ? `+${formatCount(count)}` : '0';
}

interface PoolRowProps {
  readonly pool: PoolRowDocument;
  readonly hasPrices: boolean;
  readonly hasTokens: boolean;
}

const PoolRow = memo(function PoolRow({ pool, hasPrices, hasTokens }: PoolRowProps) {
  const { name, vmSize, spot, state, upcoming = 0, drift } = pool;
  const { words, tone, glyph } = STATES[state];
  return (
    <tr>
      <th scope="row" class="a-n">
        <a href={hashFor('pool', name)} title={name} data-row>
          {poolLabel(name)}
        </a>{' '}
        <small>
          {shortSize(vmSize)}
          {spot === true && ' Spot'}
        </small>
      </th>
      <td class="a-b">
        <PoolBar {...pool} />
      </td>
      <td class="num hide-s">{formatCount(pool.min)}</td>
      <td class="num hide-s">{formatCount(pool.ready)}</td>
      <td class="num hide-s">{upcoming > 0 ? <b>{signed(upcoming)}</b> : <span class="faint">0</span>}</td>
      <td class="num hide-s">{pool.target === undefined ? 'unknown' : formatCount(pool.target)}</td>
      <td class="num hide-s">{formatCount(pool.max)}</td>
      <td class="a-c">
        {state === 'at-rest' ? (
          <span class="faint">At rest</span>
        ) : (
          <Chip tone={tone} glyph={glyph}>
            {words}
          </Chip>
        )}
      </td>
      <td class="a-s">
        <span class="only-s">
          {formatCount(pool.ready)} ready{upcoming > 0 ? `, ${signed(upcoming)}` : ''}, of at most {formatCount(pool.max)}.{' '}
        </span>
        {pool.sentence}
        {pool.until !== undefined && (
          <>
            {' '}
            Next try <Time at={pool.until} />.
          </>
        )}
      </td>
      {hasPrices && <td class="num a-p">{pool.perHour === undefined ? 'unknown' : formatMoney(costOf(pool))}</td>}
      <td class="num hide-s">{zonesOf(pool)}</td>
      {hasTokens && <td class="num hide-s">{pool.tokens === undefined ? '' : formatCount(pool.tokens.left)}</td>}
      <td class="num a-d">
        {drift === undefined ? (
          <span class="faint hide-s">0</span>
        ) : (
          <b title={`Azure ${drift.azure}, AKS ${drift.aks}, nodes ${drift.nodes}`}>
            {drift.aks < drift.azure ? '+' : '−'}
            {Math.abs(drift.azure - drift.aks)}
          </b>
        )}
      </td>
    </tr>
  );
});

function Cells({ name, pools }: { readonly name: string; readonly pools: readonly PoolRowDocument[] }) {
  const ready = pools.reduce((sum, pool) => sum + pool.ready, 0);
  const max = pools.reduce((sum, pool) => sum + pool.max, 0);
  return (
    <>
      <h3 class="sub">
        {name}{' '}
        <span>
          {formatCount(pools.length)} at rest, {formatCount(ready)} ready of {formatCount(max)}
        </span>
      </h3>
      <div class="cells">
        {pools.map((pool) => (
          <Cell key={pool.name} pool={pool} />
        ))}
      </div>
    </>
  );
}

const Cell = memo(function Cell({ pool }: { readonly pool: PoolRowDocument }) {
  return (
    <a href={hashFor('pool', pool.name)} data-row>
      <b title={pool.name}>{poolLabel(pool.name)}</b>
      <PoolBar {...pool} />
      <span>
        {formatCount(pool.ready)} / {formatCount(pool.max)}
      </span>
    </a>
  );
});

/** Underused nodes that are not removed, by what blocks them: money sorts it, cores where there are no prices. */
import { useContext } from 'preact/hooks';
import type { BlockerRow } from '../../api/documents/blockers.ts';
import type { Overview } from '../../api/documents/overview.ts';
import { Page, Panel } from '../parts/parts.tsx';
import { Steps } from './pending.tsx';
import { counted, formatCount, formatMoney, hashFor, perHour } from '../parts/text.ts';

export function Waste({ overview: { waste, cost } }: { readonly overview: Overview }) {
  if (waste === undefined) return <Panel id="waste" title="Waste by blocker" note="Removals were not decided in the last loop." />;
  const { rows, nodes, cores, memoryGib, totalNodes, otherNodes } = waste;
  const hasPrices = rows.some((row) => row.perHour !== undefined);
  const money = waste.perHour === undefined ? '' : `, ${perHour(waste.perHour, cost?.currency)}`;
  const most = Math.max(...rows.map((row) => (hasPrices ? (row.perHour ?? 0) : row.cores)), 0.01);
  if (rows.length === 0)
    return (
      <Panel
        id="waste"
        title="Waste by blocker"
        note={
          totalNodes === 0
            ? 'The cluster has no nodes.'
            : `No underused node is kept: ${totalNodes === 1 ? 'the only node is' : `all ${formatCount(totalNodes)} nodes are`} in use or leaving.`
        }
      />
    );
  return (
    <Panel
      id="waste"
      title={`Waste by blocker: ${counted(nodes, 'underused node')}${money}`}
      note={`not removed, ${hasPrices ? 'most money' : 'most cores'} first`}
      tools={<span>{counted(otherNodes, 'other node is', 'other nodes are')} in use, leaving or not managed</span>}
    >
      <div class="scroll">
        <table class="t tb-kept">
          <thead>
            <tr>
              <th scope="col">Blocker</th>
              <th scope="col">Nodes, for example</th>
              {['Nodes', 'Cores', 'GiB'].map((name) => (
                <th key={name} scope="col" class="num">
                  {name}
                </th>
              ))}
              {hasPrices && (
                <th scope="col" class="num">
                  {cost?.currency === undefined ? 'Per hour' : `${cost.currency}/h`}
                </th>
              )}
              <th scope="col">
                <span class="vh">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.id} row={row} hasPrices={hasPrices} share={(hasPrices ? (row.perHour ?? 0) : row.cores) / most} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" class="a-n">
                Sum
              </th>
              <td class="hide-s" />
              <td class="num hide-s">
                <b>{formatCount(nodes)}</b>
              </td>
              <td class="num hide-s">
                <b>{formatCount(cores)}</b>
              </td>
              <td class="num hide-s">
                <b>{formatCount(memoryGib)}</b>
              </td>
              {hasPrices && (
                <td class="num a-m">
                  <b>{waste.perHour === undefined ? 'unknown' : formatMoney(waste.perHour)}</b>
                </td>
              )}
              <td class="hide-s" />
            </tr>
          </tfoot>
        </table>
      </div>
    </Panel>
  );
}

function Row({ row, hasPrices, share }: { readonly row: BlockerRow; readonly hasPrices: boolean; readonly share: number }) {
  const machine = row.blockedBy === undefined ? row.reason : `${row.reason}, ${row.blockedBy}`;
  return (
    <tr>
      <th scope="row" class="a-n">
        <a class="rid" href={hashFor('waste', row.id)} data-row>
          {row.title}
        </a>
        <small>{machine}</small>
        {row.fix !== undefined && <WasteFix fix={row.fix} />}
      </th>
      <td class="a-w muted">
        {row.examples.map(shortNode).join(', ')}
        {row.nodes > row.examples.length && ` and ${formatCount(row.nodes - row.examples.length)} more`}
      </td>
      <td class="num hide-s">{formatCount(row.nodes)}</td>
      <td class="num hide-s">{formatCount(row.cores)}</td>
      <td class="num hide-s">{formatCount(row.memoryGib)}</td>
      {hasPrices && <td class="num a-m">{row.perHour === undefined ? 'unknown' : <b>{formatMoney(row.perHour)}</b>}</td>}
      <td class="a-x">
        <span class="only-s">
          {counted(row.nodes, 'node')}, {counted(row.cores, 'core')}, {formatCount(row.memoryGib)} GiB
        </span>
        <div class="wb" aria-hidden="true">
          <i style={{ width: `${share * 100}%` }} />
        </div>
      </td>
    </tr>
  );
}

function WasteFix({ fix: { text, frees, steps } }: { readonly fix: NonNullable<BlockerRow['fix']> }) {
  const { currency } = useContext(Page);
  const money = frees.perHour === undefined ? '' : `, ${perHour(frees.perHour, currency)}`;
  return (
    <div class="fix">
      <b>Fix that works:</b> {text}.{' '}
      <span class="muted">
        Simulated: frees {counted(frees.nodes, 'node')}, {counted(frees.cores, 'core')}, {formatCount(frees.memoryGib)} GiB{money}.
      </span>
      {steps.length > 0 && (
        <details>
          <summary>How</summary>
          <Steps steps={steps} />
        </details>
      )}
    </div>
  );
}

/** Names of scale set nodes differ in their last characters. */
function shortNode(name: string): string {
  return name.length <= 26 ? name : `${name.slice(0, 14)}…${name.slice(-8)}`;
}

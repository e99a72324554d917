/** Who reads Azure: the readers of this process by kind, and the clusters that share what they read. */
import type { AgentRow, AgentsDocument, ClusterRow, HintRow } from '../../api/documents/agents.ts';
import { memo } from '../parts/memo.ts';
import { Chip, Panel, Time } from '../parts/parts.tsx';
import { counted, formatCount } from '../parts/text.ts';
import { useDocument } from '../parts/use-document.ts';

const NAMES: Readonly<Record<string, string>> = {
  scaleSets: 'Scale sets',
  instances: 'Instances',
  vms: 'Virtual machines',
  agentPools: 'Agent pools',
  skus: 'VM sizes',
  usage: 'Quota usage',
  prices: 'List prices',
};

/** `tick`: another value means that there may be something newer. */
export const AzureReads = memo(function AzureReads({ tick }: { readonly tick: number }) {
  const { document } = useDocument<AgentsDocument>('agents', tick);
  if (document === undefined) return <Panel id="reads" title="Reads of Azure" />;
  const { agents, store } = document;
  return (
    <Panel
      id="reads"
      title="Reads of Azure"
      note={counted(agents.length, 'reader')}
      tools={store !== undefined && <StoreState clusters={store.clusters.length} trouble={store.trouble} />}
    >
      <div class="scroll">
        <table class="t">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col">Last read</th>
              <th scope="col">By</th>
              <th scope="col" class="num">
                Rows
              </th>
              <th scope="col" class="num">
                Calls left
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {byKind(agents).map((rows) => (
              <KindLine key={rows[0].kind} rows={rows} />
            ))}
          </tbody>
        </table>
      </div>
      {store !== undefined && <Clusters rows={store.clusters} />}
      {store !== undefined && <Hints rows={store.hints} />}
    </Panel>
  );
});

type Rows = readonly [AgentRow, ...(readonly AgentRow[])];

function byKind(agents: readonly AgentRow[]): readonly Rows[] {
  const kinds = new Map<string, Rows>();
  for (const agent of agents) {
    const known = kinds.get(agent.kind);
    kinds.set(agent.kind, known === undefined ? [agent] : [...known, agent]);
  }
  return [...kinds.values()];
}

function KindLine({ rows }: { readonly rows: Rows }) {
  const [first] = rows;
  const oldest = rows.reduce((left, right) => ((right.succeededAt ?? '') < (left.succeededAt ?? '') ? right : left));
  const left = rows.find(({ remaining }) => remaining !== undefined)?.remaining;
  const failed = rows.filter(({ failures }) => failures > 0);
  return (
    <tr>
      <th scope="row" title={first.kind}>
        {NAMES[first.kind] ?? first.kind}
        {rows.length > 1 && <small> {counted(rows.length, 'reader')}, the oldest read</small>}
      </th>
      <td>{oldest.succeededAt === undefined ? 'never' : <Time at={oldest.succeededAt} />}</td>
      <td>{first.readBy ?? 'this cluster'}</td>
      <td class="num">{formatCount(rows.reduce((sum, row) => sum + (row.rows ?? 0), 0))}</td>
      <td class="num" title={left?.policy ?? ''}>
        {left === undefined ? '' : `${formatCount(left.left)} of ${formatCount(left.of)}`}
      </td>
      <td>
        <KindState rows={rows} failed={failed} />
      </td>
    </tr>
  );
}

function KindState({ rows, failed }: { readonly rows: Rows; readonly failed: readonly AgentRow[] }) {
  const held = rows.find(({ heldUntil }) => heldUntil !== undefined)?.heldUntil;
  const [worst] = failed;
  if (held !== undefined)
    return (
      <Chip tone="warn" glyph="bars">
        throttled until <Time at={held} as="clock" />
      </Chip>
    );
  if (worst !== undefined)
    return (
      <span title={worst.error ?? ''}>
        <Chip tone="bad" glyph="cross">
          {counted(failed.length, 'reader')} failed
        </Chip>
      </span>
    );
  return <span class="muted">{rows.every(({ state }) => state === 'disabled') ? 'disabled' : 'well'}</span>;
}

function StoreState({ clusters, trouble }: { readonly clusters: number; readonly trouble: string | undefined }) {
  if (trouble === undefined) return <span>shared by {counted(clusters, 'cluster')}</span>;
  return (
    <span title={trouble}>
      <Chip tone="warn" glyph="cross">
        store cannot be used
      </Chip>
    </span>
  );
}

function Clusters({ rows }: { readonly rows: readonly ClusterRow[] }) {
  return (
    <div class="scroll">
      <table class="t" id="clusters">
        <thead>
          <tr>
            <th scope="col">Clusters that share</th>
            <th scope="col">Process</th>
            <th scope="col">Seen</th>
            <th scope="col">Read for this cluster</th>
            <th scope="col">Version</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ cluster, process, seenAt, reads, version, isThis }) => (
            <tr key={`${cluster} ${process}`}>
              <th scope="row">
                {cluster}
                {isThis === true && <small> this one</small>}
              </th>
              <td>{process}</td>
              <td>
                <Time at={seenAt} />
              </td>
              <td>{reads.map((kind) => NAMES[kind] ?? kind).join(', ')}</td>
              <td>{version}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const REPORTS: Readonly<Record<HintRow['kind'], string>> = {
  stockout: 'out of stock',
  throttled: 'reads throttled',
  remaining: 'calls left',
  wanted: 'waits for its turn to try',
  tried: 'tried again',
};

/** Counts of calls that are not scarce are no news. */
function isNews({ kind, left = 0, of = 0 }: HintRow): boolean {
  return kind !== 'remaining' || left < of / 5;
}

function Hints({ rows }: { readonly rows: readonly HintRow[] }) {
  const news = rows.filter(isNews);
  if (news.length === 0) return null;
  return (
    <div class="scroll">
      <table class="t" id="hints">
        <thead>
          <tr>
            <th scope="col">Reported by others</th>
            <th scope="col">About</th>
            <th scope="col">By</th>
            <th scope="col">Seen</th>
            <th scope="col">Holds until</th>
          </tr>
        </thead>
        <tbody>
          {news.map(({ kind, about, by, at, until, left, of }) => (
            <tr key={`${kind} ${about}`}>
              <th scope="row">
                {REPORTS[kind]}
                {left !== undefined && of !== undefined && `: ${formatCount(left)} of ${formatCount(of)}`}
              </th>
              <td>{about}</td>
              <td>{by}</td>
              <td>
                <Time at={at} />
              </td>
              <td>
                <Time at={until} as="clock" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

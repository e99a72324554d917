/**
 * The Grafana dashboards as the JSON that Grafana imports. The rows of one cluster are in dashboard-capacity.ts and
 * dashboard-operation.ts, those of all clusters in dashboard-fleet.ts.
 */
import { CAPACITY_ROWS } from './dashboard-capacity.ts';
import { FLEET_ROWS } from './dashboard-fleet.ts';
import { OPERATION_ROWS } from './dashboard-operation.ts';
import type { Panel, Row } from './dashboard-words.ts';
import type { Json, JsonMap } from './notation.ts';

const COLUMNS = 24;
const HEIGHT = { stat: 4, timeseries: 8, table: 12 } as const;
const heightOf = ({ kind, height }: Panel): number => height ?? HEIGHT[kind];
const SOURCE = { type: 'prometheus', uid: '${datasource}' };

/** All rows, from the top. */
export const ROWS: readonly Row[] = [...CAPACITY_ROWS, ...OPERATION_ROWS];

/** The JSON model that Grafana imports: one cluster. */
export function dashboard(): JsonMap {
  return model('aks-autoscaler', 'AKS autoscaler', [...variables()], ROWS);
}

/** The JSON model of all clusters that report to one Prometheus. */
export function fleetDashboard(): JsonMap {
  return model(
    'aks-autoscaler-fleet',
    'AKS autoscaler: clusters',
    [DATA_SOURCE, clusterVariable({ multi: true, includeAll: true, allValue: '.*' })],
    FLEET_ROWS,
  );
}

function model(uid: string, title: string, list: readonly Json[], rows: readonly Row[]): JsonMap {
  return {
    uid,
    title,
    tags: ['kubernetes', 'autoscaling'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: { list },
    panels: placed(rows),
  };
}

const DATA_SOURCE: Json = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' };

function queried(name: string, label: string, text: string, rest: JsonMap): Json {
  return { name, label, type: 'query', datasource: SOURCE, query: { query: text, refId: name }, refresh: 2, sort: 1, ...rest };
}

/** Without a label `cluster` there are no values, and the empty value matches series without the label. */
function clusterVariable(rest: JsonMap): Json {
  return queried('cluster', 'Cluster', 'label_values(aks_autoscaler_leader, cluster)', rest);
}

function variables(): readonly Json[] {
  const pools = 'label_values(aks_autoscaler_node_group_size{cluster=~"$cluster",job="$job"}, node_group)';
  return [
    DATA_SOURCE,
    clusterVariable({}),
    queried('job', 'Daemon', 'label_values(aks_autoscaler_leader{cluster=~"$cluster"}, job)', {}),
    queried('node_group', 'Pool', pools, { multi: true, includeAll: true, allValue: '.*' }),
  ];
}

/** Panels from left to right, then down; each row starts on a new line. */
function placed(rows: readonly Row[]): readonly Json[] {
  const out: Json[] = [];
  let y = 0;
  for (const row of rows) {
    out.push({ id: out.length + 1, type: 'row', title: row.title, collapsed: false, panels: [], gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    y += 1;
    let [x, height] = [0, 0];
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) [x, y, height] = [0, y + height, 0];
      out.push({ id: out.length + 1, ...panelJson(panel), gridPos: { x, y, w: panel.width, h: heightOf(panel) } });
      x += panel.width;
      height = Math.max(height, heightOf(panel));
    }
    y += height;
  }
  return out;
}

function panelJson(panel: Panel): JsonMap {
  const { title, help, kind, queries } = panel;
  const targets = queries.map(({ expr, legend }, index) => ({
    refId: letter(index),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
    ...(kind === 'timeseries' ? {} : { instant: true }),
    ...(kind === 'table' ? { format: 'table' } : {}),
  }));
  return { type: kind, title, description: help, datasource: SOURCE, targets, ...drawing(panel) };
}

const letter = (index: number): string => String.fromCharCode('A'.charCodeAt(0) + index);

function drawing({ kind, unit, stacked, queries }: Panel): JsonMap {
  if (kind === 'table') {
    const renameByName = Object.fromEntries(queries.map(({ legend }, index) => [`Value #${letter(index)}`, legend]));
    const columns = { excludeByName: { Time: true }, renameByName };
    return {
      transformations: [
        { id: 'merge', options: {} },
        { id: 'organize', options: columns },
      ],
      fieldConfig: { defaults: { unit }, overrides: [] },
      options: {},
    };
  }
  const lines = { custom: { fillOpacity: stacked === true ? 30 : 0, stacking: { mode: stacked === true ? 'normal' : 'none' } } };
  const options =
    kind === 'stat'
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } };
  return { fieldConfig: { defaults: { unit, min: 0, ...(kind === 'stat' ? {} : lines) }, overrides: [] }, options };
}

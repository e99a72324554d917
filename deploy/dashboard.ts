/** The Grafana dashboard as the JSON that Grafana imports. Its rows are in dashboard-capacity.ts and dashboard-operation.ts. */
import { CAPACITY_ROWS } from './dashboard-capacity.ts';
import { OPERATION_ROWS } from './dashboard-operation.ts';
import type { Panel, Row } from './dashboard-words.ts';
import type { Json, JsonMap } from './notation.ts';

const COLUMNS = 24;
const HEIGHT = { stat: 4, timeseries: 8 } as const;
const SOURCE = { type: 'prometheus', uid: '${datasource}' };

/** All rows, from the top. */
export const ROWS: readonly Row[] = [...CAPACITY_ROWS, ...OPERATION_ROWS];

/** The JSON model that Grafana imports. */
export function dashboard(): JsonMap {
  return {
    uid: 'aks-autoscaler',
    title: 'AKS autoscaler',
    tags: ['kubernetes', 'autoscaling'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: { list: variables() },
    panels: placed(ROWS),
  };
}

function variables(): readonly Json[] {
  const query = (name: string, label: string, text: string, rest: JsonMap): Json => ({
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query: { query: text, refId: name },
    refresh: 2,
    sort: 1,
    ...rest,
  });
  return [
    { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
    query('job', 'Daemon', 'label_values(aks_autoscaler_leader, job)', {}),
    query('node_group', 'Pool', 'label_values(aks_autoscaler_node_group_size{job="$job"}, node_group)', {
      multi: true,
      includeAll: true,
      allValue: '.*',
    }),
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
      out.push({ id: out.length + 1, ...panelJson(panel), gridPos: { x, y, w: panel.width, h: HEIGHT[panel.kind] } });
      x += panel.width;
      height = Math.max(height, HEIGHT[panel.kind]);
    }
    y += height;
  }
  return out;
}

function panelJson({ title, help, kind, unit, stacked, queries }: Panel): JsonMap {
  const lines = { custom: { fillOpacity: stacked === true ? 30 : 0, stacking: { mode: stacked === true ? 'normal' : 'none' } } };
  const targets = queries.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
    ...(kind === 'stat' ? { instant: true } : {}),
  }));
  const options =
    kind === 'stat'
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } };
  return {
    type: kind,
    title,
    description: help,
    datasource: SOURCE,
    targets,
    fieldConfig: { defaults: { unit, min: 0, ...(kind === 'stat' ? {} : lines) }, overrides: [] },
    options,
  };
}

/** The part of the page about metrics that shows what can be done with them: dashboards, alerts and recorded series. */
import { alertGroups, runbookOf } from '../deploy/alerts.ts';
import { RECORDING_RULES } from '../deploy/recording-rules.ts';

/** Lines of Markdown. */
export function monitoringSection(): readonly string[] {
  const alerts = alertGroups().flatMap(({ rules }) => rules);
  return [
    '## Dashboards, alerts and recorded series',
    '',
    'Import `deploy/grafana/dashboard.json` (one cluster) and `deploy/grafana/fleet.json` (all clusters of one Prometheus) into Grafana, or let its',
    'sidecar find them:',
    '',
    '```',
    'helm upgrade --install aks-autoscaler helm/aks-autoscaler --namespace kube-system --reuse-values --set grafanaDashboard.enabled=true',
    '```',
    '',
    '![The dashboard of one cluster](pictures/dashboard.png)',
    '',
    '![The dashboard of all clusters](pictures/dashboard-fleet.png)',
    '',
    'A test draws these pictures from the JSON of the dashboards and the answers of a real Prometheus that scraped two simulated clusters. Grafana draws the',
    'same panels in its own style.',
    '',
    'Every query, alert and recorded series keeps the label `cluster`. The Prometheus of one cluster has no such label: set it as an external label where',
    'several clusters meet. Alerts: `prometheusRule.enabled` of the chart, `deploy/prometheus/rules.yaml` for a file, or',
    '`deploy/prometheus/azure-rule-group.json` as an ARM template for Azure Monitor (its `runbookBaseUrl` is where you publish `docs/runbooks`).',
    '',
    '| Alert | Severity | Runbook |',
    '| --- | --- | --- |',
    ...alerts.map(({ alert, labels }) => `| \`${alert}\` | ${labels.severity} | [what helps](runbooks/${runbookOf(alert)}) |`),
    '',
    'Recorded once a minute for each daemon, for the last row of the dashboard of all clusters:',
    '',
    '| Series | Is |',
    '| --- | --- |',
    ...RECORDING_RULES.map(({ record, expr }) => `| \`${record}\` | \`${expr}\` |`),
    '',
  ];
}

/** The alerts and recorded series as rule groups of Azure Monitor, which evaluates the rules of its managed Prometheus: an ARM template. */
import { alertGroups, runbookOf, type AlertRule } from './alerts.ts';
import type { JsonMap } from './notation.ts';
import { RECORDING_GROUP, RECORDING_RULES } from './recording-rules.ts';

/** Azure's scale has 0 for critical and 4 for verbose. */
const SEVERITY = { critical: 1, warning: 3 } as const;

/** Where people read the runbooks, if they have an address for them: the parameter of the template that alerts link to. */
const RUNBOOKS = "parameters('runbookBaseUrl')";

/** The template of `Microsoft.AlertsManagement/prometheusRuleGroups`: the alerts, and what is recorded. */
export function azureRuleGroup(): JsonMap {
  const resources = [
    ...alertGroups().map(({ name, rules }) => ruleGroup(name, 'Alerts of aks-autoscaler', rules.map(alertOf))),
    ruleGroup(
      RECORDING_GROUP,
      'What the fleet dashboard of aks-autoscaler draws over weeks',
      RECORDING_RULES.map(({ record, expr }) => ({ record, expression: expr, enabled: true })),
    ),
  ];
  const text = (description: string, rest: JsonMap = {}): JsonMap => ({ type: 'string', metadata: { description }, ...rest });
  return {
    $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    parameters: {
      azureMonitorWorkspace: text('Resource id of the Azure Monitor workspace'),
      actionGroup: text('Resource id of the action group to call; none if empty', { defaultValue: '' }),
      runbookBaseUrl: text('Address (https://...) where people read docs/runbooks; alerts have no link if empty', { defaultValue: '' }),
      location: text('Region of the workspace', { defaultValue: '[resourceGroup().location]' }),
    },
    resources,
  };
}

function ruleGroup(name: string, description: string, rules: readonly JsonMap[]): JsonMap {
  return {
    type: 'Microsoft.AlertsManagement/prometheusRuleGroups',
    apiVersion: '2023-03-01',
    name,
    location: "[parameters('location')]",
    properties: { description, enabled: true, interval: 'PT1M', scopes: ["[parameters('azureMonitorWorkspace')]"], rules },
  };
}

function alertOf({ alert, expr, for: lasting, labels, annotations: { summary, description } }: AlertRule): JsonMap {
  return {
    alert,
    expression: expr,
    for: `PT${lasting.toUpperCase()}`,
    severity: SEVERITY[labels.severity],
    labels: { ...labels },
    annotations: { summary, description, runbook_url: `[if(empty(${RUNBOOKS}), '', concat(${RUNBOOKS}, '/${runbookOf(alert)}'))]` },
    enabled: true,
    resolveConfiguration: { autoResolved: true, timeToResolve: 'PT10M' },
    actions: "[if(empty(parameters('actionGroup')), createArray(), createArray(createObject('actionGroupId', parameters('actionGroup'))))]",
  };
}

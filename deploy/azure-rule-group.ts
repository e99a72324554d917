/** The alerts as a rule group of Azure Monitor, which evaluates the rules of its managed Prometheus: an ARM template. */
import { alertGroups } from './alerts.ts';
import type { JsonMap } from './notation.ts';

/** Azure's scale has 0 for critical and 4 for verbose. */
const SEVERITY = { critical: 1, warning: 3 } as const;

/** The template of `Microsoft.AlertsManagement/prometheusRuleGroups`. */
export function azureRuleGroup(): JsonMap {
  const resources = alertGroups().map(({ name, rules }) => ({
    type: 'Microsoft.AlertsManagement/prometheusRuleGroups',
    apiVersion: '2023-03-01',
    name,
    location: "[parameters('location')]",
    properties: {
      description: 'Alerts of aks-autoscaler',
      enabled: true,
      interval: 'PT1M',
      scopes: ["[parameters('azureMonitorWorkspace')]"],
      rules: rules.map(({ alert, expr, for: lasting, labels, annotations: { summary, description } }) => ({
        alert,
        expression: expr,
        for: `PT${lasting.toUpperCase()}`,
        severity: SEVERITY[labels.severity],
        labels: { ...labels },
        annotations: { summary, description },
        enabled: true,
        resolveConfiguration: { autoResolved: true, timeToResolve: 'PT10M' },
        actions:
          "[if(empty(parameters('actionGroup')), createArray(), createArray(createObject('actionGroupId', parameters('actionGroup'))))]",
      })),
    },
  }));
  const text = (description: string, rest: JsonMap = {}): JsonMap => ({ type: 'string', metadata: { description }, ...rest });
  return {
    $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    parameters: {
      azureMonitorWorkspace: text('Resource id of the Azure Monitor workspace'),
      actionGroup: text('Resource id of the action group to call; none if empty', { defaultValue: '' }),
      location: text('Region of the workspace', { defaultValue: '[resourceGroup().location]' }),
    },
    resources,
  };
}

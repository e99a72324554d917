import { STATUS_NAME } from '../../../src/planning/explain/scale-up-events.ts';

/** The Kubernetes permissions that `record` needs. `deploy/record-role.yaml` is made from this list, and a test compares it with the calls. */
export const RECORD_RULES = [
  { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['list', 'watch'] },
  // Without them, the numbers of pods are taken from the pods.
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: ['list', 'watch'] },
  // Without it, budgets are not recorded.
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
] as const;

/** In the namespace of the autoscaler's status. Without them, refusals of Azure and limits of pools are unknown. */
export const RECORD_STATUS_RULES = [
  { apiGroups: [''], resources: ['events'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [STATUS_NAME], verbs: ['list', 'watch'] },
] as const;

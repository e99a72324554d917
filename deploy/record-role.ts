/** The permissions of `record`, for a service account of its own. */
import { RECORD_RULES, RECORD_STATUS_RULES } from '../world/commands/record/record-access.ts';
import type { Json } from './notation.ts';

const NAME = 'aks-autoscaler-record';
const NAMESPACE = 'kube-system';
const GROUP = 'rbac.authorization.k8s.io';

export function recordRole(): readonly Json[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, namespace: NAMESPACE } },
    { apiVersion: `${GROUP}/v1`, kind: 'ClusterRole', metadata: { name: NAME }, rules: RECORD_RULES.map((rule) => ({ ...rule })) },
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
    },
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'Role',
      metadata: { name: NAME, namespace: NAMESPACE },
      rules: RECORD_STATUS_RULES.map((rule) => ({ ...rule })),
    },
    {
      apiVersion: `${GROUP}/v1`,
      kind: 'RoleBinding',
      metadata: { name: NAME, namespace: NAMESPACE },
      roleRef: { apiGroup: GROUP, kind: 'Role', name: NAME },
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
    },
  ];
}

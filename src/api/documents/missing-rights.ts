/**
 * Rights that Azure or Kubernetes says are missing, each with the rule that grants it. Read from the words of refusals, since these name the
 * action. Pure.
 */
import { defined } from '../../lib/defined.ts';
import type { DocumentInput } from './document-input.ts';

export interface MissingRight {
  readonly side: 'azure' | 'kubernetes';
  /** `Microsoft.Compute/virtualMachineScaleSets/write`; `create pods/eviction`. */
  readonly action: string;
  /** The Azure resource, or the namespace. Absent for the whole cluster. */
  readonly scope?: string;
  readonly identity?: string;
  /** What to add: a line of the `actions` of a custom role, or a rule of a ClusterRole or Role. */
  readonly rule: string;
}

const AZURE = /the identity (\S+) lacks the permission (\S+) on ([^\s;]+)/;
const KUBERNETES = /User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/** Each right once. */
export function missingRights(input: DocumentInput): readonly MissingRight[] {
  const found = messagesOf(input).flatMap((message) => azureRight(message) ?? kubernetesRight(message) ?? []);
  return [...new Map(found.map((right) => [`${right.action} ${right.scope ?? ''}`, right])).values()];
}

function messagesOf({ report, refusals = [] }: DocumentInput): readonly string[] {
  const { state, failures, observation } = report;
  const held = [...state.backoffs.values()].filter(({ kind, untilMs }) => kind === 'auth' && untilMs > observation.nowMs);
  return [
    ...failures.filter(({ error }) => error.kind === 'auth').map(({ error }) => error.message),
    ...held.flatMap(({ message }) => message ?? []),
    ...refusals,
  ];
}

function azureRight(message: string): MissingRight | undefined {
  const [, identity, action, scope] = AZURE.exec(message) ?? [];
  if (identity === undefined || action === undefined || scope === undefined) return undefined;
  return { side: 'azure', action, scope, identity, rule: `"${action}"` };
}

function kubernetesRight(message: string): MissingRight | undefined {
  const [, identity, verb, resource, group, namespace] = KUBERNETES.exec(message) ?? [];
  if (identity === undefined || verb === undefined || resource === undefined || group === undefined) return undefined;
  const rule = `- apiGroups: ["${group}"]\n  resources: ["${resource}"]\n  verbs: ["${verb}"]`;
  return { side: 'kubernetes', action: `${verb} ${resource}`, identity, rule, ...defined({ scope: namespace }) };
}

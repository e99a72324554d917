/**
 * The user's own order of node groups. It means what the ConfigMap of the Cluster Autoscaler's priority expander means: the
 * highest level wins, patterns match anywhere in the name, and a level below zero never wins. If no rule covers any of the
 * options, all options pass.
 */
import { configError } from '../../lib/errors.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { PlanNote, ScoredOption } from '../../domain/plan.ts';
import type { PriorityLevel } from '../../domain/policy.ts';

export interface PriorityRules {
  /** The highest level that covers the group; undefined if no level does. */
  readonly levelOf: (group: NodeGroup) => number | undefined;
  /** Rules without a group and groups without a rule, a sentence each. */
  readonly notes: (groups: readonly NodeGroup[]) => readonly PlanNote[];
}

/** Keeps the options on the highest level. An option without a level is kept only if no option has one. */
export function keepHighestPriority(options: readonly ScoredOption[]): readonly ScoredOption[] {
  const best = options.reduce((highest, { priority = -1 }) => Math.max(highest, priority), -1);
  return best < 0 ? options : options.filter(({ priority }) => priority === best);
}

/** @throws AutoscalerError `config` for a pattern that is not a regular expression. */
export function createPriorityRules(levels: readonly PriorityLevel[]): PriorityRules {
  const rules = levels
    .map(({ priority, patterns }) => ({ priority, patterns: patterns.map((source) => ({ source, pattern: compilePattern(source) })) }))
    .sort((left, right) => right.priority - left.priority);
  const matches = (pattern: RegExp, group: NodeGroup): boolean => namesOf(group).some((name) => pattern.test(name));
  const levelOf = (group: NodeGroup): number | undefined =>
    rules.find(({ priority, patterns }) => priority >= 0 && patterns.some(({ pattern }) => matches(pattern, group)))?.priority;
  const notes = (groups: readonly NodeGroup[]): readonly PlanNote[] => {
    const idle = rules.flatMap(({ priority, patterns }) =>
      patterns
        .filter(({ pattern }) => !groups.some((group) => matches(pattern, group)))
        .map(({ source }) => ({
          kind: 'rule-without-group' as const,
          text: `The pattern "${source}" of priority ${priority} matches no node group.`,
        })),
    );
    const uncovered = groups
      .filter((group) => levelOf(group) === undefined)
      .map(({ id }) => ({
        kind: 'group-without-rule' as const,
        text: `No priority rule covers the node group ${id}: it grows only if no node group with a rule can help.`,
      }));
    return [...idle, ...uncovered];
  };
  return { levelOf, notes };
}

/**
 * The Cluster Autoscaler's patterns are RE2. Two of its forms that JavaScript lacks are accepted: `(?i)` at the start, and
 * `(?P<name>...)`.
 * @throws AutoscalerError `config` if it is not a regular expression.
 */
export function compilePattern(source: string): RegExp {
  const foldsCase = source.startsWith('(?i)');
  try {
    return new RegExp((foldsCase ? source.slice('(?i)'.length) : source).replaceAll('(?P<', '(?<'), foldsCase ? 'i' : '');
  } catch (cause) {
    throw configError(`"${source}" is not a regular expression.`, { cause });
  }
}

/** A pattern may match the name of the group or of its agent pool. */
function namesOf(group: NodeGroup): readonly string[] {
  const pool = group.template?.labels['kubernetes.azure.com/agentpool'] ?? group.template?.labels['agentpool'];
  return pool === undefined ? [group.id] : [group.id, pool];
}

/**
 * The user's own order of groups, with the meaning that the ConfigMap of the Cluster Autoscaler's priority expander has:
 * the highest level wins, patterns match anywhere in the name, a level below zero never wins, and when no rule covers
 * any of the options they all pass.
 */
import { AutoscalerError } from '../../lib/errors.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { PlanNote, ScoredOption } from '../../domain/plan.ts';
import type { PriorityLevel } from '../../domain/policy.ts';

export interface PriorityRules {
  /** The highest level that covers the group; undefined: none does. */
  readonly levelOf: (group: NodeGroup) => number | undefined;
  /** What is odd about the rules in the light of these groups, a sentence each. */
  readonly remarks: (groups: readonly NodeGroup[]) => readonly PlanNote[];
}

/** Keeps the options on the highest level; options on no level are not used while another is on one. */
export function keepHighestPriority(options: readonly ScoredOption[]): readonly ScoredOption[] {
  const best = options.reduce((highest, { priority = -1 }) => Math.max(highest, priority), -1);
  return best < 0 ? options : options.filter(({ priority }) => priority === best);
}

/** @throws AutoscalerError `config` for a pattern that is no regular expression. */
export function createPriorityRules(levels: readonly PriorityLevel[]): PriorityRules {
  const rules = levels
    .map(({ priority, patterns }) => ({ priority, patterns: patterns.map((source) => ({ source, pattern: compilePattern(source) })) }))
    .sort((left, right) => right.priority - left.priority);
  const matches = (pattern: RegExp, group: NodeGroup): boolean => namesOf(group).some((name) => pattern.test(name));
  const levelOf = (group: NodeGroup): number | undefined =>
    rules.find(({ priority, patterns }) => priority >= 0 && patterns.some(({ pattern }) => matches(pattern, group)))?.priority;
  const remarks = (groups: readonly NodeGroup[]): readonly PlanNote[] => {
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
        text: `The node group ${id} is covered by no priority rule: it grows only when none that is can.`,
      }));
    return [...idle, ...uncovered];
  };
  return { levelOf, remarks };
}

/**
 * The patterns of the Cluster Autoscaler are RE2's; the two spellings of it that people use and JavaScript lacks are
 * understood: `(?i)` at the start and `(?P<name>...)`.
 * @throws AutoscalerError `config` when it is no regular expression.
 */
export function compilePattern(source: string): RegExp {
  const foldsCase = source.startsWith('(?i)');
  try {
    return new RegExp((foldsCase ? source.slice('(?i)'.length) : source).replaceAll('(?P<', '(?<'), foldsCase ? 'i' : '');
  } catch (cause) {
    throw new AutoscalerError({ kind: 'config' }, `"${source}" is not a regular expression.`, { cause });
  }
}

/** A rule may speak of the group by its own name or by its agent pool's. */
function namesOf(group: NodeGroup): readonly string[] {
  const pool = group.template?.labels['kubernetes.azure.com/agentpool'] ?? group.template?.labels['agentpool'];
  return pool === undefined ? [group.id] : [group.id, pool];
}

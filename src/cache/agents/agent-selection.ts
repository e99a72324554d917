import { AutoscalerError } from '../../lib/errors.ts';
import { isGlob, matchesGlob } from '../../lib/glob.ts';

/** Ids or globs (`*` any characters, `?` one). Disabled wins over enabled. */
export interface AgentSelection {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** Lets required agents be disabled. */
  readonly allowDegraded: boolean;
}

export const EVERY_AGENT: AgentSelection = { enabled: ['*'], disabled: [], allowDegraded: false };

interface Selectable {
  readonly id: string;
  readonly required: boolean;
}

/** Whether the agent runs. A required one runs unless degradation is allowed. */
export function isSelected(selection: AgentSelection, agent: Selectable): boolean {
  if (agent.required && !selection.allowDegraded) return true;
  return matchesAny(selection.enabled, agent.id) && !matchesAny(selection.disabled, agent.id);
}

/**
 * `mayBeAdded` accepts ids that agents may have later. @throws AutoscalerError `config`, naming the entry: an exact id
 * that no agent has, or a required agent that would not run.
 */
export function checkSelection(selection: AgentSelection, agents: readonly Selectable[], mayBeAdded: (id: string) => boolean): void {
  for (const entry of [...selection.enabled, ...selection.disabled]) {
    if (isGlob(entry) || mayBeAdded(entry) || agents.some((agent) => agent.id === entry)) continue;
    const known = agents.map((agent) => agent.id).sort();
    throw new AutoscalerError({ kind: 'config' }, `There is no caching agent "${entry}"; there are: ${known.join(', ')}.`);
  }
  if (selection.allowDegraded) return;
  const unfed = agents.find((agent) => agent.required && !isSelected({ ...selection, allowDegraded: true }, agent));
  if (unfed === undefined) return;
  throw new AutoscalerError(
    { kind: 'config' },
    `The caching agent "${unfed.id}" is required and cannot be disabled unless degradation is allowed.`,
  );
}

function matchesAny(patterns: readonly string[], id: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, id));
}

/** Which of the agents that keep Azure's answers run: exact names are checked here, so that a slip of the finger ends the start. */
import * as z from 'zod';
import { isGlob, matchesGlob } from '../domain/glob.ts';
import { flag, text } from './leaves.ts';

/** Decisions wait without these. */
export const REQUIRED_AGENTS = ['scaleSets', 'agentPools', 'skus', 'vms'] as const;
export const OPTIONAL_AGENTS = ['spotSizes', 'usage', 'prices'] as const;
/** One per scale set. */
export const INSTANCES_PREFIX = 'instances/';

const KNOWN: readonly string[] = [...REQUIRED_AGENTS, ...OPTIONAL_AGENTS];
const ACCEPTED = `one of ${KNOWN.join(', ')}, ${INSTANCES_PREFIX}SCALE-SET, or a pattern of them with * and ?`;

function isKnown(entry: string): boolean {
  return isGlob(entry) || KNOWN.includes(entry) || (entry.startsWith(INSTANCES_PREFIX) && entry.length > INSTANCES_PREFIX.length);
}

const entries = (byDefault: readonly string[]) =>
  z.array(text(ACCEPTED).refine(isKnown, { error: ACCEPTED }), { error: 'a list of agents' }).default([...byDefault]);

interface Selection {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
}

/** The first required agent that the selection stops. Scale sets are found later: any name stands for theirs. */
function stopped({ enabled, disabled }: Selection): string | undefined {
  const exact = [...enabled, ...disabled].filter((entry) => !isGlob(entry) && isKnown(entry) && entry.startsWith(INSTANCES_PREFIX));
  return [...REQUIRED_AGENTS, ...exact, `${INSTANCES_PREFIX}any`].find(
    (id) => !enabled.some((entry) => matchesGlob(entry, id)) || disabled.some((entry) => matchesGlob(entry, id)),
  );
}

export const agents = z
  .strictObject({ enabled: entries(['*']), disabled: entries([]), allowDegraded: flag(false) })
  .refine((given) => given.allowDegraded || stopped(given) === undefined, {
    error: `a selection that leaves ${REQUIRED_AGENTS.join(', ')} and ${INSTANCES_PREFIX}* running, or azure.agents.allowDegraded (--allow-degraded)`,
    path: ['disabled'],
  })
  .prefault({});

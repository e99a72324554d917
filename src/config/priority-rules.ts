/** The rules of the priority expander as the Cluster Autoscaler's ConfigMap spells them. */
import { AutoscalerError } from '../domain/errors.ts';
import type { PriorityLevel } from '../domain/policy.ts';
import { readDocuments } from './documents.ts';
import { levelsAsRead } from './expander-schema.ts';

/** A ConfigMap cannot be larger. */
const MOST_MIB = 1;

/**
 * YAML, a map of whole numbers to lists of regular expressions.
 * @throws AutoscalerError `config` with one sentence that names the entry that is wrong.
 */
export function parsePriorities(name: string, text: string): readonly PriorityLevel[] {
  const [document, second] = readDocuments(name, text, MOST_MIB);
  if (document === undefined) throw broken(`${name} is empty`);
  if (second !== undefined) throw broken(`${name} holds more than one document`);
  const parsed = levelsAsRead.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = (issue?.path ?? []).map(String).join('.');
  throw broken(`${name}${at === '' ? '' : ` at ${at}`} is not valid; accepted is ${issue?.message ?? 'a map of priorities'}`);
}

function broken(what: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, `${what}.`);
}

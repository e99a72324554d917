/** Objects of custom kinds at the door: their defaults, and what their schema refuses. */
import type { KubeObject, ObjectDraft } from '../store/objects.ts';
import type { ResourceType } from '../store/resource-types.ts';
import { failureStatus, success, type Result } from '../store/status.ts';
import { ruleProblems } from './cel-rules.ts';
import { withSchemaDefaults } from './json-schema.ts';
import type { KindTable } from './kind-table.ts';
import { schemaProblems, type SchemaProblem } from './schema-validation.ts';

/** The object with its defaults, or why it is invalid. An object of a built-in kind is returned as it is. `old` is what it replaces. */
export function admitCustom(kinds: KindTable, type: ResourceType, draft: ObjectDraft, old: KubeObject | undefined): Result<ObjectDraft> {
  const custom = kinds.custom(type);
  if (custom === undefined) return success(draft);
  const filled = withSchemaDefaults(custom.json, draft) as ObjectDraft;
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = filled;
  const misfits = schemaProblems(custom.json, content);
  // Rules see objects that fit the schema only.
  const problems = misfits.length > 0 ? misfits : ruleProblems(custom.json, filled, old);
  return problems.length === 0 ? success(filled) : invalidObject(type, draft.metadata.name ?? '', problems);
}

/** One problem stands for itself, several are a list in brackets. */
export function invalidObject(type: Pick<ResourceType, 'group' | 'kind'>, name: string, problems: readonly SchemaProblem[]): Result<never> {
  const texts = problems.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  const message = `${type.kind}.${type.group} "${name}" is invalid: ${all}`;
  const details = {
    name,
    group: type.group,
    kind: type.kind,
    causes: problems.map(({ field, reason, message: text }) => ({ reason, message: text, field })),
  };
  return { ok: false, refusal: failureStatus(422, 'Invalid', message, details) };
}

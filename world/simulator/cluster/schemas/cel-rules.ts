/**
 * `x-kubernetes-validations` of custom kinds, in the words of an API server (apiextensions-apiserver 0.36, `schema/cel/validation.go`): which rules run for
 * which values, and what a broken rule says. Costs of expressions are not limited.
 */
import { isRecord, sameJson } from '../store/patches.ts';
import { celValue, compile, firstLine, missingLibrary, optional, type Expression } from './cel-environment.ts';
import type { JsonSchema } from './json-schema.ts';
import type { SchemaProblem } from './schema-validation.ts';

interface ValidationRule {
  readonly rule?: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  /** A JSON path below the value, such as `.spec.replicas`. */
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** A value with the value that it replaces. */
interface Change {
  readonly value: unknown;
  /** undefined: there is none, or it cannot be found in a list without keys. */
  readonly old: unknown;
  /** Empty for the object itself. */
  readonly field: string;
}

function rulesOf(json: JsonSchema): readonly ValidationRule[] {
  return (json['x-kubernetes-validations'] ?? []) as readonly ValidationRule[];
}

/** What the rules of a schema say about an object that fits it. `old` is the object that it replaces. */
export function ruleProblems(json: JsonSchema, value: unknown, old: unknown): readonly SchemaProblem[] {
  return hasRules(json) ? problemsOf(json, { value, old, field: '' }, true) : [];
}

function problemsOf(json: JsonSchema, change: Change, isRoot = false): readonly SchemaProblem[] {
  const { value } = change;
  if (value === null || value === undefined) return [];
  const own = rulesOf(json).flatMap((rule) => problemsOfRule(json, rule, { ...change, isRoot }));
  const ofAll = (json.allOf ?? []).flatMap((part) => problemsOf({ ...json, ...part, allOf: [] }, change));
  if (Array.isArray(value)) return [...own, ...ofAll, ...problemsOfItems(json, change, value as readonly unknown[])];
  return isRecord(value) ? [...own, ...ofAll, ...problemsOfFields(json, change, value)] : [...own, ...ofAll];
}

function problemsOfFields(json: JsonSchema, { old, field }: Change, value: Readonly<Record<string, unknown>>): readonly SchemaProblem[] {
  const { properties = {}, additionalProperties: rest } = json;
  const before = isRecord(old) ? old : {};
  return Object.entries(value).flatMap(([name, item]) => {
    const of = Object.hasOwn(properties, name) ? properties[name] : isRecord(rest) ? (rest as JsonSchema) : undefined;
    const isKey = !Object.hasOwn(properties, name);
    const path = isKey ? `${field}[${name}]` : field === '' ? name : `${field}.${name}`;
    return of === undefined ? [] : problemsOf(of, { value: item, old: before[name], field: path });
  });
}

/** Only items of a list with keys have an item that they replace. */
function problemsOfItems(json: JsonSchema, { old, field }: Change, items: readonly unknown[]): readonly SchemaProblem[] {
  const keys = json['x-kubernetes-list-map-keys'] ?? [];
  const before = Array.isArray(old) && json['x-kubernetes-list-type'] === 'map' ? (old as readonly unknown[]) : [];
  const isSame = (item: unknown, other: unknown): boolean =>
    isRecord(item) && isRecord(other) && keys.every((key) => sameJson(item[key], other[key]));
  return items.flatMap((item, index) =>
    problemsOf(json.items ?? {}, { value: item, old: before.find((other) => isSame(item, other)), field: `${field}[${index}]` }),
  );
}

interface RuleChange extends Change {
  readonly isRoot: boolean;
}

function problemsOfRule(json: JsonSchema, rule: ValidationRule, change: RuleChange): readonly SchemaProblem[] {
  const { rule: text = '', optionalOldSelf = false } = rule;
  const { value, old, isRoot } = change;
  const expression = compile(text);
  if (typeof expression === 'string' || missingLibrary(text) !== undefined) return [];
  if (expression.usesOldSelf && old === undefined && !optionalOldSelf) return [];
  // What was broken before and did not change is kept ("validation ratcheting").
  if (!expression.usesOldSelf && old !== undefined && sameJson(value, old)) return [];
  const before = old === undefined ? undefined : celValue(json, old, isRoot);
  const variables = { self: celValue(json, value, isRoot), oldSelf: optionalOldSelf ? optional(before) : before };
  const failure = failureOf(expression, variables);
  if (failure === undefined) return [];
  return [failure === '' ? brokenRule(json, rule, { change, variables }) : unevaluated(json, rule, { field: change.field, failure })];
}

/** undefined: the rule holds; empty: it does not; else why it has no result. */
function failureOf({ evaluate }: Expression, variables: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return evaluate(variables) === true ? undefined : '';
  } catch (error) {
    const text = firstLine(error);
    return (
      text
        .replace(/^No such key: index out of bounds, index (\d+) .*$/, 'index out of bounds: $1')
        .replace(/^No such key/, 'no such key') || 'error'
    );
  }
}

function nameOf({ rule = '', message = '' }: ValidationRule): string {
  return (message === '' ? rule : message).trim();
}

function unevaluated(
  json: JsonSchema,
  rule: ValidationRule,
  { field, failure }: { readonly field: string; readonly failure: string },
): SchemaProblem {
  const isOverload = failure.startsWith('found no matching overload');
  const why = isOverload
    ? `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${nameOf(rule)}`
    : `${failure} evaluating rule: ${nameOf(rule)}`;
  return { field: pathOf(field), reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(json.type ?? '')}: ${why}` };
}

interface Broken {
  readonly change: Change;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A broken rule names the value, unless it is an object or a list. */
function brokenRule(json: JsonSchema, rule: ValidationRule, { change, variables }: Broken): SchemaProblem {
  const { reason = 'FieldValueInvalid', fieldPath = '' } = rule;
  const detail = messageOf(rule, variables);
  const path = fieldPath.replace(/^\./, '');
  const field = pathOf([change.field, path].filter((part) => part !== '').join('.'));
  const shown = json.type === 'object' || json.type === 'array' ? '' : `: ${JSON.stringify(change.value)}`;
  if (reason === 'FieldValueRequired') return { field, reason, message: `Required value: ${detail}` };
  if (reason === 'FieldValueForbidden') return { field, reason, message: `Forbidden: ${detail}` };
  if (reason === 'FieldValueDuplicate') return { field, reason, message: `Duplicate value${shown}` };
  return { field, reason: 'FieldValueInvalid', message: `Invalid value${shown}: ${detail}` };
}

/** The object itself has no path, which Go prints so. */
function pathOf(field: string): string {
  return field === '' ? '<nil>' : field;
}

/** A message that cannot be evaluated, is empty or has several lines is not used. */
function messageOf(rule: ValidationRule, variables: Readonly<Record<string, unknown>>): string {
  const { message = '', messageExpression = '' } = rule;
  const usual = message === '' ? `failed rule: ${nameOf(rule)}` : message.trim();
  const expression = compile(messageExpression);
  if (messageExpression === '' || typeof expression === 'string') return usual;
  try {
    const text = expression.evaluate(variables);
    return typeof text === 'string' && text.trim() !== '' && !text.includes('\n') ? text.trim() : usual;
  } catch {
    return usual;
  }
}

const withRules = new WeakMap<JsonSchema, boolean>();

/** Asked with every write of an object. */
function hasRules(json: JsonSchema): boolean {
  const known = withRules.get(json) ?? everyRule(json, '').length > 0;
  withRules.set(json, known);
  return known;
}

interface PlacedRule {
  readonly place: string;
  readonly rule: ValidationRule;
}

/** All rules of a schema with their places in it. */
function everyRule(json: JsonSchema, place: string): readonly PlacedRule[] {
  const { properties = {}, additionalProperties: rest, items, allOf = [] } = json;
  return [
    ...rulesOf(json).map((rule, index) => ({ place: `${place}.x-kubernetes-validations[${index}]`, rule })),
    ...Object.entries(properties).flatMap(([name, of]) => everyRule(of, `${place}.properties[${name}]`)),
    ...(isRecord(rest) ? everyRule(rest, `${place}.additionalProperties`) : []),
    ...(items === undefined ? [] : everyRule(items, `${place}.items`)),
    ...allOf.flatMap((part, index) => everyRule(part, `${place}.allOf[${index}]`)),
  ];
}

/** What an API server refuses of the rules of a definition. The end of each sentence is that of the library, not of `cel-go`. */
export function definitionProblems(json: JsonSchema, place: string): readonly SchemaProblem[] {
  return everyRule(json, place).flatMap(({ place: at, rule }) => {
    const { rule: text = '', messageExpression = '' } = rule;
    if (text.trim() === '')
      return [{ field: `${at}.rule`, reason: 'FieldValueRequired', message: 'Required value: rule is not specified' }];
    return [
      ...compileProblem(text, { field: `${at}.rule`, rule, what: 'compilation failed' }),
      ...(messageExpression === ''
        ? []
        : compileProblem(messageExpression, { field: `${at}.messageExpression`, rule, what: 'messageExpression compilation failed' })),
    ];
  });
}

interface CompileInput {
  readonly field: string;
  readonly rule: ValidationRule;
  readonly what: string;
}

function compileProblem(text: string, { field, rule, what }: CompileInput): readonly SchemaProblem[] {
  const expression = compile(text);
  if (typeof expression !== 'string' || missingLibrary(text) !== undefined) return [];
  return [{ field, reason: 'FieldValueInvalid', message: `Invalid value: ${goText(rule)}: ${what}: ${expression}` }];
}

/** The rule as Go prints it: all fields, with escaped comparisons. */
function goText({
  rule = '',
  message = '',
  messageExpression = '',
  reason = null,
  fieldPath = '',
  optionalOldSelf = null,
}: Nullable<ValidationRule>): string {
  const fields = {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf,
  };
  return JSON.stringify(fields).replaceAll(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
}

type Nullable<Value> = { readonly [Key in keyof Value]: Value[Key] | null };

/** The rules that are not evaluated here, since they need a library that this server does not have. */
export function unevaluatedRules(json: JsonSchema): readonly string[] {
  return everyRule(json, '').flatMap(({ rule: { rule: text = '' } }) => {
    const library = missingLibrary(text);
    return library === undefined
      ? []
      : [`the simulated cluster does not evaluate the rule ${JSON.stringify(text)}: it lacks the function ${library}`];
  });
}

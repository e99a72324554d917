/**
 * Whether a device matches a selector, as the API server evaluates it. An attribute that the device lacks is an error and not false,
 * unless `&&` or `||` decide without it.
 */
import { parseExpression, type Comparison, type DeviceField, type Expression } from './cel-expression.ts';
import type { AttributeValue, Device } from './devices.ts';
import { AutoscalerError } from '../lib/errors.ts';
import { parseQuantity } from './quantity.ts';

/** true, false, or why the selector cannot be evaluated. */
type SelectorResult = boolean | { readonly error: string };

export interface Selector {
  readonly matches: (device: Device) => SelectorResult;
}

type Value =
  | string
  | number
  | boolean
  | { readonly version: string }
  | { readonly quantity: number }
  | { readonly list: readonly Value[] }
  /** `absent` is the value of a missing key. Without it a missing key is an error. */
  | { readonly map: ReadonlyMap<string, Value>; readonly absent?: Value }
  | { readonly optional: Value | undefined };

class EvaluationError extends Error {}

/** The selector, or why the expression is not supported. */
export function parseSelector(expression: string): Selector | { readonly refused: string } {
  const parsed = parseExpression(expression);
  if ('refused' in parsed) return parsed;
  return { matches: (device) => matchDevice(parsed.tree, device) };
}

function matchDevice(tree: Expression, device: Device): SelectorResult {
  try {
    const value = evaluate(tree, { device, names: new Map() });
    return typeof value === 'boolean' ? value : { error: 'it does not return true or false' };
  } catch (thrown) {
    if (thrown instanceof EvaluationError) return { error: thrown.message };
    throw thrown;
  }
}

interface Bindings {
  readonly device: Device;
  readonly names: ReadonlyMap<string, Value>;
}

function evaluate(tree: Expression, scope: Bindings): Value {
  switch (tree.kind) {
    case 'literal':
      return tree.value;
    case 'list':
      return { list: tree.items.map((item) => evaluate(item, scope)) };
    case 'name':
      return scope.names.get(tree.name) ?? fail(`${tree.name} is not bound`);
    case 'device':
      return fieldOf(scope.device, tree.field);
    case 'member':
      return memberOf(evaluate(tree.of, scope), evaluate(tree.key, scope), tree.optional);
    case 'call':
      return callFunction(tree.name, evaluate(tree.args[0] ?? NO_ARGUMENT, scope));
    case 'method':
      return callMethod(
        evaluate(tree.of, scope),
        tree.name,
        tree.args.map((arg) => evaluate(arg, scope)),
      );
    case 'has':
      return mapOf(evaluate(tree.of, scope)).map.has(textOf(evaluate(tree.key, scope)));
    case 'bind':
      return evaluate(tree.body, { ...scope, names: new Map([...scope.names, [tree.name, evaluate(tree.value, scope)]]) });
    case 'not':
      return !booleanOf(evaluate(tree.of, scope));
    case 'minus':
      return -numberOf(evaluate(tree.of, scope));
    case 'and':
      return evaluateLogical(tree, false, scope);
    case 'or':
      return evaluateLogical(tree, true, scope);
    case 'in':
      return isIn(evaluate(tree.left, scope), evaluate(tree.right, scope));
    case 'compare':
      return evaluateComparison(tree.operator, evaluate(tree.left, scope), evaluate(tree.right, scope));
    case 'choose':
      return evaluate(booleanOf(evaluate(tree.when, scope)) ? tree.yes : tree.no, scope);
  }
}

const NO_ARGUMENT: Expression = { kind: 'literal', value: '' };

/** Either side may decide, even if the other fails. */
function evaluateLogical(
  { left, right }: { readonly left: Expression; readonly right: Expression },
  decisive: boolean,
  scope: Bindings,
): boolean {
  let failed: EvaluationError | undefined;
  for (const side of [left, right]) {
    try {
      if (booleanOf(evaluate(side, scope)) === decisive) return decisive;
    } catch (thrown) {
      if (!(thrown instanceof EvaluationError)) throw thrown;
      failed ??= thrown;
    }
  }
  if (failed !== undefined) throw failed;
  return !decisive;
}

/** A domain that the device does not mention is empty. A missing name in a domain is an error. */
function fieldOf(device: Device, field: DeviceField): Value {
  if (field === 'driver') return device.driver;
  if (field === 'allowMultipleAllocations') return device.isDivided === true;
  const domains =
    field === 'attributes'
      ? Object.entries(device.attributes).map(
          ([domain, names]) => [domain, { map: new Map<string, AttributeValue>(Object.entries(names)) }] as const,
        )
      : Object.entries(device.capacity).map(
          ([domain, names]) =>
            [domain, { map: new Map<string, Value>(Object.entries(names).map(([name, quantity]) => [name, { quantity }])) }] as const,
        );
  return { map: new Map<string, Value>(domains), absent: { map: new Map() } };
}

function memberOf(of: Value, key: Value, optional: boolean): Value {
  const { map, absent } = mapOf(of);
  const name = textOf(key);
  const found = map.get(name) ?? absent;
  if (optional) return { optional: found };
  return found ?? fail(`no such key: ${name}`);
}

function callFunction(name: string, value: Value): Value {
  const text = name === 'size' ? '' : textOf(value);
  if (name === 'size') return sizeOf(value);
  if (name === 'semver') return { version: versionOf(text) };
  if (name === 'isSemver') return VERSION.test(text);
  const quantity = quantityOf(text);
  return name === 'isQuantity' ? quantity !== undefined : { quantity: quantity ?? fail(`"${text}" is not a quantity`) };
}

function callMethod(of: Value, name: string, args: readonly Value[]): Value {
  const [arg = ''] = args;
  if (name === 'orValue') return optionalOf(of).optional ?? arg;
  if (name === 'hasValue') return optionalOf(of).optional !== undefined;
  if (name === 'size') return sizeOf(of);
  if (typeof of === 'string') return callTextMethod(of, name, args.length === 0 ? '' : textOf(arg));
  if (args.length === 0) return partOf(of, name);
  const order = orderOf(of, arg);
  if (name === 'compareTo') return Math.sign(order);
  if (name === 'isGreaterThan' || name === 'isLessThan') return name === 'isLessThan' ? order < 0 : order > 0;
  return fail(`${name} is not a method of this type`);
}

/** The whole number of a quantity, or one of the three numbers of a version. */
function partOf(of: Value, name: string): number {
  if (typeof of === 'object' && 'quantity' in of && name === 'asInteger' && Number.isSafeInteger(of.quantity)) return of.quantity;
  const part = ['major', 'minor', 'patch'].indexOf(name);
  if (typeof of === 'object' && 'version' in of && part >= 0) return Number(VERSION.exec(of.version)?.[part + 1]);
  return fail(`${name} is not a method of this type`);
}

function callTextMethod(text: string, name: string, arg: string): Value {
  if (name === 'startsWith') return text.startsWith(arg);
  if (name === 'endsWith') return text.endsWith(arg);
  if (name === 'contains') return text.includes(arg);
  if (name === 'lowerAscii') return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (name === 'upperAscii') return text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
  return fail(`${name} is not a method of a string`);
}

/** Quantities compare with quantities and versions with versions; other values have no such order. */
function orderOf(left: Value, right: Value): number {
  if (typeof left === 'object' && typeof right === 'object') {
    if ('quantity' in left && 'quantity' in right) return left.quantity - right.quantity;
    if ('version' in left && 'version' in right) return compareVersions(left.version, right.version);
  }
  return fail('values of these types cannot be compared');
}

function evaluateComparison(operator: Comparison, left: Value, right: Value): boolean {
  if (operator === '==') return isEqual(left, right);
  if (operator === '!=') return !isEqual(left, right);
  const bothText = typeof left === 'string' && typeof right === 'string';
  const bothNumbers = typeof left === 'number' && typeof right === 'number';
  if (!bothText && !bothNumbers) return fail(`values of these types do not support ${operator}`);
  if (operator === '<') return left < right;
  if (operator === '<=') return left <= right;
  return operator === '>' ? left > right : left >= right;
}

function isEqual(left: Value, right: Value): boolean {
  if (typeof left !== 'object' && typeof right !== 'object') return left === right;
  return orderOf(left, right) === 0;
}

function isIn(value: Value, container: Value): boolean {
  if (typeof container === 'object' && 'list' in container) return container.list.some((item) => isEqual(value, item));
  return mapOf(container).map.has(textOf(value));
}

function sizeOf(value: Value): number {
  if (typeof value === 'string') return Array.from(value).length;
  if (typeof value === 'object' && 'list' in value) return value.list.length;
  return mapOf(value).map.size;
}

function mapOf(value: Value): Extract<Value, { readonly map: unknown }> {
  return typeof value === 'object' && 'map' in value ? value : fail('it is not a map or object');
}

function optionalOf(value: Value): Extract<Value, { readonly optional: unknown }> {
  return typeof value === 'object' && 'optional' in value ? value : fail('it is not optional');
}

function textOf(value: Value): string {
  return typeof value === 'string' ? value : fail('it is not a string');
}

function numberOf(value: Value): number {
  return typeof value === 'number' ? value : fail('it is not a number');
}

function booleanOf(value: Value): boolean {
  return typeof value === 'boolean' ? value : fail('it is not true or false');
}

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

function versionOf(text: string): string {
  return VERSION.test(text) ? text : fail(`"${text}" is not a version`);
}

/** By semver.org: numbers by value, a pre-release before its release, its parts one by one. */
function compareVersions(left: string, right: string): number {
  const [, ...one] = VERSION.exec(left) ?? fail(`"${left}" is not a version`);
  const [, ...other] = VERSION.exec(right) ?? fail(`"${right}" is not a version`);
  for (let at = 0; at < 3; at++) {
    const difference = Number(one[at]) - Number(other[at]);
    if (difference !== 0) return difference;
  }
  const [before, after] = [one[3], other[3]];
  if (before === undefined || after === undefined) return Number(before === undefined) - Number(after === undefined);
  return comparePreReleases(before.split('.'), after.split('.'));
}

function comparePreReleases(left: readonly string[], right: readonly string[]): number {
  for (const [at, part] of left.entries()) {
    const other = right[at];
    if (other === undefined) return 1;
    if (part === other) continue;
    const numbers = [part, other].map((text) => /^\d+$/.test(text));
    if (numbers[0] === true && numbers[1] === true) return Number(part) - Number(other);
    if (numbers[0] !== numbers[1]) return numbers[0] === true ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return left.length - right.length;
}

function quantityOf(text: string): number | undefined {
  try {
    return parseQuantity(text);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError && thrown.kind === 'config') return undefined;
    throw thrown;
  }
}

function fail(message: string): never {
  throw new EvaluationError(message);
}

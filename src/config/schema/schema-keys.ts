import type * as z from 'zod';
import { VARIABLES } from '../sources/environment.ts';
import { FLAGS } from '../sources/flag-table.ts';
import { SCHEMA } from './schema.ts';

type Schema = z.core.$ZodType;

/** Returns the keys of the schema below a path, in its order. Empty if there is no map. */
export function knownKeys(path: readonly string[]): readonly string[] {
  let schema: Schema | undefined = SCHEMA;
  for (const part of path) schema = schema === undefined ? undefined : below(bare(schema), part);
  const found = schema === undefined ? undefined : bare(schema);
  return found === undefined ? [] : Object.keys(shapeOf(found) ?? {});
}

/** Strips defaults, options and transforms. */
function bare(schema: Schema): Schema {
  const { def } = schema._zod as { readonly def: { readonly type: string; readonly innerType?: Schema; readonly in?: Schema } };
  const inner = def.type === 'pipe' ? def.in : def.innerType;
  return inner === undefined ? schema : bare(inner);
}

function below(schema: Schema, part: string): Schema | undefined {
  const { def } = schema._zod as { readonly def: { readonly type: string; readonly element?: Schema } };
  return def.type === 'array' ? def.element : shapeOf(schema)?.[part];
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const { def } = schema._zod as { readonly def: { readonly type: string; readonly shape?: Readonly<Record<string, Schema>> } };
  return def.type === 'object' ? def.shape : undefined;
}

/** ` (set it by ...)`: the flags and variables that set a key, for the message about a missing key. */
export function waysToSet(path: readonly string[]): string {
  const key = path.join('.');
  const flags = FLAGS.filter((flag) => flag.path === key).map((flag) => `--${flag.name}`);
  const variables = VARIABLES.filter((variable) => variable.path === key).map((variable) => variable.name);
  const ways = [...flags, ...variables];
  return ways.length === 0 ? '' : ` (set it by ${ways.join(', ')} or in a file)`;
}

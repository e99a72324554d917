import type * as z from 'zod';
import { SCHEMA } from './schema.ts';

type Schema = z.core.$ZodType;

/** The keys the schema knows at a place, in its order; empty where it has no map. */
export function knownKeys(path: readonly string[]): readonly string[] {
  let schema: Schema | undefined = SCHEMA;
  for (const part of path) schema = schema === undefined ? undefined : below(bare(schema), part);
  const found = schema === undefined ? undefined : bare(schema);
  return found === undefined ? [] : Object.keys(shapeOf(found) ?? {});
}

/** Without defaults, options and transforms around it. */
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

/** The properties of `Value` that cannot be undefined stay required. */
type Required<Value> = { [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key] };
/** The others become optional, without undefined. */
type Optional<Value> = { [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<Value[Key], undefined> };

/** Returns the object without its undefined properties, as `exactOptionalPropertyTypes` requires. */
export function defined<const Value extends object>(value: Value): Required<Value> & Optional<Value> {
  const result: { [key: string]: unknown } = {};
  for (const [key, part] of Object.entries(value)) if (part !== undefined) result[key] = part;
  return result as Required<Value> & Optional<Value>;
}

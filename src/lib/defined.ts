/** Present when the property of `Value` cannot be undefined. */
type Required<Value> = { [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key] };
/** Optional, without undefined, when it can. */
type Optional<Value> = { [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<Value[Key], undefined> };

/** The same object without the properties that are undefined, as `exactOptionalPropertyTypes` wants it. */
export function defined<const Value extends object>(value: Value): Required<Value> & Optional<Value> {
  const result: { [key: string]: unknown } = {};
  for (const [key, part] of Object.entries(value)) if (part !== undefined) result[key] = part;
  return result as Required<Value> & Optional<Value>;
}

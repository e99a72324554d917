/**
 * Leaves `metadata.managedFields` out of API JSON before it is parsed. It is the larger half of most objects, nothing here
 * reads it, and parsing it would cost more than all the rest of a first picture.
 *
 * Why a search is enough: the array is followed by the end of the metadata and the next part of the object. In compact
 * JSON neither that sequence nor the key can begin inside a string, because a quote inside a string has a backslash before
 * it; and when the first `]` after the key is the one in that sequence, no other array lies between. Whatever does not
 * look like that is left in: that costs time, not truth.
 */
const KEY = Buffer.from('"managedFields":[');
const ENDS = ['},"spec":', '},"status":'].map((text) => Buffer.from(text));
const COMMA = 0x2c;
const CLOSE = 0x5d;

/** The text of one object's or event's JSON. */
export function decodeWithoutManagedFields(json: Buffer): string {
  const key = json.indexOf(KEY);
  if (key === -1) return json.toString('utf8');
  const close = json.indexOf(CLOSE, key);
  if (close === -1 || !ENDS.some((end) => isAt(json, end, close + 1))) return json.toString('utf8');
  const from = json[key - 1] === COMMA ? key - 1 : key;
  return json.toString('utf8', 0, from) + json.toString('utf8', close + 1);
}

function isAt(json: Buffer, part: Buffer, offset: number): boolean {
  return json.length >= offset + part.length && json.compare(part, 0, part.length, offset, offset + part.length) === 0;
}

/**
 * Decodes the Kubernetes protobuf of `protobuf-kinds.ts`: what kubectl sends for `create <kind>`, and client-go programs for the objects of
 * an autoscaler. A non-empty field outside the tables makes the whole body unreadable, so no field is ever lost. Must not know what is done with
 * the object.
 */
import type { ObjectDraft } from '../store/objects.ts';
import { KINDS, message, number, text, type Field, type Message } from './protobuf-kinds.ts';
import { WORKLOAD_KINDS } from './protobuf-workloads.ts';

/** One field of an encoded message: a varint, or bytes. */
interface WireField {
  readonly field: number;
  readonly value: number | Buffer;
}

/** Splits a message into its fields; undefined if the bytes are not a message. */
function wireFieldsOf(bytes: Buffer): readonly WireField[] | undefined {
  const pieces: WireField[] = [];
  let at = 0;
  const varint = (): number => {
    let result = 0n;
    for (let shift = 0n; at < bytes.length; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      result |= BigInt(byte & 0x7f) << shift;
      // Negative numbers are encoded as 64 bits in two's complement.
      if (byte < 0x80) return Number(BigInt.asIntN(64, result));
    }
    return Number.NaN;
  };
  while (at < bytes.length) {
    const tag = varint();
    const wireType = tag % 8;
    if (wireType !== 0 && wireType !== 2) return undefined;
    const amount = varint();
    if (Number.isNaN(amount) || (wireType === 2 && (amount < 0 || at + amount > bytes.length))) return undefined;
    pieces.push({ field: Math.floor(tag / 8), value: wireType === 0 ? amount : bytes.subarray(at, (at += amount)) });
  }
  return pieces;
}

type Fields = Record<string, unknown>;

/** Encoded as one message per entry. */
const MAPS: ReadonlySet<Field['kind']> = new Set(['textMap', 'bytesMap', 'quantities']);

/** Whether the field is zero or empty. Writers encode every field, so these can be skipped. */
function isEmptyField({ value }: WireField): boolean {
  return typeof value === 'number' ? value === 0 : value.length === 0;
}

function readMessage(bytes: Buffer, fields: Message): Fields | undefined {
  const result: Fields = {};
  for (const piece of wireFieldsOf(bytes) ?? [undefined]) {
    if (piece === undefined) return undefined;
    const field = fields.get(piece.field);
    if (field === undefined && !isEmptyField(piece)) return undefined;
    if (field === undefined || (isEmptyField(piece) && field.kind !== 'number' && field.kind !== 'texts')) continue;
    if (field.kind !== 'ignored' && !readField(result, field, piece.value)) return undefined;
  }
  return result;
}

/** Adds the value of one field to the message; false if it cannot be decoded. */
function readField(into: Fields, field: Exclude<Field, { kind: 'ignored' }>, value: number | Buffer): boolean {
  if (typeof value === 'number') {
    into[field.name] = field.kind === 'flag' ? value === 1 : value;
    return field.kind === 'flag' || field.kind === 'number';
  }
  const read = readBytes(field, value);
  if (read === undefined) return false;
  const before = into[field.name];
  if (field.kind === 'texts' || field.kind === 'messages') into[field.name] = [...(Array.isArray(before) ? before : []), read];
  else into[field.name] = MAPS.has(field.kind) ? { ...(before as Fields | undefined), ...(read as Fields) } : read;
  return true;
}

function readBytes(field: Exclude<Field, { kind: 'ignored' }>, bytes: Buffer): unknown {
  switch (field.kind) {
    case 'message':
    case 'messages':
      return readMessage(bytes, field.of);
    case 'textMap': {
      const entry = readMessage(bytes, message({ 1: text('key'), 2: text('value') }));
      return entry === undefined ? undefined : { [asText(entry['key'])]: asText(entry['value']) };
    }
    case 'bytesMap': {
      const entry = readMessage(bytes, message({ 1: text('key'), 2: { name: 'value', kind: 'bytes' } }));
      return entry === undefined ? undefined : { [asText(entry['key'])]: asText(entry['value']) };
    }
    case 'intOrText': {
      const choice = readMessage(bytes, message({ 1: number('type'), 2: number('int'), 3: text('text') }));
      return choice?.['type'] === 1 ? asText(choice['text']) : choice?.['int'];
    }
    case 'quantities': {
      const entry = readMessage(
        bytes,
        message({ 1: text('key'), 2: { name: 'value', kind: 'message', of: message({ 1: text('text') }) } }),
      );
      const value = entry?.['value'] as Fields | undefined;
      return entry === undefined ? undefined : { [asText(entry['key'])]: asText(value?.['text']) };
    }
    case 'quantity':
      return asText(readMessage(bytes, message({ 1: text('text') }))?.['text']);
    case 'time':
    case 'microTime':
      return readTime(bytes, field.kind === 'microTime' ? 6 : 0);
    case 'bytes':
      return bytes.toString('base64');
    case 'text':
    case 'texts':
      return bytes.toString('utf8');
    default:
      return undefined;
  }
}

/** Seconds and nanoseconds since the epoch, as the text of JSON with so many decimals. */
function readTime(bytes: Buffer, decimals: number): string | undefined {
  const parts = readMessage(bytes, message({ 1: number('seconds'), 2: number('nanos') }));
  if (parts === undefined) return undefined;
  const { seconds = 0, nanos = 0 } = parts as { readonly seconds?: number; readonly nanos?: number };
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  return decimals === 0 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 10 ** (9 - decimals))).padStart(decimals, '0')}Z`;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const MAGIC = Buffer.from('k8s\0');
const TYPE = message({ 1: text('apiVersion'), 2: text('kind') });

/** The object in an `application/vnd.kubernetes.protobuf` body; undefined if any part of it cannot be decoded. */
export function decodeProtobuf(body: Buffer): ObjectDraft | undefined {
  if (!body.subarray(0, 4).equals(MAGIC)) return undefined;
  const pieces = wireFieldsOf(body.subarray(4)) ?? [];
  const typePiece = pieces.find((piece) => piece.field === 1)?.value;
  const raw = pieces.find((piece) => piece.field === 2)?.value;
  if (!Buffer.isBuffer(typePiece) || !Buffer.isBuffer(raw)) return undefined;
  const type = readMessage(typePiece, TYPE);
  const [apiVersion, kind] = [asText(type?.['apiVersion']), asText(type?.['kind'])];
  const fields = KINDS.get(`${apiVersion} ${kind}`) ?? WORKLOAD_KINDS.get(`${apiVersion} ${kind}`);
  const object = fields === undefined ? undefined : readMessage(raw, fields);
  return object === undefined ? undefined : { ...object, apiVersion, kind, metadata: object['metadata'] ?? {} };
}

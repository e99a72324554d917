/**
 * Decodes the Kubernetes protobuf that newer kubectl sends for its `create <kind>` commands. It only knows those few kinds. A
 * non-empty field outside the tables makes the whole body unreadable, so no field is ever lost.
 */
import type { ObjectDraft } from '../store/objects.ts';

type Field =
  | { readonly name: string; readonly kind: 'text' | 'number' | 'flag' | 'texts' | 'textMap' | 'bytes' | 'bytesMap' | 'intOrText' }
  | { readonly name: string; readonly kind: 'message' | 'messages'; readonly of: Message }
  | { readonly name: string; readonly kind: 'ignored' };

/** Field number -> field, as published in the API's generated.proto files. */
type Message = ReadonlyMap<number, Field>;

const message = (fields: Readonly<Record<number, Field>>): Message =>
  new Map(Object.entries(fields).map(([number, field]) => [Number(number), field]));
const text = (name: string): Field => ({ name, kind: 'text' });
const number = (name: string): Field => ({ name, kind: 'number' });

const META = message({
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  // The server sets these itself and ignores a client's values.
  7: { name: 'generation', kind: 'ignored' },
  8: { name: 'creationTimestamp', kind: 'ignored' },
  11: { name: 'labels', kind: 'textMap' },
  12: { name: 'annotations', kind: 'textMap' },
});
const SELECTOR = message({ 1: { name: 'matchLabels', kind: 'textMap' } });
const PORT = message({ 1: text('name'), 2: number('hostPort'), 3: number('containerPort'), 4: text('protocol'), 5: text('hostIP') });
const CONTAINER = message({
  1: text('name'),
  2: text('image'),
  3: { name: 'command', kind: 'texts' },
  4: { name: 'args', kind: 'texts' },
  6: { name: 'ports', kind: 'messages', of: PORT },
});
const POD_SPEC = message({ 2: { name: 'containers', kind: 'messages', of: CONTAINER } });
const TEMPLATE = message({ 1: { name: 'metadata', kind: 'message', of: META }, 2: { name: 'spec', kind: 'message', of: POD_SPEC } });
const DEPLOYMENT_SPEC = message({
  1: number('replicas'),
  2: { name: 'selector', kind: 'message', of: SELECTOR },
  3: { name: 'template', kind: 'message', of: TEMPLATE },
  4: { name: 'strategy', kind: 'message', of: message({ 1: text('type') }) },
});
const BUDGET_SPEC = message({
  1: { name: 'minAvailable', kind: 'intOrText' },
  2: { name: 'selector', kind: 'message', of: SELECTOR },
  3: { name: 'maxUnavailable', kind: 'intOrText' },
});
const RULE = message({
  1: { name: 'verbs', kind: 'texts' },
  2: { name: 'apiGroups', kind: 'texts' },
  3: { name: 'resources', kind: 'texts' },
  4: { name: 'resourceNames', kind: 'texts' },
  5: { name: 'nonResourceURLs', kind: 'texts' },
});
const SUBJECT = message({ 1: text('kind'), 2: text('apiGroup'), 3: text('name'), 4: text('namespace') });
const ROLE_REF = message({ 1: text('apiGroup'), 2: text('kind'), 3: text('name') });
const STATUS: Field = { name: 'status', kind: 'ignored' };
const metadata: Field = { name: 'metadata', kind: 'message', of: META };

const ROLE = message({ 1: metadata, 2: { name: 'rules', kind: 'messages', of: RULE } });
const ROLE_BINDING = message({
  1: metadata,
  2: { name: 'subjects', kind: 'messages', of: SUBJECT },
  3: { name: 'roleRef', kind: 'message', of: ROLE_REF },
});

const KINDS: ReadonlyMap<string, Message> = new Map([
  ['v1 Namespace', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: message({}) }, 3: STATUS })],
  ['v1 ConfigMap', message({ 1: metadata, 2: { name: 'data', kind: 'textMap' } })],
  ['v1 Secret', message({ 1: metadata, 2: { name: 'data', kind: 'bytesMap' }, 3: text('type') })],
  ['v1 ServiceAccount', message({ 1: metadata })],
  ['rbac.authorization.k8s.io/v1 Role', ROLE],
  ['rbac.authorization.k8s.io/v1 ClusterRole', ROLE],
  ['rbac.authorization.k8s.io/v1 RoleBinding', ROLE_BINDING],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', ROLE_BINDING],
  ['apps/v1 Deployment', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: DEPLOYMENT_SPEC }, 3: STATUS })],
  ['policy/v1 PodDisruptionBudget', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: BUDGET_SPEC }, 3: STATUS })],
  [
    'scheduling.k8s.io/v1 PriorityClass',
    message({
      1: metadata,
      2: number('value'),
      3: { name: 'globalDefault', kind: 'flag' },
      4: text('description'),
      5: text('preemptionPolicy'),
    }),
  ],
]);

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
  else
    into[field.name] =
      field.kind === 'textMap' || field.kind === 'bytesMap' ? { ...(before as Fields | undefined), ...(read as Fields) } : read;
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
    case 'bytes':
      return bytes.toString('base64');
    case 'text':
    case 'texts':
      return bytes.toString('utf8');
    default:
      return undefined;
  }
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
  const fields = KINDS.get(`${apiVersion} ${kind}`);
  const object = fields === undefined ? undefined : readMessage(raw, fields);
  return object === undefined ? undefined : { ...object, apiVersion, kind, metadata: object['metadata'] ?? {} };
}

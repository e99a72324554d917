/**
 * Reads Kubernetes objects from a file of any size, one after another: JSON as kubectl writes it, one document or many, compressed with
 * gzip or not. YAML cannot be read in parts and has a limit. Must not keep the objects.
 */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AutoscalerError, configError } from '../../../lib/errors.ts';
import { isBlank, JsonScanner, type ScannedValue } from './json-scanner.ts';
import { checkObject, flatten, impliedKind, readObjects, type FileObject, type ImpliedKind } from './objects-file.ts';
import { isRecord } from '../../../lib/json.ts';

const MIB = 2 ** 20;
const MOST_YAML_MIB = 50;
/** YAML may look like JSON. A file up to this size is tried as both. */
const SMALL_BYTES = MIB;

/** Calls `take` with every object of the file, without null fields. @throws AutoscalerError `config`: one sentence. */
export async function readObjectStream(file: string, chunks: AsyncIterable<Uint8Array>, take: (object: FileObject) => void): Promise<void> {
  const source = (await unzipped(file, chunks))[Symbol.asyncIterator]();
  const { head: bytes, isWhole } = await readHead(source);
  const head = withoutMark(bytes);
  if (head.length === 0) throw configError(`${file} is empty; it must contain Kubernetes objects.`);
  refuseUtf16(file, head);
  if (!opensJson(head)) return takeYaml(file, await readAll(file, head, source), take);
  if (isWhole) return takeSmall(file, head, take);
  const scanner = new ObjectScanner(file);
  let index = 0;
  for await (const chunk of rest(head, source)) for (const object of scanner.feed(chunk)) take(checkObject(file, object, index++));
  for (const object of scanner.end()) take(checkObject(file, object, index++));
}

type Source = AsyncIterator<Uint8Array>;

async function unzipped(file: string, chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const source = chunks[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return Readable.from([]);
  const all = rest(first.value, source);
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) return all;
  return gunzipped(file, all);
}

async function* gunzipped(file: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: 2 ** 18 });
  // The reader of the result gets the error.
  pipeline(Readable.from(chunks), gunzip, () => undefined);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_'))
      throw configError(`${file} is not a complete gzip file (${cause.message}).`, { cause });
    throw cause;
  }
}

async function* rest(first: Uint8Array, source: Source): AsyncGenerator<Uint8Array, void> {
  yield first;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}

/** The first MiB, or the whole file. */
async function readHead(source: Source): Promise<{ readonly head: Buffer; readonly isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  for (let bytes = 0; bytes <= SMALL_BYTES; bytes += parts.at(-1)?.length ?? 0) {
    const next = await source.next();
    if (next.done === true) return { head: Buffer.concat(parts), isWhole: true };
    parts.push(next.value);
  }
  return { head: Buffer.concat(parts), isWhole: false };
}

/** Blanks alone may be followed by either; JSON is the usual one. */
function opensJson(bytes: Buffer): boolean {
  const first = bytes.find((byte) => !isBlank(byte));
  return first === undefined ? bytes.length > SMALL_BYTES : first === 0x7b || first === 0x5b;
}

/** Windows writes a byte order mark at the start of a text. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** PowerShell writes it with `>`. */
function refuseUtf16(file: string, [first, second]: Uint8Array): void {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw configError(`${file} is UTF-16 text; it must be UTF-8: in PowerShell, write it with \`| Out-File -Encoding utf8\`.`);
}

async function readAll(file: string, head: Buffer, source: Source): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of rest(head, source)) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MOST_YAML_MIB * MIB)
      throw configError(`${file} has more than ${MOST_YAML_MIB} MiB of YAML; write it with \`-o json\`, which may have any size.`);
  }
  return Buffer.concat(parts).toString('utf8');
}

function takeYaml(file: string, text: string, take: (object: FileObject) => void): void {
  for (const object of readObjects(file, text, MOST_YAML_MIB)) take(object);
}

/** JSON, or else YAML that looks like it. */
function takeSmall(file: string, bytes: Buffer, take: (object: FileObject) => void): void {
  let objects: readonly unknown[];
  try {
    const scanner = new ObjectScanner(file);
    objects = [...scanner.feed(bytes), ...scanner.end()];
  } catch (thrown) {
    if (!takesAsYaml(file, bytes, take)) throw thrown;
    return;
  }
  objects.forEach((object, index) => take(checkObject(file, object, index)));
}

/** Returns false if it is not valid YAML either; then nothing is taken. */
function takesAsYaml(file: string, bytes: Buffer, take: (object: FileObject) => void): boolean {
  let objects: readonly FileObject[];
  try {
    objects = readObjects(file, bytes.toString('utf8'), MOST_YAML_MIB);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return false;
    throw thrown;
  }
  objects.forEach(take);
  return true;
}

/** Makes objects of scanned text, and gives items of a typed list, such as a `PodList`, the kind that the API omits. */
class ObjectScanner {
  readonly #file: string;
  readonly #scanner: JsonScanner;
  /** The last list whose members before its items were read. */
  #list: { readonly before: string; readonly implied: ImpliedKind } = { before: '', implied: {} };
  /** Items without a kind, of a list whose kind follows its items. */
  #kindless: object[] = [];
  #parsed = 0;

  constructor(file: string) {
    this.#file = file;
    this.#scanner = new JsonScanner(file);
  }

  /** @throws AutoscalerError `config` for text that is not JSON. */
  *feed(chunk: Uint8Array): Generator<unknown, void> {
    for (const value of this.#scanner.feed(chunk)) yield* this.#objectsOf(value);
  }

  /** @throws AutoscalerError `config` if the text is incomplete. */
  *end(): Generator<unknown, void> {
    for (const value of this.#scanner.end()) yield* this.#objectsOf(value);
  }

  *#objectsOf({ kind, text, before }: ScannedValue): Generator<unknown, void> {
    const value = this.#parse(text);
    if (kind === 'document') return yield* this.#objectsOfDocument(value);
    if (!isRecord(value) || 'kind' in value) return yield* flatten(this.#file, value, 1);
    if (this.#list.before !== before) this.#list = { before, implied: impliedKind(this.#parse(before)) };
    const { implied } = this.#list;
    if (implied.kind === undefined) this.#kindless.push(value);
    else yield* flatten(this.#file, { ...implied, ...value }, 1);
  }

  *#objectsOfDocument(document: unknown): Generator<unknown, void> {
    const held = this.#kindless;
    this.#kindless = [];
    yield* flatten(this.#file, document, 0);
    const implied = impliedKind(document);
    for (const item of held) yield* flatten(this.#file, { ...implied, ...item }, 1);
  }

  #parse(text: string): unknown {
    this.#parsed++;
    try {
      return JSON.parse(text);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : 'it cannot be read';
      throw configError(`${this.#file} is not valid JSON: object ${this.#parsed}: ${why}.`, { cause });
    }
  }
}

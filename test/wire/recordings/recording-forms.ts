/**
 * The forms in which others keep recorded traffic: YAML of vcrpy (Azure's CLI) and of go-vcr 1 to 3, JSON of the SDK's test proxy and of
 * PowerShell's sessions. Each becomes raw exchanges. Must not know folders or what the traffic means.
 */
import { gunzipSync } from 'node:zlib';
import { parse as parseYaml } from 'yaml';
import type { RecordingForm } from './interaction.ts';
import { isRecord } from '../../../src/lib/json.ts';

/** A request and its answer. */
export interface RawExchange {
  readonly method: string;
  readonly uri: URL;
  readonly requestBody: string;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawRecording {
  readonly form: RecordingForm;
  /** An entry that cannot be read is an error. */
  readonly entries: readonly (RawExchange | Error)[];
}

type Json = Readonly<Record<string, unknown>>;

/** Where PowerShell's sessions and relative addresses belong. */
const PUBLIC_ENDPOINT = 'https://management.azure.com';

/** undefined: a file of another kind. @throws Error if it is neither YAML nor JSON. */
export function readRecording(text: string, isJson: boolean): RawRecording | undefined {
  const document: unknown = isJson ? JSON.parse(withoutMark(text)) : parseYaml(text, { customTags: ['binary'], logLevel: 'silent' });
  if (!isRecord(document)) return undefined;
  const { interactions, Entries: entries } = document;
  if (Array.isArray(interactions)) {
    const form = interactions.some((each) => isRecord(at(each, 'request')) && 'uri' in record(each, 'request')) ? 'azure-cli' : 'go-vcr';
    return { form, entries: interactions.map((each) => attempt(() => (form === 'go-vcr' ? goExchange(each) : cliExchange(each)))) };
  }
  if (!Array.isArray(entries)) return undefined;
  const form = entries.some((each) => isRecord(each) && 'EncodedRequestUri' in each) ? 'powershell' : 'test-proxy';
  return { form, entries: entries.map((each) => attempt(() => jsonExchange(each))) };
}

function attempt(read: () => RawExchange): RawExchange | Error {
  try {
    return read();
  } catch (thrown) {
    // What is wrong with one entry is a finding; the others are read.
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function cliExchange(entry: unknown): RawExchange {
  const [request, response] = [record(entry, 'request'), record(entry, 'response')];
  const body = response['body'];
  const base64 = at(body, 'base64_string');
  return {
    method: text(request, 'method').toUpperCase(),
    uri: addressOf(text(request, 'uri')),
    requestBody: bodyText(request['body']),
    status: statusOf(at(response['status'], 'code')),
    headers: headersOf(response['headers']),
    body: typeof base64 === 'string' ? bytesText(Buffer.from(base64, 'base64')) : bodyText(isRecord(body) ? body['string'] : body),
  };
}

function goExchange(entry: unknown): RawExchange {
  const [request, response] = [record(entry, 'request'), record(entry, 'response')];
  const headers = headersOf(response['headers']);
  return {
    method: text(request, 'method').toUpperCase(),
    uri: addressOf(text(request, 'url')),
    requestBody: bodyText(request['body']),
    status: statusOf(response['code'] ?? response['status']),
    headers,
    body: bodyText(response['body']),
  };
}

function jsonExchange(entry: unknown): RawExchange {
  if (!isRecord(entry)) throw new Error('an entry is not an object');
  return {
    method: text(entry, 'RequestMethod').toUpperCase(),
    uri: addressOf(text(entry, 'RequestUri')),
    requestBody: bodyText(entry['RequestBody']),
    status: statusOf(entry['StatusCode']),
    headers: headersOf(entry['ResponseHeaders']),
    body: bodyText(entry['ResponseBody']),
  };
}

function addressOf(address: string): URL {
  return new URL(address, PUBLIC_ENDPOINT);
}

function statusOf(value: unknown): number {
  const status = typeof value === 'string' ? Number.parseInt(value, 10) : value;
  if (typeof status !== 'number' || !Number.isInteger(status)) throw new Error('an entry has no status');
  return status;
}

function headersOf(value: unknown): ReadonlyMap<string, string> {
  if (!isRecord(value)) return new Map();
  return new Map(Object.entries(value).map(([name, values]) => [name.toLowerCase(), [values].flat().map(String).join(', ')]));
}

/** The text of a body that is a text, bytes, or a document that the recorder has parsed. */
function bodyText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Uint8Array) return bytesText(Buffer.from(value));
  if (typeof value !== 'string') return JSON.stringify(value);
  const bytes = compressedBytes(value);
  return bytes === undefined ? value : bytesText(bytes);
}

/** The base64 of a gzip stream always begins so. */
function compressedBytes(value: string): Buffer | undefined {
  return /^H4sI[\w+/=\s]+$/.test(value) ? Buffer.from(value, 'base64') : undefined;
}

function bytesText(bytes: Buffer): string {
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return withoutMark((isCompressed ? gunzipSync(bytes) : bytes).toString('utf8'));
}

/** Windows programs begin a file with a byte order mark. */
function withoutMark(value: string): string {
  return value.startsWith('\uFEFF') ? value.slice(1) : value;
}

function at(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}

function record(value: unknown, key: string): Json {
  const found = at(value, key);
  if (!isRecord(found)) throw new Error(`an entry has no ${key}`);
  return found;
}

function text(value: Json, key: string): string {
  const found = value[key];
  if (typeof found !== 'string' || found === '') throw new Error(`an entry has no ${key}`);
  return found;
}

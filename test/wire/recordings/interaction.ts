/** One recorded request with its answer, in one form whoever recorded it. Must not know what Azure's resources mean. */
import { compareText } from '../../../src/lib/comparison.ts';

/** Who wrote the file: each removes other headers. */
export type RecordingForm = 'azure-cli' | 'go-vcr' | 'test-proxy' | 'powershell';

export interface Interaction {
  /** Relative to the folder of recordings. */
  readonly file: string;
  /** From 0, in the order of the file. */
  readonly index: number;
  readonly form: RecordingForm;
  readonly method: string;
  readonly uri: URL;
  readonly requestBody: string;
  readonly status: number;
  /** By name in lower case; values of one name are joined. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** When Azure answered, ms since the epoch. undefined: the recording does not show it. */
  readonly dateMs: number | undefined;
  /** Headers that the recorder removed. They are neither present nor absent. */
  readonly scrubbed: ReadonlySet<string>;
}

/** A file, or one interaction of it, that cannot be read. */
export interface BrokenRecording {
  readonly file: string;
  /** undefined: the whole file. */
  readonly index: number | undefined;
  readonly reason: string;
}

/** Headers that the test kit of Azure's CLI removes from every recording. */
const REMOVED_BY_CLI = [
  'retry-after',
  'x-ms-request-id',
  'x-ms-client-request-id',
  'x-ms-correlation-request-id',
  'x-ms-routing-request-id',
  'x-ms-gateway-service-instanceid',
  'x-ms-ratelimit-remaining-tenant-reads',
  'x-ms-ratelimit-remaining-subscription-reads',
  'x-ms-served-by',
];

/** Headers that recorders often remove. One that no answer of a file has counts as removed there. */
const OFTEN_REMOVED = [
  ...REMOVED_BY_CLI,
  'date',
  'x-ms-operation-identifier',
  'x-ms-ratelimit-remaining-resource',
  'x-ms-ratelimit-remaining-subscription-writes',
  'x-ms-ratelimit-remaining-subscription-deletes',
  'x-ms-request-charge',
  'x-msedge-ref',
];

/** Which headers were removed from the answers of one file. */
export function scrubbedHeaders(form: RecordingForm, answers: readonly ReadonlyMap<string, string>[]): ReadonlySet<string> {
  const unseen = OFTEN_REMOVED.filter((name) => answers.every((headers) => !headers.has(name)));
  return new Set([...(form === 'azure-cli' ? REMOVED_BY_CLI : []), ...unseen].toSorted(compareText));
}

/** Where a finding can be looked up. */
export function placeOf({ file, index }: Pick<Interaction, 'file' | 'index'>): string {
  return `${file}#${index}`;
}

/** Follows an operation of the experiment to its end, recognises its own instance, and words what was seen. Must not write anything. */
import type { SeenInstance, TestedPool } from './experiment-pool.ts';
import type { ExperimentClock, RawRequests, RawResponse } from './experiment-requests.ts';
import { isRecord } from '../../../lib/json.ts';

const POLL_MS = 5_000;
/** 15 minutes. */
const MOST_POLLS = 180;

export interface WatchDeps {
  readonly requests: RawRequests;
  readonly clock: ExperimentClock;
  readonly pool: TestedPool;
}

/** One question, what Azure did, and what follows for the daemon. */
export interface Fact {
  /** One of a closed set, for those who compare reports. */
  readonly id: string;
  readonly question: string;
  readonly seen: string;
  readonly meaning: string;
}

export interface ExperimentDeps extends WatchDeps {
  /** Called with each fact as soon as it is known, so that a failure loses none. */
  readonly note: (fact: Fact) => void;
  /** Called right before the write that adds a node, with the command that deletes it if this process is killed. */
  readonly onAdding: (command: string) => void;
}

/** What was seen of an operation. Durations are seconds. */
export interface OperationSeen {
  /** Statuses in order, without repetitions. Empty if the response named no operation. */
  readonly words: readonly string[];
  /** `Retry-After` of each read, in seconds; null: it had none. */
  readonly retryAfter: readonly (string | null)[];
  readonly tookSeconds: number;
  readonly end: 'Succeeded' | 'Failed' | 'not seen' | 'no operation';
  readonly code: string;
  readonly message: string;
}

/** What a watcher sees at each look, beside the operation. `secondsIn`: since the write. */
type Look = (secondsIn: number) => Promise<void>;

/**
 * Reads the operation every five seconds until it ends, 15 minutes at most; a read that fails is repeated with the next look.
 * @throws AutoscalerError `cancelled` with the signal, and what `look` throws.
 */
export async function followOperation(
  { requests, clock }: WatchDeps,
  accepted: RawResponse,
  signal: AbortSignal,
  look: Look = () => Promise.resolve(),
): Promise<OperationSeen> {
  const startedMs = clock.now();
  const url = accepted.headers['azure-asyncoperation'] ?? accepted.headers['location'];
  const words: string[] = [];
  const retryAfter: (string | null)[] = [];
  const seen = (end: OperationSeen['end'], code = '', message = ''): OperationSeen => {
    return { words, retryAfter, tookSeconds: Math.round((clock.now() - startedMs) / 1_000), end, code, message };
  };
  if (url === undefined) return seen('no operation');
  for (let poll = 0; poll < MOST_POLLS; poll++) {
    await clock.sleep(POLL_MS, signal);
    const response = await requests.send({ method: 'GET', path: url }, signal);
    retryAfter.push(response.headers['retry-after'] ?? null);
    const word = wordOf(response);
    if (words.at(-1) !== word) words.push(word);
    await look(Math.round((clock.now() - startedMs) / 1_000));
    const end = endOf(response, word);
    if (end !== undefined) return seen(end, ...errorOf(response));
  }
  return seen('not seen');
}

function wordOf({ status, body }: RawResponse): string {
  const word = isRecord(body) ? body['status'] : undefined;
  return typeof word === 'string' ? word : `HTTP ${status}`;
}

/** Results of operations (`Location`) end with 200 or 204 and have no word. */
function endOf({ status }: RawResponse, word: string): OperationSeen['end'] | undefined {
  if (word === 'Succeeded' || status === 204 || word === 'HTTP 200') return 'Succeeded';
  return word === 'Failed' || word === 'Canceled' || (status >= 400 && status < 500 && status !== 429) ? 'Failed' : undefined;
}

function errorOf({ body, code, message }: RawResponse): readonly [code: string, message: string] {
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : {};
  const text = (value: unknown, other: string): string => (typeof value === 'string' ? value : other);
  return [text(error['code'], code), text(error['message'], message)];
}

/** One line over what an operation did. */
export function describeOperation({ words, retryAfter, tookSeconds, end, code, message }: OperationSeen): string {
  if (end === 'no operation') return 'the response named no operation';
  const waits = runsOf(retryAfter.map((each) => each ?? 'none')).join(', ');
  const error = code === '' ? '' : `, ${code}: ${message}`;
  return `operation ${words.join(' > ')} in ${tookSeconds} s, Retry-After ${waits}, end ${end}${error}`;
}

/** `97, none x 12`: in order, without repetitions. */
function runsOf(texts: readonly string[]): readonly string[] {
  const runs: { readonly text: string; times: number }[] = [];
  for (const text of texts) {
    const last = runs.at(-1);
    if (last?.text === text) last.times += 1;
    else runs.push({ text, times: 1 });
  }
  return runs.map(({ text, times }) => (times === 1 ? text : `${text} x ${times}`));
}

/** `HTTP 409 OperationNotAllowed after 1.2 s: message`. */
export function describeAnswer({ status, code, message, tookMs }: RawResponse): string {
  const error = code === '' ? '' : ` ${code}`;
  return `HTTP ${status}${error} after ${(tookMs / 1_000).toFixed(1)} s${message === '' ? '' : `: ${message}`}`;
}

/** The growth of the experiment: what was there before it, and what was seen of it. */
export interface Growth {
  /** The size before. */
  readonly from: number;
  /** Keys of all instances that were listed before. */
  readonly before: ReadonlySet<string>;
  /** Whether Azure accepted it. False: no usable response came, so it may have happened. */
  readonly accepted: boolean;
  /** Whether a read has shown the new size. */
  reached: boolean;
  /** The size was another one meanwhile: another writer was at work, and what is new may be its instance. */
  disturbed: boolean;
}

/** Notes a size that a read shows. The old size may be shown for a moment after the write, and never again after the new one. */
export function noteSize(growth: Growth, size: number | undefined): void {
  if (size === growth.from + 1) growth.reached = true;
  else if (size !== undefined && (size !== growth.from || growth.reached)) growth.disturbed = true;
}

export type NewInstance =
  | { readonly kind: 'own'; readonly instance: SeenInstance }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear'; readonly instances: readonly SeenInstance[]; readonly why: string };

/** The instance that the growth made, recognised among all others. `size` was read after the list. */
export function newInstanceOf(growth: Growth, listed: readonly SeenInstance[], size: number | undefined): NewInstance {
  const instances = listed.filter(({ key }) => !growth.before.has(key));
  const [instance] = instances;
  const unclear = (why: string): NewInstance => ({ kind: 'unclear', instances, why });
  if (instance === undefined) return { kind: 'none' };
  if (!growth.accepted) return unclear('the write of the size got no usable response');
  // guard: the experiment deletes nothing that it did not make
  if (instances.length !== 1) return unclear(`${instances.length} instances are new, and one was asked for`);
  // guard: the experiment deletes nothing while another writer changes the size
  if (growth.disturbed || size !== growth.from + 1)
    return unclear(`the size is or was another one than ${growth.from + 1}, so another writer is at work`);
  return { kind: 'own', instance };
}

/** States in order, each with the seconds after the write, without repetitions. */
export class Timeline {
  readonly #steps: { readonly at: number; readonly value: string }[] = [];

  note(at: number, value: string): void {
    if (this.#steps.at(-1)?.value !== value) this.#steps.push({ at, value });
  }

  /** `Creating after 5 s, Succeeded after 60 s`. */
  get text(): string {
    return this.#steps.length === 0 ? 'nothing' : this.#steps.map(({ at, value }) => `${value} after ${at} s`).join(', ');
  }
}

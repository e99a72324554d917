/**
 * The experiment of `doctor`: answers on a real pool what no recording of Azure shows. It adds one node, measures, and deletes
 * this node again, and nothing else. Must not know how facts are printed.
 */
import { asAutoscalerError, AutoscalerError } from '../../../lib/errors.ts';
import { listAll, type PoolReading, type SizeReading, type TestedPool } from './experiment-pool.ts';
import type { RawRequest, RawResponse } from './experiment-requests.ts';
import { removeOwnInstance, type Removal } from './experiment-removal.ts';
import {
  describeAnswer,
  describeOperation,
  followOperation,
  newInstanceOf,
  noteSize,
  Timeline,
  type ExperimentDeps,
  type Growth,
} from './experiment-watch.ts';

export interface ExperimentEnd {
  /** Why not everything was measured. undefined: everything was. */
  readonly failure: string | undefined;
  /** undefined: nothing was added. */
  readonly removal: Removal | undefined;
}

/** A tag that no pool has. */
const WRONG_TAG = '00000000-0000-0000-0000-000000000000';

/** Facts that reads alone give. @throws AutoscalerError if no response came. */
export async function measureReads({ requests, pool, note }: ExperimentDeps, signal: AbortSignal): Promise<void> {
  const { row } = await pool.readPool(signal);
  note({
    id: 'pool-tag',
    question: 'Does the agent pool have an entity tag?',
    seen: row.etag === undefined ? 'no' : `yes, ${row.etag.startsWith('"') ? 'with quotes' : 'without quotes'}`,
    meaning: row.etag === undefined ? 'The daemon writes no agent pool of this cluster.' : 'Writes of the pool can be conditional.',
  });
  const { responses } = await listAll(requests, pool.poolPath.replace(/\/[^/?]+\?/, '?'), signal);
  note({
    id: 'pool-pages',
    question: 'Has the list of agent pools further pages?',
    seen: `${responses.length} pages; statuses ${responses.map(({ status }) => status).join(', ')}`,
    meaning: 'The daemon follows every link, and an empty last page ends the list.',
  });
  const { instances, response } = await pool.listInstances(signal);
  const [first] = instances;
  const single = first === undefined ? undefined : await requests.send({ method: 'GET', path: pool.instancePath(first) }, signal);
  note({
    id: 'list-charge',
    question: 'What does a list of the instances cost?',
    seen: `${instances.length} listed: ${limitHeaders(response)}`,
    meaning: 'The daemon plans its lists by these numbers.',
  });
  if (single !== undefined) {
    const meaning = 'The daemon reads up to this many instances one by one.';
    note({ id: 'single-charge', question: 'What does a read of one instance cost?', seen: limitHeaders(single), meaning });
  }
}

/**
 * Writes the pool unchanged, adds one node and deletes it. Never rejects: whatever fails, the instance that it made is removed, or
 * the end says which command does it. When `signal` fires, it stops measuring and only cleans up.
 */
export async function runExperiment(deps: ExperimentDeps, signal: AbortSignal): Promise<ExperimentEnd> {
  const made: { growth?: Growth } = {};
  let failure: string | undefined;
  try {
    await writeUnchanged(deps, signal);
    await grow(deps, made, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    failure = error.kind === 'cancelled' ? 'stopped by a signal' : error.message;
  }
  if (made.growth === undefined) return { failure, removal: undefined };
  const removal = await removeOwnInstance(deps, made.growth);
  return { failure, removal };
}

/** Writes that change nothing: which form of the tag AKS takes, and what it says while it is busy. */
async function writeUnchanged(deps: ExperimentDeps, signal: AbortSignal): Promise<void> {
  const wrong = await echo(deps, signal, {
    id: 'tag-wrong',
    question: 'What does AKS answer to a write with a wrong tag?',
    tagOf: () => WRONG_TAG,
    meaningOf: ({ status }) => (status === 412 ? 'Conditional writes are safe.' : 'The tag is not checked as documented: report it.'),
  });
  // guard: a pool whose condition has no effect gets no node
  if (wrong.status < 300 && deps.pool.type === 'VirtualMachines') throw stopped('AKS took a wrong entity tag; nothing more is written.');
  await echo(deps, signal, {
    id: 'tag-raw',
    question: 'Does AKS take the tag as the pool shows it?',
    tagOf: (tag) => tag,
    meaningOf: ({ status }) => (status < 300 ? 'The daemon sends it so.' : 'The daemon cannot write this pool: report it.'),
    whileRunning: true,
  });
  await echo(deps, signal, {
    id: 'tag-quoted',
    question: 'Does AKS take the tag with the quotes changed?',
    tagOf: (tag) => (tag.startsWith('"') ? tag.replaceAll('"', '') : `"${tag}"`),
    meaningOf: ({ status }) => (status < 300 ? 'Both forms work.' : 'Only one form works.'),
  });
}

interface Echo {
  readonly id: string;
  readonly question: string;
  readonly tagOf: (tag: string) => string;
  readonly meaningOf: (response: RawResponse) => string;
  /** Repeats the write with the tag of the answer while the operation runs. */
  readonly whileRunning?: true;
}

async function echo(
  deps: ExperimentDeps,
  signal: AbortSignal,
  { id, question, tagOf, meaningOf, whileRunning }: Echo,
): Promise<RawResponse> {
  const { pool, requests, note } = deps;
  const read = await readUndisturbed(pool, signal);
  const write: RawRequest = { method: 'PUT', path: pool.poolPath, body: read.raw, ifMatch: tagOf(read.row.etag ?? '') };
  const response = await requests.send(write, signal);
  const answered = tagIn(response.body);
  if (whileRunning === true && response.status < 300 && answered !== undefined) {
    const second = await requests.send({ ...write, ifMatch: answered }, signal);
    const meaning = 'The daemon waits for the pool after a 409 and repeats the write.';
    note({ id: 'pool-busy', question: 'What does AKS answer to a second write at once?', seen: describeAnswer(second), meaning });
    await followOperation(deps, second, signal);
  }
  const operation = response.status < 300 ? await followOperation(deps, response, signal) : undefined;
  const after = await pool.readPool(signal);
  const moved = `tag moved by the answer: ${yesNo(answered !== undefined && answered !== read.row.etag)}, by the end: ${yesNo(after.row.etag !== (answered ?? read.row.etag))}`;
  const worked = operation === undefined ? [] : [describeOperation(operation)];
  const parts = [describeAnswer(response), ...worked, moved, `headers ${headerNames(response)}`];
  note({ id, question, seen: parts.join('; '), meaning: meaningOf(response) });
  return response;
}

/** The pool right before a write of the whole. @throws AutoscalerError if that write could change its size. */
async function readUndisturbed(pool: TestedPool, signal: AbortSignal): Promise<PoolReading> {
  const { size } = await pool.readSize(signal);
  const read = await pool.readPool(signal);
  // guard: an unchanged write of a pool whose count is not its size is not sent
  if (pool.type === 'scale set' && read.row.count !== size)
    throw stopped('Another writer changed the size of the pool; nothing more is written.');
  return read;
}

async function grow(deps: ExperimentDeps, made: { growth?: Growth }, signal: AbortSignal): Promise<void> {
  const { pool, requests, note } = deps;
  const before = await pool.listInstances(signal);
  const read = await pool.readSize(signal);
  if (read.size === undefined || read.etag === undefined) throw stopped('Azure returned no size or no entity tag; no node is added.');
  const growth = { from: read.size, before: new Set(before.instances.map(({ key }) => key)), reached: false, disturbed: false };
  const write = pool.growth(read, read.size + 1, read.etag);
  // From here on it is unknown whether a node comes, until Azure answers.
  made.growth = { ...growth, accepted: false };
  deps.onAdding(pool.deletionCommand('INSTANCE'));
  const response = await requests.send(write, signal);
  if (response.status >= 400 && response.status < 500) delete made.growth;
  else made.growth = { ...growth, accepted: response.status < 300 };
  note({
    id: 'growth-answer',
    question: 'What does Azure answer to one node more?',
    seen: `${describeAnswer(response)}; headers ${headerNames(response)}`,
    meaning: response.status < 300 ? 'Increases work.' : 'Increases of this pool fail: report it.',
  });
  if (response.status >= 300) throw stopped(`Azure refused one node more: HTTP ${response.status} ${response.code}.`);
  await writeAgain(deps, { read, write }, signal);
  await watchGrowth(deps, { growth: made.growth ?? { ...growth, accepted: true }, response }, signal);
}

/** The same size once more: with the old tag on a scale set; on the pool while AKS is busy. The size is the one just written. */
async function writeAgain(
  { pool, requests, note }: ExperimentDeps,
  { read, write }: { readonly read: SizeReading; readonly write: RawRequest },
  signal: AbortSignal,
): Promise<void> {
  const now = await pool.readSize(signal);
  const question = 'What does Azure answer to the same write with the old tag, while the first runs?';
  // guard: the second write of a size does not lower it
  if (now.size !== (read.size ?? 0) + 1) {
    note({ id: 'old-tag', question, seen: `not sent: the size is ${now.size ?? 'unknown'}`, meaning: 'A read may be behind a write.' });
    return;
  }
  const second = await requests.send(write, signal);
  const after = await pool.readSize(signal);
  note({
    id: 'old-tag',
    question,
    seen: `${describeAnswer(second)}; tag moved by the first write: ${yesNo(now.etag !== read.etag)}, by the second: ${yesNo(after.etag !== now.etag)}`,
    meaning: second.status >= 400 ? 'The tag protects against a second writer.' : 'The condition had no effect: report it.',
  });
}

async function watchGrowth(
  deps: ExperimentDeps,
  { growth, response }: { readonly growth: Growth; readonly response: RawResponse },
  signal: AbortSignal,
): Promise<void> {
  const { pool, note } = deps;
  const [states, sizes, counts] = [new Timeline(), new Timeline(), new Timeline()];
  const tags = new Set<string>();
  const operation = await followOperation(deps, response, signal, async (secondsIn) => {
    const { instances } = await pool.listInstances(signal);
    const { size, etag = 'none' } = await pool.readSize(signal);
    tags.add(etag);
    const { row } = await pool.readPool(signal);
    noteSize(growth, size);
    sizes.note(secondsIn, String(size));
    counts.note(secondsIn, `${row.count ?? 'none'} (${row.provisioningState})`);
    const found = newInstanceOf(growth, instances, size);
    if (found.kind === 'own') states.note(secondsIn, found.instance.state || 'no state');
  });
  note({
    id: 'growth-operation',
    question: 'How does the operation of one node more go?',
    seen: describeOperation(operation),
    meaning: 'The daemon reads an operation at least every 30 s, whatever Retry-After asks for.',
  });
  note({
    id: 'new-instance',
    question: 'When is the new instance listed, and in which states?',
    seen: states.text,
    meaning: 'Until it is listed, the daemon counts the node as upcoming.',
  });
  note({
    id: 'size-follows',
    question: "When do the size and AKS's count follow?",
    seen: `size ${sizes.text}; count of AKS ${counts.text}; entity tags meanwhile: ${tags.size}`,
    meaning:
      pool.type === 'scale set' ? 'A count that stays behind is set again by the next operation of AKS.' : 'The count is the target.',
  });
}

/** Ends the measuring. */
function stopped(why: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, why);
}

/** Names alone: values are ids and signed addresses. */
function headerNames({ headers }: RawResponse): string {
  const names = Object.keys(headers).filter((name) =>
    /^(?:azure-|etag|location|retry-after|x-ms-request-charge|x-ms-ratelimit)/.test(name),
  );
  return names.map(shortName).sort().join(', ');
}

/** Names and numbers of the rate limits, the charge first. */
function limitHeaders({ headers }: RawResponse): string {
  const { 'x-ms-request-charge': charge = 'none' } = headers;
  const limits = Object.entries(headers).filter(([name]) => name.startsWith('x-ms-ratelimit'));
  const shown = limits.map(([name, value]) => `${shortName(name)} ${value.replaceAll('Microsoft.Compute/', '')}`);
  return [`x-ms-request-charge ${charge}`, ...shown].join(', ');
}

/** `x-ms-ratelimit-remaining-resource` is `remaining-resource`: a report has room for few of these names. */
function shortName(header: string): string {
  return header.replace('x-ms-ratelimit-', '');
}

function tagIn(body: unknown): string | undefined {
  const { properties } = (typeof body === 'object' && body !== null ? body : {}) as { readonly properties?: { readonly eTag?: unknown } };
  return typeof properties?.eTag === 'string' ? properties.eTag : undefined;
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

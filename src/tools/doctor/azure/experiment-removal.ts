/** Deletes the instance that the experiment made, or says why it does not and which command does. Must not know what was measured. */
import { asAutoscalerError } from '../../../lib/errors.ts';
import type { SeenInstance } from './experiment-pool.ts';
import type { RawResponse } from './experiment-requests.ts';
import {
  describeAnswer,
  describeOperation,
  followOperation,
  newInstanceOf,
  noteSize,
  type ExperimentDeps,
  type Growth,
} from './experiment-watch.ts';

export type Removal =
  /** Nothing that was added is left. */
  | { readonly removed: true }
  /** A node is still there, or nothing is known to be the experiment's own. `command` deletes it; capital letters stand for what a person must find out. */
  | { readonly removed: false; readonly why: string; readonly command: string };

/** Each waits five seconds: AKS refuses a deletion while its operation runs, and a new instance is listed late. */
const MOST_TRIES = 180;
/** Two minutes: reads are behind a write for seconds. */
const LATE_TRIES = 24;
const TRY_AGAIN_MS = 5_000;

/** The end of the process that asked for it does not end it: a second signal does. Never rejects. */
export async function removeOwnInstance(deps: ExperimentDeps, growth: Growth): Promise<Removal> {
  const signal = new AbortController().signal;
  let last = 'no new instance was listed within 15 minutes';
  const state: RemovalState = { attempt: 0, accepted: false };
  for (; state.attempt < MOST_TRIES; state.attempt++) {
    try {
      const done = await tryRemoval(deps, growth, state, signal);
      if (typeof done !== 'string') return done;
      last = done;
    } catch (thrown) {
      last = asAutoscalerError(thrown).message;
    }
    await deps.clock.sleep(TRY_AGAIN_MS, signal);
  }
  return left(deps, last, state.own === undefined ? [] : [state.own]);
}

/** @returns a reason to try again, or the end. @throws AutoscalerError if no response came. */
async function tryRemoval(deps: ExperimentDeps, growth: Growth, state: RemovalState, signal: AbortSignal): Promise<Removal | string> {
  const { pool, requests } = deps;
  const { instances } = await pool.listInstances(signal);
  const { own } = state;
  if (own !== undefined && instances.every(({ key }) => key !== own.key)) return { removed: true };
  if (state.accepted) return 'the deletion has not ended';
  const found = own ?? (await findOwn(deps, { growth, instances, isLate: state.attempt >= LATE_TRIES }, signal));
  if (typeof found === 'string' || 'removed' in found) return found;
  // What was proved once stays true: a deletion without a response is sent again.
  state.own = found;
  const { etag } = await pool.readSize(signal);
  const response = await requests.send(pool.deletion(found), signal);
  if (response.status >= 300) return `the deletion was refused: ${describeAnswer(response)}`;
  state.accepted = true;
  return afterDeletion(deps, { growth, response, key: found.key, etag }, signal);
}

interface RemovalState {
  /** From 0. */
  attempt: number;
  /** The instance that is known to be the experiment's own. */
  own?: SeenInstance;
  /** Whether Azure accepted its deletion. */
  accepted: boolean;
}

/** @returns a reason to look again, the end, or the instance to delete. */
async function findOwn(
  deps: ExperimentDeps,
  { growth, instances, isLate }: { readonly growth: Growth; readonly instances: readonly SeenInstance[]; readonly isLate: boolean },
  signal: AbortSignal,
): Promise<SeenInstance | Removal | string> {
  const { size } = await deps.pool.readSize(signal);
  noteSize(growth, size);
  const found = newInstanceOf(growth, instances, size);
  if (found.kind === 'own') return found.instance;
  // A read may be behind a write, for a moment. After that, the old size means that the write had no effect, or was undone.
  const isOldSize = size === growth.from;
  if (found.kind === 'none') return isOldSize && isLate ? { removed: true } : 'no new instance is listed';
  return isOldSize && !isLate ? found.why : left(deps, found.why, found.instances);
}

interface DeletionSent {
  readonly growth: Growth;
  readonly response: RawResponse;
  /** Of the instance. */
  readonly key: string;
  /** The entity tag before the deletion. */
  readonly etag: string | undefined;
}

async function afterDeletion(
  { pool, note, ...deps }: ExperimentDeps,
  { growth, response, key, etag }: DeletionSent,
  signal: AbortSignal,
): Promise<Removal | string> {
  const operation = await followOperation({ pool, ...deps }, response, signal);
  const { instances } = await pool.listInstances(signal);
  const { size, etag: etagAfter } = await pool.readSize(signal);
  const isGone = instances.every((each) => each.key !== key);
  note({
    id: 'deletion',
    question: 'How does the deletion go, and what is the size after it?',
    seen: `${describeAnswer(response)}; ${describeOperation(operation)}; size ${size ?? 'unknown'} (${growth.from} before), instance ${isGone ? 'gone' : 'still listed'}, entity tag ${etag === etagAfter ? 'the same' : 'moved'}`,
    meaning: size === growth.from ? 'A deletion lowers the size by itself.' : 'The size did not follow: report it.',
  });
  return isGone ? { removed: true } : 'the deletion has not ended';
}

function left({ pool }: ExperimentDeps, why: string, instances: readonly SeenInstance[]): Removal {
  const [only, ...others] = instances;
  const instance = only !== undefined && others.length === 0 ? only.name : 'INSTANCE';
  return { removed: false, why, command: pool.deletionCommand(instance) };
}

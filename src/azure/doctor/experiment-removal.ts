/** Deletes the instance that the experiment made, or says why it does not and which command does. Must not know what was measured. */
import { asAutoscalerError } from '../../lib/errors.ts';
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
  const deleting: Deleting = { attempt: 0 };
  for (; deleting.attempt < MOST_TRIES; deleting.attempt++) {
    try {
      const done = await tryRemoval(deps, growth, deleting, signal);
      if (typeof done !== 'string') return done;
      last = done;
    } catch (thrown) {
      last = asAutoscalerError(thrown).message;
    }
    await deps.clock.sleep(TRY_AGAIN_MS, signal);
  }
  return left(deps, last, []);
}

/** @returns a reason to try again, or the end. @throws AutoscalerError if no response came. */
async function tryRemoval(deps: ExperimentDeps, growth: Growth, deleting: Deleting, signal: AbortSignal): Promise<Removal | string> {
  const { pool, requests } = deps;
  const { instances } = await pool.listInstances(signal);
  if (deleting.key !== undefined)
    return instances.every(({ key }) => key !== deleting.key) ? { removed: true } : 'the deletion has not ended';
  const { size } = await pool.readSize(signal);
  noteSize(growth, size);
  const found = newInstanceOf(growth, instances, size);
  if (found.kind === 'none')
    return growth.accepted ? 'no new instance is listed' : 'no usable response came, and no new instance is listed';
  // A read of the size may be behind a write, for a moment.
  if (found.kind === 'unclear')
    return size === growth.from && deleting.attempt < LATE_TRIES ? found.why : left(deps, found.why, found.instances);
  const response = await requests.send(pool.deletion(found.instance), signal);
  if (response.status >= 300) return `the deletion was refused: ${describeAnswer(response)}`;
  deleting.key = found.instance.key;
  return afterDeletion(deps, { growth, response, key: found.instance.key }, signal);
}

interface Deleting {
  /** From 0. */
  attempt: number;
  /** The instance whose deletion Azure accepted. */
  key?: string;
}

async function afterDeletion(
  { pool, note, ...deps }: ExperimentDeps,
  { growth, response, key }: { readonly growth: Growth; readonly response: RawResponse; readonly key: string },
  signal: AbortSignal,
): Promise<Removal | string> {
  const operation = await followOperation({ pool, ...deps }, response, signal);
  const { instances } = await pool.listInstances(signal);
  const { size } = await pool.readSize(signal);
  const isGone = instances.every((each) => each.key !== key);
  note({
    id: 'deletion',
    question: 'How does the deletion go, and what is the size after it?',
    seen: `${describeAnswer(response)}; ${describeOperation(operation)}; size ${size ?? 'unknown'} (${growth.from} before), instance ${isGone ? 'gone' : 'still listed'}`,
    meaning: size === growth.from ? 'A deletion lowers the size by itself.' : 'The size did not follow: report it.',
  });
  return isGone ? { removed: true } : 'the deletion has not ended';
}

function left({ pool }: ExperimentDeps, why: string, instances: readonly SeenInstance[]): Removal {
  const [only, ...others] = instances;
  const instance = only !== undefined && others.length === 0 ? only.name : 'INSTANCE';
  return { removed: false, why, command: pool.deletionCommand(instance) };
}

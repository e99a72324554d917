/** The only two ways to try a change on a snapshot: always undo it, or keep it if its result is good. */

export interface Forkable {
  /** Everything after fork() can be dropped by revert() or kept by commit(). Forks nest; each costs O(changes). */
  fork(): void;
  commit(): void;
  revert(): void;
}

/** Runs `work` in a fork and undoes its changes, also if it throws. */
export function withFork<Result>(snapshot: Forkable, work: () => Result): Result {
  snapshot.fork();
  try {
    return work();
  } finally {
    snapshot.revert();
  }
}

/** Runs `work` in a fork. Its changes stay if `isGood` accepts the result; else, or if it throws, they are undone. */
export function tryInFork<Result>(snapshot: Forkable, work: () => Result, isGood: (result: Result) => boolean): Result {
  snapshot.fork();
  let keeps = false;
  try {
    const result = work();
    keeps = isGood(result);
    return result;
  } finally {
    if (keeps) snapshot.commit();
    else snapshot.revert();
  }
}

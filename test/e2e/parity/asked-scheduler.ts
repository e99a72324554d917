/** The scheduler of a file of questions. */
import { afterAll, beforeAll } from 'vitest';
import { givenBinaries } from '../given.ts';
import type { PodGroupApi } from '../pod-group-api.ts';
import { RealScheduler } from './real-scheduler.ts';

/**
 * Call once, at the top of a file: what it starts is ended by the test runner's hooks. The answer is for within a test. `groups`: it plans groups of
 * pods as a whole.
 */
export function askedScheduler(groups?: PodGroupApi): () => RealScheduler {
  let scheduler: RealScheduler | undefined;
  beforeAll(async () => {
    scheduler = await RealScheduler.start(givenBinaries(), [], groups);
  });
  afterAll(async () => {
    await scheduler?.stop();
  });
  return () => {
    if (scheduler === undefined) throw new Error('The scheduler runs only while a test does.');
    return scheduler;
  };
}

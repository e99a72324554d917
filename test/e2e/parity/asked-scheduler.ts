/** The scheduler of a file of questions. */
import { afterAll, beforeAll } from 'vitest';
import { givenBinaries } from '../given.ts';
import { RealScheduler } from './real-scheduler.ts';

/** Call once, at the top of a file: what it starts is ended by the test runner's hooks. The answer is for within a test. */
export function askedScheduler(): () => RealScheduler {
  let scheduler: RealScheduler | undefined;
  beforeAll(async () => {
    scheduler = await RealScheduler.start(givenBinaries());
  });
  afterAll(async () => {
    await scheduler?.stop();
  });
  return () => {
    if (scheduler === undefined) throw new Error('The scheduler runs only while a test does.');
    return scheduler;
  };
}

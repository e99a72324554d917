/** When and how far pools are repacked. */
import * as z from 'zod';
import { DEFAULT_REPACK } from '../../domain/repack.ts';
import { duration, flag, MINUTE_MS, number, SECOND_MS, wholeNumber } from './value-types.ts';

export const repack = z
  .strictObject({
    enabled: flag(DEFAULT_REPACK.enabled),
    minScore: number(DEFAULT_REPACK.minScore, 0),
    maxNodesPerHour: wholeNumber(1).default(DEFAULT_REPACK.maxNodesPerHour),
    maxNodesAtOnce: wholeNumber(1).default(DEFAULT_REPACK.maxNodesAtOnce),
    confirmAfter: duration(DEFAULT_REPACK.confirmAfterMs, { leastMs: SECOND_MS }),
    searchEvery: duration(DEFAULT_REPACK.searchEveryMs, { leastMs: MINUTE_MS }),
    minPodAge: duration(DEFAULT_REPACK.minPodAgeMs),
    retryAfter: duration(DEFAULT_REPACK.retryAfterMs, { leastMs: MINUTE_MS }),
    retryAfterAtMost: duration(DEFAULT_REPACK.retryAfterAtMostMs, { leastMs: MINUTE_MS }),
  })
  .refine((given) => given.retryAfter <= given.retryAfterAtMost, {
    error: 'a time that is not longer than repack.retryAfterAtMost',
    path: ['retryAfter'],
  })
  .prefault({})
  .transform((given) => ({
    enabled: given.enabled,
    minScore: given.minScore,
    maxNodesPerHour: given.maxNodesPerHour,
    maxNodesAtOnce: given.maxNodesAtOnce,
    confirmAfterMs: given.confirmAfter,
    searchEveryMs: given.searchEvery,
    minPodAgeMs: given.minPodAge,
    retryAfterMs: given.retryAfter,
    retryAfterAtMostMs: given.retryAfterAtMost,
  }));

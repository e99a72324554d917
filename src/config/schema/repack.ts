/** When and how far pools are repacked, and which nodes of a pool are sick. */
import * as z from 'zod';
import { MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import { DEFAULT_REPACK, SICK_PRESETS, USUAL_SICK_LIMITS, type SickCondition, type SickNodeRules } from '../../domain/repack.ts';
import { duration, flag, MINUTE_MS, number, SECOND_MS, text, wholeNumber } from './value-types.ts';

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

const FORMS = '{presets: [aks, gpu], conditions: [{type: XIDErrors, status: "True", for: 10m}], maximum: 1, breakerPercent: 20}';
const TYPE = 'the type of a node condition, such as XIDErrors';
const STATUS = '"True", "False" or "Unknown", in quotes';
const PRESET_NAMES = ['aks', 'gpu'] as const;
const PRESET = `a list of presets: ${PRESET_NAMES.join(', ')}`;

const REMEDIES = ['replace', 'reimage'] as const;
const REMEDY = `${REMEDIES.join(' or ')} (docs/sick-nodes.md says what speaks against reimage)`;

const condition = z
  .strictObject({
    type: text(TYPE),
    status: z.enum(['True', 'False', 'Unknown'], { error: STATUS }).default('True'),
    for: duration(10 * MINUTE_MS, { leastMs: MINUTE_MS }),
  })
  .refine(({ type }) => type !== 'Ready', {
    error: 'another condition than Ready: scaleDown.unreadyTime is about nodes that are not ready',
    path: ['type'],
  });

/** Which conditions make a node of a pool sick: by name, or those that AKS writes, as presets. */
export const sickNodesOfPool = z
  .strictObject(
    {
      presets: z.array(z.enum(PRESET_NAMES, { error: PRESET }), { error: PRESET }).default([]),
      conditions: z.array(condition, { error: FORMS }).default([]),
      remedy: z.enum(REMEDIES, { error: REMEDY }).default(USUAL_SICK_LIMITS.remedy),
      maximum: wholeNumber(1, MAX_POOL_NODES).default(USUAL_SICK_LIMITS.maximum),
      breakerPercent: wholeNumber(1, 100).default(USUAL_SICK_LIMITS.breakerPercent),
    },
    { error: FORMS },
  )
  .refine(({ presets, conditions }) => presets.length + conditions.length > 0, { error: `a preset or a condition: ${FORMS}` })
  .transform(({ presets, conditions, maximum, breakerPercent, remedy }): SickNodeRules => {
    const stated = conditions.map((each): SickCondition => ({ type: each.type, status: each.status, forMs: each.for }));
    const isStated = ({ type, status }: SickCondition): boolean => stated.some((each) => each.type === type && each.status === status);
    return {
      conditions: [...stated, ...presets.flatMap((preset) => SICK_PRESETS[preset]).filter((each) => !isStated(each))],
      maximum,
      breakerPercent,
      remedy,
    };
  });

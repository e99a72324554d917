/** Reads what somebody wants of the ambient actors, from a file or over the wire. */
import type { AmbientSettings } from './ambient.ts';
import { isJsonObject, type Json } from './json.ts';

const ACTOR_KEYS: Readonly<Record<keyof AmbientSettings, readonly string[]>> = {
  reconcile: [],
  evictions: ['fraction', 'overMs', 'policy'],
  foreignScaling: ['upTo'],
};

/** A text says what is wrong. */
export function parseAmbient(value: Json | undefined): AmbientSettings | string {
  if (!isJsonObject(value)) return 'the ambient actors must be an object';
  for (const [name, actor] of Object.entries(value)) {
    if (!isActorName(name)) return `there is no actor "${name}"; there are ${Object.keys(ACTOR_KEYS).join(', ')}`;
    const wrong = whatIsWrong(name, actor);
    if (wrong !== undefined) return wrong;
  }
  return value;
}

function isActorName(name: string): name is keyof AmbientSettings {
  return Object.hasOwn(ACTOR_KEYS, name);
}

function whatIsWrong(name: keyof AmbientSettings, actor: Json | undefined): string | undefined {
  if (!isJsonObject(actor)) return `${name} must be an object with everyMs`;
  const known = ['everyMs', 'pools', ...ACTOR_KEYS[name]];
  const unknown = Object.keys(actor).find((key) => !known.includes(key));
  if (unknown !== undefined) return `${name} has no setting "${unknown}"; it has ${known.join(', ')}`;
  const bad = Object.entries(CHECKS).find(([key, { isRight, isNeeded }]) => {
    const given = actor[key];
    return given === undefined ? isNeeded === true : !isRight(given);
  });
  return bad === undefined ? undefined : `${name}.${bad[0]} must be ${bad[1].words}`;
}

interface Check {
  readonly words: string;
  readonly isRight: (value: Json) => boolean;
  readonly isNeeded?: boolean;
}

const CHECKS: Readonly<Record<string, Check>> = {
  everyMs: { words: 'a number of milliseconds above 0', isRight: (value) => isAbove(value, 0), isNeeded: true },
  pools: { words: 'names of pools', isRight: (value) => Array.isArray(value) && value.every((pool) => typeof pool === 'string') },
  fraction: { words: 'above 0 and at most 1', isRight: (value) => isAbove(value, 0) && value <= 1 },
  overMs: { words: 'a number of milliseconds', isRight: (value) => typeof value === 'number' && value >= 0 },
  upTo: { words: 'a whole number above 0', isRight: (value) => isAbove(value, 0) && Number.isInteger(value) },
  policy: { words: 'Delete or Deallocate', isRight: (value) => value === 'Delete' || value === 'Deallocate' },
};

function isAbove(value: Json | undefined, floor: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > floor;
}

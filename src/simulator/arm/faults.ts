/**
 * Misfortune as data: which requests meet it and what happens to them. The emulator itself decides nothing about when
 * Azure fails, except where stock, quota and budgets make it fail by themselves.
 */
import { isJsonObject, pick, pickText, type Json, type JsonObject } from './json.ts';

export interface FaultMatch {
  readonly method?: string;
  /** A glob over the path, any case; `*` stays within a segment, `**` does not. */
  readonly pathGlob?: string;
  /** Requests that concern this agent pool or its scale set. */
  readonly pool?: string;
  /** Only the nth request that matches everything else, counted from 1. */
  readonly nth?: number;
  /** Only so many times. */
  readonly times?: number;
  /** Chance in [0, 1]. */
  readonly prob?: number;
  /** Window on the world's clock, milliseconds since the epoch. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export type FaultEffect =
  /** Answers instead of doing anything. `retryAfterSeconds` is simulated time; `body` may be text for a proxy's HTML. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: Json;
      readonly retryAfterSeconds?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Does what was asked and then answers with an error all the same. */
  | { readonly kind: 'effect-then-answer'; readonly status: number; readonly body?: Json }
  /** Drops the connection, with or without having done what was asked. */
  | { readonly kind: 'reset'; readonly afterEffect: boolean }
  /** Sends the true answer later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** A list that says there is nothing. */
  | { readonly kind: 'empty-list' }
  /** A success without a body. */
  | { readonly kind: 'empty-body' }
  /** Half of the JSON, then the end of the connection. */
  | { readonly kind: 'truncated-body' }
  /** A true list as it was when this fault was added. */
  | { readonly kind: 'stale-list' }
  /** Another writer changes the set's capacity just before this request is looked at. */
  | { readonly kind: 'racing-writer'; readonly delta: number }
  /** Reads of a set show this capacity. */
  | { readonly kind: 'capacity-reads-as'; readonly value: number };

export interface Fault {
  readonly id: string;
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
}

/** What a fault can be matched against. */
export interface FaultSubject {
  readonly method: string;
  readonly path: string;
  readonly pool: string | undefined;
  readonly nowMs: number;
  /** A number in [0, 1) of this request and fault. */
  readonly chance: (faultId: string) => number;
}

interface Armed {
  readonly fault: Fault;
  matched: number;
  fired: number;
}

const EFFECTS: Readonly<Record<FaultEffect['kind'], true>> = {
  answer: true,
  'effect-then-answer': true,
  reset: true,
  delay: true,
  'empty-list': true,
  'empty-body': true,
  'truncated-body': true,
  'stale-list': true,
  'racing-writer': true,
  'capacity-reads-as': true,
};

export class FaultTable {
  readonly #armed = new Map<string, Armed>();

  add(fault: Fault): void {
    this.#armed.set(fault.id, { fault, matched: 0, fired: 0 });
  }

  remove(id: string): boolean {
    return this.#armed.delete(id);
  }

  list(): readonly Fault[] {
    return [...this.#armed.values()].map(({ fault }) => fault);
  }

  /** The first fault that this request meets. Counting happens here: ask once per request. */
  meet(subject: FaultSubject): Fault | undefined {
    let met: Fault | undefined;
    for (const armed of this.#armed.values()) {
      if (!concerns(armed.fault.match, subject)) continue;
      armed.matched++;
      if (met !== undefined || !isDue(armed, subject)) continue;
      armed.fired++;
      met = armed.fault;
    }
    return met;
  }
}

function concerns(match: FaultMatch, subject: FaultSubject): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== subject.method) return false;
  if (match.pathGlob !== undefined && !globMatches(match.pathGlob, subject.path)) return false;
  if (match.pool !== undefined && match.pool !== subject.pool) return false;
  return subject.nowMs >= (match.fromMs ?? -Infinity) && subject.nowMs <= (match.toMs ?? Infinity);
}

function isDue({ fault: { id, match }, matched, fired }: Armed, subject: FaultSubject): boolean {
  if (match.nth !== undefined && matched !== match.nth) return false;
  if (match.times !== undefined && fired >= match.times) return false;
  return match.prob === undefined || subject.chance(id) < match.prob;
}

function globMatches(glob: string, path: string): boolean {
  const pattern = glob
    .toLowerCase()
    .split(/(\*\*|\*)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('');
  return new RegExp(`^${pattern}$`).test(path.toLowerCase());
}

/** Reads a fault that came over the wire. A text result says what is wrong with it. */
export function parseFault(value: Json | undefined, freshId: () => string): Fault | string {
  const match = pick(value, 'match') ?? {};
  const effect = pick(value, 'effect');
  if (!isJsonObject(match) || !isJsonObject(effect)) return 'a fault needs {"match": {...}, "effect": {"kind": ...}}';
  const kind = pickText(effect, 'kind') ?? '';
  if (!Object.hasOwn(EFFECTS, kind)) return `effect.kind is "${kind}"; accepted are ${Object.keys(EFFECTS).join(', ')}`;
  const missing = missingNumber(kind, effect);
  if (missing !== undefined) return `effect.${missing} must be a number`;
  return { id: pickText(value, 'id') ?? freshId(), match: match as FaultMatch, effect: effect as JsonObject & FaultEffect };
}

function missingNumber(kind: string, effect: JsonObject): string | undefined {
  const needed: Readonly<Record<string, string>> = {
    answer: 'status',
    'effect-then-answer': 'status',
    delay: 'ms',
    'racing-writer': 'delta',
    'capacity-reads-as': 'value',
  };
  const key = needed[kind];
  return key === undefined || typeof effect[key] === 'number' ? undefined : key;
}

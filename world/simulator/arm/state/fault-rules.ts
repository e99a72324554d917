/**
 * Faults as data: which requests they match and what they do to them. Azure fails by itself only for lack of stock, quota or
 * rate-limit tokens.
 */
import { isJsonObject, pick, pickText, type Json, type JsonObject } from '../http/json.ts';

export interface FaultMatch {
  readonly method?: string;
  /** A glob over the path, any case; `*` stays within a segment, `**` does not. */
  readonly pathGlob?: string;
  /** `name=value` of the query, in lower case. */
  readonly query?: string;
  /** Requests that concern this agent pool or its scale set. */
  readonly pool?: string;
  /** Only the nth request that matches everything else, counted from 1. */
  readonly nth?: number;
  /** Matches only this many times. */
  readonly times?: number;
  /** Chance in [0, 1]. */
  readonly prob?: number;
  /** Window on the world's clock, milliseconds since the epoch. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export type FaultEffect =
  /** Responds without performing the request. `retryAfterSeconds` is simulated time; `body` may be text, such as a proxy's HTML. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: Json;
      readonly retryAfterSeconds?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Performs the request and then responds with an error. */
  | { readonly kind: 'effect-then-answer'; readonly status: number; readonly body?: Json }
  /** Drops the connection, with or without performing the request. */
  | { readonly kind: 'reset'; readonly afterEffect: boolean }
  /** Delays the true response. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** An empty list instead of the true one. */
  | { readonly kind: 'empty-list' }
  /** A success without a body. */
  | { readonly kind: 'empty-body' }
  /** Half of the JSON, then the end of the connection. */
  | { readonly kind: 'truncated-body' }
  /** A true list in its state at the time when this fault was added. */
  | { readonly kind: 'stale-list' }
  /** Another writer changes the capacity of the set, or of an idle VMs pool, just before this request is handled. */
  | { readonly kind: 'racing-writer'; readonly delta: number }
  /** Reads of a set show this capacity. With `of`, only reads of sets whose name begins so. */
  | { readonly kind: 'capacity-reads-as'; readonly value: number; readonly of?: string }
  /** Reads of a set show the capacity from before this delete for this long. */
  | { readonly kind: 'capacity-lag'; readonly ms: number }
  /** The boundary between two pages moved: 1 hides an item, -1 shows one twice. */
  | { readonly kind: 'page-shift'; readonly by: 1 | -1 }
  /** The first page has only a link to the rest. */
  | { readonly kind: 'empty-page' }
  /** Every page links to itself. */
  | { readonly kind: 'endless-pages' }
  /** Resource groups are in upper case. */
  | { readonly kind: 'upper-case-ids' }
  /** Items lack optional fields: the instance view of all, the id of the first. */
  | { readonly kind: 'bare-items' }
  /** Offset of the response's `Date`. */
  | { readonly kind: 'date-skew'; readonly ms: number }
  | VmEffect;

/** Faults on VMs instead of requests: on VMs that are created or removed while the fault is active. */
export type VmEffect =
  /**
   * `refused`: cannot be allocated, with this code. `slow`: takes 25 minutes longer. `stuck`: never leaves `Creating`. `cse`: the
   * bootstrap extension fails. `os-timeout`: the operating system does not report within 20 minutes. `no-node`, `late-node`: only
   * the kubelet is missing, permanently or for 20 minutes. `unlisted`: lists show it 10 minutes late.
   */
  | {
      readonly kind: 'birth';
      readonly how: 'refused' | 'slow' | 'stuck' | 'cse' | 'os-timeout' | 'no-node' | 'late-node' | 'unlisted';
      readonly code?: string;
      readonly message?: string;
    }
  /** `stuck`: stays in `Deleting` for 20 minutes. `fails`: returns as `Failed` and counts in the capacity again. */
  | { readonly kind: 'removal'; readonly how: 'stuck' | 'fails' };

export interface Fault {
  readonly id: string;
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
}

/** The subject of a fault: a request, or the creation or removal of a VM (its method is `BIRTH` or `REMOVAL`). */
export interface FaultSubject {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. VMs have no query. */
  readonly query?: Readonly<Record<string, string>>;
  readonly pool: string | undefined;
  readonly nowMs: number;
  /** A random number in [0, 1) for this subject and fault. */
  readonly chance: (faultId: string) => number;
}

interface CountedFault {
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
  'capacity-lag': true,
  'page-shift': true,
  'empty-page': true,
  'endless-pages': true,
  'upper-case-ids': true,
  'bare-items': true,
  'date-skew': true,
  birth: true,
  removal: true,
};

const VM_METHODS: Readonly<Record<VmEffect['kind'], string>> = { birth: 'BIRTH', removal: 'REMOVAL' };

const MACHINE_SUBJECTS: ReadonlySet<string> = new Set(Object.values(VM_METHODS));

function isVmEffect(effect: FaultEffect): effect is VmEffect {
  return Object.hasOwn(VM_METHODS, effect.kind);
}

export class FaultTable {
  readonly #armed = new Map<string, CountedFault>();

  add(fault: Fault): void {
    this.#armed.set(fault.id, { fault, matched: 0, fired: 0 });
  }

  remove(id: string): boolean {
    return this.#armed.delete(id);
  }

  list(): readonly Fault[] {
    return [...this.#armed.values()].map(({ fault }) => fault);
  }

  /** The effect of an active fault on a VM that is created or removed now. */
  vmEffect<Kind extends VmEffect['kind']>(
    kind: Kind,
    subject: Omit<FaultSubject, 'method'>,
  ): Extract<VmEffect, { readonly kind: Kind }> | undefined {
    const effect = this.matchRequest({ ...subject, method: VM_METHODS[kind] })?.effect;
    return effect?.kind === kind ? (effect as Extract<VmEffect, { readonly kind: Kind }>) : undefined;
  }

  /** The first fault that matches this request. It also counts the match: call it once per request. */
  matchRequest(subject: FaultSubject): Fault | undefined {
    let met: Fault | undefined;
    for (const armed of this.#armed.values()) {
      const { effect, match } = armed.fault;
      const ofMachines = isVmEffect(effect) ? VM_METHODS[effect.kind] : undefined;
      if (ofMachines === undefined ? MACHINE_SUBJECTS.has(subject.method) : ofMachines !== subject.method) continue;
      if (!faultMatches(ofMachines === undefined ? match : { ...match, method: ofMachines }, subject)) continue;
      armed.matched++;
      if (met !== undefined || !isDue(armed, subject)) continue;
      armed.fired++;
      met = armed.fault;
    }
    return met;
  }
}

function faultMatches(match: FaultMatch, subject: FaultSubject): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== subject.method) return false;
  if (match.pathGlob !== undefined && !globMatches(match.pathGlob, subject.path)) return false;
  if (match.query !== undefined && !hasQuery(match.query, subject.query ?? {})) return false;
  if (match.pool !== undefined && match.pool !== subject.pool) return false;
  return subject.nowMs >= (match.fromMs ?? -Infinity) && subject.nowMs <= (match.toMs ?? Infinity);
}

function hasQuery(wanted: string, query: Readonly<Record<string, string>>): boolean {
  const [name = '', value = ''] = wanted.toLowerCase().split('=');
  return query[name]?.toLowerCase() === value;
}

function isDue({ fault: { id, match }, matched, fired }: CountedFault, subject: FaultSubject): boolean {
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

/** Parses a fault from a request. A text result describes what is wrong with it. */
export function parseFault(value: Json | undefined, freshId: () => string): Fault | string {
  const match = pick(value, 'match') ?? {};
  const effect = pick(value, 'effect');
  if (!isJsonObject(match) || !isJsonObject(effect)) return 'a fault needs {"match": {...}, "effect": {"kind": ...}}';
  const kind = pickText(effect, 'kind') ?? '';
  if (!Object.hasOwn(EFFECTS, kind)) return `effect.kind is "${kind}"; accepted are ${Object.keys(EFFECTS).join(', ')}`;
  const missing = missingNumber(kind, effect);
  if (missing !== undefined) return `effect.${missing} must be a number`;
  const wrong = problemOfMatch(match);
  if (wrong !== undefined) return wrong;
  return { id: pickText(value, 'id') ?? freshId(), match: match as FaultMatch, effect: effect as JsonObject & FaultEffect };
}

const MATCHES: Readonly<Record<keyof FaultMatch, 'string' | 'number'>> = {
  method: 'string',
  pathGlob: 'string',
  query: 'string',
  pool: 'string',
  nth: 'number',
  times: 'number',
  prob: 'number',
  fromMs: 'number',
  toMs: 'number',
};

/** An unknown key would match everything. */
function problemOfMatch(match: JsonObject): string | undefined {
  for (const [key, value] of Object.entries(match)) {
    if (!Object.hasOwn(MATCHES, key)) return `match.${key} is unknown; accepted are ${Object.keys(MATCHES).join(', ')}`;
    const kind = MATCHES[key as keyof FaultMatch];
    if (typeof value !== kind) return `match.${key} must be a ${kind}`;
  }
  return undefined;
}

function missingNumber(kind: string, effect: JsonObject): string | undefined {
  const needed: Readonly<Record<string, string>> = {
    answer: 'status',
    'effect-then-answer': 'status',
    delay: 'ms',
    'racing-writer': 'delta',
    'capacity-reads-as': 'value',
    'capacity-lag': 'ms',
    'page-shift': 'by',
    'date-skew': 'ms',
  };
  const key = needed[kind];
  return key === undefined || typeof effect[key] === 'number' ? undefined : key;
}

/**
 * Actors of the world that act by themselves at random times: AKS that operates on its pools, a region that evicts Spot VMs in
 * waves, and another writer that scales. All are off by default. The seed alone decides when and on which pool they act.
 */
import { isJsonObject, type Json } from '../http/json.ts';
import { isVmsPool, manualScale } from '../state/agent-pool-document.ts';
import { capacityOf, setOfPool, type AgentPool, type ArmWorld } from '../state/arm-state.ts';
import type { WorldEvent } from './world-event.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** Times are simulated milliseconds. */
interface Actor {
  /** Mean time between two actions over all pools of the actor. The gaps are exponentially distributed. */
  readonly everyMs: number;
  /** Default: every pool that the actor can act on. */
  readonly pools?: readonly string[];
}

export interface BackgroundActorOptions {
  /** AKS operates on a pool for its own reasons: the pool shows `Updating` for a while and its scale set gets the pool's count. */
  readonly reconcile?: Actor;
  /** Waves of evictions on Spot pools, each announced by a scheduled event. Uses the pool's own policy unless `policy` is given. */
  readonly evictions?: Actor & {
    /** Largest share of the pool that a wave evicts. Default: 1. */
    readonly fraction?: number;
    /** The announcements of a wave are spread over this time. Default: one minute. */
    readonly overMs?: number;
    readonly policy?: 'Delete' | 'Deallocate';
  };
  /** Another writer increases and decreases capacities between minimum and maximum. */
  readonly foreignScaling?: Actor & {
    /** The largest change, in VMs. Default: 2. */
    readonly upTo?: number;
  };
}

export interface BackgroundActors {
  readonly settings: BackgroundActorOptions;
  /** Replaces all actors; `{}` ends them. Their running operations continue. */
  set(settings: BackgroundActorOptions): void;
}

type ActorName = keyof BackgroundActorOptions;

/** A random number in [0, 1) for one purpose of one action. */
type Draw = (purpose: string) => number;

/** `raise` performs the action, or returns why it cannot. Then the actor skips this time. */
export function createBackgroundActors(world: ArmWorld, raise: (event: WorldEvent) => string | undefined): BackgroundActors {
  let current: BackgroundActorOptions = {};
  let generation = 0;
  const waiting = new Map<ActorName, () => void>();
  const stop = (name: ActorName): void => {
    const forget = waiting.get(name);
    waiting.delete(name);
    if (forget === undefined) return;
    forget();
    world.timers.delete(forget);
  };
  const wait = (name: ActorName, serial: number): void => {
    const actor = current[name];
    if (actor === undefined) return;
    const draw: Draw = (purpose) => world.draws.unit(`ambient|${name}|${generation}|${serial}|${purpose}`);
    const gapMs = Math.round(-Math.log(1 - draw('gap')) * actor.everyMs);
    const forget = world.clock.after(gapMs, () => {
      stop(name);
      const event = nextAction(world, current, name, draw);
      if (event !== undefined) raise(event);
      wait(name, serial + 1);
    });
    waiting.set(name, forget);
    world.timers.add(forget);
  };
  return {
    get settings() {
      return current;
    },
    set: (settings) => {
      for (const name of waiting.keys()) stop(name);
      current = settings;
      generation++;
      for (const name of ['reconcile', 'evictions', 'foreignScaling'] as const) wait(name, 0);
    },
  };
}

/** The next action of an actor. undefined: no pool to act on. */
function nextAction(world: ArmWorld, settings: BackgroundActorOptions, name: ActorName, draw: Draw): WorldEvent | undefined {
  const pool = targetPool(world, name, settings[name], draw);
  if (pool === undefined) return undefined;
  switch (name) {
    case 'reconcile':
      return { rpReconcile: { pool: pool.name } };
    case 'evictions': {
      const { fraction = 1, overMs = 60_000, policy } = settings.evictions ?? {};
      const share = Math.max(0.01, draw('share') * fraction);
      return { evict: { pool: pool.name, fraction: share, overMs, ...defined({ policy }) } };
    }
    case 'foreignScaling': {
      const by = 1 + Math.floor(draw('by') * (settings.foreignScaling?.upTo ?? 2));
      const wanted = sizeNow(world, pool) + (draw('way') < 0.5 ? -by : by);
      return { foreignScale: { pool: pool.name, to: Math.min(pool.spec.max, Math.max(pool.spec.min, wanted)) } };
    }
  }
}

/** For a VMs pool, the count of its first size: other writers scale that one. */
function sizeNow(world: ArmWorld, pool: AgentPool): number {
  if (isVmsPool(pool)) return manualScale(pool.properties)[0]?.count ?? 0;
  const set = setOfPool(world, pool.name);
  return set === undefined ? 0 : capacityOf(set);
}

function targetPool(world: ArmWorld, name: ActorName, actor: Actor | undefined, draw: Draw): AgentPool | undefined {
  const named = actor?.pools?.map((pool) => pool.toLowerCase());
  const pools = [...world.agentPools.entries()]
    .filter(([key, { spec }]) => (named === undefined || named.includes(key)) && (name !== 'evictions' || spec.priority === 'Spot'))
    .sort(compareBy(([key]) => key));
  return pools[Math.floor(draw('pool') * pools.length)]?.[1];
}

// Parses the options of the background actors, from a file or from a request.

const ACTOR_KEYS: Readonly<Record<keyof BackgroundActorOptions, readonly string[]>> = {
  reconcile: [],
  evictions: ['fraction', 'overMs', 'policy'],
  foreignScaling: ['upTo'],
};

/** A text result describes what is wrong. */
export function parseBackgroundActorOptions(value: Json | undefined): BackgroundActorOptions | string {
  if (!isJsonObject(value)) return 'the background actors must be an object';
  for (const [name, actor] of Object.entries(value)) {
    if (!isActorName(name)) return `the actor "${name}" is unknown; it must be one of ${Object.keys(ACTOR_KEYS).join(', ')}`;
    const wrong = problemOfActor(name, actor);
    if (wrong !== undefined) return wrong;
  }
  return value;
}

function isActorName(name: string): name is keyof BackgroundActorOptions {
  return Object.hasOwn(ACTOR_KEYS, name);
}

function problemOfActor(name: keyof BackgroundActorOptions, actor: Json | undefined): string | undefined {
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
  pools: { words: 'a list of pool names', isRight: (value) => Array.isArray(value) && value.every((pool) => typeof pool === 'string') },
  fraction: { words: 'a number above 0 and at most 1', isRight: (value) => isAbove(value, 0) && value <= 1 },
  overMs: { words: 'a number of milliseconds', isRight: (value) => typeof value === 'number' && value >= 0 },
  upTo: { words: 'a whole number above 0', isRight: (value) => isAbove(value, 0) && Number.isInteger(value) },
  policy: { words: 'Delete or Deallocate', isRight: (value) => value === 'Delete' || value === 'Deallocate' },
};

function isAbove(value: Json | undefined, floor: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > floor;
}

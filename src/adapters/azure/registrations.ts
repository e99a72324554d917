/** The registration of now, made anew only when what it is made from is another one; says once why what was selected is no group. */
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../telemetry/log.ts';
import type { AgentPools } from './agents.ts';
import type { GroupChoice } from './options.ts';
import { register, type Registration, type RegistrationInput } from './registry.ts';

export interface RegistrationSources {
  readonly choice: GroupChoice;
  /** Another number whenever a set or a size of a pool is another one. */
  readonly version: number;
  readonly scaleSets: { snapshot(): NonNullable<RegistrationInput['scaleSets']> };
  readonly poolSizes: { snapshot(): NonNullable<RegistrationInput['poolSizes']> };
  /** The object of the last list; undefined: never listed. */
  readonly pools: AgentPools | undefined;
}

export class Registrations {
  readonly #log: Log;
  readonly #warned = new Set<string>();
  #last: { readonly sources: RegistrationSources; readonly value: Registration } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The same object while it says the same. */
  from(sources: RegistrationSources): Registration {
    const last = this.#last;
    if (last !== undefined && isSameSource(last.sources, sources)) return last.value;
    const { choice, scaleSets, poolSizes, pools } = sources;
    const next = register({
      options: choice,
      scaleSets: scaleSets.snapshot(),
      poolSizes: poolSizes.snapshot(),
      agentPools: pools?.byName,
    });
    this.#warnOfSkipped(next);
    const value = last !== undefined && isSame(last.value, next) ? last.value : next;
    this.#last = { sources, value };
    return value;
  }

  /** Each reason once, not once per refresh. */
  #warnOfSkipped({ skipped }: Registration): void {
    for (const [name, reason] of skipped) {
      const said = `${name}: ${reason}`;
      if (this.#warned.has(said)) continue;
      this.#warned.add(said);
      this.#log.warn({ pool: name, reason }, 'a pool is selected but cannot be a node group');
    }
  }
}

function isSameSource(left: RegistrationSources, right: RegistrationSources): boolean {
  return left.version === right.version && left.pools === right.pools && left.choice === right.choice;
}

function isSame(left: Registration, right: Registration): boolean {
  if (left.groups.size !== right.groups.size || !isDeepStrictEqual(left.idleRules, right.idleRules)) return false;
  return [...right.groups].every(([key, group]) => {
    const other = left.groups.get(key);
    return other !== undefined && other.id === group.id && other.min === group.min && other.max === group.max && other.kind === group.kind;
  });
}

/** The registration of now, made anew only when what it is made from is another one; says once why what was selected is no group. */
import type { Log } from '../../telemetry/log.ts';
import type { AgentPools } from './agents.ts';
import type { AzureOptions } from './options.ts';
import { register, type Registration, type RegistrationInput } from './registry.ts';

export interface RegistrationSources {
  /** Another number whenever a set or a size of a pool is another one. */
  readonly version: number;
  readonly scaleSets: { snapshot(): NonNullable<RegistrationInput['scaleSets']> };
  readonly poolSizes: { snapshot(): NonNullable<RegistrationInput['poolSizes']> };
  /** The object of the last list; undefined: never listed. */
  readonly pools: AgentPools | undefined;
}

export class Registrations {
  readonly #parts: { readonly options: AzureOptions; readonly log: Log };
  readonly #warned = new Set<string>();
  #last: { readonly version: number; readonly pools: AgentPools | undefined; readonly value: Registration };

  constructor(parts: { readonly options: AzureOptions; readonly log: Log }) {
    this.#parts = parts;
    this.#last = { version: -1, pools: undefined, value: register({ options: parts.options, scaleSets: undefined }) };
  }

  /** The same object while it says the same. */
  from({ version, scaleSets, poolSizes, pools }: RegistrationSources): Registration {
    const { version: known, pools: knownPools, value: previous } = this.#last;
    if (version === known && pools === knownPools) return previous;
    const { options } = this.#parts;
    const next = register({ options, scaleSets: scaleSets.snapshot(), poolSizes: poolSizes.snapshot(), agentPools: pools?.byName });
    this.#warnOfSkipped(next);
    this.#last = { version, pools, value: isSame(previous, next) ? previous : next };
    return this.#last.value;
  }

  /** Each reason once, not once per refresh. */
  #warnOfSkipped({ skipped }: Registration): void {
    for (const [name, reason] of skipped) {
      const said = `${name}: ${reason}`;
      if (this.#warned.has(said)) continue;
      this.#warned.add(said);
      this.#parts.log.warn({ pool: name, reason }, 'a pool is selected but cannot be a node group');
    }
  }
}

function isSame(left: Registration, right: Registration): boolean {
  if (left.groups.size !== right.groups.size) return false;
  return [...right.groups].every(([key, group]) => {
    const other = left.groups.get(key);
    return other !== undefined && other.id === group.id && other.min === group.min && other.max === group.max && other.kind === group.kind;
  });
}

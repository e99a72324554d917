/**
 * Watches the configuration files by their content (a ConfigMap's symbolic links change under them) and has what may change
 * at run time changed. A file that is not valid changes nothing: what runs goes on running, and why is said. Knows no room.
 */
import type { ConfigErrors } from '../config/types/config.ts';
import type { Settings } from '../config/load.ts';
import { isLive, overlaid } from '../config/live-keys.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface ConfigReloadDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics['config'];
  /** The content of the files as they are now; a file that cannot be read is a text of its own. */
  readonly content: () => string;
  readonly load: () => Settings | ConfigErrors;
  /** Puts the settings to work; the restart keys in it are those that run. */
  readonly apply: (settings: Settings) => void;
  readonly announce: (news: ConfigNews) => void;
}

export interface ConfigNews {
  readonly kind: 'applied' | 'refused';
  readonly message: string;
}

const LOOK_EVERY_MS = 10_000;
/** An event's note is short; the log has all of it. */
const TOLD_MISTAKES = 3;

/** Owns what runs, which generation it is, and what was last seen on disk. */
export class ConfigReload {
  readonly #deps: ConfigReloadDeps;
  #running: Settings;
  #seen: string;
  #generation = 1;

  /** `running` is what the process was started with. */
  constructor(deps: ConfigReloadDeps, running: Settings) {
    this.#deps = deps;
    this.#running = running;
    this.#seen = deps.content();
    deps.metrics.generation.set(this.#generation);
    deps.metrics.refused.set(0);
    deps.metrics.awaitingRestart.set(0);
    for (const outcome of ['applied', 'refused']) deps.metrics.reloads.inc({ outcome }, 0);
  }

  /** Looks every ten seconds until the signal fires. Does not reject. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#deps.clock.sleep(LOOK_EVERY_MS, signal);
        this.look();
      } catch (thrown) {
        if (signal.aborted) return;
        this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'the configuration could not be looked at');
      }
    }
  }

  /** One look now. The same content is judged once. */
  look(): void {
    const content = this.#deps.content();
    if (content === this.#seen) return;
    this.#seen = content;
    const next = this.#deps.load();
    if ('errors' in next) this.#refuse(next.errors);
    else this.#take(next);
  }

  #refuse(errors: readonly string[]): void {
    const { log, metrics, announce } = this.#deps;
    metrics.reloads.inc({ outcome: 'refused' });
    metrics.refused.set(1);
    for (const error of errors)
      log.warn({ what: error, generation: this.#generation }, 'the changed configuration is refused; the one before goes on');
    const more = errors.length > TOLD_MISTAKES ? ` (and ${errors.length - TOLD_MISTAKES} more)` : '';
    const message = `The changed configuration is refused, generation ${this.#generation} goes on: ${errors.slice(0, TOLD_MISTAKES).join(' ')}${more}`;
    announce({ kind: 'refused', message });
  }

  #take(next: Settings): void {
    const { log, metrics, announce, apply } = this.#deps;
    const changed = changedKeys(this.#running.leaves, next.leaves);
    const live = changed.filter((key) => isLive(key, this.#running.config, next.config));
    const waiting = changed.filter((key) => !live.includes(key));
    const told = this.#running.config.warnings;
    for (const warning of next.config.warnings) if (!told.includes(warning)) log.warn({ warning }, 'a setting is not obeyed as given');
    metrics.refused.set(0);
    metrics.awaitingRestart.set(waiting.length);
    if (live.length > 0) {
      const leaves = new Map(this.#running.leaves);
      for (const key of live) setOrDrop(leaves, key, next.leaves.get(key));
      this.#running = { config: overlaid(this.#running.config, next.config), leaves };
      this.#generation += 1;
      apply(this.#running);
      metrics.reloads.inc({ outcome: 'applied' });
      metrics.generation.set(this.#generation);
      log.info({ generation: this.#generation, changed: live }, 'the changed configuration is live');
    }
    if (waiting.length > 0) log.warn({ keys: waiting }, 'changed settings wait for a restart');
    if (changed.length === 0) log.info({ generation: this.#generation }, 'the configuration on disk is the one that runs');
    else announce({ kind: 'applied', message: newsOf(this.#generation, live, waiting) });
  }
}

function newsOf(generation: number, live: readonly string[], waiting: readonly string[]): string {
  const now = live.length === 0 ? `Generation ${generation} goes on` : `Generation ${generation} is live: ${live.join(', ')} changed`;
  return waiting.length === 0 ? `${now}.` : `${now}; wait for a restart: ${waiting.join(', ')}.`;
}

/** Sorted. Keys that only one of the two has are among them. */
function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key)).sort();
}

function setOrDrop(leaves: Map<string, string>, key: string, value: string | undefined): void {
  if (value === undefined) leaves.delete(key);
  else leaves.set(key, value);
}

/**
 * Reloads the configuration when its files change, and applies the settings that may change at run time.
 * An invalid file changes nothing: the running configuration stays, and the log and an event say why.
 * Compares contents, because a ConfigMap volume replaces symbolic links. Must not know what a setting does.
 */
import type { ConfigErrors } from '../config/types/config.ts';
import type { Settings } from '../config/load.ts';
import { isLive, overlaid } from '../config/live-keys.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

interface ConfigReloadDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics['config'];
  /** Returns the content of all files now. An unreadable file has a content of its own. */
  readonly content: () => string;
  readonly load: () => Settings | ConfigErrors;
  /** Applies the settings. Keys that need a restart have the values that run. */
  readonly apply: (settings: Settings) => void;
  readonly announce: (outcome: ReloadOutcome) => void;
}

export interface ReloadOutcome {
  readonly kind: 'applied' | 'refused';
  readonly message: string;
}

const CHECK_EVERY_MS = 10_000;
/** The message of an event is short. The log has all errors. */
const MOST_ERRORS_IN_EVENT = 3;

export class ConfigReload {
  readonly #deps: ConfigReloadDeps;
  #running: Settings;
  /** The content of the last check. */
  #seen: string;
  #generation = 1;

  /** @param running the settings that the process was started with. */
  constructor(deps: ConfigReloadDeps, running: Settings) {
    this.#deps = deps;
    this.#running = running;
    this.#seen = deps.content();
    deps.metrics.generation.set(this.#generation);
    deps.metrics.refused.set(0);
    deps.metrics.awaitingRestart.set(0);
    for (const outcome of ['applied', 'refused']) deps.metrics.reloads.inc({ outcome }, 0);
  }

  /** Checks the files every ten seconds until the signal fires. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#deps.clock.sleep(CHECK_EVERY_MS, signal);
        this.checkFiles();
      } catch (thrown) {
        if (signal.aborted) return;
        this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'Check of the configuration files failed');
      }
    }
  }

  /** Reloads if the content has changed since the last check. */
  checkFiles(): void {
    const content = this.#deps.content();
    if (content === this.#seen) return;
    this.#seen = content;
    const next = this.#load();
    if ('errors' in next) this.#refuse(next.errors);
    else this.#apply(next);
  }

  /** An error of the loader itself is a refusal too: an event and a count report it, and the process goes on. */
  #load(): Settings | ConfigErrors {
    try {
      return this.#deps.load();
    } catch (thrown) {
      return { errors: [`The configuration cannot be loaded: ${asAutoscalerError(thrown).message}`] };
    }
  }

  #refuse(errors: readonly string[]): void {
    const { log, metrics, announce } = this.#deps;
    metrics.reloads.inc({ outcome: 'refused' });
    metrics.refused.set(1);
    for (const error of errors) {
      log.warn({ what: error, generation: this.#generation }, 'Changed configuration refused; the running configuration stays');
    }
    const more = errors.length > MOST_ERRORS_IN_EVENT ? ` (and ${errors.length - MOST_ERRORS_IN_EVENT} more)` : '';
    const shown = errors.slice(0, MOST_ERRORS_IN_EVENT).join(' ');
    announce({ kind: 'refused', message: `Changed configuration refused; generation ${this.#generation} stays: ${shown}${more}` });
  }

  #apply(next: Settings): void {
    const { log, metrics, announce, apply } = this.#deps;
    const changed = changedKeys(this.#running.leaves, next.leaves);
    const live = changed.filter((key) => isLive(key, this.#running.config, next.config));
    const waiting = changed.filter((key) => !live.includes(key));
    const known = this.#running.config.warnings;
    for (const warning of next.config.warnings) if (!known.includes(warning)) log.warn({ warning }, 'Setting ignored');
    metrics.refused.set(0);
    metrics.awaitingRestart.set(waiting.length);
    if (live.length > 0) {
      const leaves = new Map(this.#running.leaves);
      for (const key of live) setOrDelete(leaves, key, next.leaves.get(key));
      this.#running = { config: overlaid(this.#running.config, next.config), leaves, files: next.files };
      this.#generation += 1;
      apply(this.#running);
      metrics.reloads.inc({ outcome: 'applied' });
      metrics.generation.set(this.#generation);
      log.info({ generation: this.#generation, changed: live }, 'Changed configuration applied');
    }
    if (waiting.length > 0) log.warn({ keys: waiting }, 'Changed settings need a restart');
    if (changed.length === 0) log.info({ generation: this.#generation }, 'Configuration on disk equals the running configuration');
    else announce({ kind: 'applied', message: appliedMessage(this.#generation, live, waiting) });
  }
}

function appliedMessage(generation: number, live: readonly string[], waiting: readonly string[]): string {
  const now = live.length === 0 ? `Generation ${generation} stays` : `Generation ${generation} applied: ${live.join(', ')} changed`;
  return waiting.length === 0 ? `${now}.` : `${now}; restart needed for: ${waiting.join(', ')}.`;
}

/** Returns the keys with different values, sorted. A key that only one side has counts as changed. */
function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key)).sort();
}

function setOrDelete(leaves: Map<string, string>, key: string, value: string | undefined): void {
  if (value === undefined) leaves.delete(key);
  else leaves.set(key, value);
}

/** The rules of the priority expander that stand in a ConfigMap: read as they change, and the last good ones kept. */
import { parsePriorities } from '../config/priority-rules.ts';
import { asAutoscalerError } from '../domain/errors.ts';
import { PRIORITY_RULES_NAME } from '../loop/priority-events.ts';
import type { PriorityRulesReader, PriorityRulesView } from '../ports/priority-rules.ts';
import type { Log } from '../telemetry/log.ts';

const KEY = 'priorities';

export class ConfigMapPriorityRules implements PriorityRulesReader {
  readonly #log: Log;
  #view: PriorityRulesView = { levels: undefined, problem: undefined };

  constructor(log: Log) {
    this.#log = log;
  }

  current(): PriorityRulesView {
    return this.#view;
  }

  /** undefined: the ConfigMap is not there (any more). */
  changed(content: Readonly<Record<string, string>> | undefined): void {
    if (content === undefined) {
      if (this.#view.levels !== undefined) this.#log.info({}, 'the priority rules are gone');
      this.#view = { levels: undefined, problem: undefined };
      return;
    }
    try {
      const levels = parsePriorities(`${KEY} of the ConfigMap ${PRIORITY_RULES_NAME}`, content[KEY] ?? '');
      this.#view = { levels, problem: undefined };
      this.#log.info({ levels: levels.length }, 'priority rules read');
    } catch (thrown) {
      const problem = asAutoscalerError(thrown).message;
      this.#view = { levels: this.#view.levels, problem };
      this.#log.warn({ problem, kept: this.#view.levels !== undefined }, 'priority rules cannot be used');
    }
  }
}

/**
 * ConfigMaps of the autoscaler: writes its status under the Cluster Autoscaler's name and in its notation, and reads the
 * rules of the priority expander. Knows the form of YAML, not the meaning of the status.
 */
import { parsePriorities } from '../../config/schema/expanders.ts';
import type { KubernetesConfig } from '../../config/types/config.ts';
import type { EventRecorder, StatusValue, StatusWriter } from '../../domain/ports/records.ts';
import type { PriorityRulesReader, PriorityRulesView } from '../../domain/ports/stored-text.ts';
import { NO_PAUSES, type PauseReader, type Pauses } from '../../domain/ports/pauses.ts';
import { PAUSES_SUFFIX, projectPauses } from '../../kubernetes/projection/pauses.ts';
import type { ConfigMapName } from '../../kubernetes/api/options.ts';
import type { Kubernetes } from '../../kubernetes/kubernetes.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { PRIORITY_RULES_NAME } from '../../observers/events/priority-rule-events.ts';
import { goTime } from '../../observers/status/status-document.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';

const LAST_UPDATED = 'cluster-autoscaler.kubernetes.io/last-updated';

/** The named text of a ConfigMap. */
interface StoredTextName {
  readonly configMap: string;
  readonly key: string;
}

/** Where the learned node templates are stored. */
export function learnedTemplates({ configMapPrefix }: Pick<KubernetesConfig, 'configMapPrefix'>): StoredTextName {
  return { configMap: `${configMapPrefix}-templates`, key: 'templates.json' };
}

/** Where the loop's memory is stored for the next process or leader. */
export function loopMemory({ configMapPrefix }: Pick<KubernetesConfig, 'configMapPrefix'>): StoredTextName {
  return { configMap: `${configMapPrefix}-memory`, key: 'memory.json' };
}

/** Where people say what must not be changed for a while. */
function pausesName({ configMapPrefix, namespace }: Pick<KubernetesConfig, 'configMapPrefix' | 'namespace'>): ConfigMapName {
  return { namespace, name: `${configMapPrefix}${PAUSES_SUFFIX}` };
}

/** A role without the permission must not delay a start for long, and a refusal that passes must not hide a pause. */
const REFUSED_FOR_MS = 10_000;

/** Resolves when the pauses are known, or if they may not be read: then nothing is paused. */
export function followPauses(
  kubernetes: Pick<Kubernetes, 'watchConfigMap'>,
  { pauses, config }: { readonly pauses: ConfigMapPauses; readonly config: Pick<KubernetesConfig, 'configMapPrefix' | 'namespace'> },
  signal: AbortSignal,
): Promise<void> {
  return kubernetes.watchConfigMap(pausesName(config), (content) => pauses.changed(content), signal, REFUSED_FOR_MS);
}

/** Writes `data.status` of the ConfigMap. Creates the ConfigMap if it does not exist. */
export function statusConfigMap(
  kubernetes: Pick<Kubernetes, 'writeConfigMap' | 'deleteConfigMap'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): StatusWriter {
  return {
    write: ({ atMs, document }, signal) =>
      kubernetes.writeConfigMap(
        { namespace, name, content: { status: toYaml(document) }, annotations: { [LAST_UPDATED]: goTime(atMs) } },
        signal,
      ),
    remove: (signal) => kubernetes.deleteConfigMap({ namespace, name }, signal),
  };
}

/** Records events about the status under the configured ConfigMap name: two autoscalers in one cluster have one each. */
export function statusEventsNamed(events: EventRecorder, name: string): EventRecorder {
  return {
    record: (event) => {
      const { subject } = event;
      const isStatus = subject.kind === 'ConfigMap' && subject.name === STATUS_NAME;
      events.record(isStatus ? { ...event, subject: { ...subject, name } } : event);
    },
    flush: (signal) => events.flush(signal),
  };
}

/** Block style with sorted keys, as Kubernetes' own serializer writes it. */
export function toYaml(value: { readonly [key: string]: StatusValue }): string {
  return `${block(value, '').join('\n')}\n`;
}

function block(value: { readonly [key: string]: StatusValue }, indent: string): readonly string[] {
  return Object.keys(value)
    .sort()
    .flatMap((key) => entry(`${indent}${scalar(key)}:`, value[key] ?? '', indent));
}

function entry(head: string, value: StatusValue, indent: string): readonly string[] {
  if (typeof value !== 'object') return [`${head} ${scalar(value)}`];
  if (isList(value)) return value.length === 0 ? [`${head} []`] : [head, ...value.flatMap((item) => listItem(item, indent))];
  return Object.keys(value).length === 0 ? [`${head} {}`] : [head, ...block(value, `${indent}  `)];
}

function listItem(item: StatusValue, indent: string): readonly string[] {
  if (typeof item !== 'object') return [`${indent}- ${scalar(item)}`];
  if (isList(item)) return [`${indent}- ${JSON.stringify(item)}`];
  const lines = block(item, `${indent}  `);
  return lines.length === 0 ? [`${indent}- {}`] : [`${indent}- ${(lines[0] ?? '').trimStart()}`, ...lines.slice(1)];
}

function isList(value: StatusValue): value is readonly StatusValue[] {
  return Array.isArray(value);
}

const GO_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \+0000 UTC$/;

/** Plain text if it is unambiguous, otherwise in JSON quotes, which YAML reads as well. */
function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  // The Cluster Autoscaler writes Go's time without quotes, and readers of the status match that.
  if (GO_TIME.test(value)) return value;
  const plain = /^[A-Za-z][A-Za-z0-9_./<>()-]*( [A-Za-z0-9_./<>()-]+)*$/.test(value);
  const word = /^(true|false|yes|no|on|off|null|y|n|nan|inf|infinity)$/i.test(value);
  return plain && !word ? value : JSON.stringify(value);
}

const KEY = 'priorities';

/** The pauses in the ConfigMap, which people may change at any time. If it cannot be read any more, what was read last stays in force. */
export class ConfigMapPauses implements PauseReader {
  readonly #log: Log;
  #pauses = NO_PAUSES;

  constructor(log: Log) {
    this.#log = log;
  }

  current(): Pauses {
    return this.#pauses;
  }

  /** undefined: the ConfigMap does not exist. */
  changed(content: Readonly<Record<string, string>> | undefined): void {
    this.#pauses = content === undefined ? NO_PAUSES : projectPauses(content);
    const { pauses, unreadable } = this.#pauses;
    this.#log.info({ entries: pauses.length + unreadable.length, unreadable: unreadable.length }, 'Pauses read');
  }
}

/** The rules of the priority expander from a ConfigMap that the user may edit at any time. Invalid rules leave the last valid ones. */
export class ConfigMapPriorityRules implements PriorityRulesReader {
  readonly #log: Log;
  #view: PriorityRulesView = { levels: undefined, problem: undefined };

  constructor(log: Log) {
    this.#log = log;
  }

  current(): PriorityRulesView {
    return this.#view;
  }

  /** undefined: the ConfigMap does not exist. */
  changed(content: Readonly<Record<string, string>> | undefined): void {
    if (content === undefined) {
      if (this.#view.levels !== undefined) this.#log.info({}, 'Priority rules deleted');
      this.#view = { levels: undefined, problem: undefined };
      return;
    }
    try {
      const levels = parsePriorities(`${KEY} of the ConfigMap ${PRIORITY_RULES_NAME}`, content[KEY] ?? '');
      this.#view = { levels, problem: undefined };
      this.#log.info({ levels: levels.length }, 'Priority rules read');
    } catch (thrown) {
      const problem = asAutoscalerError(thrown).message;
      this.#view = { levels: this.#view.levels, problem };
      this.#log.warn({ problem, kept: this.#view.levels !== undefined }, 'Priority rules invalid; change ignored');
    }
  }
}

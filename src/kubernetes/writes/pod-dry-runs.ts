/**
 * What pods of a template look like once the API server has admitted them, with side-cars and defaults: a dry run of their creation, which stores
 * nothing. Asked in the background, once per template while it does not change. Must not know who needs the pods.
 */
import { hash } from 'node:crypto';
import type { PodShape } from '../../domain/pod.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { shownText } from '../../lib/shown-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { MetadataJson, PodJson, PodSpecJson } from '../api/core-json.ts';
import type { Rest } from '../api/rest.ts';
import type { Shapes } from '../projection/pod-shape.ts';

/** Webhooks and limits of namespaces may change. */
const ADMITTED_FOR_MS = 3_600_000;
const REFUSED_FOR_MS = 300_000;
const MOST_SHOWN_BYTES = 200;

/** A pod template as its object has it. */
export interface WrittenTemplate {
  readonly namespace: string;
  readonly name: string;
  readonly metadata: MetadataJson | undefined;
  readonly spec: PodSpecJson | undefined;
}

/** `refused`: why the template counts as it is written. */
export type AdmittedPod = { readonly shape: PodShape } | { readonly refused: string };

interface Known {
  readonly template: string;
  readonly pod: AdmittedPod | undefined;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

interface PodDryRunsDeps {
  readonly rest: Pick<Rest, 'json'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly shapes: Shapes;
}

/** Holds the answers. */
export class PodDryRuns {
  readonly #deps: PodDryRunsDeps;
  readonly #known = new Map<string, Known>();
  readonly #running = new Set<string>();
  #signal: AbortSignal | undefined;
  /** Grows with each new answer. */
  version = 0;

  constructor(deps: PodDryRunsDeps) {
    this.#deps = deps;
  }

  /** Nothing is asked before. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** What is known of the template, and asks if nothing is, or if the answer is old. undefined: not known yet. */
  lookUp(key: string, template: WrittenTemplate): AdmittedPod | undefined {
    const text = hash('sha256', JSON.stringify(template), 'base64');
    const known = this.#known.get(key);
    const isSame = known?.template === text;
    if ((!isSame || this.#deps.clock.monotonic() >= known.untilMs) && !this.#running.has(key)) this.#ask(key, text, template);
    return isSame ? known.pod : undefined;
  }

  /** Drops the answers for other templates. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }

  #ask(key: string, text: string, template: WrittenTemplate): void {
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    this.#running.add(key);
    void this.#answer(template, signal)
      .then((pod) => this.#take(key, text, pod))
      .finally(() => this.#running.delete(key));
  }

  #take(key: string, text: string, pod: AdmittedPod | undefined): void {
    const before = this.#known.get(key)?.pod;
    if (pod === undefined) return;
    const isRefused = 'refused' in pod;
    this.#known.set(key, {
      template: text,
      pod,
      untilMs: this.#deps.clock.monotonic() + (isRefused ? REFUSED_FOR_MS : ADMITTED_FOR_MS),
    });
    this.version += 1;
    const isNew = isRefused && (before === undefined || !('refused' in before) || before.refused !== pod.refused);
    if (isNew) this.#deps.log.warn({ template: key, reason: pod.refused }, 'Dry run of a pod failed; its template counts as it is written');
  }

  /** Never rejects. undefined: the process ends. */
  async #answer({ namespace, name, metadata, spec }: WrittenTemplate, signal: AbortSignal): Promise<AdmittedPod | undefined> {
    const { labels, annotations } = (metadata ?? {}) as { readonly labels?: object; readonly annotations?: object };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: `${name}-`, namespace, labels, annotations }, spec };
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
    try {
      // guard: the pod of a dry run is never created
      const query = { dryRun: 'All' };
      const admitted = (await this.#deps.rest.json({ method: 'POST', path, query, body, operation: 'pod-dry-run' }, signal)) as PodJson;
      const given = admitted.metadata?.labels;
      const of = { namespace, ...(given === undefined ? {} : { labels: given }) };
      return { shape: this.#deps.shapes.of({ metadata: of, spec: admitted.spec ?? {} }) };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      return error.kind === 'cancelled' ? undefined : { refused: shownText(error.message, MOST_SHOWN_BYTES) };
    }
  }
}

/**
 * Templates of buffers and of copied workloads, as the API server admits their pods. A template without an answer counts as it is written.
 * Must not know what a template is used for.
 */
import type { CapacityObjects, PodTemplate, ScalableWorkload } from '../../domain/capacity-objects.ts';
import { workloadKey } from '../../domain/capacity-objects.ts';
import type { MetadataJson, ObjectJson, PodSpecJson } from '../api/core-json.ts';
import type { PodDryRuns, WrittenTemplate } from '../writes/pod-dry-runs.ts';

interface TemplateJson {
  readonly metadata?: MetadataJson;
  readonly spec?: PodSpecJson;
}

type TemplateOwner = ObjectJson & { readonly template?: TemplateJson; readonly spec?: { readonly template?: TemplateJson } };

export class AdmittedTemplates {
  readonly #dryRuns: PodDryRuns;
  readonly #copies: readonly string[];
  readonly #written = new Map<string, WrittenTemplate>();
  #last: { readonly of: CapacityObjects; readonly version: number; readonly applied: CapacityObjects } | undefined;

  /** `copies`: keys of workloads that are used without an object. */
  constructor(dryRuns: PodDryRuns, copies: readonly string[]) {
    this.#dryRuns = dryRuns;
    this.#copies = copies;
  }

  start(signal: AbortSignal): void {
    this.#dryRuns.start(signal);
  }

  /** Keeps what the API object says of its pods: the projection drops it. */
  note(key: string, { namespace, name }: Pick<PodTemplate, 'namespace' | 'name'>, json: TemplateOwner): void {
    const { metadata, spec } = json.template ?? json.spec?.template ?? {};
    this.#written.set(key, { namespace, name, metadata, spec });
  }

  /** The objects with what is known by now. The same value as long as nothing is new. */
  applied(objects: CapacityObjects): CapacityObjects {
    const used = this.#used(objects);
    const answers = new Map(used.map((key) => [key, this.#answer(key, objects)]));
    const { version } = this.#dryRuns;
    if (this.#last?.of === objects && this.#last.version === version) return this.#last.applied;
    this.#forget(objects, used);
    const { podTemplates, scalables } = objects;
    const next: CapacityObjects = {
      ...objects,
      podTemplates: podTemplates && withAnswers(podTemplates, answers),
      scalables: scalables && withAnswers(scalables, answers),
    };
    this.#last = { of: objects, version, applied: next };
    return next;
  }

  #used({ buffers }: CapacityObjects): readonly string[] {
    const named = buffers.flatMap(({ ref: { namespace }, podTemplate, scalable }) => [
      ...(podTemplate === undefined ? [] : [`${namespace}/${podTemplate}`]),
      ...(scalable === undefined ? [] : [workloadKey({ ...scalable, namespace })]),
    ]);
    return [...new Set([...this.#copies, ...named])];
  }

  #answer(key: string, { podTemplates, scalables }: CapacityObjects) {
    const template = podTemplates?.has(key) === true || scalables?.has(key) === true ? this.#written.get(key) : undefined;
    return template === undefined ? undefined : this.#dryRuns.lookUp(key, template);
  }

  #forget({ podTemplates, scalables }: CapacityObjects, used: readonly string[]): void {
    for (const key of this.#written.keys()) if (podTemplates?.has(key) !== true && scalables?.has(key) !== true) this.#written.delete(key);
    this.#dryRuns.keep(new Set(used));
  }
}

type Answers = ReadonlyMap<string, ReturnType<PodDryRuns['lookUp']>>;

function withAnswers<Item extends PodTemplate | ScalableWorkload>(
  items: ReadonlyMap<string, Item>,
  answers: Answers,
): ReadonlyMap<string, Item> {
  const next = new Map(items);
  for (const [key, answer] of answers) {
    const item = items.get(key);
    if (item === undefined || answer === undefined) continue;
    next.set(key, 'shape' in answer ? { ...item, shape: answer.shape, admitted: true } : { ...item, notAdmitted: answer.refused });
  }
  return next;
}

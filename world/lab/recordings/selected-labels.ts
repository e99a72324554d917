/** The labels of pods that selectors read. The others are not recorded: most are names, and many differ from pod to pod. */
import type { LoadPod } from '../loads/load.ts';
import type { ObservedBudget } from './observed.ts';

export class SelectedLabels {
  readonly #keys = new Set<string>();
  readonly #known = new WeakSet<LoadPod>();
  /** Reduced templates, until the next key. */
  #reduced = new WeakMap<LoadPod, LoadPod>();

  /** Takes the keys of its affinity and its spread constraints. */
  learn(pod: LoadPod): void {
    if (this.#known.has(pod)) return;
    this.#known.add(pod);
    const before = this.#keys.size;
    this.#take(pod.affinity);
    this.#take(pod.topologySpreadConstraints);
    if (this.#keys.size !== before) this.#reduced = new WeakMap();
  }

  learnBudget({ matchLabels = {} }: ObservedBudget): void {
    const before = this.#keys.size;
    for (const key of Object.keys(matchLabels)) this.#keys.add(key);
    if (this.#keys.size !== before) this.#reduced = new WeakMap();
  }

  /** The template with the labels that are read. */
  reduce(pod: LoadPod): LoadPod {
    const known = this.#reduced.get(pod);
    if (known !== undefined) return known;
    const { labels = {}, ...rest } = pod;
    const selected = Object.entries(labels).filter(([key]) => this.#keys.has(key));
    const reduced = selected.length === 0 ? rest : { labels: Object.fromEntries(selected), ...rest };
    this.#reduced.set(pod, reduced);
    return reduced;
  }

  #take(value: unknown, field = ''): void {
    if (Array.isArray(value)) {
      for (const each of value as readonly unknown[]) this.#take(each, field);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, part] of Object.entries(value)) {
        if (name === 'matchLabels') for (const key of Object.keys(part as object)) this.#keys.add(key);
        else this.#take(part, name);
      }
    } else if (typeof value === 'string' && (field === 'key' || field === 'matchLabelKeys' || field === 'mismatchLabelKeys')) {
      this.#keys.add(value);
    }
  }
}

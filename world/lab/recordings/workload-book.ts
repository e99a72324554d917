/** Gives each workload its id, and describes it once. Must not know how many of its pods are wanted. */
import type { RecordingLine } from '../loads/recording-lines.ts';
import type { LoadPod, Workload } from '../loads/load.ts';
import type { NameHasher } from './name-hasher.ts';
import type { ObservedBudget } from './observed.ts';
import { SelectedLabels } from './selected-labels.ts';

type Kind = Workload['kind'];

interface Described {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly pod: LoadPod;
}

export class WorkloadBook {
  readonly #hasher: NameHasher | undefined;
  readonly #labels = new SelectedLabels();
  readonly #budgets = new Map<string, ObservedBudget>();
  readonly #ids = new Map<string, string>();
  #lines: RecordingLine[] = [];

  constructor(hasher: NameHasher | undefined, known: readonly Workload[] = []) {
    this.#hasher = hasher;
    for (const workload of known) this.#ids.set(keyOf(workload), workload.id);
  }

  get size(): number {
    return this.#ids.size;
  }

  /** Descriptions that are new. They stand before the first event that names them. */
  take(): readonly RecordingLine[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  learn(pod: LoadPod): void {
    this.#labels.learn(pod);
  }

  setBudget(budget: ObservedBudget): void {
    this.#budgets.set(`${budget.namespace}/${budget.name}`, budget);
    this.#labels.learnBudget(budget);
  }

  removeBudget({ namespace, name }: ObservedBudget): void {
    this.#budgets.delete(`${namespace}/${name}`);
  }

  /** As it is written. */
  template(pod: LoadPod): LoadPod {
    const reduced = this.#labels.reduce(pod);
    return this.#hasher === undefined ? reduced : this.#hasher.pod(reduced);
  }

  /** Runs of one template are one workload, whatever their names: CI systems name each one differently. */
  idOf({ kind, namespace, name, pod }: Described): string {
    const plain = { id: '', kind, namespace, name, pod: this.#labels.reduce(pod), ...this.#budgetOf(namespace, pod) };
    const workload = this.#hasher === undefined ? plain : this.#hasher.workload(plain);
    const key = keyOf(workload);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = `w${this.#ids.size + 1}`;
    this.#ids.set(key, id);
    this.#lines.push({ kind: 'workload', workload: { ...workload, id } });
    return id;
  }

  #budgetOf(namespace: string, { labels = {} }: LoadPod): Pick<Workload, 'budget'> {
    for (const { namespace: where, matchLabels, budget } of this.#budgets.values()) {
      const matches = matchLabels !== undefined && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
      if (where === namespace && matches) return { budget };
    }
    return {};
  }
}

function keyOf({ kind, namespace, name, pod }: Omit<Workload, 'id'>): string {
  const isRun = kind === 'Job' || kind === 'Pod';
  return JSON.stringify([kind, namespace, isRun ? pod : name]);
}

/**
 * Jobs of one pod each, which the small cluster has no controller for: a pod that is lost before its end is replaced and begins again
 * from zero, and a pod that ended is removed with its Job at once (`ttlSecondsAfterFinished: 0`).
 */
import type { SimClock } from '../../simulator/base/sim-clock.ts';
import type { SimCluster } from '../../simulator/cluster/cluster.ts';
import { FINISH_SECONDS_ANNOTATION } from '../../simulator/cluster/controllers/kubelet-pods.ts';
import type { KubeObject, PodObject, PodTemplate } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';
import type { Workload } from '../loads/load.ts';
import { ownedPod } from './owned-pods.ts';
import { jobObject, objectName, podTemplateOf } from './workload-objects.ts';

/** The Job controller waits before it replaces a lost pod. */
const REPLACE_AFTER_MS = 1_000;

interface Run {
  readonly job: KubeObject;
  readonly template: PodTemplate;
  hasRun: boolean;
}

export class JobRuns {
  readonly #cluster: SimCluster;
  readonly #clock: SimClock;
  /** By the uid of the present pod. */
  readonly #runs = new Map<string, Run>();
  #serial = 0;
  #finished = 0;
  #interrupted = 0;

  constructor(cluster: SimCluster, clock: SimClock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** Runs that reached their end, and pods that ran and were lost before. */
  get counts(): { readonly finished: number; readonly interrupted: number } {
    return { finished: this.#finished, interrupted: this.#interrupted };
  }

  start(workload: Workload, runMs: number, count: number): void {
    const template = podTemplateOf(workload, { [FINISH_SECONDS_ANNOTATION]: String(runMs / 1_000) });
    const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
    for (let at = 0; at < count; at++) {
      const job = this.#cluster.apply(jobObject(workload, `${objectName(workload)}-${++this.#serial}`, once));
      this.#begin({ job, template: once, hasRun: false });
    }
  }

  /** Call it for every change of a pod. */
  note({ type, object }: StoreChange): void {
    const pod = object as PodObject;
    const run = this.#runs.get(pod.metadata.uid);
    if (run === undefined) return;
    if (pod.status.phase === 'Running') run.hasRun = true;
    const isOver = pod.status.phase === 'Succeeded';
    if (!isOver && type !== 'DELETED' && pod.metadata.deletionTimestamp === undefined) return;
    this.#runs.delete(pod.metadata.uid);
    if (isOver) this.#end(run, pod);
    else this.#lose(run);
  }

  #begin(run: Run): void {
    const pod = this.#cluster.apply(ownedPod(run.job, run.template, {}));
    this.#runs.set(pod.metadata.uid, run);
  }

  #end({ job }: Run, pod: PodObject): void {
    this.#finished++;
    // The store must finish this change before the next one.
    this.#clock.after(0, () => {
      this.#cluster.remove(pod);
      this.#cluster.remove(job);
    });
  }

  #lose(run: Run): void {
    if (run.hasRun) this.#interrupted++;
    this.#clock.after(REPLACE_AFTER_MS, () => this.#begin({ ...run, hasRun: false }));
  }
}

/**
 * Kubernetes objects as kubectl writes them: each file is a picture of the cluster at its time. What the next picture lacks has gone
 * between the two.
 */
import { ResourceNames } from '../../../src/domain/resources.ts';
import type { ObservedNode, ObservedPod } from '../../lab/recordings/observed.ts';
import type { DisruptionBudgetJson, NodeJson, PodJson } from '../../../src/kubernetes/api/core-json.ts';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import type { WorkloadJson } from '../../../src/kubernetes/projection/workloads.ts';
import { newestTime } from '../../../src/tools/plan/files/newest-time.ts';
import type { FileObject } from '../../../src/tools/plan/files/objects-file.ts';
import { observedNode } from './seen-node.ts';
import { AutoscalerEvents, lastTimeOf, type EventJson } from './faults/autoscaler-events.ts';
import { limitsIn, type StatusJson } from './faults/autoscaler-status.ts';
import type { PodReader } from './seen-pod.ts';
import type { Step } from './timeline.ts';
import { observedBudget, wantedReplicas } from './watched-load.ts';

/** The objects of one file. */
export class DumpPicture {
  /** Of the newest object: nodes report every five minutes. */
  atMs = 0;
  readonly pods = new Map<string, ObservedPod>();
  readonly nodes = new Map<string, ObservedNode>();
  /** Kinds that the file has at least one of. */
  readonly kinds = new Set<string>();
  readonly #others: Step['apply'][] = [];
  readonly #events: EventJson[] = [];
  readonly #reader: PodReader;
  readonly #names = createNodeProjection(new ResourceNames());

  constructor(reader: PodReader) {
    this.#reader = reader;
  }

  add(object: FileObject): void {
    this.kinds.add(object.kind);
    this.atMs = Math.max(this.atMs, newestTime(object as PodJson & NodeJson, object.kind));
    if (object.kind === 'Pod') this.#addPod(object as PodJson);
    else if (object.kind === 'Node') this.#addNode(object as NodeJson);
    else this.#addOther(object);
  }

  /** What this picture changes, after the one before that has the same kinds. */
  steps(before: { readonly pods?: DumpPicture | undefined; readonly nodes?: DumpPicture | undefined }): readonly Step[] {
    const { atMs } = this;
    const gone = [...(before.pods?.pods.keys() ?? [])].filter((uid) => !this.pods.has(uid));
    const lost = [...(before.nodes?.nodes.keys() ?? [])].filter((name) => !this.nodes.has(name));
    return [
      ...[...this.nodes.values()].map((node): Step => ({ atMs, apply: (recorder) => recorder.seeNode(node, atMs) })),
      ...lost.map((name): Step => ({ atMs, apply: (recorder) => recorder.forgetNode(name, atMs) })),
      ...this.#refusals(),
      ...this.#others.map((apply): Step => ({ atMs, apply })),
      ...[...this.pods.values()].map((pod): Step => ({ atMs, apply: (recorder) => recorder.seePod(pod, atMs) })),
      ...gone.map((uid): Step => ({ atMs, apply: (recorder) => recorder.forgetPod(uid, atMs) })),
    ];
  }

  /** At their own times, which are before that of the picture. */
  #refusals(): readonly Step[] {
    const reader = new AutoscalerEvents();
    const ordered = this.#events.toSorted((left, right) => lastTimeOf(left) - lastTimeOf(right));
    return ordered.flatMap((event) =>
      reader.read(event).map((refusal): Step => ({ atMs: refusal.atMs, apply: (recorder) => recorder.seeRefusal(refusal) })),
    );
  }

  #addPod(json: PodJson): void {
    const pod = this.#reader.read(json);
    if (pod !== undefined) this.pods.set(pod.uid, pod);
  }

  #addNode(json: NodeJson): void {
    const node = observedNode(projectNode(json, this.#names));
    this.nodes.set(node.name, node);
  }

  #addOther(object: FileObject): void {
    if (object.kind === 'Event') this.#events.push(object as EventJson);
    else if (object.kind === 'ConfigMap') this.#others.push((recorder) => recorder.setLimits(limitsIn(object as StatusJson), this.atMs));
    else if (object.kind === 'PodDisruptionBudget') {
      const budget = observedBudget(object as DisruptionBudgetJson);
      this.#others.push((recorder) => recorder.setBudget(budget));
    } else if (object.kind === 'Deployment' || object.kind === 'StatefulSet') {
      const wanted = wantedReplicas(object.kind, object as WorkloadJson);
      this.#others.push((recorder) => recorder.setReplicas(wanted, this.atMs));
    }
  }
}

/** Pictures in any order; those without pods or nodes do not change these. */
export function stepsOf(pictures: readonly DumpPicture[]): readonly Step[] {
  const ordered = pictures.toSorted((left, right) => left.atMs - right.atMs);
  return ordered.flatMap((picture, index) => {
    const earlier = ordered.slice(0, index);
    return picture.steps({
      pods: picture.kinds.has('Pod') ? earlier.findLast(({ kinds }) => kinds.has('Pod')) : undefined,
      nodes: picture.kinds.has('Node') ? earlier.findLast(({ kinds }) => kinds.has('Node')) : undefined,
    });
  });
}

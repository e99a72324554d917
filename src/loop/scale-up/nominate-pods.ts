/**
 * Nominates pods for nodes that have joined and take no pods yet, so that kube-scheduler counts them there for pods of lower or equal priority
 * (v1.37.2, `pkg/scheduler/framework/runtime/framework.go`: `RunFilterPluginsWithNominatedPods`). It remembers nothing: each loop compares the plan
 * with what the pods show. Must not know how a plan is made.
 */
import { podName, type NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { nominatedNode } from '../../planning/state/assumed-pods.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';

/** kube-scheduler writes as many statuses when it refuses these pods. The other pods have their turn in the next loop. */
const MOST_PER_LOOP = 200;
/** A ready node with room takes its pod within this time. After it, a nomination only keeps other pods out. */
const BOUND_WITHIN_MS = 30_000;

interface Nomination {
  readonly pod: Pod;
  /** undefined: our nomination is withdrawn. */
  readonly node: NodeName | undefined;
}

interface NominationsInput {
  readonly plan: Pick<ScaleUpPlan, 'verdicts'>;
  readonly observation: Pick<Observation, 'cluster' | 'nowMs'>;
  readonly state: Pick<LoopState, 'deleting'>;
}

/** What the pods' statuses lack, compared with the plan. Pure. */
export function missingNominations({ plan, observation, state }: NominationsInput): readonly Nomination[] {
  const made = [...plan.verdicts].flatMap(([pod, verdict]): readonly Nomination[] => {
    const node = verdict.kind === 'fits-upcoming-node' ? verdict.node : undefined;
    return node === undefined || node === pod.nominatedNodeName || !isNominable(pod) ? [] : [{ pod, node }];
  });
  const over = observation.cluster.pendingPods.filter((pod) => isOverdue(pod, { observation, state }));
  return [...over.map((pod) => ({ pod, node: undefined })), ...made].slice(0, MOST_PER_LOOP);
}

/** Pods of a gang get their places from kube-scheduler together. Pods that exist in plans alone have no status. */
function isNominable({ unschedulable, origin, nodeName, deletionAtMs, shape }: Pod): boolean {
  const isReal = unschedulable !== undefined && origin === 'cluster';
  return isReal && nodeName === undefined && deletionAtMs === undefined && shape.gang === undefined;
}

/** Whether the pod should long run on the node, unless others are being preempted there. If kube-scheduler named the node, nothing changes. */
function isOverdue(pod: Pod, { observation, state }: Omit<NominationsInput, 'plan'>): boolean {
  const { cluster, nowMs } = observation;
  const name = nominatedNode(pod, { observation, state });
  const node = name === undefined ? undefined : cluster.nodes.get(name);
  if (name === undefined || node === undefined || nowMs - node.readiness.sinceMs < BOUND_WITHIN_MS) return false;
  return (cluster.podsByNode.get(name) ?? []).every(({ deletionAtMs }) => deletionAtMs === undefined);
}

/** Failures are logged, once per loop: the pods get their places without nominations, too. Throws only `cancelled`. */
export async function nominatePods(
  input: NominationsInput,
  { deps, over }: { readonly deps: LoopDeps; readonly over: AbortSignal },
): Promise<void> {
  const { nominator, policy, log } = deps;
  if (!policy.scaleUp.nominateNodes) return;
  const results = await Promise.allSettled(
    missingNominations(input).map(async ({ pod, node }) => {
      const outcome = await nominator.nominate(pod, node, over);
      if (outcome === 'written') log.debug({ pod: podName(pod), node }, node === undefined ? 'Nomination withdrawn' : 'Pod nominated');
    }),
  );
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [asAutoscalerError(result.reason)] : []));
  const cancelled = failed.find(({ kind }) => kind === 'cancelled');
  if (cancelled !== undefined) throw cancelled;
  const [first] = failed;
  if (first !== undefined)
    log.warn({ failed: failed.length, of: results.length, error: first.message }, 'Pods not nominated for their nodes');
}

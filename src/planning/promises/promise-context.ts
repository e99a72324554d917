/**
 * What one check of the promises of all groups shares.
 * Idea: broken promise.
 */
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { needOf } from '../../scheduling/predicates/resources-fit.ts';
import { withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { makeTemplate, variantsForPods, type GroupTemplate } from '../scale-up/groups/template-node.ts';
import { indexUpcomingNodes, type UpcomingNodesIndex } from '../scale-up/groups/upcoming-nodes.ts';
import { podClass } from '../state/increases/pods-of-increases.ts';

export interface PromiseInput {
  /** After the reducers of this observation. */
  readonly state: LoopState;
  /** The state before them: pods of an increase that is forgotten now are checked once more. */
  readonly before: Pick<LoopState, 'increases'>;
  /** With the templates as the cloud has them. */
  readonly observation: Observation;
  readonly policy: Policy;
  readonly names: ResourceNames;
}

export interface PromiseContext extends PromiseInput {
  readonly index: UpcomingNodesIndex;
  /** The shapes of pending pods, by class. */
  readonly pending: ReadonlyMap<string, PodShape>;
}

export function makePromiseContext(input: PromiseInput): PromiseContext {
  return { ...input, index: indexUpcomingNodes(input), pending: pendingShapes(input.observation) };
}

function pendingShapes({ cluster }: Observation): ReadonlyMap<string, PodShape> {
  const shapes = new Set(cluster.pendingPods.filter(({ daemonSet }) => !daemonSet).map(({ shape }) => shape));
  return new Map([...shapes].map((shape) => [podClass(shape), shape]));
}

/** The group's template as the cloud has it. */
export function templateOf(group: NodeGroup, { observation: { cluster }, names }: PromiseContext): GroupTemplate | undefined {
  if (group.template === undefined) return undefined;
  return makeTemplate(group, withAttachLimits(group.template, names), cluster, new Set());
}

/** As {@link variantsForPods}, for one pod. */
export function variantsForShape(shape: PodShape, template: GroupTemplate): number {
  return variantsForPods({ key: '', shape, need: needOf(shape.requests), interdependent: false, countable: true, pods: [] }, template);
}

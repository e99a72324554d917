import type { ScaleUpPlan } from '../domain/plan.ts';

/** The Cluster Autoscaler remembers so many different pods of one controller; from the next on it counts an overflow. */
const REMEMBERED_SHAPES = 10;

/**
 * Controllers with more different pods that nothing can help than the Cluster Autoscaler would remember. Here they are
 * grouped all the same; the number tells who makes pods of ever new shapes.
 */
export function overflowingControllers(plan: ScaleUpPlan): number {
  const shapes = new Map<string, Set<string>>();
  for (const [{ controller, shape, injected }, { kind }] of plan.verdicts) {
    if (injected === true || controller === undefined || (kind !== 'helpless' && kind !== 'waiting')) continue;
    const known = shapes.get(controller.uid);
    if (known === undefined) shapes.set(controller.uid, new Set([shape.key]));
    else known.add(shape.key);
  }
  return [...shapes.values()].filter((keys) => keys.size > REMEMBERED_SHAPES).length;
}

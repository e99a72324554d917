/** What this version cannot judge is refused by name: a wrong guess would buy nodes or move pods to nowhere. */
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';

export function refusedAsUnsupported(shape: Pick<PodShape, 'unsupported'>): readonly FitReason[] {
  return shape.unsupported.map(({ feature, detail }) => ({ kind: 'unsupported', feature, detail }));
}

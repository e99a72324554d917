/** Writes the annotation that says why a node is not removed: the whole node as it was read, so that no change of others is lost. */
import { asAutoscalerError } from '../../lib/errors.ts';
import { type NodeAnnotator, UNREMOVABLE_ANNOTATION } from '../../domain/ports/cluster-writes.ts';
import type { NodeJson } from '../api/core-json.ts';
import type { Rest } from '../api/rest.ts';

export function createNodeAnnotator(rest: Pick<Rest, 'json'>): NodeAnnotator {
  return {
    annotate: async (node, value, signal) => {
      const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
      try {
        const present = (await rest.json({ method: 'GET', path }, signal)) as NodeJson;
        const { [UNREMOVABLE_ANNOTATION]: before, ...others } = present.metadata?.annotations ?? {};
        if (before === value) return;
        const annotations = value === undefined ? others : { ...others, [UNREMOVABLE_ANNOTATION]: value };
        const body = { ...present, metadata: { ...present.metadata, annotations } };
        await rest.json({ method: 'PUT', path, body, operation: 'annotate', ignoresAnswer: true }, signal);
      } catch (thrown) {
        if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
      }
    },
  };
}

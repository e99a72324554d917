/** When what a snapshot has learnt is dropped: weeks of churn must leave nothing behind that only grows. */
import type { ClusterView } from '../domain/observation.ts';
import type { ShapeTable } from './shape-table.ts';
import type { TopologyLedger } from './topology-ledger.ts';

/** Beyond these, what was learnt about shapes and terms that may be long gone is dropped at the next sync. */
const MAX_SHAPES = 50_000;
const MAX_COUNTERS = 5_000;
/** Host names are topology values: every counter has a place for each that ever was, so those of old nodes must go in the end. */
const SPARE_DOMAINS = 10_000;

/** Namespaces' labels are baked into what the terms matched; and nothing learnt is kept for ever. */
export function mustForget(
  {
    shapes,
    ledger,
    namespaces,
  }: { readonly shapes: ShapeTable; readonly ledger: TopologyLedger; readonly namespaces: ClusterView['namespaces'] },
  cluster: ClusterView,
): boolean {
  if (shapes.size > MAX_SHAPES || ledger.size > MAX_COUNTERS) return true;
  if (ledger.domains > SPARE_DOMAINS + 2 * cluster.nodes.size) return true;
  return ledger.size > 0 && !sameNamespaces(namespaces, cluster.namespaces);
}

function sameNamespaces(left: ClusterView['namespaces'], right: ClusterView['namespaces']): boolean {
  if (left === right) return true;
  if (left.size !== right.size) return false;
  for (const [name, labels] of left) {
    const other = right.get(name);
    if (other !== labels && (other === undefined || JSON.stringify(other) !== JSON.stringify(labels))) return false;
  }
  return true;
}

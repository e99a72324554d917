/** Which region a file speaks of: pools may name a zone by its number alone, and nodes, volumes and pods name it with its region. */
import type { VolumeObjectJson, StorageClassJson } from '../../adapters/kubernetes/api-json.ts';
import type { FileObject } from '../../config/objects-file.ts';
import type { PoolSpec } from '../../config/pools-file.ts';
import type { ClusterView } from '../../domain/observation.ts';
import { AZURE_DISK_ZONE, ZONE_LABELS } from '../../domain/volumes.ts';

const ZONE_KEYS: ReadonlySet<string> = new Set([...ZONE_LABELS.filter((key) => key.endsWith('/zone')), AZURE_DISK_ZONE]);

/** Nodes know it; else what pools, volumes and storage classes agree on. Empty: nothing says it. */
export function regionOf({ nodes }: ClusterView, pools: readonly PoolSpec[], objects: readonly FileObject[]): string {
  const labels = [...nodes.values()].map((node) => node.labels);
  const stated = labels.map((each) => each['topology.kubernetes.io/region']).find((region) => region !== undefined);
  if (stated !== undefined) return stated;
  const ofNodes = labels.map((each) => each['topology.kubernetes.io/zone'] ?? '');
  return agreed(ofNodes) ?? agreed(pools.flatMap(({ zones }) => zones)) ?? agreed(objects.flatMap(zonesIn)) ?? '';
}

/** undefined: none names a region, or two name different ones. */
function agreed(zones: readonly string[]): string | undefined {
  const regions = new Set(zones.flatMap((zone) => /^([a-z][a-z0-9]*)-\d+$/i.exec(zone)?.[1] ?? []));
  return regions.size === 1 ? [...regions][0] : undefined;
}

function zonesIn(object: FileObject): readonly string[] {
  if (object.kind === 'PersistentVolume') return zonesOfVolume(object as VolumeObjectJson);
  if (object.kind !== 'StorageClass') return [];
  const { allowedTopologies = [] } = object as StorageClassJson;
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }) => valuesOfZones(matchLabelExpressions));
}

function zonesOfVolume({ metadata = {}, spec = {} }: VolumeObjectJson): readonly string[] {
  const labels = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => (ZONE_KEYS.has(key) ? value.split('__') : []));
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return [...labels, ...terms.flatMap(({ matchExpressions = [] }) => valuesOfZones(matchExpressions))];
}

interface Expression {
  readonly key?: string;
  readonly values?: readonly string[];
}

function valuesOfZones(expressions: readonly Expression[]): readonly string[] {
  return expressions.flatMap(({ key = '', values = [] }) => (ZONE_KEYS.has(key) ? values : []));
}

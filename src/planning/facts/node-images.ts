/**
 * Which nodes have an older image than their group has: they will be drained and replaced anyway, so they are removed first. Images are compared
 * only within one line of images, by the version at their end.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';

/** Set by AKS, for example `AKSUbuntu-2204gen2containerd-202410.15.0` or `AKSWindows-2022-containerd-20348.2762.241009`. */
export const NODE_IMAGE_LABEL = 'kubernetes.azure.com/node-image-version';

interface ImageVersion {
  /** What precedes the version: the system and its generation. */
  readonly line: string;
  readonly numbers: readonly number[];
}

/** undefined: the image does not end in a version. */
function parseImage(image: string): ImageVersion | undefined {
  const [, line, version] = /^(.{1,200})-(\d{1,9}(?:\.\d{1,9}){1,4})$/.exec(image) ?? [];
  return line === undefined || version === undefined ? undefined : { line, numbers: version.split('.').map(Number) };
}

/** Whether both images are of one line, and the first is the older one. */
export function isOlderImage(image: string, other: string): boolean {
  if (image === other) return false;
  const [left, right] = [parseImage(image), parseImage(other)];
  if (left === undefined || right === undefined || left.line !== right.line) return false;
  const at = left.numbers.findIndex((number, index) => number !== right.numbers[index]);
  return at >= 0 && (left.numbers[at] ?? 0) < (right.numbers[at] ?? 0);
}

/**
 * The nodes with an older image than another node of their group, or than AKS has for the pool. An upgrade that was stopped leaves both: then
 * AKS still has the old one.
 */
export function nodesWithOldImage({ cluster, cloud }: Pick<Observation, 'cluster' | 'cloud'>): ReadonlySet<NodeName> {
  const images = new Map<NodeGroupId, Set<string>>();
  for (const { id, agentPool } of cloud.groups) images.set(id, new Set(agentPool?.nodeImage === undefined ? [] : [agentPool.nodeImage]));
  const imageOf = (name: NodeName): string | undefined => cluster.nodes.get(name)?.labels[NODE_IMAGE_LABEL];
  for (const [name, group] of cloud.groupOfNode) {
    const image = imageOf(name);
    if (image !== undefined) images.get(group)?.add(image);
  }
  const mixed = new Map([...images].filter(([, seen]) => seen.size > 1));
  const old = new Set<NodeName>();
  if (mixed.size === 0) return old;
  for (const [name, group] of cloud.groupOfNode) {
    const image = imageOf(name);
    const others = mixed.get(group);
    if (image !== undefined && others !== undefined && [...others].some((other) => isOlderImage(image, other))) old.add(name);
  }
  return old;
}

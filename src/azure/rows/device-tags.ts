/**
 * Devices that tags of a scale set declare for its nodes: `..._node-template_devices_DRIVER` with JSON such as
 * `{"count": 4, "attributes": {"type": "gpu"}}`. The name is ours: the Cluster Autoscaler has no such tag. Pure.
 */
import { readDeclaredDevices } from '../../domain/declared-devices.ts';
import type { DevicePool } from '../../domain/devices.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import { compareBy } from '../../lib/comparison.ts';

const DEVICES = 'k8s.io_cluster-autoscaler_node-template_devices_';

type Texts = Readonly<Record<string, string>>;

interface DeviceTags {
  /** Absent if no tag declares any. The same object while the tags are. */
  readonly devices?: readonly DevicePool[];
  /** The tags that cannot be read, one sentence each. */
  readonly problems: readonly string[];
}

const read = new WeakMap<Texts, DeviceTags>();

/** An unreadable tag declares nothing. */
export function deviceTagsOf(tags: Texts): DeviceTags {
  const known = read.get(tags);
  if (known !== undefined) return known;
  const pools: DevicePool[] = [];
  const problems: string[] = [];
  for (const [key, text] of Object.entries(tags)) {
    if (!key.toLowerCase().startsWith(DEVICES) || key.length === DEVICES.length) continue;
    const written = jsonOf(text);
    const found = readDeclaredDevices(written, key.slice(DEVICES.length));
    if (found.ok) pools.push(...found.pools);
    else
      problems.push(
        `tag ${key}: ${written === undefined ? 'it is not JSON' : found.problem}; it must be such as {"count": 4, "attributes": {"type": "gpu"}}.`,
      );
  }
  const devices = pools.sort(compareBy(({ driver }) => driver));
  const made = { ...(devices.length === 0 ? {} : { devices }), problems };
  read.set(tags, made);
  return made;
}

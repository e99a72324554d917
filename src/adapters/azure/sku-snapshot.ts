/**
 * The catalogue of VM sizes as text, for keeping it longer than a process lives. Sizes change over months; nothing that
 * changes faster has a place here: what a snapshot says is never a size of a group or a reason to remove a machine.
 */
import { isRecord, jsonOf } from './arm-body.ts';
import { versionOf, type Sku, type SkuCatalog } from './skus.ts';

/** Grows when the meaning of a field changes; what has another number is not read. */
const SCHEMA = 1;

/** Restrictions differ between subscriptions, so a catalogue is good for one of them and one region. */
export interface SkuScope {
  readonly subscriptionId: string;
  readonly location: string;
}

/** Expected: a file of an older program, of another region, or half written. */
export type SnapshotReading = { readonly ok: true; readonly catalog: SkuCatalog } | { readonly ok: false; readonly reason: string };

export function writeSnapshot({ observedAtMs, version, byName }: SkuCatalog, scope: SkuScope): string {
  return JSON.stringify({ schema: SCHEMA, ...fold(scope), observedAtMs, version, skus: [...byName.values()] });
}

export function readSnapshot(text: string, scope: SkuScope): SnapshotReading {
  const raw = jsonOf(text);
  const bad = (reason: string): SnapshotReading => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { subscriptionId, location } = fold(scope);
  if (raw['location'] !== location) return bad(`it is of region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['subscriptionId'] !== subscriptionId) return bad('it is of another subscription');
  const { observedAtMs, skus } = raw;
  if (typeof observedAtMs !== 'number' || !Array.isArray(skus)) return bad('a part of it is missing');
  const readable: unknown[] = skus;
  const sizes = readable.filter(isSku);
  const version = versionOf(sizes);
  if (sizes.length !== readable.length || version !== raw['version']) return bad('its content does not match its hash');
  return { ok: true, catalog: { observedAtMs, version, byName: new Map(sizes.map((sku) => [sku.name.toLowerCase(), sku])) } };
}

/** Enough to be used without harm: the hash says that the rest is as it was written. */
function isSku(value: unknown): value is Sku {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    [value['vcpus'], value['quotaVcpus'], value['memoryBytes'], value['gpus']].every((number) => typeof number === 'number') &&
    Array.isArray(value['zones'])
  );
}

function fold({ subscriptionId, location }: SkuScope): SkuScope {
  return { subscriptionId: subscriptionId.toLowerCase(), location: location.replaceAll(' ', '').toLowerCase() };
}

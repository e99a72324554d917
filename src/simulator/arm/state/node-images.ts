/** Versions of the image that nodes boot from. AKS releases one a week (learn.microsoft.com, "Upgrade node images"). */
import { pickText } from '../http/json.ts';
import type { ArmWorld } from './arm-state.ts';

const SERIES = 'AKSUbuntu-2204gen2containerd';
const DAY_MS = 86_400_000;

/** That of pools which were not upgraded. */
export const FIRST_NODE_IMAGE = `${SERIES}-202601.01.0`;

/** The image of the last Monday. */
export function latestNodeImage(nowMs: number): string {
  const sinceMonday = (new Date(nowMs).getUTCDay() + 6) % 7;
  const [year = '', month = '', day = ''] = new Date(nowMs - sinceMonday * DAY_MS).toISOString().slice(0, 10).split('-');
  return `${SERIES}-${year}${month}.${day}.0`;
}

/** The image of the pool's new VMs. */
export function nodeImageOf({ agentPools }: ArmWorld, pool: string): string {
  return pickText(agentPools.get(pool.toLowerCase())?.properties ?? {}, 'nodeImageVersion') ?? FIRST_NODE_IMAGE;
}

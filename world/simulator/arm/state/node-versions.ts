/**
 * What nodes run: the image that they boot from, and Kubernetes. AKS releases one image a week (learn.microsoft.com, "Upgrade node images"). The Kubernetes
 * versions are those that this region has.
 */
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
export function nodeImageOf({ agentPools }: Pick<ArmWorld, 'agentPools'>, pool: string): string {
  return pickText(agentPools.get(pool.toLowerCase())?.properties ?? {}, 'nodeImageVersion') ?? FIRST_NODE_IMAGE;
}

/** The Kubernetes versions of the region, oldest first. */
export const KUBERNETES_VERSIONS: readonly string[] = ['1.31.9', '1.32.6', '1.33.2', '1.33.4', '1.34.1', '1.34.3', '1.35.1'];
export const FIRST_KUBERNETES_VERSION = '1.33.2';

/** The Kubernetes version of the pool's new VMs. */
export function kubernetesVersionOf({ agentPools }: Pick<ArmWorld, 'agentPools'>, pool: string): string {
  return pickText(agentPools.get(pool.toLowerCase())?.properties ?? {}, 'currentOrchestratorVersion') ?? FIRST_KUBERNETES_VERSION;
}

export function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** The version that a client means. A minor version means its newest patch. undefined: the region does not have it. */
export function resolveVersion(given: string): string | undefined {
  return /^\d+\.\d+$/.test(given)
    ? KUBERNETES_VERSIONS.findLast((version) => minorOf(version) === given)
    : KUBERNETES_VERSIONS.find((version) => version === given);
}

/** Negative if the left version is older. */
export function compareVersions(left: string, right: string): number {
  const [ours, theirs] = [left, right].map((version) => version.split('.').map(Number));
  const at = [0, 1, 2].find((index) => (ours?.[index] ?? 0) !== (theirs?.[index] ?? 0)) ?? 0;
  return (ours?.[at] ?? 0) - (theirs?.[at] ?? 0);
}

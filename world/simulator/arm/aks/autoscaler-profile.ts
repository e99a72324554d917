/**
 * `autoScalerProfile` of the managed cluster: the settings of AKS's own autoscaler with the defaults that AKS publishes
 * (ManagedClusterPropertiesAutoScalerProfile of the Microsoft.ContainerService REST reference). All but three values are texts.
 */
import { isJsonObject, pick, type Json, type JsonObject } from '../http/json.ts';
import type { ArmWorld } from '../state/arm-state.ts';

export const PUBLISHED_PROFILE: JsonObject = {
  'balance-similar-node-groups': 'false',
  'daemonset-eviction-for-empty-nodes': false,
  'daemonset-eviction-for-occupied-nodes': true,
  expander: 'random',
  'ignore-daemonsets-utilization': false,
  'max-empty-bulk-delete': '10',
  'max-graceful-termination-sec': '600',
  'max-node-provision-time': '15m',
  'max-total-unready-percentage': '45',
  'new-pod-scale-up-delay': '0s',
  'ok-total-unready-count': '3',
  'scale-down-delay-after-add': '10m',
  'scale-down-delay-after-delete': '10s',
  'scale-down-delay-after-failure': '3m',
  'scale-down-unneeded-time': '10m',
  'scale-down-unready-time': '20m',
  'scale-down-utilization-threshold': '0.5',
  'scan-interval': '10s',
  'skip-nodes-with-local-storage': 'true',
  'skip-nodes-with-system-pods': 'true',
};

const DURATION = /^\d+[smh]?$/;
const PATTERNS: readonly (readonly [RegExp, RegExp, string])[] = [
  [/(-time|-delay|-interval|-delay-after-(add|delete|failure))$/, DURATION, 'a whole number with the unit s, m or h'],
  [/(-delete|-sec|-percentage|-count)$/, /^\d+$/, 'a whole number'],
  [/^(balance|skip)-/, /^(true|false)$/, 'true or false'],
  [/-threshold$/, /^(0(\.\d+)?|1(\.0+)?)$/, 'a number from 0 to 1'],
];

/** What is wrong with the profile of a body; undefined if it has none, or a valid one. */
export function profileProblem(body: Json | undefined): string | undefined {
  const given = pick(body, 'properties', 'autoScalerProfile');
  for (const [key, value] of isJsonObject(given) ? Object.entries(given) : []) {
    if (!(key in PUBLISHED_PROFILE)) return `The value of parameter autoScalerProfile.${key} is invalid: there is no such setting.`;
    if (typeof value !== 'string') continue;
    const [, accepted, words] = PATTERNS.find(([name]) => name.test(key)) ?? [];
    if (accepted !== undefined && !accepted.test(value))
      return `The value of parameter autoScalerProfile.${key} is invalid: it must be ${words ?? ''}.`;
  }
  return undefined;
}

/** A PUT with a profile replaces it; settings that it leaves out, or that are null, have their defaults. */
export function takeProfile(world: ArmWorld, body: Json | undefined): void {
  const given = pick(body, 'properties', 'autoScalerProfile');
  if (!isJsonObject(given)) return;
  const set = Object.entries(given).filter(([, value]) => value !== null);
  world.autoScalerProfile = { ...PUBLISHED_PROFILE, ...Object.fromEntries(set) };
}

/** The names of keys: one prefix for each subscription, so that the rights of a user can end with it. Holds no secret. */

/** Version of the records; part of each key, so that programs of different versions do not meet. */
const FORMAT = 2;

export interface KeyScope {
  /** Begins every key. */
  readonly prefix: string;
  readonly subscriptionId: string;
  readonly location: string;
}

/** `PREFIX:SUBSCRIPTION:vN:{KIND:REGION...}`. The braces keep a key and those made from it on one server of a Redis cluster. */
export function keyOf({ prefix, subscriptionId, location }: KeyScope, kind: string, scope: readonly string[] = []): string {
  const name = [kind, location, ...scope].map(plain).join(':');
  return `${subscriptionPrefix({ prefix, subscriptionId })}v${FORMAT}:{${name}}`;
}

/** The beginning of every key of a subscription. */
export function subscriptionPrefix({ prefix, subscriptionId }: Pick<KeyScope, 'prefix' | 'subscriptionId'>): string {
  return `${prefix}:${plain(subscriptionId)}:`;
}

/** Nothing that has a meaning in a key. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9-]/g, '');
}

/** Whether the claims of a pod can be filled with the devices of a node, with which, and what they fall short of. Pure. */
import { matchOf, type AskMatch } from './device-list.ts';
import { DeviceSearch, type Asked, type Picks } from './device-search.ts';
import type { DevicesInUse } from './devices-in-use.ts';

/** undefined: the claims cannot all be filled. */
export function allocate(asked: Asked): Picks | undefined {
  const search = new DeviceSearch(asked);
  return search.find() ? search.picks : undefined;
}

/** Why kube-scheduler would give up the pod here, and not only the node; undefined: it would not. */
export function faultOf(asked: Asked): string | undefined {
  const search = new DeviceSearch(asked);
  search.find();
  return search.fault;
}

/** In numbers, which request falls short. */
export function shortfall(asked: Asked): string {
  const fault = faultOf(asked);
  if (fault !== undefined) return fault;
  for (const claim of asked.claims) {
    const { asks } = matchOf(claim, asked.list);
    for (const request of claim.requests) {
      const lacks = request.asks.map((ask) => lackOf(asks.get(ask), asked.inUse));
      if (lacks.every((lack) => lack !== undefined)) return `claim ${claim.name}, request ${request.name}: ${lacks.join('; or ')}`;
    }
  }
  return `claims ${asked.claims.map(({ name }) => name).join(', ')}: not all of the devices can be had together`;
}

function lackOf(match: AskMatch | undefined, { taken }: DevicesInUse): string | undefined {
  if (match === undefined) return 'nothing is known of it';
  const { ask, places, barred } = match;
  const failed = match.failed ?? barred.values().next().value;
  if (failed !== undefined) return failed;
  const free = ask.admin ? places.length : places.filter((place) => taken[place] === 0).length;
  const wanted = ask.count === 'all' ? Math.max(1, places.length) : ask.count;
  return free >= wanted ? undefined : `needs ${ask.count} devices, ${free} of ${places.length} that match are free`;
}

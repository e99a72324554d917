/** Guards of zones and Spot: zones stay even, an outage of a zone empties no other, and workloads keep their share of regular nodes. */
import type { GuardTable } from './guard.ts';

export const SPOT_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/scale-down/zones.test.ts',
    quick: true,
    guards: [
      'no removal leaves the zones of sibling groups less even while a sibling in a fuller zone can be removed',
      { title: 'a node that works stays while a zone of its pools is down', change: 'always' },
    ],
  },
  {
    test: 'test/planning/scale-up/groups/zone-outages.test.ts',
    quick: true,
    guards: [
      { title: 'a zone in which most nodes are unready gets no node that another zone can have', change: 'always' },
      {
        title: 'a zone that is down lets others grow only if most of their nodes work',
        row: 'nodes are',
        change: ['unready <= seen.policy.cluster.maxUnreadyShare * registered', 'true'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/groups/upcoming-nodes.test.ts',
    quick: true,
    guards: [
      'a young node whose instance was stopped is no node to come',
      { title: 'a node that starts says nothing of the drivers that the next one gets', row: 'says nothing of the drivers' },
    ],
  },
  {
    test: 'test/planning/scale-up/pods/on-demand-shares.test.ts',
    quick: true,
    guards: [
      'a share that cannot be read keeps every pod on regular nodes',
      {
        title: 'no more pods of a workload may be placed on Spot nodes than its share leaves',
        change: ['members.length - regular', 'members.length'],
      },
      { title: 'no plan places a pod of the regular share on a Spot node' },
    ],
  },
  {
    test: 'test/planning/state/eviction-waves.test.ts',
    quick: true,
    guards: [{ title: 'fewer evictions than the configured wave close nothing', change: ['count < wave', 'false'] }],
  },
  {
    test: 'test/planning/scale-down/repack/repack-search.test.ts',
    quick: true,
    guards: [
      { title: "no repack moves pods to a group that the user's order puts behind theirs" },
      { title: 'a repack requests one node of a group that may be out of stock', change: 'always' },
    ],
  },
];

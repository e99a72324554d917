import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { LoopState } from '../../../../src/domain/loop-state.ts';
import { settleScaleUpTimes } from '../../../../src/planning/state/increases/scale-up-times.ts';
import { aCluster, aGroup, aNode, anObservation, START_MS } from '../../../support/builders.ts';
import { aState } from '../../../support/state.ts';

const MINUTE = 60_000;
const [G, H] = [nodeGroupId('g'), nodeGroupId('h')];
const increase = { group: G, nodes: 2, requestedAtMs: START_MS, expectedByMs: START_MS + 15 * MINUTE };
const inFlight = new Map([[G, increase]]);

interface Row {
  readonly name: string;
  /** When the group's newest node was created. */
  readonly nodeMs?: number;
  readonly ended: boolean;
  readonly times?: LoopState['groupTimes'];
  readonly lastMs?: number;
  readonly expected: object;
}

const EARLIER = START_MS - 30 * MINUTE;

function settled({ nodeMs, ended, times, lastMs = START_MS }: Row): LoopState {
  const nodes = nodeMs === undefined ? [] : [aNode({ name: 'g-0', createdAtMs: nodeMs })];
  const state = aState({
    awaited: ended ? new Map() : inFlight,
    groupTimes: times ?? new Map([[G, { scaleUpMs: START_MS }]]),
    lastScaleUpMs: lastMs,
  });
  return settleScaleUpTimes(state, aState({ awaited: inFlight }), anObservation([aGroup({ id: 'g', target: 3 })], aCluster({ nodes })));
}

describe('the time of the last scale-up', () => {
  it.each<Row>([
    { name: 'stays while the increase is in flight', ended: false, expected: { last: START_MS, group: { scaleUpMs: START_MS } } },
    {
      name: 'stays if a node came',
      nodeMs: START_MS + MINUTE,
      ended: true,
      expected: { last: START_MS, group: { scaleUpMs: START_MS, nodeCameMs: START_MS } },
    },
    {
      name: 'is taken back if none came: nothing else was increased',
      nodeMs: START_MS - MINUTE,
      ended: true,
      expected: { last: START_MS - 60 * MINUTE, group: {} },
    },
    {
      name: 'is taken back to the last increase of the group that brought a node',
      ended: true,
      times: new Map([[G, { scaleUpMs: START_MS, nodeCameMs: EARLIER }]]),
      expected: { last: EARLIER, group: { scaleUpMs: EARLIER, nodeCameMs: EARLIER } },
    },
    {
      name: 'is taken back to the increase of another group',
      ended: true,
      times: new Map([
        [G, { scaleUpMs: START_MS, scaleDownMs: 7 }],
        [H, { scaleUpMs: EARLIER, nodeCameMs: EARLIER }],
      ]),
      expected: { last: EARLIER, group: { scaleDownMs: 7 } },
    },
    {
      name: 'stays for all groups if another increase is later',
      ended: true,
      lastMs: START_MS + 1,
      expected: { last: START_MS + 1, group: {} },
    },
  ])('$name', (row) => {
    const { lastScaleUpMs: last, groupTimes } = settled(row);
    expect({ last, group: groupTimes?.get(G) }).toEqual(row.expected);
  });
});

/**
 * What each feature that is about money brings: pairs of runs that differ in one thing, on the same load. Data. Must not know how a run is made,
 * nor how its figures are compared.
 */

/** A configuration of `run`, without what a laboratory sets. */
type StudyConfig = Readonly<Record<string, unknown>>;

export interface StudySide {
  /** A generated scenario. */
  readonly scenario: string;
  readonly config: StudyConfig;
}

export interface SavingStudy {
  readonly name: string;
  /** What is turned on, for the first column. */
  readonly what: string;
  readonly without: StudySide;
  readonly with: StudySide;
}

/** Loops are less frequent than by default, so that a day takes less time; pending pods begin a loop at once. */
const COMMON: StudyConfig = { loop: { scanInterval: '30s' } };
const DECIDE: StudyConfig = { ...COMMON, scaleUp: { retailPrices: { enabled: true } } };
const WAVES: StudyConfig = { ...COMMON, scaleUp: { retailPrices: { enabled: true }, spotEvictionWave: 3 } };
const REPACKS: StudyConfig = { repack: { enabled: true } };
const MORNING = { pools: ['general'], days: 'Mon-Fri', from: '07:30', to: '19:00', min: 8 };
const EVENING = { pools: ['general', 'large'], from: '20:00', to: '05:00', max: 3 };

function pair(scenario: string, without: StudyConfig, turnedOn: StudyConfig): Pick<SavingStudy, 'without' | 'with'> {
  return { without: { scenario, config: without }, with: { scenario, config: { ...without, ...turnedOn } } };
}

export const SAVING_STUDIES: readonly SavingStudy[] = [
  { name: 'prices', what: 'prices decide', ...pair('office-week', COMMON, DECIDE) },
  { name: 'prices-batch', what: 'prices decide', ...pair('batch-nights', COMMON, DECIDE) },
  { name: 'repack', what: 'repacking', ...pair('office-week', DECIDE, REPACKS) },
  { name: 'repack-batch', what: 'repacking', ...pair('batch-nights', DECIDE, REPACKS) },
  { name: 'back-to-spot', what: 'repacking: back to Spot', ...pair('spot-gone', WAVES, REPACKS) },
  { name: 'waves', what: 'waves close a Spot size', ...pair('spot-waves', DECIDE, WAVES) },
  {
    name: 'on-demand-share',
    what: '30 % of a workload on regular nodes',
    without: { scenario: 'spot-waves', config: DECIDE },
    with: { scenario: 'spot-shares', config: DECIDE },
  },
  {
    name: 'minimum-by-day',
    what: 'a schedule: at least 8 nodes by day',
    ...pair('office-week', COMMON, { schedules: { rules: [MORNING] } }),
  },
  {
    name: 'maximum-by-night',
    what: 'a schedule: at most 3 nodes a pool by night',
    ...pair('batch-nights', COMMON, { schedules: { rules: [EVENING] } }),
  },
  {
    name: 'headroom',
    what: 'headroom: one free node',
    ...pair('ci-bursts', COMMON, { nodeGroupOptions: [{ name: 'general', headroom: { nodes: 1 } }] }),
  },
  {
    name: 'zone-balance',
    what: 'pools of zones grow evenly',
    ...pair('zone-outage', COMMON, { scaleUp: { balanceSimilarGroups: true } }),
  },
];

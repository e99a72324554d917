/**
 * What each feature that is about money brings: pairs of runs that differ in one thing, on the same load. Data. Must not know how a run is made,
 * nor how its figures are compared.
 */

/** A configuration of `run`, without what a laboratory sets. */
type StudyConfig = Readonly<Record<string, unknown>>;

export interface StudySide {
  /** A generated scenario, and the part of its first day that is played. */
  readonly scenario: string;
  readonly fromHour: number;
  readonly hours: number;
  readonly config: StudyConfig;
}

export interface SavingStudy {
  readonly name: string;
  /** What is turned on, for the first column. */
  readonly what: string;
  readonly without: StudySide;
  readonly with: StudySide;
}

const DEFAULTS: StudyConfig = {};
const DECIDE: StudyConfig = { scaleUp: { retailPrices: { enabled: true } } };
const WAVES: StudyConfig = { scaleUp: { retailPrices: { enabled: true }, spotEvictionWave: 3 } };
const REPACKS: StudyConfig = { repack: { enabled: true } };
const MORNING = { pools: ['general'], days: 'Mon-Fri', from: '07:30', to: '19:00', min: 8 };
const EVENING = { pools: ['general', 'large'], from: '20:00', to: '05:00', max: 3 };

/** Loads that say most in a part of the day. */
const PARTS: Readonly<Record<string, Pick<StudySide, 'fromHour' | 'hours'>>> = {
  'spot-waves': { fromHour: 6, hours: 12 },
  'spot-shares': { fromHour: 6, hours: 12 },
  'spot-gone': { fromHour: 6, hours: 12 },
  'ci-bursts': { fromHour: 6, hours: 12 },
  'zone-outage': { fromHour: 8, hours: 12 },
};
const WHOLE_DAY = { fromHour: 0, hours: 24 };

function side(scenario: string, config: StudyConfig): StudySide {
  return { scenario, ...(PARTS[scenario] ?? WHOLE_DAY), config };
}

function pair(scenario: string, without: StudyConfig, turnedOn: StudyConfig): Pick<SavingStudy, 'without' | 'with'> {
  return { without: side(scenario, without), with: side(scenario, { ...without, ...turnedOn }) };
}

export const SAVING_STUDIES: readonly SavingStudy[] = [
  { name: 'prices', what: 'prices decide', ...pair('office-week', DEFAULTS, DECIDE) },
  { name: 'repack', what: 'repacking', ...pair('office-week', DECIDE, REPACKS) },
  { name: 'repack-batch', what: 'repacking', ...pair('batch-nights', DECIDE, REPACKS) },
  { name: 'back-to-spot', what: 'repacking: back to Spot', ...pair('spot-gone', WAVES, REPACKS) },
  { name: 'waves', what: 'waves close a Spot size', ...pair('spot-waves', DECIDE, WAVES) },
  {
    name: 'on-demand-share',
    what: '30 % of a workload on regular nodes',
    without: side('spot-waves', DECIDE),
    with: side('spot-shares', DECIDE),
  },
  {
    name: 'minimum-by-day',
    what: 'a schedule: at least 8 nodes by day',
    ...pair('office-week', DEFAULTS, { schedules: { rules: [MORNING] } }),
  },
  {
    name: 'maximum-by-night',
    what: 'a schedule: at most 3 nodes a pool by night',
    ...pair('batch-nights', DECIDE, { schedules: { rules: [EVENING] } }),
  },
  {
    name: 'headroom',
    what: 'headroom: one free node',
    ...pair('ci-bursts', DEFAULTS, { nodeGroupOptions: [{ name: 'general', headroom: { nodes: 1 } }] }),
  },
  {
    name: 'zone-balance',
    what: 'pools of zones grow evenly',
    ...pair('zone-outage', DEFAULTS, { scaleUp: { balanceSimilarGroups: true } }),
  },
];

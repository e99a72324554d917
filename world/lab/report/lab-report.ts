/**
 * The report of a comparison: its facts, from which text, Markdown, JSON and the HTML file are made. Nothing in it depends on the
 * computer or the hour: the same scenario, policies and seeds give the same report. Must not know how runs are made.
 */
import type { Comparison } from '../judge/comparison.ts';
import type { RunResult } from '../judge/run-figures.ts';

export interface LabReport {
  readonly scenario: {
    readonly name: string;
    /** What happens in it, or the file that it is from. */
    readonly what: string;
    readonly startMs: number;
    readonly durationMs: number;
    readonly currency: string;
  };
  /** Present if programs ran in real time, which virtual time cannot replace for a binary. */
  readonly realTime?: {
    /** How many times faster than Azure the world was. The timers of the programs were not faster. */
    readonly speed: number;
    readonly minutes: number;
  };
  readonly comparison: Comparison;
  readonly runs: readonly RunResult[];
  /** Sentences about what a reader must know. */
  readonly notes: readonly string[];
}

/** The JSON document. Numbers are unrounded where the text rounds; keys do not change within a major version. */
export function jsonReport(report: LabReport): string {
  return `${JSON.stringify({ format: 'aks-autoscaler-lab', version: 1, ...report }, undefined, 2)}\n`;
}

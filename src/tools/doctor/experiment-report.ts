/** Prints the report of the experiment, for people and as JSON. It is made to be sent: it has no ids, names of resources or tokens. */
import { defined } from '../../lib/defined.ts';
import { shownText } from '../../lib/shown-text.ts';
import type { Fact } from './azure/experiment-watch.ts';

export interface ExperimentReport {
  readonly pool: { readonly name: string; readonly type: string; readonly vmSize: string } | undefined;
  readonly requests: { readonly reads: number; readonly writes: number };
  readonly facts: readonly Fact[];
  /** What would be done with `--yes`, a line each. Empty after it was done. */
  readonly plan: readonly string[];
  /** Why nothing is written. */
  readonly refused?: string | undefined;
  /** Why not everything was measured. */
  readonly failure?: string | undefined;
  /** Whether nothing that was added is left. If absent, none was added. */
  readonly removed?: boolean | undefined;
  /** Why the added node is still there. */
  readonly left?: string | undefined;
}

/** The longest text in a report, characters. */
const MAX_TEXT = 300;

/**
 * The text without what identifies a subscription: addresses, ids, the given names, and names of instances; at most 300 characters.
 * The name of the pool stays.
 */
export function maskText(text: string, secretNames: readonly string[]): string {
  const names = secretNames.filter((name) => name.length > 0).toSorted((one, other) => other.length - one.length);
  // guard: a report has no addresses, ids or names of resources
  const masked = names
    .reduce((rest, name) => rest.replace(new RegExp(escaped(name), 'gi'), '<name>'), text.replace(/https?:\/\/[^\s"',;)]+/gi, '<address>'))
    .replace(/\/subscriptions\/[^\s"',;)]+/gi, '<resource>')
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi, '<id>')
    .replace(/\baks-[\w-]*-vms?s?\w*/gi, '<instance>');
  return shownText(masked, MAX_TEXT * 2).slice(0, MAX_TEXT);
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Every text of the report, masked. */
export function maskReport(report: ExperimentReport, secretNames: readonly string[]): ExperimentReport {
  const mask = (text: string): string => maskText(text, secretNames);
  const { pool, requests, facts, plan, refused, failure, removed, left } = report;
  return {
    pool,
    requests,
    facts: facts.map((fact) => ({ ...fact, seen: mask(fact.seen) })),
    plan,
    removed,
    ...defined({
      refused: refused === undefined ? undefined : mask(refused),
      failure: failure === undefined ? undefined : mask(failure),
      left: left === undefined ? undefined : mask(left),
    }),
  };
}

export function reportLines({ pool, requests, facts, plan, refused, failure, removed, left }: ExperimentReport): string {
  const { name, type, vmSize } = pool ?? { name: 'unknown', type: 'unknown', vmSize: '' };
  const lines = [
    `Experiment on agent pool ${name} (${type}${vmSize === '' ? '' : `, ${vmSize}`}): ${requests.reads} reads, ${requests.writes} writes`,
    ...facts.flatMap(({ id, question, seen, meaning }) => [
      `${id.padEnd(16)}  ${question}`,
      `${' '.repeat(18)}${seen}`,
      `${' '.repeat(18)}${meaning}`,
    ]),
    ...(refused === undefined ? [] : [`Nothing was written: ${refused}.`]),
    ...(failure === undefined ? [] : [`Not everything was measured: ${failure}`]),
    ...(removed === undefined ? [] : [removed ? 'Nothing that was added is left.' : `The added node was not deleted: ${left ?? ''}`]),
    ...plan,
  ];
  return `${lines.join('\n')}\n`;
}

export function reportJson(report: ExperimentReport): string {
  const ok = report.refused === undefined && report.failure === undefined && report.removed !== false;
  return `${JSON.stringify({ ok, ...report }, undefined, 2)}\n`;
}

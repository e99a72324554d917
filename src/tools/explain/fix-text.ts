/** Fixes as text: what works and its proof, then the commands and texts to copy. */
import type { NodeAnswer } from '../../planning/explain/answers/node-answer.ts';
import type { PodAnswer } from '../../planning/explain/answers/pod-answer.ts';
import { type Advice, describeSavings, type Fix } from '../../planning/explain/advice/fix.ts';
import type { FixStep } from '../../planning/explain/changes/change.ts';
import { formatMoment } from '../../planning/explain/spans.ts';
import { formatPerHour } from '../../planning/explain/amounts.ts';
import { paragraph } from '../../cli/text/text-layout.ts';
import type { TextLook } from './answer-facts.ts';

export function adviceParts(advice: PodAnswer['advice'], look: TextLook): readonly string[] {
  const { nowMs, width } = look;
  if (advice === undefined) return [];
  if (advice.wait !== undefined && advice.fix === undefined)
    return [paragraph(`No change is needed: ${describeWait(advice.wait, nowMs)}.`, width)];
  if (advice.fix === undefined) return [paragraph(`${capitalized(advice.text)}.`, width)];
  return [fixLine(`${advice.text}. ${describeProof(advice.fix, look.currency)}`, look), ...advice.fix.steps.flatMap(stepLines)];
}

export function removalAdviceParts(advice: NodeAnswer['advice'], look: TextLook): readonly string[] {
  const { width, currency } = look;
  if (advice === undefined) return [];
  if (advice.wait !== undefined) return [paragraph(`No change is needed: ${advice.text}.`, width)];
  if (advice.fix === undefined) return [paragraph(`${capitalized(advice.text)}.`, width)];
  return [fixLine(`${advice.text}. ${describeSavings(advice.fix.proof, currency)}`, look), ...advice.fix.steps.flatMap(stepLines)];
}

const FIX = 'Fix that works:';

function fixLine(sentence: string, { width, colours }: TextLook): string {
  return paragraph(`${FIX} ${sentence}`, width).replace(FIX, colours.green(FIX));
}

/** Commands and texts to copy stand on lines of their own, whatever their length. */
function stepLines({ where, command, patch, warning }: FixStep): readonly string[] {
  const before = warning === undefined ? [] : [`  Before: ${warning}.`];
  const what = [command, patch].filter((line) => line !== undefined);
  return [...before, `  In ${where}${what.length === 0 ? '' : ':'}`, ...what.map((line) => `    ${line}`)];
}

function describeWait({ group, untilMs }: NonNullable<Advice['wait']>, nowMs: number): string {
  return untilMs === undefined ? `${group} only needs time` : `${group} is tried again at ${formatMoment(untilMs, nowMs)}`;
}

/** A new pool would be used by others, too, as far as its maximum allows. */
function describeProof({ changes, proof: { pods, of, others, nodes, perHour } }: Fix, currency: string | undefined): string {
  const cost = perHour === undefined ? '' : `, ${perHour < 0 ? '' : '+'}${formatPerHour(perHour, currency)}`;
  const placed = `${pods} of ${of} ${of === 1 ? 'pod' : 'pods'}`;
  const other = `${others} other ${others === 1 ? 'pod' : 'pods'}`;
  const added = `${nodes} more ${nodes === 1 ? 'node' : 'nodes'}${cost}`;
  if (others > 0 && changes.some(({ kind }) => kind === 'add-pool'))
    return `Places ${placed}. ${other} could use such a pool, too: ${added} in all.`;
  return `Places ${placed}${others === 0 ? '' : `, and ${other},`} with ${added}.`;
}

function capitalized(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

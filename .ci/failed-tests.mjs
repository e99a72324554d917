/**
 * Prints what failed in reports of vitest (`--reporter=json`), one line each, for the end of the gate's output: tests, files that
 * could not be run, and tests that passed only when they were tried again. Arguments: report files; one that is absent is skipped.
 * Plain JavaScript, because it also runs where only an old Node.js is installed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const MAX_CHARACTERS = 240;

function firstLine(text) {
  const line = text.replace(/\u001b\[[0-9;]*m/g, '').split('\n').find((each) => each.trim() !== '') ?? '';
  return line.trim().slice(0, MAX_CHARACTERS);
}

function linesOf({ name, message, status, assertionResults }, root) {
  const file = relative(root, name);
  const lines = assertionResults.flatMap((test) => {
    const [reason = ''] = test.failureMessages ?? [];
    if (test.status === 'failed') return [`failed test: ${file} > ${test.fullName}: ${firstLine(reason)}`];
    return reason === '' ? [] : [`passed when tried again: ${file} > ${test.fullName}: ${firstLine(reason)}`];
  });
  const brokenFile = status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
  return brokenFile ? [`failed file: ${file}: ${firstLine(message ?? '')}`, ...lines] : lines;
}

for (const report of process.argv.slice(2).filter((file) => existsSync(file))) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  for (const result of testResults) for (const line of linesOf(result, process.cwd())) console.log(line);
}

/** Commands of the system, run to their end. */
import { spawnSync } from 'node:child_process';

const MOST_OUTPUT = 64 * 1024 * 1024;

/** @returns what it printed. @throws Error with what it complained about. */
export function run(command: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT,
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (error !== undefined) throw new Error(`${command}: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args[0] ?? ''} ended with ${status}:\n${lastLines(`${stdout}\n${stderr}`)}`);
  return stdout;
}

/** Which of these are not on the PATH. */
export function missingCommands(commands: readonly string[]): readonly string[] {
  return commands.filter((command) => spawnSync('sh', ['-c', `command -v ${command}`]).status !== 0);
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-25).join('\n');
}

import { spawnSync } from 'node:child_process';

/** The programs that printed commands call. Each notes the number of its words and the words, and prints something to be used as an id. */
const STUBS = ['az', 'kubectl', 'helm', 'curl', 'openssl', 'nc']
  .map((name) => `${name}() { printf '%s\\0' $(($# + 1)) ${name} "$@" >&3; printf an-id; }`)
  .join('\n');

interface Script {
  readonly text: string;
  /** Where `cat` may write. */
  readonly folder?: string;
  readonly args?: readonly string[];
}

/** What a POSIX shell calls for a script: each program and its words. Throws if the shell runs anything else, or cannot read the script. */
export function callsOfScript({ text, folder = '/', args = [] }: Script): readonly (readonly string[])[] {
  const script = `${STUBS}\ncat() { /bin/cat; }\n${text}`;
  const { status, stderr, output } = spawnSync('/bin/sh', ['-c', script, 'sh', ...args], {
    cwd: folder,
    env: { PATH: '', HOME: '/the/home/of/the/caller', IMAGE: 'an-image' },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  if (status !== 0 || stderr.length > 0) throw new Error(`sh ended with ${String(status)} and said: ${stderr.toString()}`);
  const calls: string[][] = [];
  const words = String(output[3]).split('\0').slice(0, -1);
  for (let at = 0; at < words.length; at += Number(words[at]) + 1) calls.push(words.slice(at + 1, at + 1 + Number(words[at])));
  return calls;
}

/** The same for commands, a line each. */
export function callsOf(...lines: readonly string[]): readonly (readonly string[])[] {
  return callsOfScript({ text: lines.join('\n') });
}

/** The shell commands in the documents' fenced blocks, and why some of them are not run by a test. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DOCUMENTS } from './documents.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const PROGRAM = /^(?:(?:az|kubectl|helm|npm|npx|node|aks-autoscaler|docker|git|curl|bash|redis-cli|kill|echo|sed|cp|export) |[A-Z_]+=)/;

export interface DocumentCommand {
  readonly document: string;
  /** One line, without line breaks of the shell. */
  readonly command: string;
}

/** In the order of the documents' names and of the text. A loop is one command. */
export function documentCommands(): readonly DocumentCommand[] {
  return DOCUMENTS.flatMap((document) =>
    shellBlocks(readFileSync(join(ROOT, document), 'utf8'))
      .flatMap(commandsOf)
      .map((command) => ({ document, command })),
  );
}

/** Fenced blocks without a language, or with that of a shell. */
function shellBlocks(markdown: string): readonly string[] {
  const blocks = [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)];
  return blocks.flatMap(([, language = '', block = '']) => (['', 'sh', 'bash', 'console'].includes(language) ? [block] : []));
}

function commandsOf(block: string): readonly string[] {
  const lines = block.replace(/\\\n\s*/g, '').split('\n');
  const commands: string[] = [];
  let loop: string[] | undefined;
  for (const line of lines.map((each) => each.trim())) {
    if (loop !== undefined) loop.push(line);
    else if (line.startsWith('for ')) loop = [line];
    else if (PROGRAM.test(line)) commands.push(line);
    if (loop !== undefined && line === 'done') {
      commands.push(loop.join('; '));
      loop = undefined;
    }
  }
  return commands;
}

/** Commands that no test runs, and why. The first match counts. */
export const NOT_RUN: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  {
    pattern: /\baz /,
    why: "the suite runs them with Azure's CLI in a world of their own; those of the first hour need a real subscription",
  },
  { pattern: /^[A-Z]+=\S+( [A-Z]+=\S+)*$/, why: 'sets variables of the shell' },
  { pattern: /exec deploy\//, why: 'the kubelets of the suite run no containers; the suite runs the same command of the program outside' },
  { pattern: /port-forward/, why: 'the kubelets of the suite forward no ports; a test of the connection does' },
  { pattern: /\blogs (?:deploy|-l)/, why: 'the kubelets of the suite run no containers' },
  { pattern: /^npm (?:ci|test|install)\b/, why: 'the gate runs it, or a test of the package' },
  { pattern: /^npx aks-autoscaler/, why: 'a test of the package runs it' },
  {
    pattern: /^npm run (?:--silent )?(?:demo|test:e2e|bench|soak|image|workflows)\b/,
    why: 'the gate runs it, or it takes minutes and changes nothing',
  },
  { pattern: /^docker run\b.*aks-autoscaler-world$/, why: 'needs a container engine; npm run image -- world starts the same program' },
  { pattern: /^npm run wire\b/, why: 'needs recordings that a person provides; its own tests have some of each form' },
  { pattern: /^npm run versus\b/, why: 'needs a Cluster Autoscaler, and takes minutes; a test reads its report' },
  {
    pattern: /^(?:git clone\b.*autoscaler|sed -i .*benchmark_runonce_test|go -C \.\.\/autoscaler\/)/,
    why: 'builds another program, which takes minutes and a network',
  },
  { pattern: /emulate --dir/, why: 'runs until it is stopped; tests of the emulated world start it' },
  { pattern: /^helm get values cluster-autoscaler\b/, why: 'needs a release of the Cluster Autoscaler' },
  {
    pattern: /doctor .*--experiment\b/,
    why: 'takes half a minute; a file of the suite runs each of these lines against the emulated Azure',
  },
  { pattern: /^aks-autoscaler init\b/, why: 'needs the right of a person in Azure; its tests use the emulated Azure' },
  { pattern: /^aks-autoscaler report\b/, why: 'needs a dry run of days; its tests and the demo with --shadow make one' },
  { pattern: /explain decision (?:ID|\S+) --history|--dump FILE/, why: 'needs the files of a daemon; the tests of explain make them' },
  { pattern: /run --config FILE --dry-run/, why: 'runs until it is stopped; the suite starts the daemon' },
  { pattern: /\blab (?:run|savings)\b/, why: 'takes minutes to hours; the tests of the laboratory run short ones' },
  { pattern: /\brecord --out\b/, why: 'follows a cluster for hours to days; its tests record simulated ones' },
  { pattern: /^curl -sG \$PROMETHEUS/, why: 'needs the Prometheus of a cluster' },
  { pattern: /^curl -s "https:\/\/prices\.azure\.com/, why: 'needs the public price list; a test reads an imitated one' },
  { pattern: /^curl -sN/, why: 'a stream without an end; its test reads it' },
  { pattern: /report\?since/, why: 'only a dry run has a report; its test asks one' },
];

export function whyNotRun(command: string): string | undefined {
  return NOT_RUN.find(({ pattern }) => pattern.test(command))?.why;
}

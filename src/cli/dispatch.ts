/** From the command line to a command and its exit code. What a command throws becomes one sentence, never a stack trace. */
import { nearestName } from '../lib/nearest-name.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import { EXIT_CONFIG, EXIT_FAILED, EXIT_OK, type Terminal } from './process/process.ts';

type Command = (argv: readonly string[], terminal: Terminal) => Promise<number>;

interface Entry {
  readonly help: string;
  readonly run: Command;
}

export const VERSION = '0.1.0';

/** Each is loaded when asked for: the daemon starts sooner, and its image does not carry the simulated world. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { help: 'the autoscaler, until SIGTERM', run: async (argv, terminal) => (await import('./run-command.ts')).run(argv, terminal) },
  demo: {
    help: 'a simulated AKS cluster and the autoscaler at work in it',
    run: async (argv, { env }) => (await fromSource('demo', () => import('./demo/demo-command.ts'))).run(argv, env),
  },
  emulate: {
    help: 'the simulated AKS cluster alone',
    run: async (argv) => (await fromSource('emulate', () => import('./emulate-command.ts'))).run(argv),
  },
  plan: {
    help: 'what would be done and why, for a cluster in a file or the real one',
    run: async (argv, terminal) => (await import('./plan/plan-command.ts')).run(argv, terminal),
  },
  doctor: {
    help: 'whether the autoscaler could do its work here, with the fix of what is wrong',
    run: async (argv, terminal) => (await import('./doctor/doctor-command.ts')).run(argv, terminal),
  },
  replay: {
    help: 'makes a dumped decision again',
    run: async (argv, terminal) => (await import('./plan/from-dump.ts')).run(argv, terminal),
  },
  help: { help: 'this text', run: showHelp },
  version: { help: 'the version', run: showVersion },
};

/** What the Cluster Autoscaler's manifests begin with; its arguments are those of `run`. */
const ITS_PROGRAM = /^(?:.*\/)?cluster-autoscaler$/;

/** The arguments of an existing Deployment take the place of the image's `run`: flags alone mean that. */
function asCommand(argv: readonly string[]): readonly string[] {
  const [first = 'help', ...rest] = argv;
  if (ITS_PROGRAM.test(first)) return ['run', ...rest];
  if (first === '--help' || first === '-h') return ['help', ...rest];
  if (first === '--version') return ['version', ...rest];
  return first.startsWith('-') ? ['run', ...argv] : [first, ...rest];
}

/** @returns the exit code: 0 success, 1 failure, 2 wrong use or configuration. */
export async function dispatch(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [name = 'help', ...rest] = asCommand(argv);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    const hint = nearest === undefined ? `accepted are ${Object.keys(COMMANDS).join(', ')}.` : `did you mean ${nearest}?`;
    terminal.err(`"${name}" is not a command; ${hint}\n`);
    return EXIT_CONFIG;
  }
  try {
    return await command.run(rest, terminal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    terminal.err(`${error.message.split('\n')[0] ?? ''}\n`);
    return error.kind === 'config' ? EXIT_CONFIG : EXIT_FAILED;
  }
}

/** A command that needs the simulated world. @throws AutoscalerError `config` where the bundle was made without it. */
async function fromSource<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const absent = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND';
    if (!absent || !cause.message.includes(`${name}-command.ts`)) throw cause;
    const message = `"${name}" needs the simulated world, which this build leaves out; run it from the source: npm run cli -- ${name}`;
    throw new AutoscalerError({ kind: 'config' }, `${message}.`, { cause });
  }
}

function showHelp(_argv: readonly string[], terminal: Terminal): Promise<number> {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}\n`);
  terminal.out(`aks-autoscaler: a node autoscaler for Kubernetes on Azure\n\n${lines.join('')}\nCOMMAND --help says more.\n`);
  return Promise.resolve(EXIT_OK);
}

function showVersion(_argv: readonly string[], terminal: Terminal): Promise<number> {
  terminal.out(`${VERSION}\n`);
  return Promise.resolve(EXIT_OK);
}
